package table

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
)

// Item is an item, or a map in one, in the SDK's form.
type Item = map[string]types.AttributeValue

// String returns a DynamoDB string.
func String(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

// Int returns a DynamoDB number.
func Int(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}

// Map returns a DynamoDB map.
func Map(m Item) types.AttributeValue { return &types.AttributeValueMemberM{Value: m} }

// MalformedError reports that an item was not written by this library.
type MalformedError = queue.MalformedError

// Reader reads attributes of an item that any program may have written. It keeps the
// first problem in Err.
type Reader struct {
	What string // names the item in errors
	Item Item
	Path string // prefix of attribute names in errors
	Err  error
}

// Fail records a problem with an attribute, unless there is one already.
func (r *Reader) Fail(attribute, format string, args ...any) {
	if r.Err == nil {
		r.Err = &MalformedError{Item: r.What, Attribute: r.Path + attribute, Problem: fmt.Sprintf(format, args...)}
	}
}

// Has reports whether the attribute is present.
func (r *Reader) Has(attribute string) bool { _, ok := r.Item[attribute]; return ok }

// Number reads a number in the form in which DynamoDB sent it.
func (r *Reader) Number(attribute string) string {
	if v := member[*types.AttributeValueMemberN](r, attribute, "a number"); v != nil {
		return v.Value
	}
	return ""
}

// member reads an attribute of one type. It is nil if it has another.
func member[T types.AttributeValue](r *Reader, attribute, need string) (none T) {
	switch v := r.Item[attribute].(type) {
	case T:
		return v
	case nil:
		r.Fail(attribute, "is missing, %s is needed", need)
	default:
		r.Fail(attribute, "is %s, %s is needed", TypeName(v), need)
	}
	return none
}

// Int reads a whole number of 64 bits.
func (r *Reader) Int(attribute string) int64 {
	s := r.Number(attribute)
	if s == "" {
		return 0
	}
	if n, ok := Whole(s); ok && n.IsInt64() {
		return n.Int64()
	}
	r.Fail(attribute, "is %s, a whole number of 64 bits is needed", clip(s))
	return 0
}

// Ticket reads a ticket number in any form in which an engine prints one.
func (r *Reader) Ticket(attribute string) ticket.Number {
	s := r.Number(attribute)
	n, err := ticket.Parse(s)
	if err != nil {
		if whole, ok := Whole(s); ok {
			n, err = ticket.Parse(whole.String())
		}
	}
	if err != nil {
		r.Fail(attribute, "is %.64s, a whole number from 0 to 10^38-1 is needed", s)
	}
	if r.Err != nil {
		return ticket.Number{}
	}
	return n
}

// Whole parses a whole number in any form in which an engine prints one: 1000, 1E+3,
// 10.00e2. A number of more than 126 digits, which DynamoDB does not store, is refused.
func Whole(s string) (*big.Int, bool) {
	n, ok := Rational(s, 126)
	if !ok || !n.IsInt() {
		return nil, false
	}
	return n.Num(), true
}

// Rational parses a decimal number in any form. Above the limit, its length or exponent
// could cost much memory, and it is refused.
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

// OptionalInt reads a whole number that may be absent.
func (r *Reader) OptionalInt(attribute string) (int64, bool) {
	if !r.Has(attribute) {
		return 0, false
	}
	return r.Int(attribute), true
}

// OptionalTime reads milliseconds since the epoch. It is zero if they are absent.
func (r *Reader) OptionalTime(attribute string) time.Time {
	ms, ok := r.OptionalInt(attribute)
	if !ok || ms == 0 && r.Err != nil {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}

// SetTime writes what OptionalTime reads.
func SetTime(item Item, attribute string, t time.Time) {
	if !t.IsZero() {
		item[attribute] = Int(t.UnixMilli())
	}
}

// Text reads a string.
func (r *Reader) Text(attribute string) string {
	if v := member[*types.AttributeValueMemberS](r, attribute, "a string"); v != nil {
		return v.Value
	}
	return ""
}

// OptionalText reads a string that may be absent.
func (r *Reader) OptionalText(attribute string) string {
	if !r.Has(attribute) {
		return ""
	}
	return r.Text(attribute)
}

// OptionalBool reads a boolean. It is false if it is absent.
func (r *Reader) OptionalBool(attribute string) bool {
	if !r.Has(attribute) {
		return false
	}
	v := member[*types.AttributeValueMemberBOOL](r, attribute, "a boolean")
	return v != nil && v.Value
}

// Map reads a map.
func (r *Reader) Map(attribute string) Item {
	if v := member[*types.AttributeValueMemberM](r, attribute, "a map"); v != nil {
		return v.Value
	}
	return nil
}

// TypeName returns the name of an attribute's type with its article: "a string".
func TypeName(v types.AttributeValue) string {
	switch v.(type) {
	case *types.AttributeValueMemberS:
		return "a string"
	case *types.AttributeValueMemberN:
		return "a number"
	case *types.AttributeValueMemberB:
		return "binary"
	case *types.AttributeValueMemberBOOL:
		return "a boolean"
	case *types.AttributeValueMemberNULL:
		return "null"
	case *types.AttributeValueMemberM:
		return "a map"
	case *types.AttributeValueMemberL:
		return "a list"
	case *types.AttributeValueMemberSS, *types.AttributeValueMemberNS, *types.AttributeValueMemberBS:
		return "a set"
	}
	return "of an unknown type"
}

// KeyType returns the type of a key's value in a table's schema, or "" if a key cannot
// have it.
func KeyType(v types.AttributeValue) string {
	return map[string]string{"a string": "S", "a number": "N", "binary": "B"}[TypeName(v)]
}

// clip shortens a hostile value for errors and logs.
func clip(s string) string {
	if len(s) > 64 {
		return s[:64] + "…"
	}
	return s
}
