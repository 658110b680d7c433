package clause

import (
	"cmp"
	"math/big"
	"strconv"
	"strings"
)

// Whole parses a whole number in any form in which an engine prints one: 1000, 1E+3,
// 10.00e2. A number of more than 126 digits, which DynamoDB does not store, is refused.
func Whole(s string) (*big.Int, bool) {
	n, ok := Rational(s, 126)
	if !ok || !n.IsInt() {
		return nil, false
	}
	return n.Num(), true
}

// Rational parses a decimal number. One with more digits than limit, or a higher
// exponent, is refused, because it could cost much memory.
func Rational(s string, limit int) (*big.Rat, bool) {
	if len(s) > limit || strings.Trim(s, "0123456789.eE+-") != "" { // no fractions, underscores, or other bases
		return nil, false
	}
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		if exponent, err := strconv.Atoi(s[i+1:]); err != nil || exponent > limit || exponent < -limit {
			return nil, false
		}
	}
	return new(big.Rat).SetString(s)
}

var typeNames = map[string]string{
	"S": "a string", "N": "a number", "B": "binary", "BOOL": "a boolean", "NULL": "null", "M": "a map", "L": "a list",
	"SS": "a set", "NS": "a set", "BS": "a set",
}

// TypeName names the type of a value in a sentence, such as "a string".
func TypeName(v Value) string { return cmp.Or(typeNames[TypeOf(v)], "of an unknown type") }
