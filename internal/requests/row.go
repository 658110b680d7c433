package requests

import (
	"context"
	"errors"

	"github.com/queuelock/queuelock/clause"
	"github.com/queuelock/queuelock/internal/attr"
	"github.com/queuelock/queuelock/internal/machine"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
)

// SendRow sends a write of the row of a ticket, once. id is that of the row which refused it as made before. The error
// says why the reply is not known.
func SendRow(
	ctx context.Context, q table.Queue, t ticket.Number, w clause.Write,
) (reply machine.Reply, id string, err error) {
	return sendRow(ctx, q, q.Key(q.SortKey(t)), w)
}

func sendRow(
	ctx context.Context, q table.Queue, key clause.Item, w clause.Write,
) (reply machine.Reply, id string, err error) {
	e := q.Express(w, q.RowNames())
	switch w.Kind {
	case clause.Put:
		err = q.Put(ctx, w.Item, e)
	case clause.Delete:
		err = q.Delete(ctx, key, e)
	default:
		_, err = q.Update(ctx, key, e, true)
	}
	refused, ok := errors.AsType[*table.Refused](err)
	switch {
	case err == nil:
		return machine.ReplyApplied, "", nil
	case !ok:
		return machine.ReplyUnknown, "", err
	case refused.Means == clause.Made:
		r := clause.Reader{Item: refused.Item}
		return machine.ReplyMade, r.Text(attr.ID), nil
	case refused.Means == clause.Lost:
		return machine.ReplyRefusedForGood, "", nil
	}
	return machine.ReplyRefused, "", nil
}

// GetRow reads the row of a ticket consistently. It is nil if there is none.
func GetRow(ctx context.Context, q table.Queue, t ticket.Number) (*queue.Waiter, error) {
	item, err := q.Get(ctx, q.Key(q.SortKey(t)))
	if err != nil || item == nil {
		return nil, err
	}
	row := queue.DecodeRow(q.Items, item)
	return &row, nil
}
