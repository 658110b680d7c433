package modes_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/event"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

// kept returns the place that the error of a wait keeps, written down and read again.
func kept(t *testing.T, lock *queuelock.Lock, err error) (h queuelock.Handle, e *queuelock.NotAcquiredError) {
	t.Helper()
	if lock != nil || !errors.As(err, &e) || e.Handle == nil || !errors.Is(err, queuelock.ErrNotAcquired) {
		t.Fatalf("no place is kept: %v, %v", lock, err)
	}
	if err := json.Unmarshal(locktest.Must(json.Marshal(e.Handle)), &h); err != nil || h != *e.Handle {
		t.Fatalf("%+v is read as %+v, %v", e.Handle, h, err)
	}
	return h, e
}

// TestWaitInSlices checks that a caller which waits for nine minutes at a time, each time as another process, is served at its
// turn, behind four whose turns take four minutes each and which come again at once.
func TestWaitInSlices(t *testing.T) {
	locktest.WithWatched(t, func(t *testing.T, table *queuelocktest.Table) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var wg sync.WaitGroup
		turns := 0 // guarded by the lock
		for i := range 4 {
			c, _ := locktest.Open(t, table, fmt.Sprint("worker", i), queuelock.Config{})
			wg.Go(func() {
				for ctx.Err() == nil {
					_ = c.Do(ctx, locktest.Order, waitpolicy.Forever, func(context.Context, *queuelock.Lock) error {
						turns++
						time.Sleep(4 * time.Minute)
						return nil
					})
				}
			})
		}
		time.Sleep(10 * time.Second)
		keep := queuelock.KeepPlace(time.Minute)
		c, _ := locktest.Open(t, table, "slice0", queuelock.Config{})
		begun := time.Now()
		lock, err := c.Acquire(t.Context(), locktest.Order, waitpolicy.For(9*time.Minute), keep)
		slices := 1
		for ; err != nil; slices++ {
			h, _ := kept(t, lock, err)
			time.Sleep(20 * time.Second) // between two slices
			c, _ = locktest.Open(t, table, "new", queuelock.Config{})
			lock, err = c.Resume(t.Context(), h, waitpolicy.For(9*time.Minute), keep)
		}
		if waited := time.Since(begun); turns != 4 || waited > 17*time.Minute || slices != 2 {
			t.Errorf("served after %v, %d slices and %d turns", waited, slices, turns)
		}
		cancel()
		locktest.Release(t, lock)
		wg.Wait()
	})
}

// TestKeptPlace checks that a place is kept whatever becomes of the request that keeps it, that the others wait for it, and
// that another process has the turn with its ticket.
func TestKeptPlace(t *testing.T) {
	for name, test := range map[string]struct {
		fault  queuelocktest.Fault
		times  int
		unsure bool // it is kept for the lease of a waiter, so far as is known
	}{
		"no fault":       {fault: queuelocktest.DelayRequest(0)},
		"request lost":   {fault: queuelocktest.LoseRequest(), times: 1},
		"response lost":  {fault: queuelocktest.LoseResponse(), times: 1},
		"it comes twice": {fault: queuelocktest.Duplicate(3 * time.Second), times: 1},
		"throttled":      {fault: queuelocktest.Throttle(event.KeyRange), times: 2},
		"no response":    {fault: queuelocktest.LoseResponse(), times: 99, unsure: true},
	} {
		locktest.InWatched(t, name, func(t *testing.T, table *queuelocktest.Table) {
			c, db, first := locktest.Pair(t, table, locktest.TenSeconds, "slice", "first")
			other, _ := locktest.Open(t, table, "other", locktest.TenSeconds)
			held := locktest.Acquire(t, first, waitpolicy.NoWait)
			ctx, cancel := context.WithCancel(t.Context())
			waiting := locktest.QueueUp(ctx, c, waitpolicy.Forever, queuelock.KeepPlace(10*time.Minute))
			time.Sleep(2 * time.Second)
			behind := locktest.LockBy(t, other)
			time.Sleep(2 * time.Second)
			db.Inject(test.fault.Of("UpdateItem").Times(test.times))
			ended := time.Now()
			cancel()
			result := <-waiting
			h, e := kept(t, result.Lock, result.Err)
			if !errors.Is(e, context.Canceled) || e.Position != 1 {
				t.Errorf("%v", e)
			}
			if until := e.KeptUntil.Sub(ended); test.unsure != (until < 9*time.Minute) || until < 2*time.Second {
				t.Errorf("kept for %v", until)
			}
			db.Partition()
			s := locktest.Must(other.Viewer().Inspect(t.Context(), locktest.Order))
			if len(s.Waiting) != 2 || s.Waiting[0].Ticket != h.Ticket || !s.Waiting[1].KeptSince.IsZero() {
				t.Fatalf("%+v", s.Waiting)
			}
			if since := s.Waiting[0].KeptSince; since.Sub(ended).Abs() > 5*time.Second {
				t.Errorf("kept since %v, and the wait ended at %v", since, ended)
			}
			locktest.Release(t, held)
			time.Sleep(5 * time.Minute)
			locktest.StillWaits(t, "the one behind", behind)
			next, _ := locktest.Open(t, table, "new", locktest.TenSeconds)
			if h.Since != s.Waiting[0].CreatedAt.UnixMilli() {
				t.Errorf("it waits since %d, says the handle, and %v", h.Since, s.Waiting[0].CreatedAt)
			}
			lock := locktest.Must(next.Resume(t.Context(), h, waitpolicy.For(time.Second), queuelock.KeepPlace(10*time.Minute)))
			if lock.Ticket() != h.Ticket {
				t.Errorf("ticket %s, want %s", lock.Ticket(), h.Ticket)
			}
			locktest.StillWaits(t, "the one behind", behind)
			locktest.Release(t, lock)
			time.Sleep(3 * time.Second)
			locktest.Release(t, locktest.Granted(t, "the one behind", behind))
			_, err := next.Resume(t.Context(), h, waitpolicy.For(time.Second))
			locktest.Is(t, err, queuelock.ErrGone)
		})
	}
}

// TestKeptPlaceEnds checks that a place whose time is over is passed as that of a crashed waiter, and is free until then.
func TestKeptPlaceEnds(t *testing.T) {
	for name, resumed := range map[string]bool{"no client resumes it": false, "it is resumed late, and none has passed it": true} {
		locktest.InWatched(t, name, func(t *testing.T, table *queuelocktest.Table) {
			c, other := locktest.Two(t, table, locktest.TenSeconds, "new", "other")
			held := locktest.Acquire(t, other, waitpolicy.NoWait)
			lock, err := c.Acquire(t.Context(), locktest.Order, waitpolicy.For(3*time.Second), queuelock.KeepPlace(time.Minute))
			h, _ := kept(t, lock, err)
			behind := locktest.LockBy(t, other)
			if !resumed {
				locktest.Release(t, held)
				time.Sleep(55 * time.Second)
				locktest.StillWaits(t, "the one behind", behind)
				time.Sleep(10 * time.Second)
				held = locktest.Granted(t, "the one behind", behind)
				_, err = c.Resume(t.Context(), h, waitpolicy.For(3*time.Second))
				locktest.Is(t, err, queuelock.ErrGone)
				locktest.Release(t, held)
				return
			}
			time.Sleep(2 * time.Minute)
			first := h.Since
			lock, err = c.Resume(t.Context(), h, waitpolicy.For(3*time.Second), queuelock.KeepPlace(time.Minute))
			s := locktest.Must(c.Viewer().Inspect(t.Context(), locktest.Order))
			if len(s.Waiting) != 2 || s.Waiting[0].CreatedAt.UnixMilli() != first {
				t.Errorf("it has waited since %v: %+v", first, s.Waiting)
			}
			h, _ = kept(t, lock, err)
			locktest.Release(t, held)
			locktest.Release(t, locktest.Must(c.Resume(t.Context(), h, waitpolicy.For(time.Second))))
			time.Sleep(3 * time.Second)
			locktest.Release(t, locktest.Granted(t, "the one behind", behind))
		})
	}
}

// TestLeave checks that who leaves a place delays no other client, and that a lock that was granted meanwhile is released.
func TestLeave(t *testing.T) {
	for name, fault := range map[string]queuelocktest.Fault{
		"no fault":      queuelocktest.DelayRequest(0),
		"request lost":  queuelocktest.LoseRequest(),
		"response lost": queuelocktest.LoseResponse(),
	} {
		locktest.InWatched(t, name, func(t *testing.T, table *queuelocktest.Table) {
			c, db, other := locktest.Pair(t, table, locktest.TenSeconds, "new", "other")
			held := locktest.Acquire(t, other, waitpolicy.NoWait)
			lock, err := c.Acquire(t.Context(), locktest.Order, waitpolicy.For(3*time.Second), queuelock.KeepPlace(time.Hour))
			h, _ := kept(t, lock, err)
			behind := locktest.Waiting(t, other)
			db.Inject(fault.Of("DeleteItem").Times(1))
			locktest.Check(t, c.Leave(t.Context(), h))
			locktest.Check(t, c.Leave(t.Context(), h)) // once more
			locktest.Release(t, held)
			time.Sleep(3 * time.Second)
			held = locktest.Granted(t, "the one behind", behind)
			locktest.Check(t, c.Leave(t.Context(), held.Handle()))
			time.Sleep(10 * time.Second)
			locktest.Is(t, held.Err(), queuelock.ErrLost)
			locktest.Release(t, locktest.Acquire(t, c, waitpolicy.NoWait))
		})
	}
}

// TestKeptByName checks that a lock which a release has granted to a kept place by its row is returned at once, or left.
func TestKeptByName(t *testing.T) {
	for name, leaves := range map[string]bool{"resumed": false, "left": true} {
		locktest.InWatched(t, name, func(t *testing.T, table *queuelocktest.Table) {
			first, second, c := locktest.Three(t, table, locktest.TenSeconds, "first", "second", "slice")
			held := locktest.Acquire(t, first, waitpolicy.NoWait)
			waiting := locktest.LockBy(t, second)
			time.Sleep(3 * time.Second)
			lock, err := c.Acquire(t.Context(), locktest.Order, waitpolicy.For(3*time.Second), queuelock.KeepPlace(time.Hour))
			h, _ := kept(t, lock, err)
			locktest.Release(t, held)
			time.Sleep(2 * time.Second)
			locktest.Release(t, locktest.Granted(t, "the second", waiting))
			time.Sleep(10 * time.Minute)
			next, _ := locktest.Open(t, table, "new", locktest.TenSeconds)
			if leaves {
				locktest.Check(t, next.Leave(t.Context(), h))
				locktest.Release(t, locktest.Acquire(t, second, waitpolicy.NoWait))
				return
			}
			lock = locktest.Must(next.Resume(t.Context(), h, waitpolicy.For(time.Second)))
			if lock.Ticket() != h.Ticket {
				t.Errorf("ticket %s, want %s", lock.Ticket(), h.Ticket)
			}
			locktest.Release(t, lock)
		})
	}
}

// TestKeptAtTheEnd checks that a place is kept however its wait ends: with Close, before the first request, and while the table
// does not answer.
func TestKeptAtTheEnd(t *testing.T) {
	keep := queuelock.KeepPlace(10 * time.Minute)
	for name, why := range map[string]error{"Close": queuelock.ErrClosed, "outage": queuelock.ErrUnavailable} {
		locktest.InWatched(t, name, func(t *testing.T, table *queuelocktest.Table) {
			c, db, other := locktest.Pair(t, table, locktest.TenSeconds, "slice", "other")
			held := locktest.Acquire(t, other, waitpolicy.NoWait)
			waiting := locktest.QueueUp(t.Context(), c, waitpolicy.For(20*time.Second), keep)
			time.Sleep(3 * time.Second)
			if name == "Close" {
				locktest.Check(t, c.Close(t.Context()))
			} else {
				db.Partition()
			}
			r := <-waiting
			h, e := kept(t, r.Lock, r.Err)
			locktest.Is(t, e, why)
			next, _ := locktest.Open(t, table, "new", locktest.TenSeconds)
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			lock, err := next.Resume(ctx, h, waitpolicy.Forever, keep)
			h, _ = kept(t, lock, err)
			locktest.Release(t, held)
			lock = locktest.Must(next.Resume(t.Context(), h, waitpolicy.For(time.Second)))
			if lock.Ticket() != h.Ticket {
				t.Errorf("ticket %s, want %s", lock.Ticket(), h.Ticket)
			}
			locktest.Release(t, lock)
		})
	}
}
