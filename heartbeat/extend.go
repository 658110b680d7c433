package heartbeat

import (
	"context"
	"errors"
)

// ErrStopped is what Extend returns once Stop was called.
var ErrStopped = errors.New("the lease is not kept any more")

// Extend renews the lease now: by one renewal, sent after the call, and after
// the answer of the one under way, if there is one. Calls that wait at the same
// time share one. The next renewal is counted from it.
//
// nil says that the lease runs for its full length from after the call; a
// *LossError that it is lost; ErrStopped that Stop was called. Any other error
// is the renewal's: it is tried again as ever, and the lease is what it was. If
// ctx ends while it is under way, the renewal is made all the same.
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

// askers are those who wait for a renewal: the goroutine of the Keeper's alone.
type askers struct {
	underWay bool         // a renewal
	of       []chan error // those whose renewal it is
	next     []chan error // those who came since
}

// ask adds one. It reports whether a renewal is to be sent now.
func (a *askers) ask(answer chan error) bool {
	a.next = append(a.next, answer)
	return !a.underWay
}

// send says that a renewal is sent, which is that of all who have asked.
func (a *askers) send() {
	a.underWay, a.of, a.next = true, a.next, nil
}

// answer passes the answer of the renewal on; kept says that the lease is kept
// on. It reports whether another is to be sent at once.
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
