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

// malformedLease is how long a row is waited for that does not say how long
// its lease is.
const malformedLease = time.Minute

// expiryGrace is how long after the end of its lease a row's expiresAt lies:
// the table's TTL must not remove a row that is alive. Where DynamoDB's clock
// is not known it counts from the host's, which may be wrong by less than that;
// a live row that is removed all the same is put again.
const expiryGrace = time.Hour

// Row is one waiter's row.
type Row struct {
	Ticket    ticket.Number
	ID        string
	Owner     string
	Mode      string    // how its owner will hold: a serving.Mode, as text
	CreatedAt time.Time // on DynamoDB's clock, or the owner's host's if unknown
	Lease     lease.Lease

	// Problem is set, and the fields above but Ticket are not to be trusted,
	// if the row holds something that this library did not write.
	Problem error

	raw table.Item
}

// Shared reports whether its owner will hold together with others that share.
func (r Row) Shared() bool { return r.Mode == serving.ModeShared }

// Same reports whether two reads showed the same row of one queue.
func (r Row) Same(o Row) bool { return r.Ticket == o.Ticket && r.ID == o.ID }

// LeaseID names the row's lease for an Observer.
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

// decode reads a row. It never fails: what is wrong with the row is its
// Problem.
func decode(q table.Queue, item table.Item) Row {
	row := Row{raw: item}
	padded, ok := q.Padded(item)
	if ok {
		var err error
		row.Ticket, err = ticket.Parse(padded)
		ok = err == nil
	}
	if !ok {
		// A sort key in the queue's range, but no number: nobody's ticket.
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
	if ms, ok := r.OptionalInt(table.AttrCreatedAt); ok {
		row.CreatedAt = time.UnixMilli(ms)
	}
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
