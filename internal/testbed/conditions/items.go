package conditions

import (
	"maps"
	"time"

	"github.com/queuelock/queuelock/clause"
	"github.com/queuelock/queuelock/internal/attr"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
)

var (
	recordNames = clause.Names{Key: "pk", Expires: "expiresAt"}
	hostNames   = clause.Names{Key: "pk", Prefix: "lock_"}

	start = time.Unix(1_000_000, 0)
)

// lease is how long a lease is.
const lease = time.Minute

func number(n uint64) ticket.Number { return ticket.FromUint64(n) }

// names returns the names of the attributes of the item.
func (l *late) names() clause.Names {
	if l.host {
		return hostNames
	}
	return recordNames
}

// counterOf returns the counter of a queue's record, or of a wider scope.
func counterOf(n clause.Names) ticket.Master {
	return ticket.Master{Attribute: attr.TicketNumber, Names: n, Host: n.Prefix != "", Beside: attr.Record()}
}

// seed is the write that follows a TAKE or NUMBER which that item, or none, has refused.
func seed(m ticket.Master, r ticket.Rider, is clause.Item) clause.Write {
	next, err := m.TakeThenSeed(r, number(0)).Refused(is)
	if err != nil {
		panic(err)
	}
	return next.Write
}

// record is one whose holders became present with ticket 1, unless more says otherwise.
func record(last int64, holders clause.Item, more ...clause.Item) clause.Item {
	item := clause.Item{attr.TicketNumber: clause.Int(last), attr.ServingAfter: clause.Int(0), attr.Granted: clause.Int(0), attr.Holders: clause.Map(holders)}
	for _, m := range more {
		maps.Copy(item, m)
	}
	return item
}

// entryOf is that of a holder with a ticket.
func entryOf(t int64) clause.Value {
	entry := clause.Item{attr.Ticket: clause.Int(t)}
	queue.Lease{TTL: lease, Until: start}.Fill(entry)
	return clause.Map(entry)
}

// grant is an entry that a write puts.
func grant(id string) queue.Entry {
	return queue.Entry{ID: id, Owner: "o", Lease: queue.Lease{TTL: lease, Until: start}}
}
