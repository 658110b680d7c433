package rows

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/internal/clause"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/queue"
)

// ErrTaken reports that another row has that ticket. A counter issues each number
// once, so the row was left by an earlier record or written by another program. It is
// not touched: take a new ticket.
var ErrTaken = errors.New("another row has that ticket")

// ErrGone reports that the row was swept, or is not the caller's.
var ErrGone = errors.New("the queue row is gone")

var (
	attrID    = clause.At(queue.AttrID)
	attrBeat  = clause.At(queue.AttrBeat)
	attrUntil = clause.At(queue.AttrUntil)
)

func hasID(id string) clause.Cond { return attrID.Equal(clause.V(clause.String(id))) }

// The conditional writes of rows.

// enqueue puts a row if there is none for its ticket, or one whose id has the prefix from. earlier are the ids of attempts
// that had no answer.
func enqueue(item clause.Item, from string, earlier ...string) clause.Write {
	ids := []clause.Operand{clause.V(item[queue.AttrID])}
	for _, id := range earlier {
		if id != "" {
			ids = append(ids, clause.V(clause.String(id)))
		}
	}
	w := clause.Write{
		Name: "ENQUEUE", Kind: clause.Put, If: []clause.Cond{clause.Key.Absent().As("no row")}, Item: item,
		Made: []clause.Cond{attrID.OneOf(ids...)}, Else: clause.Lost,
	}
	if from != "" {
		w.Name = "RESUME of a row"
		w.If = []clause.Cond{clause.Any(clause.Key.Absent(), attrID.BeginsWith(clause.V(clause.String(from+"-")))).As("no row of another")}
	}
	return w
}

// renew renews the lease of a row. The last condition refuses a late one (see package serving).
func (r Row) renew(until time.Time, expires types.AttributeValue) clause.Write {
	w := clause.Write{
		Name: "HEARTBEAT of a row",
		If:   []clause.Cond{hasID(r.ID).As("its id")},
		Do:   []clause.Change{attrBeat.Set(attrBeat.Was().Plus(clause.Int(1))), clause.Expires.Set(clause.V(expires))},
		Made: []clause.Cond{hasID(r.ID)}, Else: clause.Lost,
	}
	if !until.IsZero() {
		end := clause.V(clause.Int(until.UnixMilli()))
		w.If = append(w.If, clause.Any(attrUntil.Absent(), attrUntil.AtMost(end)).As("not late"))
		w.Do = append(w.Do, attrUntil.Set(end))
	}
	return w
}

// leave deletes a row that has one of the ids.
func leave(ids []string) clause.Write {
	var conds []clause.Cond
	for _, id := range ids {
		conds = append(conds, hasID(id))
	}
	return clause.Write{Name: "CLEAN UP of a row", Kind: clause.Delete, If: []clause.Cond{clause.Any(conds...).As("its id")}}
}

// sweep deletes another owner's row as it was read. A row without beat and id would be found unchanged when it is missing.
func (r Row) sweep() clause.Write {
	return clause.Write{Name: "SWEEP", Kind: clause.Delete, If: []clause.Cond{
		clause.Key.Exists().As("there"), as(r.raw, queue.AttrBeat).As("beat as read"), as(r.raw, queue.AttrID).As("id as read"),
	}}
}

// as asks that an attribute is as in the item, also if it is missing. Rows of other programs are swept with the same care.
func as(item clause.Item, attribute string) clause.Cond {
	if v, ok := item[attribute]; ok {
		return clause.At(attribute).Equal(clause.V(v))
	}
	return clause.At(attribute).Absent()
}

func express(q table.Queue, w clause.Write) table.Expressions { return q.Express(w, q.RowNames()) }

// Enqueue puts the row if there is none for its ticket. It returns the id of the
// caller's row that is there: row.ID, or one of earlier, the ids of attempts whose
// answers were lost. Returns ErrTaken if another owner's row is there.
func Enqueue(ctx context.Context, q table.Queue, row Row, earlier ...string) (id string, err error) {
	return put(ctx, q, row, "", earlier)
}

// Resume replaces the row whose id has the prefix from, or puts the row if there is none
// for its ticket. Its id must be new. earlier and the result are as for Enqueue. If several
// clients resume one place, one succeeds, and the earlier owner gets ErrGone.
func Resume(ctx context.Context, q table.Queue, row Row, from string, earlier ...string) (id string, err error) {
	return put(ctx, q, row, from, earlier)
}

func put(ctx context.Context, q table.Queue, row Row, from string, earlier []string) (id string, err error) {
	w := enqueue(row.item(q), from, earlier...)
	err = q.Put(ctx, w.Item, express(q, w))
	refused, ok := errors.AsType[*table.Refused](err)
	switch {
	case !ok:
		return row.ID, err
	case refused.Means == clause.Made:
		return text(refused.Item, queue.AttrID), nil
	}
	return "", fmt.Errorf("%w: ticket %s of %q", ErrTaken, row.Ticket, q)
}

// Heartbeat renews the lease of a waiting row to until, on DynamoDB's clock. Zero
// leaves until as it is. It refuses a late heartbeat (see package serving):
//
//	SET beat = beat + 1, until = :until, expiresAt = …
//	if id = :id AND (attribute_not_exists(until) OR until <= :until)
//
// Returns ErrGone if the row was swept.
func Heartbeat(ctx context.Context, q table.Queue, row Row, until time.Time) error {
	err := q.Apply(ctx, row.key(q), express(q, row.renew(until, row.expiresAt(until, time.Now()))))
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
func Leave(ctx context.Context, q table.Queue, row Row, earlier ...string) error {
	ids := []string{row.ID}
	for _, id := range earlier[max(0, len(earlier)-40):] {
		if id != row.ID {
			ids = append(ids, id)
		}
	}
	_, err := remove(ctx, q, row.key(q), leave(ids))
	return err
}

// Sweep deletes another owner's row if its beat is as it was read, and reports whether
// it did. False means that the owner renewed it, or that another client swept it.
func Sweep(ctx context.Context, q table.Queue, row Row) (bool, error) {
	return remove(ctx, q, q.Key(text(row.raw, q.SK)), row.sweep())
}

func remove(ctx context.Context, q table.Queue, key clause.Item, w clause.Write) (bool, error) {
	err := q.Delete(ctx, key, express(q, w))
	if _, refused := errors.AsType[*table.Refused](err); refused {
		return false, nil
	}
	return err == nil, err
}
