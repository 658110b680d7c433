// Package waiter runs one acquire in one queue that waits alone: it takes a number, enters the queue with it, and
// waits for the grant or leaves. Package play does that for callers that may wait together.
//
// # Steps
//
//	Number ──► Enter ──► Await ──► Grant
//	             │         │
//	             │ granted └──► Leave, on any error
//	             └────────────► Grant
//
// queue.Wait is the machine of a wait: it decides what is sent next, and what an answer means. A player plays it, and a sight
// says when the next request is sent. queue.Place is the machine of the row.
//
// Run takes these steps for one lock, and package multilock for several locks with one number. Without a wider
// counter Enter also takes the number (TAKE). With one it enters with the number of Number (ENTER). It begins to
// put the row (ENQUEUE). Await looks, removes what has expired, and claims or sleeps, as docs/protocol.md says. A
// ticket that was overtaken ends with ErrNewTicket, and Run takes another one.
//
// # Promises
//
// When Run returns, either an id of the waiter is in the record and is returned as a Grant, or no row and no
// holder of the waiter is left. A lease ends what could not be removed because the table did not answer, and
// what a late request puts there. An id that took over a lock with a lock delay is left to that delay. A holder that has
// read the row may grant the lock to it by name after the waiter has left: others see the missing row, and end that.
//
// A Grant by name was seen and not requested. Its session calls Leave once it has accepted it, or has ended.
//
// A stuck waiter does not block the waiters behind it: its row is not renewed while it is inactive, which means
// that it has not called touch, as each request and each sleep do. A waiter behind another one of its client
// wakes after Schedule.Slowest at the latest, and looks itself if the first is inactive.
//
// A Policy ends a wait with ErrFull or a SupersededError, and the waiter leaves as after any other error. A waiter that a
// later one may supersede looks for itself, whether or not it is the first of its client, and no release passes the lock to it.
//
// Requests that may change the holder are not cancelled with the caller's context. Their answers are awaited
// for a bounded time, because the clean-up of an unknown outcome costs more.
package waiter
