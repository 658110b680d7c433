// Package waiter runs one acquire in one queue: it takes a number, enters the
// queue with it, waits until it is served, or leaves.
//
// Several locks with one number take the same four steps in each queue:
//
//	Number ──► Enter ──► Await ──► Grant
//	             │         │
//	             │ served  └──► Leave, on any error
//	             └────────────► Grant
//
// Run is these four in order for one lock. Without a counter for several queues,
// Enter takes the number with the same request (TAKE); otherwise it registers the
// number that Number took (ENTER). Await puts the row (ENQUEUE) and repeats:
//
//	┌───────► LOOK ──► decide ──► sleep ──┐
//	│                   │  ▲              │ Schedule.Delay, or a
//	│           sweep,  ▼  │ refused      │ turn ended here
//	│           evict  CLAIM              │
//	└───────────────────┼─────────────────┘
//	                    ▼
//	                 served ──► row deleted in the background
//
// A ticket that was overtaken ends with ErrNewTicket, and Run begins again with
// another one.
//
// # Promises
//
// When Run returns, either an id of the waiter is in the record and is returned as
// a Grant, or neither a row nor a holder of the waiter is left. What could not be
// removed because the table did not answer, its leases end. An id that took over a
// lock with a lock delay is left to that delay. A request that arrives after Run has
// returned may still put an id or a row there; its lease ends that too.
//
// A waiter that is stuck does not block those behind it. Its row is deleted when
// ctx ends, by the goroutine that keeps it, and is not renewed while the waiter is
// inactive: its own goroutine calls Touch at each request and each sleep. A waiter
// behind another of its client wakes after Schedule.Slowest at the latest, calls
// Touch, and takes the looks over if the first is inactive.
//
// Requests that may change the holder are not cancelled with the caller's context.
// Their answers are awaited for a bounded time, because the clean-up of an unknown
// outcome costs more.
package waiter
