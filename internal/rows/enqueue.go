package rows

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/internal/lease"
	"github.com/queuelock/queuelock/internal/table"
)

// ErrTaken reports that another row has that ticket. A counter issues each number
// once, so the row was left by an earlier record or written by another program. It is
// not touched: take a new ticket.
var ErrTaken = errors.New("another row has that ticket")

// ErrGone reports that the row was swept, or is not the caller's.
var ErrGone = errors.New("the queue row is gone")

var attrID = expression.Name(table.AttrID)

// Enqueue puts the row if there is none for its ticket. It returns the id of the
// caller's row that is there: row.ID, or one of earlier, the ids of attempts whose
// answers were lost. Returns ErrTaken if another owner's row is there.
func Enqueue(ctx context.Context, q table.Queue, row Row, earlier ...string) (id string, err error) {
	return put(ctx, q, row, expression.AttributeNotExists(expression.NameNoDotSplit(q.Layout().PK)), earlier)
}

func put(ctx context.Context, q table.Queue, row Row, condition expression.ConditionBuilder, earlier []string) (id string, err error) {
	err = q.Put(ctx, row.item(q), condition)
	refused, ok := errors.AsType[*table.Refused](err)
	if !ok {
		return row.ID, err
	}
	item, err := refused.Read(ctx)
	if err != nil {
		return "", err
	}
	if there := idOf(item); there != "" && (there == row.ID || slices.Contains(earlier, there)) {
		return there, nil
	}
	return "", fmt.Errorf("%w: ticket %s of %q", ErrTaken, row.Ticket, q)
}

// Resume replaces the row whose id has the prefix from, or puts the row if there is none
// for its ticket. Its id must be new. earlier and the result are as for Enqueue. If several
// clients resume one place, one succeeds, and the earlier owner gets ErrGone.
func Resume(ctx context.Context, q table.Queue, row Row, from string, earlier ...string) (id string, err error) {
	return put(ctx, q, row, expression.AttributeNotExists(expression.NameNoDotSplit(q.Layout().PK)).
		Or(attrID.BeginsWith(from+"-")), earlier)
}

// Heartbeat renews the lease of a waiting row to until, on DynamoDB's clock. Zero
// leaves until as it is. It refuses a late heartbeat (see package serving):
//
//	SET beat = beat + 1, until = :until, expiresAt = …
//	if id = :id AND (attribute_not_exists(until) OR until <= :until)
//
// Returns ErrGone if the row was swept.
func Heartbeat(ctx context.Context, q table.Queue, row Row, until time.Time) error {
	beat, end := expression.Name(table.AttrBeat), expression.Name(table.AttrUntil)
	condition := hasID(row.ID)
	update := expression.
		Set(beat, beat.Plus(expression.Value(table.Int(1)))).
		Set(expression.NameNoDotSplit(q.Layout().TTL), expression.Value(expiresAt(lease.Lease{TTL: row.Lease.TTL, Until: until}, time.Now())))
	if !until.IsZero() {
		value := expression.Value(table.Int(until.UnixMilli()))
		update = update.Set(end, value)
		condition = condition.And(end.AttributeNotExists().Or(end.LessThanEqual(value)))
	}
	key := q.Key(q.SortKey(row.Ticket.Padded()))
	_, err := q.Update(ctx, key, update, condition)
	refused, ok := errors.AsType[*table.Refused](err)
	if !ok {
		return err
	}
	item, err := refused.Read(ctx)
	if err != nil {
		return err
	}
	if idOf(item) == row.ID {
		return nil // a later heartbeat was applied first
	}
	return ErrGone
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
	err := q.Delete(ctx, q.Key(q.SortKey(row.Ticket.Padded())), condition)
	if _, ok := errors.AsType[*table.Refused](err); ok {
		return nil
	}
	return err
}

// Sweep deletes another owner's row if its beat is as it was read, and reports whether
// it did. False means that the owner renewed it, or that another client swept it.
func Sweep(ctx context.Context, q table.Queue, row Row) (bool, error) {
	// A row without beat and id would be found unchanged when it is missing.
	unchanged := expression.AttributeExists(expression.NameNoDotSplit(q.Layout().PK)).
		And(as(row.raw, table.AttrBeat)).And(as(row.raw, table.AttrID))
	err := q.Delete(ctx, q.Key(sortKey(q, row.raw)), unchanged)
	if _, ok := errors.AsType[*table.Refused](err); ok {
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

func hasID(id string) expression.ConditionBuilder {
	return attrID.Equal(expression.Value(table.String(id)))
}

func idOf(item table.Item) string {
	id, _ := item[table.AttrID].(*types.AttributeValueMemberS)
	if id == nil {
		return ""
	}
	return id.Value
}

// expiresAt returns the table's TTL attribute: epoch seconds, later than the end of the
// lease on any client's clock.
func expiresAt(l lease.Lease, now time.Time) types.AttributeValue {
	end := l.Until
	if end.IsZero() {
		end = now.Add(l.TTL)
	}
	return table.Int(end.Add(expiryGrace).Unix())
}
