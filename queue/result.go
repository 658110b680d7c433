package queue

import (
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/clause"
	"github.com/queuelock/queuelock/internal/attr"
	"github.com/queuelock/queuelock/ticket"
)

// MaxResult is the most bytes of a [Result]: its size sets the price of each write of the record.
const MaxResult = 4096

// Result is what the holder of a lock has computed for all waiters: see package once. The write that releases the lock
// leaves it in the record. So each later holder sees it, and it is there only if the release was applied.
type Result struct {
	Ticket ticket.Number // of the holder; zero: there is no result
	Value  []byte        // at most MaxResult
	Until  time.Time     // of its use for callers that have not waited, on DynamoDB's clock; zero if unknown
	// Problem says what is wrong with a result that another program wrote. All else is zero then.
	Problem error
}

// Exists reports whether there is a result that can be read.
func (r Result) Exists() bool { return !r.Ticket.IsZero() }

// Fresh reports whether the result is not too old. latest is the latest time that it can be on DynamoDB's clock, or
// zero if that is not known.
func (r Result) Fresh(latest time.Time) bool {
	return r.Exists() && !latest.IsZero() && latest.Before(r.Until)
}

func (r Result) attribute() types.AttributeValue {
	item := clause.Item{attr.Ticket: r.Ticket.Attribute()}
	if len(r.Value) > 0 {
		item[attr.Value] = &types.AttributeValueMemberB{Value: r.Value}
	}
	clause.SetTime(item, attr.Until, r.Until)
	return clause.Map(item)
}

// decodeResult reads the result of a record. No turn depends on it, so a malformed one is its own problem.
func decodeResult(what, path string, item clause.Item) (r Result) {
	value, present := item[path]
	if !present {
		return r
	}
	whole := &clause.Reader{What: what, Item: clause.Item{path: value}}
	in := &clause.Reader{What: what, Item: whole.Map(path), Path: path + "."}
	if whole.Err != nil {
		return Result{Problem: whole.Err}
	}
	r.Ticket, r.Until = ticket.Read(in, attr.Ticket), in.OptionalTime(attr.Until)
	switch v := in.Item[attr.Value].(type) {
	case nil:
	case *types.AttributeValueMemberB:
		r.Value = v.Value
	default:
		in.Fail(attr.Value, "is %s, and not binary", clause.TypeName(v))
	}
	switch {
	case in.Err != nil:
	case !r.Exists():
		in.Fail(attr.Ticket, "is 0")
	case len(r.Value) > MaxResult:
		in.Fail(attr.Value, "has %d bytes, at most %d are possible", len(r.Value), MaxResult)
	}
	if in.Err != nil {
		return Result{Problem: in.Err}
	}
	return r
}
