// Package attr names the attributes of the serving record and of queue rows. The user chooses those of the keys and of
// the TTL.
package attr

import "slices"

const (
	TicketNumber = "ticketNumber" // record, N: last ticket issued
	ServingAfter = "servingAfter" // record, N: present and absent with holders
	Granted      = "granted"      // record, N: highest ticket claimed, or the counter at the last return to idle
	Holders      = "holders"      // record, M: holder id to entry
	Turn         = "turn"         // record, M: mean and deviation of recent turns
	HoldMode     = "holdMode"     // record of a lock, S: mode of the holders; present and absent with them
	Permits      = "permits"      // record of a semaphore, N: never changes
	Scope        = "scope"        // record, S: the wider counter that issues its tickets, absent without one
	Released     = "released"     // record, M: the last release: id, ticket and call of the holder
	Evicted      = "evicted"      // record, M: the last eviction: id, ticket and made of the holder, and when
	// record, NS: until when transactions may begin that were given up before they were visible, ms
	Unsettled = "unsettled"
	Result    = "result" // record, M: what a holder has computed: ticket of the holder, value and until

	Beat       = "beat"       // entry and row, N: number of renewals
	Until      = "until"      // entry and row, N: end of the lease, ms on DynamoDB's clock
	TTL        = "ttl"        // entry and row, N: length of the lease, ms
	Delay      = "delay"      // entry, N: how long the queue stays closed after the lease, ms
	FailClosed = "failClosed" // entry, BOOL: no lease once confirmed
	Since      = "since"      // entry, N: time of the grant, ms on DynamoDB's clock
	Owner      = "owner"      // entry and row, S
	Ticket     = "ticket"     // entry, N: present unless granted by TAKE or ENTER
	Slot       = "slot"       // entry of a semaphore, N: number of its permit; absent if an earlier version wrote it
	Turns      = "turns"      // entry and row, N: how many tickets it has, from its own on; absent of one ticket
	// entry, N: the lowest ticket of its turns that may still write, absent before the first heartbeat
	Reached = "reached"
	Named   = "named"   // entry, BOOL: a release granted it to the waiter's row; absent otherwise
	Data    = "data"    // entry, B: the holder's data, absent if there is none
	DataSet = "dataSet" // entry, N: number of the SetData that wrote data, absent before the first
	Made    = "made"    // entry and evicted, N: number of the last fenced transaction, absent before the first
	Call    = "call"    // released, N: number of the holder's release call
	At      = "at"      // evicted, N: ms on DynamoDB's clock, absent if unknown
	ID      = "id"      // row, S
	// row, S: id of the entry by which a release may grant the lock to its waiter; absent if none may
	EntryID = "entryId"
	// row and entry, S: where its waiter or holder can be rung, see package wake; absent if it cannot
	Bell       = "bell"
	Group      = "group"      // row and entry, S: of the waiters of which the latest stays; absent if none is superseded
	Kept       = "kept"       // row, N: since when its place is kept and no process waits in it, ms; absent if one does
	MaxWaiters = "maxWaiters" // row, N: the limit of its waiter, for display; absent if it has none
	Mode       = "mode"       // row, and entry of a shared holder, S
	CreatedAt  = "createdAt"  // row, N: ms on DynamoDB's clock, or the host's if unknown
	AtLeast    = "atLeast"    // entry, N: how long after since the queue stays closed at least, ms
	Closed     = "closed"     // entry, BOOL: its turn was released, and it keeps the queue closed
	// entry, M: who has asked the holder to give way, why, when, and until when; absent if it was not asked
	Revoked   = "revoked"
	By        = "by"        // revoked, S
	Why       = "why"       // revoked, S: absent if it was not said
	Deadline  = "deadline"  // revoked, N: ms on DynamoDB's clock, absent if there is none
	Mean      = "mean"      // turn, N: ms
	Deviation = "deviation" // turn, N: ms
	Value     = "value"     // result, B: absent if it is empty
)

// The values of holdMode, and of the mode of a row or an entry. An entry without
// one is exclusive.
const (
	Exclusive = "exclusive"
	Shared    = "shared"
)

// record are the attributes of the serving record, of any kind of queue.
var record = []string{
	TicketNumber, ServingAfter, Granted, Holders, Turn, HoldMode, Permits, Scope,
	Released, Evicted, Unsettled, Result,
}

var reserved = append(slices.Clone(record),
	Made, Call, At, Beat, Until, TTL, Since, Owner, Ticket,
	Data, DataSet, ID, Mode, CreatedAt, Delay, FailClosed,
	Named, EntryID, Turns, Reached, Bell, Value, Group, Kept, MaxWaiters,
	AtLeast, Closed, Revoked, By, Why, Deadline, Slot)

// Record are those of the serving record, without a prefix.
func Record() []string { return record }

// Reserved are all names of attributes that the library has for itself.
func Reserved() []string { return reserved }
