// Package machine has what becomes of one ticket, as four machines: [Wait] is a wait for the lock, [Place] its row,
// [Hold] the lock that was granted, and [Transaction] a fenced transaction of its holder. Each is a plain value with a
// method Step: what has happened goes in, and what to do next comes out. They have no goroutine, clock, channel, lock
// or random number, and send nothing. What they send are the writes of package queue.
//
// Package member plays them for one client in one queue.
package machine
