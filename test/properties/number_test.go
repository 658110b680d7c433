package properties_test

import (
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"github.com/queuelock/queuelock/internal/embedded/value"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
)

// decimals draws numbers whose sums always fit.
var decimals = rapid.StringMatching(`-?[0-9]{1,12}(\.[0-9]{1,8})?(e[0-9])?`)

// TestNumbers checks that arithmetic and order agree with rationals.
func TestNumbers(t *testing.T) {
	parse := func(s string) value.Number { return locktest.Must(value.ParseNumber(s)) }
	rapid.Check(t, func(t *rapid.T) {
		a, b := decimals.Draw(t, "a"), decimals.Draw(t, "b")
		x, y := parse(a), parse(b)
		rx, ry := rational(a), rational(b)
		sum, err := x.Add(y)
		if err != nil || rational(sum.String()).Cmp(new(big.Rat).Add(rx, ry)) != 0 {
			t.Fatalf("%s + %s = %s, %v", a, b, sum, err)
		}
		difference, err := x.Sub(y)
		if err != nil || rational(difference.String()).Cmp(new(big.Rat).Sub(rx, ry)) != 0 {
			t.Fatalf("%s - %s = %s, %v", a, b, difference, err)
		}
		if x.Cmp(y) != rx.Cmp(ry) {
			t.Fatalf("%s is not ordered beside %s", a, b)
		}
		if (x == y) != (rx.Cmp(ry) == 0) {
			t.Fatalf("%s and %s: equal numbers are equal values", a, b)
		}
		if again := parse(x.String()); again != x {
			t.Fatalf("%s prints as %s, which is %s", a, x, again)
		}
	})
}

func rational(s string) *big.Rat {
	r, ok := new(big.Rat).SetString(s)
	if !ok {
		panic(s)
	}
	return r
}
