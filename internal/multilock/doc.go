// Package multilock acquires several locks, all or none.
//
// # Steps
//
// With a common counter one number is the ticket in all queues. The queues are entered in
// their order, each after the row in the one before is in the table. Then the waiter waits
// in all of them at the same time:
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
// Without a common counter the locks are acquired one after the other.
//
// # Promises
//
// No deadlock. A waiter waits for lower tickets only, because a ticket below one that was
// granted gives way. So the lowest ticket is granted in every queue. The one order keeps
// two waiters from overtaking each other in turn.
//
// When Acquire fails, everything was given back that the table has answered for. Error
// names what is left. A lease ends it, unless it fails closed.
package multilock
