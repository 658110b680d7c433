package queue

import (
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/clause"
	"github.com/queuelock/queuelock/internal/attr"
	"github.com/queuelock/queuelock/ticket"
)

// malformedLease is how long other waiters wait for a row whose lease is malformed.
const malformedLease = time.Minute

// MaxBell is the longest bell of a row or an entry, in bytes.
const MaxBell = 128

// expiryGrace is the time from the end of a row's lease to its expiresAt. The table's TTL must not remove a live row.
// If DynamoDB's clock is not known, the host's clock is used, and a live row that is removed is put again.
const expiryGrace = time.Hour

// KeyAsRead returns the key of the row that was read, which another program may have written.
func (w Waiter) KeyAsRead(q Items) clause.Item { return q.Key(text(w.raw, q.SK)) }

// LeaseID returns the name of the row's lease for an Observer.
func (w Waiter) LeaseID(q Items) string {
	return q.Entity + "/" + text(w.raw, q.SK) + "/" + w.ID
}

// key returns the key of the row.
func (w Waiter) key(q Items) clause.Item { return q.Key(q.SortKey(w.Ticket)) }

// Item returns the row.
func (w Waiter) Item(q Items) clause.Item {
	item := w.key(q)
	item[attr.ID] = clause.String(w.ID)
	item[attr.Owner] = clause.String(w.Owner)
	item[attr.Mode] = clause.String(Mode{Shared: w.Shared}.String())
	item[attr.CreatedAt] = clause.Int(w.CreatedAt.UnixMilli())
	w.Lease.Fill(item)
	if w.EntryID != "" && !w.Lease.Until.IsZero() {
		item[attr.EntryID] = clause.String(w.EntryID)
	}
	fillTurns(item, w.Turns)
	if w.Bell != "" {
		item[attr.Bell] = clause.String(w.Bell)
	}
	if w.Group != "" {
		item[attr.Group] = clause.String(w.Group)
	}
	clause.SetTime(item, attr.Kept, w.KeptSince)
	if w.MaxWaiters > 0 {
		item[attr.MaxWaiters] = clause.Int(int64(w.MaxWaiters))
	}
	item[q.TTL] = w.expiresAt(w.Lease.Until, w.CreatedAt)
	return item
}

// expiresAt returns the table's TTL attribute: epoch seconds, an hour after the end of the lease.
func (w Waiter) expiresAt(until, now time.Time) types.AttributeValue {
	if until.IsZero() {
		until = now.Add(w.Lease.TTL)
	}
	return clause.Int(until.Add(expiryGrace).Unix())
}

// DecodeRow reads a row. It never fails: a malformed row has a Problem.
func DecodeRow(q Items, item clause.Item) Waiter {
	row := Waiter{raw: item}
	padded, inQueue := q.padded(item)
	t, err := ticket.Parse(padded)
	r := &clause.Reader{What: fmt.Sprintf("queue row %s of %q", t, q), Item: item}
	if !inQueue || err != nil {
		r.What = fmt.Sprintf("queue row of %q", q)
		sk := q.SK
		r.Fail(sk, "is %q, the reason, a slash and %d digits are needed", text(item, sk), ticket.Digits)
	} else {
		row.Ticket = t
		row.ID = r.Text(attr.ID)
		row.Owner = r.OptionalText(attr.Owner)
		row.Shared = r.OptionalText(attr.Mode) == attr.Shared
		row.CreatedAt = r.OptionalTime(attr.CreatedAt)
		row.Lease = ReadLease(r)
		row.EntryID = r.OptionalText(attr.EntryID)
		row.Turns = readTurns(item)
		if bell := text(item, attr.Bell); len(bell) <= MaxBell {
			row.Bell = bell
		}
		row.Group = r.OptionalText(attr.Group)
		display := clause.Reader{Item: item}
		if limit, ok := display.OptionalInt(attr.MaxWaiters); ok && limit <= MaxWaiters {
			row.MaxWaiters = int(max(0, limit))
		}
		display = clause.Reader{Item: item}
		row.KeptSince = display.OptionalTime(attr.Kept)
	}
	if r.Err != nil {
		row.Problem, row.Lease = r.Err, Lease{TTL: malformedLease}
	}
	return row
}
