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

// ErrTaken says that another row stands at that ticket. A counter issues each
// number once, so it is a leftover from before a record was deleted, or some
// other program's. It is not touched: take a new ticket.
var ErrTaken = errors.New("another row stands at that ticket")

// ErrGone says that the row is no longer there, or is no longer one's own: it
// was swept.
var ErrGone = errors.New("the queue row is gone")

var attrID = expression.Name(table.AttrID)

// Enqueue puts the row, if there is none at that ticket, and returns the id of
// the caller's row that stands there: row.ID, or one of earlier, the ids of
// attempts whose answers were lost. Finding an own row is success. One
// request; one more with an older engine if it is refused. ErrTaken if the row
// there is another's. Calling again, after an answer or the want of one, is
// safe.
func Enqueue(ctx context.Context, q table.Queue, row Row, earlier ...string) (id string, err error) {
	return put(ctx, q, row, expression.AttributeNotExists(expression.NameNoDotSplit(q.Layout().PK)), earlier)
}

func put(ctx context.Context, q table.Queue, row Row, condition expression.ConditionBuilder, earlier []string) (id string, err error) {
	err = q.Put(ctx, row.item(q), condition)
	refused, ok := errors.AsType[*table.Refused](err)
	if !ok {
		return row.ID, err
	}
	item := refused.Item
	if item == nil {
		if item, err = q.Get(ctx, q.Key(q.SortKey(row.Ticket.Padded()))); err != nil {
			return "", err
		}
	}
	if there := idOf(item); there != "" && (there == row.ID || slices.Contains(earlier, there)) {
		return there, nil
	}
	return "", fmt.Errorf("%w: ticket %s of %q", ErrTaken, row.Ticket, q)
}

// Resume puts the row into the place of one whose id begins with that of a process
// that has ended, or where there is none at that ticket. Its id must be new, and
// earlier ones are as for Enqueue, as is what it returns. So of several that
// resume one place, one does, and whoever kept the row before finds that it is
// gone. One request; one more with an older engine if it is refused. Calling
// again is safe.
func Resume(ctx context.Context, q table.Queue, row Row, from string, earlier ...string) (id string, err error) {
	return put(ctx, q, row, expression.AttributeNotExists(expression.NameNoDotSplit(q.Layout().PK)).
		Or(attrID.BeginsWith(from+"-")), earlier)
}

// Heartbeat renews the lease of a waiting row to until, on DynamoDB's clock;
// zero leaves it as it is. It asks for existence and identity in one, and
// refuses a heartbeat that arrives late (see that of package serving):
//
//	SET beat = beat + 1, until = :until, expiresAt = …
//	if id = :id AND (attribute_not_exists(until) OR until <= :until)
//
// ErrGone if the row was swept. One request; one more with an older engine if
// it is refused. Calling again is safe.
func Heartbeat(ctx context.Context, q table.Queue, row Row, until time.Time) error {
	beat, end := expression.Name(table.AttrBeat), expression.Name(table.AttrUntil)
	condition := own(row)
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
	item := refused.Item
	if item == nil {
		if item, err = q.Get(ctx, key); err != nil {
			return err
		}
	}
	if idOf(item) == row.ID {
		return nil // a later heartbeat was applied first
	}
	return ErrGone
}

// Leave deletes the row, if it is still the caller's own: row.ID, or one of
// earlier, of which the last forty count. A row that is gone is success. One
// request. Calling again is safe. If it fails, the row's own lease ends it.
func Leave(ctx context.Context, q table.Queue, row Row, earlier ...string) error {
	condition := own(row)
	for _, id := range earlier[max(0, len(earlier)-40):] {
		if id != row.ID {
			condition = condition.Or(attrID.Equal(expression.Value(table.String(id))))
		}
	}
	err := gone(q.Delete(ctx, q.Key(q.SortKey(row.Ticket.Padded())), condition))
	if errors.Is(err, ErrGone) {
		return nil
	}
	return err
}

// Sweep deletes somebody's row, if it is as it was read: its beat has not
// moved. It reports whether it did; false says that the owner renewed it in
// time, or that somebody else swept it. One request. Calling again is safe.
func Sweep(ctx context.Context, q table.Queue, row Row) (bool, error) {
	// A row without beat and id would be found unchanged when it is missing.
	unchanged := expression.AttributeExists(expression.NameNoDotSplit(q.Layout().PK)).
		And(as(row.raw, table.AttrBeat)).And(as(row.raw, table.AttrID))
	err := q.Delete(ctx, q.Key(sortKey(q, row.raw)), unchanged)
	if _, ok := errors.AsType[*table.Refused](err); ok {
		// Renewed, or swept by somebody else; the next look tells which.
		return false, nil
	}
	return err == nil, err
}

// as asks that an attribute is what the item says, also if that is nothing:
// rows that some other program wrote are swept with the same care.
func as(item table.Item, attribute string) expression.ConditionBuilder {
	name := expression.Name(attribute)
	if v, ok := item[attribute]; ok {
		return name.Equal(expression.Value(v))
	}
	return name.AttributeNotExists()
}

func own(row Row) expression.ConditionBuilder {
	return attrID.Equal(expression.Value(table.String(row.ID)))
}

func idOf(item table.Item) string {
	id, _ := item[table.AttrID].(*types.AttributeValueMemberS)
	if id == nil {
		return ""
	}
	return id.Value
}

func gone(err error) error {
	if _, ok := errors.AsType[*table.Refused](err); ok {
		return ErrGone
	}
	return err
}

// expiresAt is the table's TTL attribute: epoch seconds, well after the lease
// can have ended on anybody's clock.
func expiresAt(l lease.Lease, now time.Time) types.AttributeValue {
	end := l.Until
	if end.IsZero() {
		end = now.Add(l.TTL)
	}
	return table.Int(end.Add(expiryGrace).Unix())
}
