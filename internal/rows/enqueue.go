package rows

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/internal/table"
)

// ErrTaken reports that another row has that ticket. A counter issues each number
// once, so the row was left by an earlier record or written by another program. It is
// not touched: take a new ticket.
var ErrTaken = errors.New("another row has that ticket")

// ErrGone reports that the row was swept, or is not the caller's.
var ErrGone = errors.New("the queue row is gone")

var attrID = expression.Name(table.AttrID)

func hasID(id string) expression.ConditionBuilder {
	return attrID.Equal(expression.Value(table.String(id)))
}

func pk(q table.Queue) expression.NameBuilder { return expression.NameNoDotSplit(q.Layout().PK) }

// Enqueue puts the row if there is none for its ticket. It returns the id of the
// caller's row that is there: row.ID, or one of earlier, the ids of attempts whose
// answers were lost. Returns ErrTaken if another owner's row is there.
func Enqueue(ctx context.Context, q table.Queue, row Row, earlier ...string) (id string, err error) {
	return put(ctx, q, row, q.Fill(enqueueShape{q.Layout().PK}, table.Slots{}), earlier)
}

// enqueueShape is the shape of Enqueue, without slots.
type enqueueShape struct{ pk string }

// Build implements table.Shape.
func (e enqueueShape) Build(table.Slots) expression.Builder {
	return expression.NewBuilder().WithCondition(expression.NameNoDotSplit(e.pk).AttributeNotExists())
}

// Resume replaces the row whose id has the prefix from, or puts the row if there is none
// for its ticket. Its id must be new. earlier and the result are as for Enqueue. If several
// clients resume one place, one succeeds, and the earlier owner gets ErrGone.
func Resume(ctx context.Context, q table.Queue, row Row, from string, earlier ...string) (id string, err error) {
	condition := pk(q).AttributeNotExists().Or(attrID.BeginsWith(from + "-"))
	return put(ctx, q, row, table.Build(expression.NewBuilder().WithCondition(condition)), earlier)
}

func put(ctx context.Context, q table.Queue, row Row, e table.Expressions, earlier []string) (id string, err error) {
	for range 3 {
		err = q.Put(ctx, row.item(q), e)
		refused, ok := errors.AsType[*table.Refused](err)
		if !ok {
			return row.ID, err
		}
		item, err := refused.Read(ctx)
		if err != nil {
			return "", err
		}
		if there := text(item, table.AttrID); there != "" && (there == row.ID || slices.Contains(earlier, there)) {
			return there, nil
		}
		if len(item) > 0 {
			break
		}
		// An engine that shows no item with a refusal was asked for it too late: the row in the way has been swept since.
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
	slots := table.Slots{Values: []types.AttributeValue{
		table.String(row.ID), row.expiresAt(until, time.Now()), table.Int(until.UnixMilli()),
	}}
	err := q.Apply(ctx, row.key(q), q.Fill(heartbeatShape{q.Layout().TTL, !until.IsZero()}, slots))
	refused, ok := errors.AsType[*table.Refused](err)
	if !ok {
		return err
	}
	item, err := refused.Read(ctx)
	if err == nil && text(item, table.AttrID) != row.ID {
		return ErrGone
	}
	return err // nil: a later heartbeat was applied first
}

// heartbeatShape is the shape of Heartbeat. Its slots are the row's id, the time for the table's TTL, and until.
type heartbeatShape struct {
	ttl   string
	until bool
}

// Build implements table.Shape.
func (h heartbeatShape) Build(slots table.Slots) expression.Builder {
	beat, end := expression.Name(table.AttrBeat), expression.Name(table.AttrUntil)
	condition := attrID.Equal(slots.Value(0))
	update := expression.
		Set(beat, beat.Plus(expression.Value(table.Int(1)))).
		Set(expression.NameNoDotSplit(h.ttl), slots.Value(1))
	if h.until {
		update = update.Set(end, slots.Value(2))
		condition = condition.And(end.AttributeNotExists().Or(end.LessThanEqual(slots.Value(2))))
	}
	return expression.NewBuilder().WithUpdate(update).WithCondition(condition)
}

// Leave deletes the row if it is the caller's: row.ID, or one of earlier, of which the
// last forty count. A missing row is success. If it fails, the row's lease ends it.
func Leave(ctx context.Context, q table.Queue, row Row, earlier ...string) error {
	condition := hasID(row.ID)
	for _, id := range earlier[max(0, len(earlier)-40):] {
		if id != row.ID {
			condition = condition.Or(hasID(id))
		}
	}
	_, err := remove(ctx, q, row.key(q), condition)
	return err
}

// Sweep deletes another owner's row if its beat is as it was read, and reports whether
// it did. False means that the owner renewed it, or that another client swept it.
func Sweep(ctx context.Context, q table.Queue, row Row) (bool, error) {
	// A row without beat and id would be found unchanged when it is missing.
	unchanged := pk(q).AttributeExists().
		And(as(row.raw, table.AttrBeat)).And(as(row.raw, table.AttrID))
	return remove(ctx, q, q.Key(text(row.raw, q.Layout().SK)), unchanged)
}

func remove(ctx context.Context, q table.Queue, key table.Item, condition expression.ConditionBuilder) (bool, error) {
	err := q.Delete(ctx, key, table.Build(expression.NewBuilder().WithCondition(condition)))
	if _, refused := errors.AsType[*table.Refused](err); refused {
		return false, nil
	}
	return err == nil, err
}

// as returns the condition that an attribute is as in the item, also if it is missing.
// Rows of other programs are swept with the same care.
func as(item table.Item, attribute string) expression.ConditionBuilder {
	name := expression.Name(attribute)
	if v, ok := item[attribute]; ok {
		return name.Equal(expression.Value(v))
	}
	return name.AttributeNotExists()
}
