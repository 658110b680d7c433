package serving

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/ticket"
)

// UpdateAndRelease is RELEASE, in that form, and the user's own update of the
// item that carries the record, in one write: on the form's condition and the
// user's. users must have an update, and may have a condition.
//
// On success it returns the record. Refused, ErrRefused and the record: if the
// holder is in it, the form was not possible (Fast), or the user's condition was
// false. One request; the SDK client's own retries are off. Of any number of
// calls one is applied at most.
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

// Fast reports whether the fast form of RELEASE is possible to the holder id,
// served with ticket t.
func (r Record) Fast(id string, t ticket.Number) bool {
	_, mine := r.Held(id, t)
	return mine && len(r.Holders) == 1 && r.Quiet(t)
}
