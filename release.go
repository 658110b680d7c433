package queuelock

import "context"

// Release releases the lock and lets the next waiter in. The lock's context is
// cancelled before anything is sent.
//
// It returns nil if this call or an earlier one released the lock, which was
// held until then. The table says so: each release leaves a mark. Returns
//
//   - an error that matches ErrLost if the lock was lost before. Its entry is
//     removed if it is still there, so that no waiter waits for the lease.
//   - *UnknownOutcomeError if the lock has left the table, and later turns have
//     replaced the mark that would say whether it was released or evicted.
//   - any other error if the table did not answer. The lock may still be in the
//     table, and its lease will end it. Release may be called again.
//
// Transient failures, and credentials that have expired, are retried until the
// lease ends, or for Config.RequestTimeout after ctx has: a deferred Release
// works although ctx has ended. See FailClosed for a lock without a lease.
//
// One request. Two if others have queued unnoticed; after a wait in the queue one
// more in the background if it is empty.
func (l *Lock) Release(ctx context.Context) error { return publicError(l.session.Release(ctx)) }
