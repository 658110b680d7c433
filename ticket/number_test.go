package ticket_test

import (
	"errors"
	"math/big"
	"regexp"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/clause"
	"github.com/queuelock/queuelock/ticket"
)

var one = big.NewInt(1)

// TestShort checks that long numbers are printed by their last digits.
func TestShort(t *testing.T) {
	for n, want := range map[uint64]string{0: "0", 42: "42", 999_999_999: "999999999", 281_234_000_042: "…000042"} {
		if got := ticket.FromUint64(n).Short(); got != want {
			t.Errorf("%d is printed as %s, want %s", n, got, want)
		}
	}
}

func TestMax(t *testing.T) {
	want := new(big.Int).Sub(new(big.Int).Exp(big.NewInt(10), big.NewInt(38), nil), one)
	if ticket.Max.String() != want.String() {
		t.Errorf("Max is %v, want %v", ticket.Max, want)
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
	for _, s := range []string{
		"0", "1", "00", "18446744073709551616", strings.Repeat("9", 38), strings.Repeat("0", 50) + "7", strings.Repeat("9", 39), "1" + strings.Repeat("0", 38),
		"", " ", "-1", "+1", " 1", "1 ", "1.0", "1e3", "0x1", "1_000", "١", "0/", "0:", "000a", "\x001", strings.Repeat("x", 100_000),
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		n, err := ticket.Parse(s)
		if (err == nil) != decimal.MatchString(s) || err != nil && !n.IsZero() {
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
