// Package multilock acquires several locks, all or none.
//
// With a common counter one number is the ticket in all queues. They are entered in
// their order, each once the row in the one before is in the table, and then waited
// in side by side:
//
//	number ──► enter 1 ──► enter 2 ──► … ──► enter n
//	              │           │                 │
//	              ▼           ▼                 ▼
//	            await       await             await ──► all held
//	              │           │                 │
//	              └───────────┴────────┬────────┘
//	                                   ▼ overtaken, or a lock was lost
//	               all is given back, and a new number is taken
//
// A waiter waits for lower tickets only, because a ticket that finds a higher one
// served gives way. So the lowest of all that wait is served in every queue, and no
// circle of waiters lasts. The one order keeps two waiters from overtaking each
// other in turn.
//
// Without a common counter the locks are acquired one after the other.
//
// When Acquire fails, all that the table answered for has been given back. Error
// names what is left: a lease ends it, unless it fails closed.
package multilock
