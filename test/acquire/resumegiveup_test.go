package acquire_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

// TestCancelledResume checks that a resume that is cancelled gives the lock back. The
// cancellation comes while the answer to its request is on the way.
func TestCancelledResume(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := locktest.Watched(t)
		a, dbA := locktest.Open(t, table, "a", locktest.TenSeconds)
		before := locktest.Acquire(t, a, waitpolicy.NoWait)
		dbA.Partition()
		c, db := reborn(t, table, "new")
		answer := db.Inject(queuelocktest.HoldResponse().Of("UpdateItem").Times(1))
		ctx, cancel := context.WithCancel(t.Context())
		resumed := locktest.Background(func() (*queuelock.Lock, error) { return c.Resume(ctx, before.Handle(), waitpolicy.Forever) })
		<-answer.Reached()
		cancel()
		time.Sleep(100 * time.Millisecond)
		answer.Release()
		if got := <-resumed; !errors.Is(got.Err, context.Canceled) {
			t.Errorf("%+v", got)
		}
		if _, holders := locktest.RowsAndHolders(t, c); holders != 0 {
			t.Errorf("%d holders are left", holders)
		}
	})
}

// TestResumeLeavesLockDelay checks that a resume that gives up leaves a lock delay. The
// delay is for requests of a holder that are still on their way, and so it outlasts a
// Resume that gives up, whichever of the two has asked for it.
func TestResumeLeavesLockDelay(t *testing.T) {
	const delay = 90 * time.Second
	some, none := []queuelock.AcquireOption{queuelock.LockDelay(delay)}, []queuelock.AcquireOption(nil)
	for what, test := range map[string]struct{ held, resumed []queuelock.AcquireOption }{
		"of the one that died": {some, none},
		"of the Resume":        {none, some},
		"of both":              {some, some},
	} {
		for how, giveUp := range map[string]func(db *queuelocktest.Client, cancel func()) error{
			"its caller cancels while the answer is on the way": func(db *queuelocktest.Client, cancel func()) error {
				answer := db.Inject(queuelocktest.HoldResponse().Of("UpdateItem").Times(1))
				<-answer.Reached()
				cancel()
				time.Sleep(100 * time.Millisecond)
				answer.Release()
				return context.Canceled
			},
			"its caller cancels, and no answer comes": func(db *queuelocktest.Client, cancel func()) error {
				db.Inject(queuelocktest.SwallowResponse().Of("UpdateItem").Times(1))
				time.Sleep(time.Second)
				cancel()
				return context.Canceled
			},
			"the table shows it when its lease is over": func(db *queuelocktest.Client, cancel func()) error {
				db.Inject(queuelocktest.SwallowResponse().Of("UpdateItem").Times(1))
				time.Sleep(time.Second)
				silent := db.Inject(queuelocktest.LoseRequest().Of("Query", "GetItem"))
				time.Sleep(12 * time.Second)
				silent.Remove()
				return queuelock.ErrGone
			},
		} {
			locktest.InBubble(t, what+"; "+how, func(t *testing.T) {
				table := locktest.Watched(t)
				a, dbA := locktest.Open(t, table, "a", locktest.TenSeconds)
				before := locktest.Acquire(t, a, waitpolicy.NoWait, test.held...)
				dbA.Partition()
				died := time.Now()
				c, db := reborn(t, table, "new")
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				resumed := make(chan error, 1)
				go func() {
					time.Sleep(time.Millisecond) // the network is as the test wants it
					_, err := c.Resume(ctx, before.Handle(), waitpolicy.Forever, test.resumed...)
					resumed <- err
				}()
				want := giveUp(db, cancel)
				if err := <-resumed; !errors.Is(err, want) {
					t.Errorf("%v, want %v", err, want)
				}
				other, _ := locktest.Open(t, table, "other", locktest.TenSeconds)
				lock := locktest.Acquire(t, other, waitpolicy.Forever)
				if took := time.Since(died); took < delay || took > delay+time.Minute {
					t.Errorf("served %v after the holder died, with a lock delay of %v", took, delay)
				}
				locktest.Release(t, lock)
			})
		}
	}
}

// TestLongerLockDelay checks that a resumed lock has the longer lock delay.
func TestLongerLockDelay(t *testing.T) {
	for what, test := range map[string]struct {
		opts []queuelock.AcquireOption
		want time.Duration
	}{
		"none is given":  {nil, time.Minute},
		"one is shorter": {[]queuelock.AcquireOption{queuelock.LockDelay(time.Second)}, time.Minute},
		"one is longer":  {[]queuelock.AcquireOption{queuelock.LockDelay(2 * time.Minute)}, 2 * time.Minute},
	} {
		locktest.InBubble(t, what, func(t *testing.T) {
			table := locktest.Watched(t)
			a, dbA := locktest.Open(t, table, "a", locktest.TenSeconds)
			before := locktest.Acquire(t, a, waitpolicy.NoWait, queuelock.LockDelay(time.Minute))
			dbA.Partition()
			c, db := reborn(t, table, "new")
			lock := locktest.Must(c.Resume(t.Context(), before.Handle(), waitpolicy.Forever, test.opts...))
			if h := locktest.Must(c.Viewer().Inspect(t.Context(), locktest.Order)).Serving[0]; h.Delay != test.want {
				t.Errorf("it has a lock delay of %v, want %v", h.Delay, test.want)
			}
			db.Partition()
			<-lock.Context().Done()
			db.Heal()
			lost := time.Now()
			locktest.Is(t, lock.Release(t.Context()), queuelock.ErrLost)
			other, _ := locktest.Open(t, table, "other", locktest.TenSeconds)
			locktest.Release(t, locktest.Acquire(t, other, waitpolicy.Forever))
			if took := time.Since(lost); took < test.want || took > test.want+30*time.Second {
				t.Errorf("served %v after the loss, want %v", took, test.want)
			}
			// Released, it has none.
			locktest.Release(t, locktest.Must(c.Resume(t.Context(), locktest.Acquire(t, other, waitpolicy.NoWait, queuelock.LockDelay(time.Hour)).Handle(), waitpolicy.NoWait)))
			locktest.Release(t, locktest.Acquire(t, other, waitpolicy.NoWait))
		})
	}
}
