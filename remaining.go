package queuelock

import (
	"context"
	"time"
)

// Remaining is for how long the lock is held at the least, should no renewal
// get through any more: the time until the local deadline, at which it would be
// lost. It is zero once the lock is lost or released. It looks at the clock, and
// makes no request.
//
// With defaults it falls from 57.94 s to about 28 s, and each heartbeat raises it
// again. A process that stood still does not know how long it was between this
// call and what it does next: so it is a reason to begin a piece of work, and
// no permission to end it; see Lock.Condition.
//
// A lock that fails closed (FailClosed) has no deadline: it is the longest
// Duration while the lock is held.
func (l *Lock) Remaining() time.Duration { return l.session.Remaining() }

// Extend renews the lease now, before a piece of work that needs more than is
// left: Remaining is then that of a lock just acquired, less the time that the
// request took. The next heartbeat is counted from it.
//
// nil says that the lease was renewed by a request sent after the call began.
// *LostError, which matches ErrLost, says that the lock is lost, perhaps
// unknown until now, and ErrReleased that it was released. Any other error is
// the table's, or ctx's: the lock is held as before, and the heartbeat goes on
// to try. Calling it again is safe. Beside an UpdateAndRelease that was made, and
// has no answer yet, it is an error that matches neither: that call will report
// the release.
//
// One request, after that of a heartbeat under way, if there is one: renewals
// of a lock are made one after the other. Calls that wait at the same time
// share one. It takes at most Config.RequestTimeout for each.
//
// Of a lock that fails closed, which has no lease, it asks the table whether the
// lock is still held.
func (l *Lock) Extend(ctx context.Context) error { return l.session.Extend(ctx) }
