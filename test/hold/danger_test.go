package hold_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/ticket"
	"github.com/queuelock/queuelock/waitpolicy"
)

// alarms remember when OnExpiring called.
type alarms struct {
	mu    sync.Mutex
	start time.Time
	rung  []time.Duration
	lost  bool // at the last call
}

func newAlarms() *alarms { return &alarms{start: time.Now()} }

func (a *alarms) ring(lock *queuelock.Lock) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.rung, a.lost = append(a.rung, time.Since(a.start)), lock.Err() != nil
}

func (a *alarms) times() []time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.rung)
}

// TestOnExpiring checks that OnExpiring is called once before a loss, and never while renewals succeed.
func TestOnExpiring(t *testing.T) {
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		c, db := locktest.Open(t, table, "a", queuelock.Config{})
		locktest.Release(t, locktest.Acquire(t, c, waitpolicy.NoWait))
		first, second := newAlarms(), newAlarms()
		lock := locktest.Acquire(t, c, waitpolicy.NoWait,
			queuelock.OnExpiring(20*time.Second, first.ring), queuelock.OnExpiring(24190*time.Millisecond, second.ring))
		time.Sleep(time.Hour + time.Second) // not at the instant of a heartbeat
		if len(first.times())+len(second.times()) != 0 {
			t.Fatalf("called at %v and %v while all was well", first.times(), second.times())
		}
		before := lock.Remaining()
		db.Partition()
		cut := time.Since(first.start)
		<-lock.Context().Done()
		synctest.Wait()
		at := first.times()
		if len(at) != 1 || (at[0]-cut-(before-20*time.Second)).Abs() > 0 || first.lost {
			t.Errorf("called at %v, want once, 20 s before the end", at)
		}
		if at := second.times(); len(at) != 1 || at[0] >= first.times()[0] {
			t.Errorf("called at %v and %v", at, first.times())
		}
		time.Sleep(time.Hour)
		if len(first.times()) != 1 {
			t.Errorf("called again at %v", first.times())
		}
	})
}

func TestOnExpiringAfterRelease(t *testing.T) {
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		c, db := locktest.Open(t, table, "a", queuelock.Config{})
		for _, answered := range []bool{true, false} {
			rung := newAlarms()
			lock := locktest.Acquire(t, c, waitpolicy.Forever, queuelock.OnExpiring(20*time.Second, rung.ring), queuelock.NoHeartbeat())
			time.Sleep(30 * time.Second)
			if !answered {
				db.Partition()
				time.AfterFunc(time.Minute, db.Heal)
			}
			if err := lock.Release(t.Context()); (err == nil) != answered {
				t.Errorf("answered %t: %v", answered, err)
			}
			if time.Sleep(2 * time.Minute); len(rung.times()) > 0 {
				t.Errorf("answered %t: called %v after the grant, and released after 30 s", answered, rung.times())
			}
		}
	})
}

// TestOnExpiringBeforeReturn checks that OnExpiring is called only for a lock that was returned.
func TestOnExpiringBeforeReturn(t *testing.T) {
	cfg := queuelock.Config{TTL: locktest.TTL, Scope: ticket.ScopeTable}
	for what, test := range map[string]struct {
		cut, released time.Duration // until when heartbeats fail, and when the other lock is free
		told          int
	}{
		"lost, and given back":             {16 * time.Second, 20 * time.Second, 0},
		"renewed before it was returned":   {8200 * time.Millisecond, 12 * time.Second, 0},
		"in danger when it was returned":   {8900 * time.Millisecond, 7600 * time.Millisecond, 1},
		"returned before it was in danger": {8900 * time.Millisecond, 5 * time.Second, 1},
	} {
		locktest.InTable(t, what, func(t *testing.T, table *queuelocktest.Table) {
			a, _ := locktest.Open(t, table, "a", cfg)
			b, db := locktest.Open(t, table, "b", cfg)
			held, told := locktest.AcquireAll(t, a, waitpolicy.NoWait, "b"), newAlarms()
			begun, expiring := time.Now(), queuelock.OnExpiring(1500*time.Millisecond, told.ring)
			done := locktest.Background(func() (*queuelock.Locks, error) {
				return b.AcquireAll(t.Context(), locktest.KeysOf("a", "b"), waitpolicy.Forever, expiring)
			})
			time.Sleep(100 * time.Millisecond)
			cut := db.Inject(queuelocktest.LoseRequest().Of("UpdateItem").On("a", "").Mentioning("beat + 1"))
			time.AfterFunc(test.cut, cut.Remove)
			time.Sleep(time.Until(begun.Add(test.released)))
			locktest.Release(t, held)
			got := <-done
			locktest.OK(t, got.Err)
			time.Sleep(time.Until(begun.Add(22 * time.Second)))
			if at := told.times(); len(at) != test.told || len(at) > 0 && at[0] < got.At.Sub(begun) {
				t.Errorf("called at %v, want %d times, and not before it was returned after %v", at, test.told, got.At.Sub(begun))
			}
			if err := got.Lock.Release(t.Context()); err != nil && !errors.Is(err, queuelock.ErrLost) {
				t.Error(err)
			}
		}, queuelocktest.WithLatency(time.Millisecond))
	}
}

// TestSlowOnExpiring checks that OnExpiring may release the lock, and may take its time.
func TestSlowOnExpiring(t *testing.T) {
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		c, db := locktest.Open(t, table, "a", locktest.TenSeconds)
		done := make(chan error, 1)
		lock := locktest.Acquire(t, c, waitpolicy.NoWait, queuelock.OnExpiring(time.Second, func(l *queuelock.Lock) {
			db.Heal()
			if l.Remaining() != time.Second || l.Err() != nil {
				t.Errorf("%v remain, %v", l.Remaining(), l.Err())
			}
			done <- l.Release(context.Background())
		}), queuelock.OnExpiring(1100*time.Millisecond, func(l *queuelock.Lock) {
			<-l.Context().Done()
			time.Sleep(5 * time.Second)
		}))
		db.Partition()
		if err := <-done; err != nil || !errors.Is(lock.Err(), queuelock.ErrReleased) {
			t.Errorf("%v, %v", err, lock.Err())
		}
		begun := time.Now()
		locktest.Check(t, c.Close(t.Context()))
		if took := time.Since(begun); took != 5*time.Second {
			t.Errorf("Close took %v, want until the function has returned", took)
		}
	})
}

func TestInvalidOnExpiring(t *testing.T) {
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		c, db := locktest.Open(t, table, "a", queuelock.Config{})
		f := func(*queuelock.Lock) {}
		for _, test := range []struct {
			opts []queuelock.AcquireOption
			says []string
		}{
			{[]queuelock.AcquireOption{queuelock.OnExpiring(time.Second, nil)}, []string{"OnExpiring", "function is nil"}},
			{[]queuelock.AcquireOption{queuelock.OnExpiring(0, f)}, []string{"OnExpiring", "0s"}},
			{[]queuelock.AcquireOption{queuelock.OnExpiring(-time.Second, f)}, []string{"OnExpiring", "-1s"}},
			{[]queuelock.AcquireOption{queuelock.OnExpiring(time.Second, f), queuelock.OnExpiring(25*time.Second, f)}, []string{"25s", "24.19s", "TTL 1m0s", "HeartbeatInterval 30s", "RequestTimeout 3.75s"}},
			{[]queuelock.AcquireOption{queuelock.OnExpiring(10*time.Second, f), queuelock.WithTTL(10 * time.Second)}, []string{"10s", "1.5s"}},
		} {
			_, err := c.Acquire(t.Context(), locktest.Order, waitpolicy.NoWait, test.opts...)
			locktest.Says(t, err, test.says...)
		}
		locktest.SentNothing(t, db)
		locktest.Release(t, locktest.Acquire(t, c, waitpolicy.NoWait, queuelock.OnExpiring(1500*time.Millisecond, f), queuelock.WithTTL(10*time.Second)))
	})
}
