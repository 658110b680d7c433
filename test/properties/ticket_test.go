package properties_test

import (
	"encoding/json"
	"errors"
	"math"
	"math/big"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"pgregory.net/rapid"

	"github.com/queuelock/queuelock/clause"
	"github.com/queuelock/queuelock/ticket"
)

// drawDigits draws a number of up to 38 digits without leading zeros. Lengths
// are drawn first, so that long ones are as likely as short ones, and the edges
// of 64 bits and of ten are among them.
func drawDigits(t *rapid.T, label string) string {
	edges := []string{
		"0", "1", "9", "10", "18446744073709551615", "18446744073709551616", "18446744073709551617",
		strings.Repeat("9", 37), "1" + strings.Repeat("0", 37), strings.Repeat("9", 38), strings.Repeat("9", 37) + "8",
	}
	return rapid.OneOf(
		rapid.SampledFrom(edges),
		rapid.StringMatching(`[1-9][0-9]{0,37}`),
		rapid.StringMatching(`[1-9][0-9]{18,20}`),
	).Draw(t, label)
}

func drawTicket(t *rapid.T, label string) (ticket.Number, *big.Int) {
	digits := drawDigits(t, label)
	n, err := ticket.Parse(digits)
	if err != nil {
		t.Fatalf("Parse(%q): %v", digits, err)
	}
	b, _ := new(big.Int).SetString(digits, 10)
	return n, b
}

// TestTicketRoundTrip checks that numbers are parsed, printed and padded without loss.
func TestTicketRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, b := drawTicket(t, "n")
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

// TestPaddedTickets checks that the order of padded strings is the order of their numbers.
func TestPaddedTickets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, bigA := drawTicket(t, "a")
		b, bigB := drawTicket(t, "b")
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

// TestTicketArithmetic checks that neighbours and distances are those of integers.
func TestTicketArithmetic(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, bigA := drawTicket(t, "a")
		next, err := a.Next()
		if a == ticket.Max {
			if !errors.Is(err, ticket.ErrExhausted) || !next.IsZero() {
				t.Errorf("after the last number comes %v, %v", next, err)
			}
		} else if want := new(big.Int).Add(bigA, big.NewInt(1)); err != nil || next.String() != want.String() {
			t.Errorf("after %v comes %v, %v, want %v", a, next, err, want)
		}
		want := new(big.Int).Sub(bigA, big.NewInt(1))
		if bigA.Sign() == 0 {
			want = bigA
		}
		if got := a.Previous().String(); got != want.String() {
			t.Errorf("before %v comes %v, want %v", a, got, want)
		}

		var b ticket.Number
		var bigB *big.Int
		if rapid.Bool().Draw(t, "near") {
			bigB = new(big.Int).Add(bigA, big.NewInt(int64(rapid.IntRange(-1000, 1000).Draw(t, "by"))))
			if b, err = ticket.Parse(bigB.String()); err != nil {
				return // out of range
			}
		} else {
			b, bigB = drawTicket(t, "b")
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

// TestTicketJSON checks that a round trip through JSON keeps all digits.
func TestTicketJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, b := drawTicket(t, "n")
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

// TestReadTicket checks that Read accepts every form in which an engine prints a number.
// Engines print one number in several forms; all of them are the same ticket.
func TestReadTicket(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, b := drawTicket(t, "n")
		s := b.String()
		forms := []string{s, s + ".0", s + "0E-1", "0" + s, s + "e0", s + "E+0", "+" + s}
		if trimmed := strings.TrimRight(s, "0"); trimmed != "" {
			zeros := big.NewInt(int64(len(s) - len(trimmed)))
			forms = append(forms, trimmed+"E+"+zeros.String(), trimmed+"e"+zeros.String())
		}
		form := rapid.SampledFrom(forms).Draw(t, "form")
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
