package rows

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/queuelock/queuelock/internal/clause"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
)

// ErrTaken reports that another row has that ticket. A counter issues each number
// once, so the row was left by an earlier record or written by another program. It is
// not touched: take a new ticket.
var ErrTaken = errors.New("another row has that ticket")

// ErrGone reports that the row was swept, or is not the caller's.
var ErrGone = errors.New("the queue row is gone")

// Send sends a write of the row of a ticket, once. id is that of the row which refused it as made before. The error says why
// the reply is not known.
func Send(ctx context.Context, q table.Queue, t ticket.Number, w clause.Write) (reply queue.Reply, id string, err error) {
	key, e := q.Key(q.SortKey(t)), express(q, w)
	switch w.Kind {
	case clause.Put:
		err = q.Put(ctx, w.Item, e)
	case clause.Delete:
		err = q.Delete(ctx, key, e)
	default:
		err = q.Apply(ctx, key, e)
	}
	refused, ok := errors.AsType[*table.Refused](err)
	switch {
	case err == nil:
		return queue.ReplyApplied, "", nil
	case !ok:
		return queue.ReplyUnknown, "", err
	case refused.Means == clause.Made:
		r := clause.Reader{Item: refused.Item}
		return queue.ReplyMade, r.Text(queue.AttrID), nil
	case refused.Means == clause.Lost:
		return queue.ReplyLost, "", nil
	}
	return queue.ReplyRefused, "", nil
}

func express(q table.Queue, w clause.Write) table.Expressions { return q.Express(w, q.RowNames()) }

// Enqueue puts the row if there is none for its ticket. It returns the id of the
// caller's row that is there: row.ID, or one of earlier, the ids of attempts whose
// answers were lost. Returns ErrTaken if another owner's row is there.
func Enqueue(ctx context.Context, q table.Queue, row queue.Waiter, earlier ...string) (id string, err error) {
	return put(ctx, q, row, "", earlier)
}

// Resume replaces the row whose id has the prefix from, or puts the row if there is none
// for its ticket. Its id must be new. earlier and the result are as for Enqueue. If several
// clients resume one place, one succeeds, and the earlier owner gets ErrGone.
func Resume(ctx context.Context, q table.Queue, row queue.Waiter, from string, earlier ...string) (id string, err error) {
	return put(ctx, q, row, from, earlier)
}

func put(ctx context.Context, q table.Queue, row queue.Waiter, from string, earlier []string) (id string, err error) {
	w := queue.Enqueue(row.Item(q.Items), from, earlier...)
	err = q.Put(ctx, w.Item, express(q, w))
	refused, ok := errors.AsType[*table.Refused](err)
	switch {
	case !ok:
		return row.ID, err
	case refused.Means == clause.Made:
		r := clause.Reader{Item: refused.Item}
		return r.Text(queue.AttrID), nil
	}
	return "", fmt.Errorf("%w: ticket %s of %q", ErrTaken, row.Ticket, q)
}

// Heartbeat renews the lease of a waiting row to until, on DynamoDB's clock. Zero leaves until as
// it is. Returns ErrGone if the row was swept.
func Heartbeat(ctx context.Context, q table.Queue, row queue.Waiter, until time.Time) error {
	err := q.Apply(ctx, row.Key(q.Items), express(q, row.Renew(until, time.Now())))
	refused, ok := errors.AsType[*table.Refused](err)
	switch {
	case !ok:
		return err
	case refused.Means == clause.Made:
		return nil // a later heartbeat was applied first
	}
	return ErrGone
}

// Leave deletes the row if it is the caller's: row.ID, or one of earlier, of which the
// last forty count. A missing row is success. If it fails, the row's lease ends it.
func Leave(ctx context.Context, q table.Queue, row queue.Waiter, earlier ...string) error {
	ids := []string{row.ID}
	for _, id := range earlier[max(0, len(earlier)-40):] {
		if id != row.ID {
			ids = append(ids, id)
		}
	}
	_, err := remove(ctx, q, row.Key(q.Items), queue.Leave(ids...))
	return err
}

// Sweep deletes another owner's row if its beat is as it was read, and reports whether
// it did. False means that the owner renewed it, or that another client swept it.
func Sweep(ctx context.Context, q table.Queue, row queue.Waiter) (bool, error) {
	return remove(ctx, q, row.KeyAsRead(q.Items), row.Sweep())
}

func remove(ctx context.Context, q table.Queue, key clause.Item, w clause.Write) (bool, error) {
	err := q.Delete(ctx, key, express(q, w))
	if _, refused := errors.AsType[*table.Refused](err); refused {
		return false, nil
	}
	return err == nil, err
}
