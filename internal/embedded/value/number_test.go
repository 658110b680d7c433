package value

import (
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestNumberString checks that numbers print in plain normal form.
func TestNumberString(t *testing.T) {
	for given, want := range map[string]string{
		"0": "0", "-0": "0", "0.000": "0", "0e500": "0", "+1": "1", "007": "7", "1.500": "1.5", ".5": "0.5", "5.": "5",
		"1e3": "1000", "1E+3": "1000", "12.5e1": "125", "-0.0010e-20": "-0.00000000000000000000001", "100e-2": "1",
		"1e125": "1" + strings.Repeat("0", 125), "1e-130": "0." + strings.Repeat("0", 129) + "1",
		strings.Repeat("9", 38):                 strings.Repeat("9", 38),
		strings.Repeat("9", 38) + "00":          strings.Repeat("9", 38) + "00",
		"000" + strings.Repeat("9", 38) + ".00": strings.Repeat("9", 38),
	} {
		n, err := ParseNumber(given)
		if err != nil || n.String() != want {
			t.Errorf("%s = %s, %v; want %s", given, n, err, want)
		}
	}
}

// TestNumbersOutOfRange checks that numbers outside the range of the type are refused.
func TestNumbersOutOfRange(t *testing.T) {
	for given, want := range map[string]string{
		"": "cannot be converted", "x": "cannot be converted", "1x": "cannot be converted", "--1": "cannot be converted",
		".": "cannot be converted", "1e": "cannot be converted", " 1": "cannot be converted", "NaN": "cannot be converted",
		"Infinity": "cannot be converted", "0x1": "cannot be converted", "1_0": "cannot be converted",
		"1e126": "overflow", "-1e126": "overflow", "1e99999999999": "overflow", "1e-131": "underflow",
		strings.Repeat("9", 39):        "more than 38 significant digits",
		"1." + strings.Repeat("1", 38): "more than 38 significant digits",
	} {
		if n, err := ParseNumber(given); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s = %s, %v; want %q", given, n, err, want)
		}
	}
}

// TestLargeSums checks that sums that do not fit are refused, and not rounded.
func TestLargeSums(t *testing.T) {
	for _, pair := range [][2]string{{"1e37", "0.1"}, {"1e125", "1"}, {"9" + strings.Repeat("9", 37) + "e88", "1e88"}} {
		if sum, err := mustParse(t, pair[0]).Add(mustParse(t, pair[1])); err == nil {
			t.Errorf("%s + %s = %s", pair[0], pair[1], sum)
		}
	}
	sum, err := mustParse(t, strings.Repeat("9", 37)+"8").Add(mustParse(t, "1"))
	if err != nil || sum.String() != strings.Repeat("9", 38) {
		t.Errorf("counting to the last number: %s, %v", sum, err)
	}
	if carried, err := sum.Add(mustParse(t, "1")); err != nil || carried.String() != "1"+strings.Repeat("0", 38) {
		t.Errorf("99…9 + 1 has one significant digit: %s, %v", carried, err)
	}
}

func mustParse(t interface{ Fatal(...any) }, s string) Number {
	n, err := ParseNumber(s)
	if err != nil {
		t.Fatal(s, err)
	}
	return n
}

// decimals draws numbers whose sums always fit.
var decimals = rapid.StringMatching(`-?[0-9]{1,12}(\.[0-9]{1,8})?(e[0-9])?`)

// TestArithmetic checks that arithmetic and order agree with rationals.
func TestArithmetic(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := decimals.Draw(t, "a"), decimals.Draw(t, "b")
		x, y := mustParse(t, a), mustParse(t, b)
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
		if again := mustParse(t, x.String()); again != x {
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

// TestSeconds checks that the seconds of a number are its whole part.
func TestSeconds(t *testing.T) {
	for given, want := range map[string]int64{"1700000000": 1700000000, "12.9": 12, "-3": -3, "0.5": 0} {
		if got, ok := mustParse(t, given).Seconds(); !ok || got != want {
			t.Errorf("%s: %d, %v", given, got, ok)
		}
	}
	if _, ok := mustParse(t, "1e30").Seconds(); ok {
		t.Error("1e30 seconds do not fit")
	}
}

// The sizes up to "-0" were measured on the service to the byte, by
// github.com/nubo-db/dynoxide (src/types.rs).
func TestNumberSize(t *testing.T) {
	t.Run("CountsPairsOfDigitsFromThePoint", func(t *testing.T) {
		for text, want := range map[string]int{
			"1": 2, "12": 2, "123": 3, "1234": 3, "12345": 4, "123456": 4, "1234567891": 6, "12345678912": 7, "123456789123": 7,
			"1234567890123456789": 11, "12345678901234567890123456789012345678": 20,
			"0042": 2, "100": 2, "1010": 3, "0.0000001": 2, "0": 1, "1E125": 2, "1E-100": 2,
			"1.5": 3, "1.200": 3, "1.234": 4, "3.14159": 5, "100.5": 4, "0.15": 2, "15": 2, "-42": 3, "-12345": 5, "-1E125": 3, "-0.15": 3, "-0": 1,

			"120": 3, "1200": 2, "0.015": 3, "0.0015": 2, "10.01": 3, "-1.5": 4,
		} {
			n, err := ParseNumber(text)
			if err != nil {
				t.Fatal(err)
			}
			if got := n.Size(); got != want {
				t.Errorf("%s has %d bytes, want %d", text, got, want)
			}
		}
	})
}
