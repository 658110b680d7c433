package queuelock

import (
	"context"
	"fmt"

	"github.com/queuelock/queuelock/internal/serving"
)

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
