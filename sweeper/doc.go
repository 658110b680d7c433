// Package sweeper finds what has expired in a queue, and removes it: rows of waiters and entries of holders whose
// leases have ended, because their owners have crashed or are partitioned.
//
// Waiters call [Sweeper.Rows] and [Sweeper.Holders] with what they see, so a busy queue needs nothing else. In a queue
// without waiters the entries of crashed clients stay until the next Acquire, and the table's TTL removes their rows
// only. For those use [Once] in a cron job, and [Run] in a process that lives longer. [Sweeper] and [Table] are of the
// protocol and may change in any version.
//
// # Promises
//
// [Sweeper.Sweep] removes no live lease. Rows and Holders remove what they are given, and Evict what an operator
// names. Such a lease may not have ended, as when a waiter was granted the lock by name and has left. Each removal is
// a conditional write that asks for the beat by which the lease was judged, so an owner that has renewed since keeps
// its row or its lock. Crashes do not compound: all that have expired are removed in one pass. Any number of sweepers
// may run at the same time. Run ends with its context, and retries failures at the next interval.
//
// # Does not promise
//
// A sweep finds what had expired at the time of its read. An owner that pauses past the lease of its row loses the row,
// and with a longer one its place; exclusion is not affected. A lock that fails closed never expires: see Evict.
//
//	| failure                      | outcome                                    |
//	|------------------------------|--------------------------------------------|
//	| the answer is lost           | the SDK repeats it, and it is not counted  |
//	| several clients sweep        | one removes, the others are refused        |
//	| the removal arrives late     | refused if anything has changed            |
package sweeper
