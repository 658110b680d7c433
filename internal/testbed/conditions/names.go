package conditions

import (
	"time"

	"github.com/queuelock/queuelock/clause"
	"github.com/queuelock/queuelock/internal/attr"
	"github.com/queuelock/queuelock/internal/machine"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
)

type (
	entry   = queue.Entry
	mode    = queue.Mode
	record  = queue.Record
	holder  = queue.Holder
	marks   = queue.Marks
	evicted = queue.Eviction
	ending  = queue.Ending
	next    = queue.Next
	form    = queue.Form
	renewal = queue.Renewal
)

const (
	fast    = queue.FormFast
	handOff = queue.FormHandOff
	pass    = queue.FormPass

	madeYes   = machine.MadeYes
	madeNever = machine.MadeNever

	manyTimes = queue.MaxUnsettled
)

var (
	recordNames = clause.Names{Key: "pk", Expires: "expiresAt"}
	hostNames   = clause.Names{Key: "pk", Prefix: "lock_"}
)

// counterOf returns the counter of a queue's record, or of a wider scope.
func counterOf(n clause.Names) ticket.Master {
	return ticket.Master{Attribute: attr.TicketNumber, Names: n, Host: n.Prefix != "", Beside: attr.Record()}
}

// decode reads a record. An error says that clients cannot.
func decode(n clause.Names, item clause.Item) (record, error) {
	q := queue.Items{PK: n.Key, SK: "sk", TTL: n.Expires, Entity: "e", Reason: "r"}
	if n.Prefix != "" {
		q.Home = &queue.Home{Key: clause.Item{n.Key: nil}, Prefix: n.Prefix}
	}
	return queue.DecodeRecord(q, item)
}

func renewWrite(id string, until time.Time) clause.Write {
	return queue.Waiter{ID: id}.Renew(until, until)
}

func keepWrite(id string, until time.Time) clause.Write {
	return queue.Waiter{ID: id}.Keep(queue.Lease{TTL: lease, Until: until}, time.UnixMilli(1))
}

func sweepWrite(item clause.Item) clause.Write {
	return queue.DecodeRow(queue.Items{PK: "pk", SK: "sk"}, item).Sweep()
}
