// Package serving holds the serving record: the one item of a queue by which
// exclusion is decided.
//
// The record is the queue's ticket master and says who is being served:
//
//	ticketNumber   last ticket issued
//	holders        who is being served: holder id → entry; or absent
//	servingAfter   present beside holders: the counter as it stood when they
//	               became present
//	granted        highest ticket claimed
//	turn           mean and deviation of recent turns, for those who wait
//	scope          which wider counter issues the tickets, or absent
//
// With a wider counter ticketNumber is the highest ticket that was registered, and
// REGISTER takes the place of TAKE.
//
// It promises that never more than one holder is in the record, and that the
// tickets of successive holders strictly increase, whatever is lost, late,
// repeated or stalled: each change is one conditional write. It does not
// promise that a process knows at once that it has been evicted (package
// heartbeat sees to that), nor order among waiters (package queue).
//
// The table is authoritative; a Record in memory is what it was at the time of
// the read, and no more than a hint about what to try.
//
//	              TAKE (served)              CLAIM
//	┌────────┐ ──────────────► ┌─────────┐ ◄─────── ┌────────┐
//	│ absent │                 │ {holder}│          │   {}   │
//	└────────┘ ◄────────────── └─────────┘ ───────► └────────┘
//	     ▲        RELEASE fast          RELEASE, EVICT   │
//	     └───────────────────── QUIET ───────────────────┘
//
// absent: idle, and nobody queued; the next TAKE is served at once. {}: idle,
// but tickets may be outstanding; nobody may barge, the first live waiter
// claims. Of any shape, a ticket at or below the floor can never be granted
// again.
//
//	| failure                       | what comes of it                             |
//	|-------------------------------|----------------------------------------------|
//	| answer of TAKE lost           | tried again with a new id; any id counts     |
//	| answer of CLAIM lost          | found by id in the record, or claimed again  |
//	| late TAKE or CLAIM            | a ghost at the worst, which its lease ends   |
//	| answer of HEARTBEAT lost      | sent again; two beats do no harm             |
//	| answer of RELEASE lost        | both forms are refused: it was released      |
//	| holder dies                   | EVICT by whoever sees its lease ended        |
//	| EVICT of a holder that lives  | refused: the beat has moved                  |
//
// A write that is refused returns the record that refused it, beside
// ErrRefused.
package serving
