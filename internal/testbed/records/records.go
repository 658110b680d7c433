// Package records makes records of a queue as a read would have shown them.
package records

import (
	"time"

	"github.com/queuelock/queuelock/clause"
	"github.com/queuelock/queuelock/internal/attr"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/queue"
)

// Read returns the record as it would be read from an item that says the same. A holder with a Problem has an entry that
// cannot be read.
func Read(rec queue.Record) queue.Record {
	if !rec.Exists {
		return rec
	}
	item := clause.Item{
		attr.TicketNumber: rec.TicketNumber.Attribute(), attr.Granted: rec.Granted.Attribute(),
		attr.HoldMode: clause.String(queue.Mode{Shared: rec.Shared}.String()),
	}
	if rec.Permits > 0 {
		item[attr.Permits] = clause.Int(int64(rec.Permits))
	}
	if rec.Present {
		holders := clause.Item{}
		for _, h := range rec.Holders {
			entry := clause.Item{attr.Ticket: h.Ticket.Attribute(), attr.Owner: clause.String(h.Owner)}
			if h.Lease.Fill(entry); h.Problem != nil {
				entry = clause.Item{attr.Beat: clause.String("x")}
			}
			holders[h.ID] = clause.Map(entry)
		}
		item[attr.ServingAfter], item[attr.Holders] = rec.ServingAfter.Attribute(), clause.Map(holders)
	}
	layout := table.Layout{Table: "queuelock", PK: "pk", SK: "sk", TTL: "expiresAt"}
	q := table.NewStore(nil, layout, time.Second).Queue("e", "lock", nil)
	read, err := queue.DecodeRecord(q.Items, item)
	if err != nil {
		panic(err)
	}
	return read
}
