package value

import (
	"math/big"
	"strconv"
	"strings"
)

// The limits of DynamoDB's number type: 38 significant digits, magnitudes from
// 1E-130 up to 9.99…E+125 (docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html,
// "Number").
const (
	MaxDigits   = 38
	maxExponent = 125
	minExponent = -130
)

// Number is an exact decimal: digits × 10^exp, negated when neg is set. It is
// kept normalised, so that two equal numbers are equal Go values: digits has
// neither leading nor trailing zeros, and zero is the zero Number.
type Number struct {
	digits string
	exp    int
	neg    bool
}

// ParseNumber reads a decimal in plain or exponent form. It refuses, with the
// messages of DynamoDB, what is no number, has more than 38 significant digits,
// or lies outside the supported magnitudes.
func ParseNumber(s string) (Number, error) {
	bad := func() (Number, error) {
		if s == "" {
			return Number{}, Invalid("The parameter cannot be converted to a numeric value")
		}
		return Number{}, Invalid("The parameter cannot be converted to a numeric value: " + s)
	}
	rest, neg := s, false
	if rest != "" && (rest[0] == '+' || rest[0] == '-') {
		neg, rest = rest[0] == '-', rest[1:]
	}
	whole, rest := leadingDigits(rest)
	fraction := ""
	if strings.HasPrefix(rest, ".") {
		fraction, rest = leadingDigits(rest[1:])
	}
	if whole == "" && fraction == "" {
		return bad()
	}
	exp := 0
	if rest != "" && (rest[0] == 'e' || rest[0] == 'E') {
		var ok bool
		if exp, ok = parseExponent(rest[1:]); !ok {
			return bad()
		}
		rest = ""
	}
	if rest != "" {
		return bad()
	}
	return normalise(whole+fraction, exp-len(fraction), neg)
}

func leadingDigits(s string) (digits, rest string) {
	i := 0
	for i < len(s) && s[i] >= '0' && s[i] <= '9' {
		i++
	}
	return s[:i], s[i:]
}

// parseExponent saturates far outside the supported range instead of
// overflowing, so that "1e99999999999" is an overflow and not a syntax error.
func parseExponent(s string) (int, bool) {
	neg := false
	if s != "" && (s[0] == '+' || s[0] == '-') {
		neg, s = s[0] == '-', s[1:]
	}
	digits, rest := leadingDigits(s)
	if digits == "" || rest != "" {
		return 0, false
	}
	n := 0
	for _, d := range digits {
		if n = n*10 + int(d-'0'); n > 1<<30 {
			n = 1 << 30
			break
		}
	}
	if neg {
		n = -n
	}
	return n, true
}

func normalise(digits string, exp int, neg bool) (Number, error) {
	digits = strings.TrimLeft(digits, "0")
	trimmed := strings.TrimRight(digits, "0")
	exp += len(digits) - len(trimmed)
	if trimmed == "" {
		return Number{}, nil
	}
	switch magnitude := len(trimmed) + exp - 1; {
	case magnitude > maxExponent:
		return Number{}, Invalid("Number overflow. Attempting to store a number with magnitude larger than supported range")
	case magnitude < minExponent:
		return Number{}, Invalid("Number underflow. Attempting to store a number with magnitude smaller than supported range")
	}
	if len(trimmed) > MaxDigits {
		return Number{}, Invalid("Attempting to store more than 38 significant digits in a Number")
	}
	return Number{digits: trimmed, exp: exp, neg: neg}, nil
}

// String is the number as DynamoDB prints it: always in plain form, without
// needless zeros, however it was written.
func (n Number) String() string {
	if n.digits == "" {
		return "0"
	}
	var b strings.Builder
	if n.neg {
		b.WriteByte('-')
	}
	switch point := len(n.digits) + n.exp; {
	case n.exp >= 0:
		b.WriteString(n.digits)
		b.WriteString(strings.Repeat("0", n.exp))
	case point > 0:
		b.WriteString(n.digits[:point])
		b.WriteByte('.')
		b.WriteString(n.digits[point:])
	default:
		b.WriteString("0.")
		b.WriteString(strings.Repeat("0", -point))
		b.WriteString(n.digits)
	}
	return b.String()
}

// Add is n + m, exactly. A sum that needs more than 38 digits is refused rather
// than rounded.
func (n Number) Add(m Number) (Number, error) {
	exp := min(n.exp, m.exp)
	sum := new(big.Int).Add(n.scaled(exp), m.scaled(exp))
	return normalise(new(big.Int).Abs(sum).String(), exp, sum.Sign() < 0)
}

// Sub is n − m under the same rules as Add.
func (n Number) Sub(m Number) (Number, error) { return n.Add(m.negated()) }

func (n Number) negated() Number {
	if n.digits != "" {
		n.neg = !n.neg
	}
	return n
}

// scaled is the integer i with n = i × 10^exp; exp is at most n.exp.
func (n Number) scaled(exp int) *big.Int {
	i := new(big.Int)
	if n.digits == "" {
		return i
	}
	i.SetString(n.digits+strings.Repeat("0", n.exp-exp), 10)
	if n.neg {
		i.Neg(i)
	}
	return i
}

// Cmp is -1, 0 or +1 as n is below, equal to or above m.
func (n Number) Cmp(m Number) int {
	if n == m {
		return 0
	}
	if n.sign() != m.sign() {
		if n.sign() < m.sign() {
			return -1
		}
		return 1
	}
	exp := min(n.exp, m.exp)
	return n.scaled(exp).Cmp(m.scaled(exp))
}

func (n Number) sign() int {
	switch {
	case n.digits == "":
		return 0
	case n.neg:
		return -1
	}
	return 1
}

// Seconds is the number's whole part as a count of seconds, for a TTL
// attribute; ok is false when it does not fit.
func (n Number) Seconds() (seconds int64, ok bool) {
	whole := n.String()
	if i := strings.IndexByte(whole, '.'); i >= 0 {
		whole = whole[:i]
	}
	i, parsed := new(big.Int).SetString(whole, 10)
	if !parsed || !i.IsInt64() {
		return 0, false
	}
	return i.Int64(), true
}

// Count is a small whole number.
func Count(n int) Number {
	c, err := ParseNumber(strconv.Itoa(n))
	if err != nil {
		panic("an int always fits: " + err.Error())
	}
	return c
}
