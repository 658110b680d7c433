package ticket

import "fmt"

// Scope says which counter issues the tickets of a queue. A queue keeps the scope of
// its first use for life.
//
// In the wider scopes a counter beside the queues issues the ticket, which is then
// registered in the queue. Tickets of one queue still increase, with gaps for the
// tickets of other queues. A counter that was lost is raised above the tickets of its
// queues.
type Scope int

const (
	// ScopeQueue is a counter for each queue, in its serving record. It is the default.
	ScopeQueue Scope = iota
	// ScopeEntity is a counter for each entity: one ticket for several reasons to lock
	// it. Its item has the entity as partition key and the sort key "ticket-master".
	ScopeEntity
	// ScopeTable is one counter for the table: one ticket for queues of several
	// entities. Its item has the partition key "ticket-master" and the sort key
	// "current". It takes a write for each Acquire of all clients, and DynamoDB allows
	// about 1,000 a second.
	ScopeTable
)

func (s Scope) String() string {
	switch s {
	case ScopeQueue:
		return "ScopeQueue"
	case ScopeEntity:
		return "ScopeEntity"
	case ScopeTable:
		return "ScopeTable"
	}
	return fmt.Sprintf("Scope(%d)", int(s))
}
