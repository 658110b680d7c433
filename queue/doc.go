// Package queue is what is in the table: what the items of a queue say, what each conditional write of them asks for
// and leaves, and what a look decides for a ticket. It is pure: it sends nothing, and has no clock and no goroutine.
// The internal package machine says which write comes next for a ticket, member has the machines of a client in a
// queue, and play drives members for each call that wants or has a lock.
//
// # For users of locks
//
// Viewer.Inspect of package queuelock returns a [State]: what one consistent query showed, with a [Holder] for each
// entry and a [Waiter] for each row. It may be out of date when it is returned: to guard a write, use Lock.Condition or
// Lock.Transact. Expired entries and rows are listed until a client removes them, and a row that another program wrote
// is listed with its Problem. A [MalformedError], [MismatchError] or [TableError] says what is wrong with a record, a
// queue or the table. A [Handle] names a lock or a place that outlives its process, a [Revocation] says who asks a
// holder to give way, and a [Result] is what a holder has computed for all.
//
// These, [Lease], [HoldTime] and the constants named Max will not change. All else may, in any version.
//
// # In the table
//
//	serving record   holders, and which tickets were issued and granted: a Record
//	row of ticket 8  a Waiter and its Lease
//	row of ticket 9  …
//
// # A turn
//
// TAKE takes a ticket and, if the record is idle (holders is absent), grants the lock in the same write: [Take] is what
// it does beside taking a number, and [Enter] takes its place with a wider counter. Otherwise the waiter puts a row
// (Enqueue). A consistent query shows it a [Snapshot]: the record, and the rows ahead in the order of tickets.
// [Snapshot.Decide] says whether its ticket waits, may be claimed, or can never be granted. To be first is only a
// reason to try: a grant is always a write whose conditions DynamoDB judges, TAKE, ENTER, CLAIM ([Claim]) or PASS, and
// never a read. Heartbeat renews the lease of an entry or a row, [Evict] and Sweep remove what has expired, and
// [Ending] ends a turn: so that the next TAKE is served at once, so that the first waiter may claim, or by PASS, a
// grant to it.
//
// # Promises
//
// The record never has more holders than the [Mode] allows, and the tickets of successive holders rise. Both hold for
// any request that is lost, late, repeated or stalled, because each change is one conditional write. The file
// test/docs/testdata/writes.md has the case for each condition. A look shows every row that was there at the time of
// its record, and a waiter claims only after one, or if no ticket can be ahead. So waiters come in order.
//
// It does not promise that a holder knows at once that it was evicted (package heartbeat). A [Record] in memory is only
// a hint at what to try: the table decides.
package queue
