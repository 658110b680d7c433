package queuelock

import (
	"context"
	"fmt"
	"time"

	"github.com/queuelock/queuelock/internal/lease"
	"github.com/queuelock/queuelock/internal/serving"
)

// LockDelay keeps the queue closed for d after the lock was lost: nobody is
// served before d has passed since the end of its lease. It is for what a
// fencing token cannot reach: requests that the former holder has sent, and
// that may still be on their way. Only a loss has a delay: the process died,
// stood still or was cut off. A lock that is released opens the queue at once, and
// so does one that was lost before Acquire, or AcquireAll, had returned it, when
// that gives it back. (A Resume does not: see there.)
//
// Whoever waits reckons the end of the lease so much later. The holder's own
// deadline stays what it is: it knows of its loss by d earlier, and its margin,
// than anybody else may be served. Its Release then leaves its entry alone.
//
// What stays is the holder's entry, and it keeps those out whom a holder does:
// with Shared others who share, and with Permits as many as there are permits
// left, are served beside it.
//
// A request for the lock that arrives when its Acquire has given up, and could not
// take it back, keeps the queue closed for TTL and d, although nobody had the
// lock.
//
// Zero, the default, is no delay. At most 24 h, in whole milliseconds; else
// Acquire returns an error, and sends nothing. It costs no request. All clients
// of a queue must know it: those of older versions evict a holder at the end of
// its lease. A lock that an operator takes away is open at once.
func LockDelay(d time.Duration) Option { return func(o *options) { o.delay = d } }

func validDelay(d time.Duration) error {
	switch {
	case d < 0 || d > lease.MaxDelay:
		return fmt.Errorf("LockDelay is %v: between 0 and %v are possible", d, lease.MaxDelay)
	case d%time.Millisecond != 0:
		return fmt.Errorf("LockDelay is %v: whole milliseconds are needed", d)
	}
	return nil
}

// keepsClosed reports whether the lock's entry must stay after a loss, for its lock
// delay. Of a lock that was never given to anybody, as one of an AcquireAll that
// waited for the others, no request can be on its way.
func (l *Lock) keepsClosed() bool { return l.terms.Delay > 0 && (l.resumed || l.wasGiven()) }

// delayed is what a Release returns of a lock with a lock delay whose lease ended
// before the release got through. Its entry, if it is still there, keeps the
// queue closed.
func (l *Lock) delayed(ctx context.Context) error {
	err := fmt.Errorf("its lease of %v ended before a release got through; others may have to wait for its lock delay of %v", l.terms.TTL, l.terms.Delay)
	if rec, getErr := serving.Get(ctx, l.queue); getErr == nil {
		l.mu.Lock()
		call := l.releases
		l.mu.Unlock()
		switch l.outcome(rec, call) {
		case serving.OutcomeReleased, serving.OutcomeReleasedEarlier, serving.OutcomeReleasedSome:
			return nil
		}
	}
	return &LostError{Key: l.key, Ticket: l.ticket, Cause: Unreachable, Err: err}
}
