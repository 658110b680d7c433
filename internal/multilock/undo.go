package multilock

import (
	"context"
	"sync"
	"time"

	"github.com/queuelock/queuelock/internal/random"
)

// undoTimeout is how long undo works on only sideBySide queues at a time.
const undoTimeout = 500 * time.Millisecond

// undo releases the locks and leaves the queues. It returns Error.Left when all of that was
// done or given up.
func (r *round) undo() (left []error) {
	left = make([]error, len(r.locks))
	// If the table does not answer, each takes its whole time, so they do not wait for each
	// other. None is left out, as nothing else ends a lock that fails closed.
	hurry, cancel := context.WithTimeout(context.Background(), undoTimeout)
	defer cancel()
	Each(r.caller, len(r.waiters), hurry.Done(), func(ctx context.Context, i int) { left[i] = r.undoOne(ctx, i) })
	a := r.acquisition
	for _, w := range r.waiters {
		if a.highest.Ticket.Less(w.Highest().Ticket) {
			a.highest = w.Highest()
		}
	}
	return left
}

func (r *round) undoOne(ctx context.Context, i int) (err error) {
	w, lock := r.waiters[i], r.locks[i]
	switch {
	case lock != nil:
		err = lock.GiveBack(ctx, w.Remove)
		w.Wait()
	case r.acquisition.cfg.Numbered:
		w.Leave(ctx)
	}
	if orphan := w.Orphan(); orphan != nil {
		return orphan
	}
	return err
}

// sideBySide is the number of queues in which an Acquire looks as often as for one lock,
// and of calls that Each makes at a time.
const sideBySide = 16

// Each calls f for 0 to n-1, some at a time, and all that are left once hurry is
// closed. A nil hurry never is. Each call has its own random source.
func Each(ctx context.Context, n int, hurry <-chan struct{}, f func(ctx context.Context, i int)) {
	var wg sync.WaitGroup
	slots := make(chan struct{}, sideBySide)
	for i := range n {
		ctx := random.Fork(ctx)
		select {
		case slots <- struct{}{}:
			wg.Go(func() {
				defer func() { <-slots }()
				f(ctx, i)
			})
		case <-hurry:
			wg.Go(func() { f(ctx, i) })
		}
	}
	wg.Wait()
}
