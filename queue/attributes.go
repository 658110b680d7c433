package queue

import "slices"

// Attribute names of the serving record and of queue rows. The user chooses
// those of the keys and of the TTL.
const (
	AttrTicketNumber = "ticketNumber" // record, N: last ticket issued
	AttrServingAfter = "servingAfter" // record, N: present and absent with holders
	AttrGranted      = "granted"      // record, N: highest ticket claimed, or the counter at the last return to idle
	AttrHolders      = "holders"      // record, M: holder id to entry
	AttrTurn         = "turn"         // record, M: mean and deviation of recent turns
	AttrHoldMode     = "holdMode"     // record of a lock, S: mode of the holders; present and absent with them
	AttrPermits      = "permits"      // record of a semaphore, N: never changes
	AttrScope        = "scope"        // record, S: the wider counter that issues its tickets, absent without one
	AttrReleased     = "released"     // record, M: the last release: id, ticket and call of the holder
	AttrEvicted      = "evicted"      // record, M: the last eviction: id, ticket and made of the holder, and when
	AttrUnsettled    = "unsettled"    // record, NS: until when transactions may begin that were given up before they were visible, ms
	AttrResult       = "result"       // record, M: what a holder has computed: ticket of the holder, value and until

	AttrBeat       = "beat"       // entry and row, N: number of renewals
	AttrUntil      = "until"      // entry and row, N: end of the lease, ms on DynamoDB's clock
	AttrTTL        = "ttl"        // entry and row, N: length of the lease, ms
	AttrDelay      = "delay"      // entry, N: how long the queue stays closed after the lease, ms
	AttrFailClosed = "failClosed" // entry, BOOL: no lease once confirmed
	AttrSince      = "since"      // entry, N: time of the grant, ms on DynamoDB's clock
	AttrOwner      = "owner"      // entry and row, S
	AttrTicket     = "ticket"     // entry, N: present unless granted by TAKE or ENTER
	AttrTurns      = "turns"      // entry and row, N: how many tickets it has, from its own on; absent of one ticket
	AttrReached    = "reached"    // entry, N: the lowest ticket of its turns that may still write, absent before the first heartbeat
	AttrNamed      = "named"      // entry, BOOL: a release granted it to the waiter's row; absent otherwise
	AttrData       = "data"       // entry, B: the holder's data, absent if there is none
	AttrDataSet    = "dataSet"    // entry, N: number of the SetData that wrote data, absent before the first
	AttrMade       = "made"       // entry and evicted, N: number of the last fenced transaction, absent before the first
	AttrCall       = "call"       // released, N: number of the holder's release call
	AttrAt         = "at"         // evicted, N: ms on DynamoDB's clock, absent if unknown
	AttrID         = "id"         // row, S
	AttrEntryID    = "entryId"    // row, S: id of the entry by which a release may grant the lock to its waiter; absent if none may
	AttrBell       = "bell"       // row and entry, S: where its waiter or holder can be rung, see package wake; absent if it cannot
	AttrGroup      = "group"      // row and entry, S: of the waiters of which the latest stays; absent if none is superseded
	AttrMaxWaiters = "maxWaiters" // row, N: the limit of its waiter, for display; absent if it has none
	AttrMode       = "mode"       // row, and entry of a shared holder, S
	AttrCreatedAt  = "createdAt"  // row, N: ms on DynamoDB's clock, or the host's if unknown
	AttrAtLeast    = "atLeast"    // entry, N: how long after since the queue stays closed at least, ms
	AttrClosed     = "closed"     // entry, BOOL: its turn was released, and it keeps the queue closed
	AttrRevoked    = "revoked"    // entry, M: who has asked the holder to give way, why, when, and until when; absent if it was not asked
	AttrBy         = "by"         // revoked, S
	AttrWhy        = "why"        // revoked, S: absent if it was not said
	AttrDeadline   = "deadline"   // revoked, N: ms on DynamoDB's clock, absent if there is none
	AttrMean       = "mean"       // turn, N: ms
	AttrDeviation  = "deviation"  // turn, N: ms
	AttrValue      = "value"      // result, B: absent if it is empty
)

// recordNames are the attributes of the serving record, of any kind of queue.
var recordNames = []string{
	AttrTicketNumber, AttrServingAfter, AttrGranted, AttrHolders, AttrTurn, AttrHoldMode, AttrPermits, AttrScope,
	AttrReleased, AttrEvicted, AttrUnsettled, AttrResult,
}

var reserved = append(slices.Clone(recordNames),
	AttrMade, AttrCall, AttrAt, AttrBeat, AttrUntil, AttrTTL, AttrSince, AttrOwner, AttrTicket,
	AttrData, AttrDataSet, AttrID, AttrMode, AttrCreatedAt, AttrDelay, AttrFailClosed,
	AttrNamed, AttrEntryID, AttrTurns, AttrReached, AttrBell, AttrValue, AttrGroup, AttrMaxWaiters,
	AttrAtLeast, AttrClosed, AttrRevoked, AttrBy, AttrWhy, AttrDeadline)

// RecordNames are the attributes of the serving record, without a prefix.
func RecordNames() []string { return recordNames }

// Reserved are all names of attributes that the library has for itself.
func Reserved() []string { return reserved }
