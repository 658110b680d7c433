package serving

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/ticket"
)

// UpdateAndRelease applies a form of RELEASE and the user's own update of the item that
// carries the record in one write, on both conditions. users has an update, and may
// have a condition.
//
// If it is refused and the holder is in the record, the form was not possible (Fast)
// or the user's condition was false. At most one of any number of calls is applied.
func UpdateAndRelease(ctx context.Context, q table.Queue, f Form, e Ending, users expression.Expression) (Record, error) {
	update, condition := f.of(q, e)
	own, err := expression.NewBuilder().WithUpdate(update).WithCondition(condition).Build()
	if err != nil {
		return Record{}, err
	}
	w, err := table.Join(own, users)
	if err != nil {
		return Record{}, err
	}
	item, err := q.Record().Write(ctx, q.RecordKey(), w, table.Once())
	return written(ctx, q, item, err)
}

// Fast reports whether the fast form of RELEASE is possible for the holder id with
// ticket t.
func (r Record) Fast(id string, t ticket.Number) bool {
	_, mine := r.Held(id, t)
	return mine && len(r.Holders) == 1 && r.noneOutstanding(t)
}
