package queue_test

import (
	"github.com/queuelock/queuelock/clause"
	"github.com/queuelock/queuelock/internal/attr"
	"github.com/queuelock/queuelock/queue"
)

// asRead returns the record as it would be read from an item that says the same.
func asRead(rec queue.Record) queue.Record {
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
			entry := clause.Item{attr.Ticket: h.Ticket.Attribute()}
			h.Lease.Fill(entry)
			holders[h.ID] = clause.Map(entry)
		}
		item[attr.ServingAfter], item[attr.Holders] = rec.ServingAfter.Attribute(), clause.Map(holders)
	}
	read, err := queue.DecodeRecord(queue.Items{PK: "pk", SK: "sk", TTL: "expiresAt", Entity: "e", Reason: "lock"}, item)
	if err != nil {
		panic(err)
	}
	return read
}
