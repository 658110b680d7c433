// Package session keeps the lock of a call that has waited alone: its heartbeat, its writes and its
// release. Package waiter obtains the grant. Package play keeps the locks of callers that may wait together.
//
// # What it promises
//
// The holder learns of expiry first: the context of a session ends before any other
// client may evict it, on a process that runs and a host that is not suspended. An
// operator's eviction of a live holder is the exception. Err and
// Release agree: if Release has returned nil, Err does not report a loss, and if Release
// has returned a loss, Err reports it too.
//
// # What is authoritative
//
// The table. A session believes in its lease by the local clock, and the record decides
// how the lock ended. An UpdateAndRelease that the record shows as made has released the
// lock, even if the lease had run out locally before the answer came.
//
// A lock that was granted by name has the lease of its waiter's row at first. The session
// accepts it by its first heartbeat, and keeps the row until then, or until it has ended.
//
// # How
//
// queue.Hold is the machine of the lock: it decides what is sent next, and what an answer means. A session plays it. It has
// the clock, the contexts and the retries, lets one call at a time release the lock, and turns phases into errors and events.
// To the caller a lock is released when Release begins; Err says so unless the table shows a loss. Transactions are not part
// of the machine: one may be of several sessions.
//
// # Errors
//
// A call of a session that has ended returns the reason. Errors that users match are made by
// package queuelock, which gives their constructors to the Client. It translates
// ConditionError and UnreleasedError.
package session
