package heartbeat

import (
	"context"
	"errors"
)

// ErrStopped is what Extend returns once Stop was called.
var ErrStopped = errors.New("the lease is not kept any more")

// Extend renews the lease now by one renewal, sent after the call and after the answer
// of one under way. Concurrent calls share one. The next renewal counts from it. If ctx
// ends first, the renewal is made all the same. Returns
//
//   - ctx's error, or ErrStopped after Stop.
//   - *LossError if the lease is lost.
//   - any other error of the renewal, which is retried. The lease is as before.
func (k *Keeper) Extend(ctx context.Context) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	answer := make(chan error, 1)
	err := ErrStopped
	select {
	case k.asks <- answer:
		select {
		case err = <-answer:
		case <-k.stopped:
		case <-ctx.Done():
			err = ctx.Err()
		}
	case <-k.stopped:
	case <-ctx.Done():
		err = ctx.Err()
	}
	if loss := k.Check(); loss != nil {
		return loss
	}
	return err
}

// askers are the calls of Extend that wait for a renewal. Only the Keeper's goroutine
// uses them.
type askers struct {
	underWay bool         // a renewal
	of       []chan error // the calls that it answers
	next     []chan error // later calls
}

// ask adds a call, and reports whether a renewal is to be sent now.
func (a *askers) ask(answer chan error) bool {
	a.next = append(a.next, answer)
	return !a.underWay
}

// send notes that a renewal is sent for all calls so far.
func (a *askers) send() {
	a.underWay, a.of, a.next = true, a.next, nil
}

// answer passes the answer of the renewal on, and reports whether another one is to be
// sent at once. kept says that the lease is still kept.
func (a *askers) answer(err error, kept bool) bool {
	if err == nil && !kept {
		err = ErrStopped // or lost: its answer came too late
	}
	for _, answer := range a.of {
		answer <- err
	}
	a.underWay, a.of = false, nil
	return len(a.next) > 0
}
