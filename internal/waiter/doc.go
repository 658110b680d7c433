// Package waiter is the life of one acquire: it takes a number, waits in its
// row, and is served, or leaves.
//
// It composes the writes of packages serving and queue in the order that the
// protocol gives them, and is the only place that knows this order:
//
//	  ┌──────────────────────────────────────────────┐ overtaken, or the
//	  ▼                                              │ queue went idle
//	TAKE ──► not served: ENQUEUE beside the first LOOK
//	  │                        │
//	  │            ┌───────► judge ──► wait ──┐
//	  │            │           │  ▲           │ Schedule.Delay, or
//	  │            │   sweep,  ▼  │ refused   │ a turn ended here
//	  │            │   evict  CLAIM           │
//	  │            └───────────┼──────────────┘
//	  ▼                        ▼
//	served                   served ──► row deleted in the background
//
// In the wider scopes NUMBER and REGISTER take the place of TAKE. A waiter for one
// of several locks is given its number: Enter, and, if it is not served, Await, or
// Leave.
//
// What it promises: at the end of Run either one of its ids is in the record
// and is returned as a Grant, or no row of it is left, and no holder, as far
// as requests got through; what did not, its leases end. (An id that took over a
// lock with a lock delay is left to both.) What it does not
// promise: that a request which arrives after Run has returned leaves no
// ghost. Its lease ends that too.
//
// A waiter that is stuck does not block those behind it. Its row is deleted when
// ctx ends, by the goroutine that keeps it, and is not renewed while the waiter is
// unattended (see localqueue.Spot): place.renew is where renewals stop. What vouches for
// a waiter is its own goroutine: it calls Attend at each request and each sleep. One
// that rests behind another of its client wakes after Schedule.Slowest at the
// latest, calls Attend, and takes the looks over if the first is unattended.
//
// Requests that may change who is served are never cut short by the caller's
// cancellation: their answers are awaited for a bounded time, because a write
// of unknown outcome costs more than it saves.
package waiter
