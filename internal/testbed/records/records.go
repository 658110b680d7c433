// Package records makes records of a queue as a read would have shown them.
package records

import (
	"time"

	"github.com/queuelock/queuelock/internal/serving"
	"github.com/queuelock/queuelock/internal/table"
)

// Read returns the record as it would be read from an item that says the same. A holder with a Problem has an entry that
// cannot be read.
func Read(rec serving.Record) serving.Record {
	if !rec.Exists {
		return rec
	}
	item := table.Item{
		table.AttrTicketNumber: rec.TicketNumber.Attribute(), table.AttrGranted: rec.Granted.Attribute(),
		table.AttrHoldMode: table.String(serving.Mode{Shared: rec.Shared}.String()),
	}
	if rec.Permits > 0 {
		item[table.AttrPermits] = table.Int(int64(rec.Permits))
	}
	if rec.Present {
		holders := table.Item{}
		for _, h := range rec.Holders {
			entry := table.Item{table.AttrTicket: h.Ticket.Attribute(), table.AttrOwner: table.String(h.Owner)}
			if h.Lease.Fill(entry); h.Problem != nil {
				entry = table.Item{table.AttrBeat: table.String("x")}
			}
			holders[h.ID] = table.Map(entry)
		}
		item[table.AttrServingAfter], item[table.AttrHolders] = rec.ServingAfter.Attribute(), table.Map(holders)
	}
	layout := table.Layout{Table: "queuelock", PK: "pk", SK: "sk", TTL: "expiresAt"}
	q := table.Queue{Store: table.NewStore(nil, layout, time.Second), Entity: "e", Reason: "lock"}
	read, err := serving.Decode(q, item)
	if err != nil {
		panic(err)
	}
	return read
}
