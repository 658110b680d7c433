package rows

import (
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/internal/clause"
	"github.com/queuelock/queuelock/internal/dbclock"
	"github.com/queuelock/queuelock/internal/serving"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
)

// malformedLease is how long other waiters wait for a row whose lease is malformed.
const malformedLease = time.Minute

// expiryGrace is the time from the end of a row's lease to its expiresAt. The table's TTL
// must not remove a live row. If DynamoDB's clock is not known, the host's clock is
// used, and a live row that is removed is put again.
const expiryGrace = time.Hour

// Row is one waiter's row.
type Row struct {
	Ticket    ticket.Number
	ID        string
	Owner     string
	Mode      string    // a serving.Mode, as text
	CreatedAt time.Time // on DynamoDB's clock, or the owner's host's if unknown
	Lease     queue.Lease
	// EntryID is the id of the entry by which the holder before may grant the lock to the waiter; empty if it may not.
	EntryID string

	// Problem is set if the row is malformed. Only Ticket is then valid.
	Problem error

	raw clause.Item
}

// Shared reports whether its owner waits for a shared lock.
func (r Row) Shared() bool { return r.Mode == serving.ModeShared }

// Named returns the grant by which the holder with the ticket before hands over to the row's waiter: its entry has the
// lease of the row as it was read, and ends with it. ok is false unless half of that lease is left: the waiter needs
// some of it to see the entry. It is also false for a row that this library does not write, such as one with the id of
// the holder's entry.
func (r Row) Named(holder string, clock *dbclock.Clock, now time.Time) (next serving.Next, ok bool) {
	_, latest, known := clock.At(now)
	if r.EntryID == "" || r.Problem != nil || !known || r.Lease.Until.Sub(latest) < r.Lease.TTL/2 {
		return serving.Next{}, false
	}
	if r.EntryID == holder || len(r.EntryID) > serving.MaxID || len(r.Owner) > serving.MaxOwner || r.Shared() {
		return serving.Next{}, false
	}
	return serving.Next{Ticket: r.Ticket, Entry: serving.Entry{
		ID: r.EntryID, Owner: r.Owner, Since: clock.Middle(now), Named: true,
		Lease: queue.Lease{TTL: r.Lease.TTL, Until: r.Lease.Until},
	}}, true
}

// Same reports whether two reads of one queue showed the same row.
func (r Row) Same(o Row) bool { return r.Ticket == o.Ticket && r.ID == o.ID }

// LeaseID returns the name of the row's lease for an Observer.
func (r Row) LeaseID(q table.Queue) string {
	return q.Entity + "/" + text(r.raw, q.SK) + "/" + r.ID
}

func (r Row) key(q table.Queue) clause.Item { return q.Key(q.SortKey(r.Ticket)) }

func (r Row) item(q table.Queue) clause.Item {
	item := r.key(q)
	item[queue.AttrID] = clause.String(r.ID)
	item[queue.AttrOwner] = clause.String(r.Owner)
	item[queue.AttrMode] = clause.String(r.Mode)
	item[queue.AttrCreatedAt] = clause.Int(r.CreatedAt.UnixMilli())
	r.Lease.Fill(item)
	if r.EntryID != "" && !r.Lease.Until.IsZero() {
		item[queue.AttrEntryID] = clause.String(r.EntryID)
	}
	item[q.TTL] = r.expiresAt(r.Lease.Until, r.CreatedAt)
	return item
}

// expiresAt returns the table's TTL attribute: epoch seconds, later than the end of the
// lease on any client's clock.
func (r Row) expiresAt(until, now time.Time) types.AttributeValue {
	if until.IsZero() {
		until = now.Add(r.Lease.TTL)
	}
	return clause.Int(until.Add(expiryGrace).Unix())
}

// decode reads a row. It never fails: a malformed row has a Problem.
func decode(q table.Queue, item clause.Item) Row {
	row := Row{raw: item}
	padded, inQueue := q.Padded(item)
	t, err := ticket.Parse(padded)
	r := &clause.Reader{What: fmt.Sprintf("queue row %s of %q", t, q), Item: item}
	if !inQueue || err != nil {
		r.What = fmt.Sprintf("queue row of %q", q)
		sk := q.SK
		r.Fail(sk, "is %q, the reason, a slash and %d digits are needed", text(item, sk), ticket.Digits)
	} else {
		row.Ticket = t
		row.ID = r.Text(queue.AttrID)
		row.Owner = r.OptionalText(queue.AttrOwner)
		row.Mode = r.OptionalText(queue.AttrMode)
		row.CreatedAt = r.OptionalTime(queue.AttrCreatedAt)
		row.Lease = queue.ReadLease(r)
		row.EntryID = r.OptionalText(queue.AttrEntryID)
	}
	if r.Err != nil {
		row.Problem, row.Lease = r.Err, queue.Lease{TTL: malformedLease}
	}
	return row
}

// text returns an attribute that is a string, or "".
func text(item clause.Item, attribute string) string {
	if s, ok := item[attribute].(*types.AttributeValueMemberS); ok && s != nil {
		return s.Value
	}
	return ""
}
