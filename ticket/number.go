package ticket

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/bits"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Digits is the number of digits of a padded [Number], and the precision of DynamoDB's numbers.
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/HowItWorks.NamingRulesDataTypes.html
const Digits = 38

// ErrExhausted says that a counter has reached 10^38-1. Another program must have
// written it. An operator drains the queue and deletes its record.
var ErrExhausted = errors.New("ticket numbers are exhausted: the counter is at 10^38-1: use another Reason")

// Number is a ticket number, 1 to 10^38-1. The zero Number is no ticket and comes
// before all others. Numbers are comparable with == and may be map keys.
type Number struct{ high, low uint64 }

// Max is the last ticket number, 10^38-1.
var Max = Number{high: 0x4b3b4ca85a86c47a, low: 0x098a223fffffffff}

// FromUint64 returns the [Number] n.
func FromUint64(n uint64) Number { return Number{low: n} }

// Parse reads a whole decimal number from 0 to 10^38-1, padded or not. It refuses
// signs, spaces, fractions and exponents.
func Parse(s string) (Number, error) {
	if s == "" {
		return Number{}, errors.New("ticket number: empty, a decimal number is needed")
	}
	digits := strings.TrimLeft(s, "0")
	if len(digits) > Digits {
		return Number{}, fmt.Errorf("ticket number of %d digits: at most %d are possible", len(digits), Digits)
	}
	var n Number
	for _, c := range []byte(digits) {
		if c < '0' || c > '9' {
			return Number{}, fmt.Errorf("ticket number %q: only decimal digits are possible", s)
		}
		n = n.times10(uint64(c - '0'))
	}
	return n, nil
}

// times10 returns 10n + digit. It cannot overflow for 38 digits: 10^38 < 2^127.
func (n Number) times10(digit uint64) Number {
	carry, low := bits.Mul64(n.low, 10)
	low, c := bits.Add64(low, digit, 0)
	return Number{high: n.high*10 + carry + c, low: low}
}

// Attribute returns the number as DynamoDB's type N.
func (n Number) Attribute() types.AttributeValue {
	return &types.AttributeValueMemberN{Value: n.String()}
}

// String prints the number in decimal.
func (n Number) String() string {
	if n.high == 0 {
		return strconv.FormatUint(n.low, 10)
	}
	high := new(big.Int).SetUint64(n.high)
	return high.Lsh(high, 64).Or(high, new(big.Int).SetUint64(n.low)).String()
}

// Padded prints the number in 38 digits, so that strings sort as numbers.
func (n Number) Padded() string {
	s := n.String()
	return strings.Repeat("0", Digits-len(s)) + s
}

// Short prints a number of more than nine digits by its last six, such as "…000042", for
// people who compare the tickets of one queue. It does not identify a ticket.
func (n Number) Short() string {
	s := n.String()
	if len(s) <= 9 {
		return s
	}
	return "…" + s[len(s)-6:]
}

// MarshalText prints the number in decimal, so it is a string in JSON.
func (n Number) MarshalText() ([]byte, error) { return []byte(n.String()), nil }

// UnmarshalText parses the number as Parse does.
func (n *Number) UnmarshalText(text []byte) error {
	parsed, err := Parse(string(text))
	if err == nil {
		*n = parsed
	}
	return err
}

// IsZero reports whether n is no ticket.
func (n Number) IsZero() bool { return n == Number{} }

// Compare returns -1 if n was issued before o, 0 if they are the same, and 1 if n was issued later.
func (n Number) Compare(o Number) int {
	return cmp.Or(cmp.Compare(n.high, o.high), cmp.Compare(n.low, o.low))
}

// Less reports whether n was issued before o.
func (n Number) Less(o Number) bool { return n.Compare(o) < 0 }

func (n Number) minus(o Number) (difference Number, borrow bool) {
	low, b := bits.Sub64(n.low, o.low, 0)
	high, b := bits.Sub64(n.high, o.high, b)
	return Number{high: high, low: low}, b != 0
}

// Next returns the number after n, or [ErrExhausted].
func (n Number) Next() (Number, error) {
	if n.Compare(Max) >= 0 {
		return Number{}, ErrExhausted
	}
	low, carry := bits.Add64(n.low, 1, 0)
	return Number{high: n.high + carry, low: low}, nil
}

// Plus returns the number k after n, at most [Max].
func (n Number) Plus(k uint64) Number {
	low, carry := bits.Add64(n.low, k, 0)
	if sum := (Number{high: n.high + carry, low: low}); sum.Less(Max) {
		return sum
	}
	return Max
}

// Minus returns the number k before n, at least zero.
func (n Number) Minus(k uint64) Number {
	d, borrow := n.minus(Number{low: k})
	if borrow {
		return Number{}
	}
	return d
}

// Previous returns the number before n, and zero for zero.
func (n Number) Previous() Number { return n.Minus(1) }

// After returns n - o, at least 0 and at most what fits.
func (n Number) After(o Number) uint64 {
	d, borrow := n.minus(o)
	switch {
	case borrow:
		return 0
	case d.high != 0:
		return math.MaxUint64
	}
	return d.low
}

// Scope says which counter issues the tickets of a queue. A queue keeps the scope of its first use for life. In the
// wider scopes a counter beside the queues issues the ticket, so the tickets of one queue have gaps. A counter that was
// lost is raised above the tickets of its queues.
type Scope int

const (
	// ScopeQueue is a counter for each queue, in its serving record. It is the default.
	ScopeQueue Scope = iota
	// ScopeEntity is a counter for each entity: one ticket for several reasons to lock
	// it. Its item has the entity as partition key and the sort key "ticket-master".
	ScopeEntity
	// ScopeTable is one counter for the table: one ticket for queues of several entities.
	// Its item has the partition key "ticket-master" and the sort key "current". It takes
	// a write for each Acquire of all clients; DynamoDB allows about 1,000 a second.
	ScopeTable
)

func (s Scope) String() string {
	switch s {
	case ScopeQueue:
		return "ScopeQueue"
	case ScopeEntity:
		return "ScopeEntity"
	case ScopeTable:
		return "ScopeTable"
	}
	return fmt.Sprintf("Scope(%d)", int(s))
}
