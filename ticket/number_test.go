package ticket_test

import (
	"encoding/json"
	"errors"
	"math"
	"math/big"
	"regexp"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/clause"
	"github.com/queuelock/queuelock/internal/testbed/property"
	"github.com/queuelock/queuelock/ticket"
)

var one = big.NewInt(1)

// drawDigits draws a number of up to 38 digits without leading zeros. Lengths
// are drawn first, so that long ones are as likely as short ones, and the edges
// of 64 bits and of ten are among them.
func drawDigits(t *property.T, label string) string {
	edges := []string{
		"0", "1", "9", "10", "18446744073709551615", "18446744073709551616", "18446744073709551617",
		strings.Repeat("9", 37), "1" + strings.Repeat("0", 37), strings.Repeat("9", 38), strings.Repeat("9", 37) + "8",
	}
	return property.OneOf(
		property.SampledFrom(edges),
		property.StringMatching(`[1-9][0-9]{0,37}`),
		property.StringMatching(`[1-9][0-9]{18,20}`),
	).Draw(t, label)
}

func draw(t *property.T, label string) (ticket.Number, *big.Int) {
	digits := drawDigits(t, label)
	n, err := ticket.Parse(digits)
	if err != nil {
		t.Fatalf("Parse(%q): %v", digits, err)
	}
	b, _ := new(big.Int).SetString(digits, 10)
	return n, b
}

// TestRoundTrip checks that numbers are parsed, printed and padded without loss.
func TestRoundTrip(t *testing.T) {
	property.Check(t, func(t *property.T) {
		n, b := draw(t, "n")
		if n.String() != b.String() {
			t.Fatalf("printed as %s, want %s", n, b)
		}
		padded := n.Padded()
		if want := strings.Repeat("0", ticket.Digits-len(b.String())) + b.String(); padded != want {
			t.Fatalf("padded to %q, want %q", padded, want)
		}
		for _, form := range []string{n.String(), padded, "00" + padded} {
			if again, err := ticket.Parse(form); err != nil || again != n {
				t.Fatalf("Parse(%q) = %v, %v, want %v", form, again, err, n)
			}
		}
		if b.IsUint64() && ticket.FromUint64(b.Uint64()) != n {
			t.Fatalf("FromUint64(%d) is not %v", b.Uint64(), n)
		}
		if got := n.Attribute().(*types.AttributeValueMemberN).Value; got != b.String() {
			t.Fatalf("the attribute is %s, want %s", got, b)
		}
		if n.IsZero() != (b.Sign() == 0) {
			t.Fatalf("IsZero of %v is %v", n, n.IsZero())
		}
	})
}

// TestPadded checks that the order of padded strings is the order of their numbers.
func TestPadded(t *testing.T) {
	property.Check(t, func(t *property.T) {
		a, bigA := draw(t, "a")
		b, bigB := draw(t, "b")
		want := bigA.Cmp(bigB)
		if got := a.Compare(b); got != want {
			t.Errorf("%v compared to %v is %d, want %d", a, b, got, want)
		}
		if got := strings.Compare(a.Padded(), b.Padded()); got != want {
			t.Errorf("%q compared to %q is %d, want %d", a.Padded(), b.Padded(), got, want)
		}
		if a.Less(b) != (want < 0) || (a == b) != (want == 0) {
			t.Errorf("%v and %v: Less is %v and == is %v, want an order of %d", a, b, a.Less(b), a == b, want)
		}
	})
}

// TestArithmetic checks that neighbours and distances are those of integers.
func TestArithmetic(t *testing.T) {
	property.Check(t, func(t *property.T) {
		a, bigA := draw(t, "a")
		next, err := a.Next()
		if a == ticket.Max {
			if !errors.Is(err, ticket.ErrExhausted) || !next.IsZero() {
				t.Errorf("after the last number comes %v, %v", next, err)
			}
		} else if want := new(big.Int).Add(bigA, one); err != nil || next.String() != want.String() {
			t.Errorf("after %v comes %v, %v, want %v", a, next, err, want)
		}
		want := new(big.Int).Sub(bigA, one)
		if bigA.Sign() == 0 {
			want = bigA
		}
		if got := a.Previous().String(); got != want.String() {
			t.Errorf("before %v comes %v, want %v", a, got, want)
		}

		var b ticket.Number
		var bigB *big.Int
		if property.Bool().Draw(t, "near") {
			bigB = new(big.Int).Add(bigA, big.NewInt(int64(property.IntRange(-1000, 1000).Draw(t, "by"))))
			if b, err = ticket.Parse(bigB.String()); err != nil {
				return // out of range
			}
		} else {
			b, bigB = draw(t, "b")
		}
		distance := new(big.Int).Sub(bigA, bigB)
		wantAfter := uint64(math.MaxUint64)
		if distance.Sign() < 0 {
			wantAfter = 0
		} else if distance.IsUint64() {
			wantAfter = distance.Uint64()
		}
		if got := a.After(b); got != wantAfter {
			t.Errorf("%v comes %d after %v, want %d", a, got, b, wantAfter)
		}
	})
}

// TestShort checks that long numbers are printed by their last digits.
func TestShort(t *testing.T) {
	for n, want := range map[uint64]string{0: "0", 42: "42", 999_999_999: "999999999", 281_234_000_042: "…000042"} {
		if got := ticket.FromUint64(n).Short(); got != want {
			t.Errorf("%d is printed as %s, want %s", n, got, want)
		}
	}
}

// TestMax checks that Max is the last number.
func TestMax(t *testing.T) {
	want := new(big.Int).Sub(new(big.Int).Exp(big.NewInt(10), big.NewInt(38), nil), one)
	if ticket.Max.String() != want.String() {
		t.Errorf("Max is %v, want %v", ticket.Max, want)
	}
	if n, err := ticket.Max.Next(); !errors.Is(err, ticket.ErrExhausted) {
		t.Errorf("after Max comes %v, %v", n, err)
	}
	if n, err := ticket.Parse(new(big.Int).Add(want, one).String()); err == nil {
		t.Errorf("10^38 was read as %v", n)
	}
}

// TestParseErrors checks that Parse refuses text that is not a ticket.
func TestParseErrors(t *testing.T) {
	for _, s := range []string{
		"", " ", "-1", "+1", " 1", "1 ", "1.0", "1e3", "0x1", "1_000", "١", "0/", "0:", "000a", "\x001",
		"1" + strings.Repeat("0", 38), strings.Repeat("9", 39), strings.Repeat("x", 100_000),
	} {
		n, err := ticket.Parse(s)
		if err == nil || !n.IsZero() {
			t.Errorf("Parse(%.50q) = %v, %v, want an error", s, n, err)
		}
	}
}

// TestJSON checks that a round trip through JSON keeps all digits.
func TestJSON(t *testing.T) {
	property.Check(t, func(t *property.T) {
		n, b := draw(t, "n")
		type document struct{ Ticket ticket.Number }
		text, err := json.Marshal(document{n})
		if err != nil || string(text) != `{"Ticket":"`+b.String()+`"}` {
			t.Fatalf("marshalled %v to %s, %v", n, text, err)
		}
		var back document
		if err := json.Unmarshal(text, &back); err != nil || back.Ticket != n {
			t.Fatalf("unmarshalled %s to %v, %v", text, back.Ticket, err)
		}
	})
	keep := ticket.FromUint64(7)
	if err := json.Unmarshal([]byte(`"-1"`), &keep); err == nil || keep != ticket.FromUint64(7) {
		t.Errorf("a refused text gave %v, %v, want an error and the old value", keep, err)
	}
}

// TestRead checks that Read accepts every form in which an engine prints a number.
// Engines print one number in several forms; all of them are the same ticket.
func TestRead(t *testing.T) {
	property.Check(t, func(t *property.T) {
		n, b := draw(t, "n")
		s := b.String()
		forms := []string{s, s + ".0", s + "0E-1", "0" + s, s + "e0", s + "E+0", "+" + s}
		if trimmed := strings.TrimRight(s, "0"); trimmed != "" {
			zeros := big.NewInt(int64(len(s) - len(trimmed)))
			forms = append(forms, trimmed+"E+"+zeros.String(), trimmed+"e"+zeros.String())
		}
		form := property.SampledFrom(forms).Draw(t, "form")
		r := clause.Reader{What: "counter", Item: clause.Item{"n": &types.AttributeValueMemberN{Value: form}}}
		if got := ticket.Read(&r, "n"); got != n || r.Err != nil {
			t.Fatalf("read %q as %v, %v, want %v", form, got, r.Err, n)
		}
	})
	r := clause.Reader{Item: clause.Item{"n": &types.AttributeValueMemberN{Value: "1E+3"}}}
	if got := ticket.Read(&r, "n"); got != ticket.FromUint64(1000) || r.Err != nil {
		t.Errorf("read 1E+3 as %v, %v", got, r.Err)
	}
}

// TestReadProblems checks that Read keeps a problem and invents no number.
func TestReadProblems(t *testing.T) {
	for name, value := range map[string]types.AttributeValue{
		"missing": nil, "negative": &types.AttributeValueMemberN{Value: "-1"},
		"a fraction": &types.AttributeValueMemberN{Value: "1.5"}, "too large": &types.AttributeValueMemberN{Value: "1E+38"},
		"huge": &types.AttributeValueMemberN{Value: "1E+999999999"}, "text": clause.String("7"),
		"a map": clause.Map(clause.Item{}), "null": &types.AttributeValueMemberNULL{Value: true}, "empty": &types.AttributeValueMemberN{},
	} {
		r := clause.Reader{What: "counter", Item: clause.Item{}}
		if value != nil {
			r.Item["n"] = value
		}
		n := ticket.Read(&r, "n")
		malformed, ok := errors.AsType[*clause.MalformedError](r.Err)
		if !n.IsZero() || !ok || malformed.Attribute != "n" {
			t.Errorf("%s: read %v, %v, want a MalformedError that names the attribute", name, n, r.Err)
		}
	}
}

var decimal = regexp.MustCompile(`^0*[0-9]{1,38}$`)

func FuzzParse(f *testing.F) {
	for _, s := range []string{"", "0", "1", "00", "-1", "1e3", "18446744073709551616", strings.Repeat("9", 38), strings.Repeat("9", 39), strings.Repeat("0", 50) + "7"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		n, err := ticket.Parse(s)
		if (err == nil) != decimal.MatchString(s) {
			t.Fatalf("Parse(%q) = %v, %v", s, n, err)
		}
		if err != nil {
			return
		}
		want, _ := new(big.Int).SetString(s, 10)
		if n.String() != want.String() {
			t.Fatalf("Parse(%q) = %v, want %v", s, n, want)
		}
		if again, err := ticket.Parse(n.Padded()); err != nil || again != n {
			t.Fatalf("Parse(%q) = %v, %v, want %v", n.Padded(), again, err, n)
		}
	})
}

// FuzzRead: an attribute, in any form in which an engine prints a number, is
// read exactly, or named.
func FuzzRead(f *testing.F) {
	for _, s := range []string{"", "7", "1E+3", "1.0", "-0", "-1", "0.5", "1E+38", "99999999999999999999999999999999999999", "1e37", "9.9E+37"} {
		f.Add(s)
	}
	top, _ := new(big.Int).SetString(strings.Repeat("9", 38), 10)
	f.Fuzz(func(t *testing.T, s string) {
		r := &clause.Reader{What: "item", Item: clause.Item{"n": &types.AttributeValueMemberN{Value: s}}}
		n := ticket.Read(r, "n")
		if malformed, ok := errors.AsType[*clause.MalformedError](r.Err); ok {
			if malformed.Attribute != "n" || len(malformed.Problem) > 1000 || !n.IsZero() {
				t.Fatalf("%q: %v, %v", s, n, r.Err)
			}
			return
		}
		exact, ok := new(big.Rat).SetString(s)
		if !ok || !exact.IsInt() || exact.Sign() < 0 || exact.Num().Cmp(top) > 0 || exact.Num().String() != n.String() {
			t.Fatalf("%q was read as %s", s, n)
		}
	})
}
