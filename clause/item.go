package clause

import (
	"fmt"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// String returns a string of DynamoDB.
func String(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

// Map returns a map of DynamoDB.
func Map(m Item) types.AttributeValue { return &types.AttributeValueMemberM{Value: m} }

// Int returns a number of DynamoDB.
func Int(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}

// SetTime writes milliseconds since the epoch, unless t is zero.
func SetTime(item Item, attribute string, t time.Time) {
	if !t.IsZero() {
		item[attribute] = Int(t.UnixMilli())
	}
}

// Reader reads attributes of an item that any program may have written. It keeps the first problem in Err, and returns
// zero for what it cannot read. What the methods named Optional read may be absent.
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

// Has reports whether there is the attribute.
func (r *Reader) Has(attribute string) bool {
	_, ok := r.Item[attribute]
	return ok
}

// read reads an attribute of type *T.
func read[T any](r *Reader, attribute, need string) (value T) {
	v := r.Item[attribute]
	if typed, ok := any(v).(*T); ok && typed != nil {
		return *typed
	}
	if v == nil {
		r.Fail(attribute, "is missing, %s is needed", need)
	}
	r.Fail(attribute, "is %s, %s is needed", TypeName(v), need)
	return value
}

// Number reads a number in the form in which DynamoDB sent it.
func (r *Reader) Number(attribute string) string {
	return read[types.AttributeValueMemberN](r, attribute, "a number").Value
}

// Text reads a string.
func (r *Reader) Text(attribute string) string {
	return read[types.AttributeValueMemberS](r, attribute, "a string").Value
}

// Map reads a map.
func (r *Reader) Map(attribute string) Item {
	return read[types.AttributeValueMemberM](r, attribute, "a map").Value
}

// OptionalText reads a string, "" if it is absent.
func (r *Reader) OptionalText(attribute string) string {
	if !r.Has(attribute) {
		return ""
	}
	return r.Text(attribute)
}

// OptionalBool reads a boolean, false if it is absent.
func (r *Reader) OptionalBool(attribute string) bool {
	return r.Has(attribute) && read[types.AttributeValueMemberBOOL](r, attribute, "a boolean").Value
}

// OptionalInt reads a whole number, and reports whether there is one.
func (r *Reader) OptionalInt(attribute string) (int64, bool) {
	if !r.Has(attribute) {
		return 0, false
	}
	return r.Int(attribute), true
}

// OptionalTime reads what SetTime has written.
func (r *Reader) OptionalTime(attribute string) time.Time {
	ms, ok := r.OptionalInt(attribute)
	if !ok || ms == 0 && r.Err != nil {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}

// OptionalTimes reads a set of what SetTime writes. Nothing depends on it: what is no such number is left out.
func (r *Reader) OptionalTimes(attribute string) (times []time.Time) {
	set, _ := r.Item[attribute].(*types.AttributeValueMemberNS)
	if set == nil {
		return nil
	}
	for _, s := range set.Value {
		if n, ok := Whole(s); ok && n.IsInt64() {
			times = append(times, time.UnixMilli(n.Int64()))
		}
	}
	return times
}

// Times returns a set that OptionalTimes reads. DynamoDB stores no empty set.
func Times(times ...time.Time) types.AttributeValue {
	set := &types.AttributeValueMemberNS{}
	for _, t := range times {
		set.Value = append(set.Value, strconv.FormatInt(t.UnixMilli(), 10))
	}
	return set
}

// Int reads a whole number of 64 bits.
func (r *Reader) Int(attribute string) int64 {
	s := r.Number(attribute)
	if s == "" {
		return 0
	}
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return n // as engines mostly print one
	}
	if n, ok := Whole(s); ok && n.IsInt64() {
		return n.Int64()
	}
	r.Fail(attribute, "is %.64s, a whole number of 64 bits is needed", s)
	return 0
}
