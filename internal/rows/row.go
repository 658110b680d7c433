package rows

import (
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/internal/lease"
	"github.com/queuelock/queuelock/internal/serving"
	"github.com/queuelock/queuelock/internal/table"
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
	Lease     lease.Lease

	// Problem is set if the row is malformed. Only Ticket is then valid.
	Problem error

	raw table.Item
}

// Shared reports whether its owner waits for a shared lock.
func (r Row) Shared() bool { return r.Mode == serving.ModeShared }

// Same reports whether two reads of one queue showed the same row.
func (r Row) Same(o Row) bool { return r.Ticket == o.Ticket && r.ID == o.ID }

// LeaseID returns the name of the row's lease for an Observer.
func (r Row) LeaseID(q table.Queue) string {
	return q.Entity + "/" + sortKey(q, r.raw) + "/" + r.ID
}

func (r Row) item(q table.Queue) table.Item {
	item := q.Key(q.SortKey(r.Ticket.Padded()))
	item[table.AttrID] = table.String(r.ID)
	item[table.AttrOwner] = table.String(r.Owner)
	item[table.AttrMode] = table.String(r.Mode)
	item[table.AttrCreatedAt] = table.Int(r.CreatedAt.UnixMilli())
	r.Lease.Fill(item)
	item[q.Layout().TTL] = expiresAt(r.Lease, r.CreatedAt)
	return item
}

// decode reads a row. It never fails: a malformed row has a Problem.
func decode(q table.Queue, item table.Item) Row {
	row := Row{raw: item}
	padded, ok := q.Padded(item)
	if ok {
		var err error
		row.Ticket, err = ticket.Parse(padded)
		ok = err == nil
	}
	if !ok {
		// The sort key is in the queue's range, but is not a ticket.
		row.Problem = &table.MalformedError{
			Item:      fmt.Sprintf("queue row of %q", q),
			Attribute: q.Layout().SK,
			Problem:   fmt.Sprintf("is %q, the reason, a slash and %d digits are needed", sortKey(q, item), ticket.Digits),
		}
		row.Lease = lease.Lease{TTL: malformedLease}
		return row
	}
	r := &table.Reader{What: fmt.Sprintf("queue row %s of %q", row.Ticket, q), Item: item}
	row.ID = r.Text(table.AttrID)
	row.Owner = r.OptionalText(table.AttrOwner)
	row.Mode = r.OptionalText(table.AttrMode)
	row.CreatedAt = r.OptionalTime(table.AttrCreatedAt)
	row.Lease = lease.Read(r)
	if r.Err != nil {
		row.Problem = r.Err
		row.Lease = lease.Lease{TTL: malformedLease}
	}
	return row
}

func sortKey(q table.Queue, item table.Item) string {
	sk, _ := item[q.Layout().SK].(*types.AttributeValueMemberS)
	if sk == nil {
		return ""
	}
	return sk.Value
}
