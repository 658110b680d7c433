package queuelock

import (
	"fmt"

	"github.com/queuelock/queuelock/internal/counter"
	"github.com/queuelock/queuelock/internal/serving"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/internal/waiter"
)

// Scope says which counter issues the tickets of a client's queues.
//
// A queue keeps the scope of its first use for life: an Acquire by a client of
// another scope is a *MismatchError, which names both. Inspect, IsLocked and
// Sweep work on queues of any scope.
//
// In the wider scopes a ticket is taken from a counter beside the queues, and
// then registered in the queue. Tickets of one queue still increase from holder
// to holder, but do not follow each other: in between are those of other queues.
// The library never deletes a counter, and it has no TTL attribute; should it be
// lost, it is raised above the tickets of the queues in which that is noticed.
//
//	|                           | ScopeQueue | the wider ones |
//	|---------------------------|------------|----------------|
//	| acquire an idle lock      | 1 request  | 2              |
//	| release it                | 1          | 1              |
//	| the first use of a key    | 2          | 2, and 3 with the first use of the counter |
//	| NoWait on a busy lock     | 1          | 2              |
//	| queue, acquire, release   | 6          | 7              |
type Scope int

const (
	// ScopeQueue is a counter for each queue: its serving record. The default:
	// one request for an idle lock, and no item that all queues share.
	ScopeQueue Scope = iota
	// ScopeEntity is a counter for each entity: one ticket for several reasons
	// to lock it. Its item has the entity as partition key, and the sort key
	// "ticket-master".
	ScopeEntity
	// ScopeShared is one counter for the table: one ticket for queues of several
	// entities, in the same order everywhere. Its item has the partition key
	// "ticket-master" and the sort key "current", and takes a write for each
	// Acquire of all clients: DynamoDB allows some 1,000 in a second. An entity
	// may have the same name: sort keys of queues hold a slash.
	ScopeShared
)

func (s Scope) String() string {
	switch s {
	case ScopeQueue:
		return "ScopeQueue"
	case ScopeEntity:
		return "ScopeEntity"
	case ScopeShared:
		return "ScopeShared"
	}
	return fmt.Sprintf("Scope(%d)", int(s))
}

// counterName is the sort key of an entity's counter, and the partition key of
// the shared one. No queue's item is there: its sort key would hold a slash.
const counterName = "ticket-master"

// counter is the ticket master of a queue; nil: its record is.
func (c Config) counter(q table.Queue) *waiter.Counter {
	m := counter.Master{Store: q.Store, Attribute: table.AttrTicketNumber}
	switch c.Scope {
	case ScopeEntity:
		m.Key, m.What = q.Key(counterName), fmt.Sprintf("ticket master of %q", q.Entity)
		return &waiter.Counter{Master: m, Scope: serving.ScopeEntity}
	case ScopeShared:
		q.Entity = counterName
		m.Key, m.What = q.Key("current"), "shared ticket master"
		return &waiter.Counter{Master: m, Scope: serving.ScopeShared}
	}
	return nil
}

// scopeOf is the scope that a record names.
func scopeOf(s serving.Scope) Scope {
	switch s {
	case serving.ScopeEntity:
		return ScopeEntity
	case serving.ScopeShared:
		return ScopeShared
	}
	return ScopeQueue
}
