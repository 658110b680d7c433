// Package serving reads and writes the serving record: the one item of a queue that
// decides which tickets are served.
//
//	ticketNumber   last ticket issued; with a wider counter, the highest that has entered
//	holders        the holders: holder id → entry; or absent
//	servingAfter   present beside holders: the counter when they became present
//	granted        highest ticket claimed
//	released       the last release
//	evicted        the last eviction
//	turn           mean and deviation of recent hold times
//	scope          the wider counter that issues the tickets, or absent
//
// # Promises
//
// The record never has more holders than the mode allows. The tickets of successive
// holders strictly increase. Both hold for any request that is lost, late, repeated or
// stalled, because each change is one conditional write.
//
// # Does not promise
//
// That a process knows at once that it was evicted (package heartbeat). That waiters
// come in order (package rows).
//
// # Authority
//
// The table is authoritative. A [Record] in memory is only a hint at what to try. The
// states of holders, and the floor, are those of docs/protocol.md.
//
//	| failure                       | outcome                                      |
//	|-------------------------------|----------------------------------------------|
//	| answer of TAKE lost           | tried again with a new id; any id counts     |
//	| answer of CLAIM lost          | found by id in the record, or claimed again  |
//	| late TAKE or CLAIM            | at worst an orphaned entry; its lease ends it|
//	| answer of HEARTBEAT lost      | sent again; two beats do no harm             |
//	| answer of RELEASE lost        | each form is refused; the mark shows it      |
//	| holder crashes                | EVICT by a client that sees its lease ended  |
//	| EVICT of a live holder        | refused: the beat has changed                |
//
// # Requests
//
// Each function that takes a context sends one request, unless its documentation says
// otherwise. docs/writes.md has the conditional writes, with the case for each condition. A write
// returns the record as it is afterwards (not the fast form of Release), or the record that
// refused it and [ErrRefused], [ErrLost] or [ErrMade]. After any other error the write may have been applied, or may yet be.
// Writes may be repeated safely unless their documentation says otherwise. Writes that
// grant are sent without the SDK client's own retries, so that a refusal proves that this
// attempt was not applied.
package serving
