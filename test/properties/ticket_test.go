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

// TestTicketRoundTrip checks that no digit is lost by text, padded text, JSON and attributes.
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
		type document struct{ Ticket ticket.Number }
		var back document
		text, err := json.Marshal(document{n})
		if err != nil || string(text) != `{"Ticket":"`+b.String()+`"}` || json.Unmarshal(text, &back) != nil || back.Ticket != n {
			t.Fatalf("marshalled %v to %s, %v, and back to %v", n, text, err, back.Ticket)
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

func TestRefusedTicket(t *testing.T) {
	keep := ticket.FromUint64(7)
	if err := json.Unmarshal([]byte(`"-1"`), &keep); err == nil || keep != ticket.FromUint64(7) {
		t.Errorf("a refused text gave %v, %v, want an error and the old value", keep, err)
	}
}
