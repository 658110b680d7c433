package faults_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

// TestReadBeforeFirstTake checks that the read before the first TAKE may fail. It is a
// request like the others: it is retried after a transient failure, a permanent failure
// is returned, and nothing is left of it whatever becomes of it or of its process.
func TestReadBeforeFirstTake(t *testing.T) {
	for name, fault := range map[string]queuelocktest.Fault{
		"lost":          queuelocktest.LoseRequest(),
		"answer lost":   queuelocktest.LoseResponse(),
		"throttled":     queuelocktest.Refuse(queuelocktest.Throttling),
		"arrives twice": queuelocktest.Duplicate(time.Minute),
		"stalled":       queuelocktest.DelayRequest(3 * time.Second),
	} {
		for _, wait := range []waitpolicy.Wait{waitpolicy.NoWait, waitpolicy.Forever} {
			locktest.InBubble(t, fmt.Sprint(name, ", ", wait), func(t *testing.T) {
				table := queuelocktest.NewTable(t)
				c, db := locktest.Open(t, table, "c", locktest.TenSeconds)
				fired := db.Inject(fault.Of("GetItem").Times(1))
				lock := locktest.Acquire(t, c, wait)
				if fired.Fired() != 1 {
					t.Error("there was no read")
				}
				if h := locktest.Must(c.Inspect(t.Context(), locktest.Order)).Serving; len(h) != 1 || h[0].Ticket != lock.Ticket() {
					t.Errorf("%+v, want the lock alone", h)
				}
				for _, e := range locktest.Entries(table) {
					if e["until"] == nil {
						t.Errorf("%v has no end", e)
					}
				}
				locktest.Release(t, lock)
				if err := table.Settle(t.Context()); err != nil {
					t.Fatal(err)
				}
			})
		}
	}
	locktest.InBubble(t, "refused permanently", func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		c, db := locktest.Open(t, table, "c", locktest.TenSeconds)
		db.Inject(queuelocktest.Refuse(queuelocktest.AccessDenied).Of("GetItem"))
		_, err := c.Acquire(t.Context(), locktest.Order, waitpolicy.Forever)
		locktest.Says(t, err, "AccessDenied", "GetItem")
		if n := db.Counts().Total().Sent; n != 1 || len(table.Items()) != 0 {
			t.Errorf("%d requests, %d items", n, len(table.Items()))
		}
	})
	locktest.InBubble(t, "its caller gives up", func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		c, db := locktest.Open(t, table, "c", locktest.TenSeconds)
		db.Inject(queuelocktest.SwallowRequest().Of("GetItem"))
		begun := time.Now()
		_, err := c.Acquire(t.Context(), locktest.Order, waitpolicy.For(2*time.Second))
		if took := time.Since(begun); !errors.Is(err, queuelock.ErrUnavailable) || took > 6*time.Second || len(table.Items()) != 0 {
			t.Errorf("%v after %v, %d items", err, took, len(table.Items()))
		}
	})
	for name, pauses := range map[string][]time.Duration{"before": {time.Hour}, "after": {0, time.Hour}} {
		locktest.InBubble(t, "the process is paused for an hour "+name+" it", func(t *testing.T) {
			table := queuelocktest.NewTable(t)
			late, err := queuelock.New(locktest.Stalling{Client: table.Client("late").Client, Pause: func() (pause time.Duration) {
				if len(pauses) > 0 {
					pause, pauses = pauses[0], pauses[1:]
				}
				return pause
			}}, table.Name(), locktest.TenSeconds)
			if err != nil {
				t.Fatal(err)
			}
			begun := time.Now()
			lock := locktest.Acquire(t, late, waitpolicy.Forever)
			if took := time.Since(begun); took < time.Hour || took > time.Hour+time.Second || lock.Err() != nil || lock.Remaining() != 9*time.Second {
				t.Errorf("held after %v, with %v left: %v", took, lock.Remaining(), lock.Err())
			}
			other, _ := locktest.Open(t, table, "other", locktest.TenSeconds)
			if _, err := other.Acquire(t.Context(), locktest.Order, waitpolicy.NoWait); !errors.Is(err, queuelock.ErrNotAcquired) {
				t.Errorf("beside it: %v", err)
			}
			time.Sleep(time.Minute)
			if lock.Err() != nil {
				t.Error(lock.Err())
			}
			locktest.Release(t, lock)
			if err := late.Close(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestCounterOutlivesTTL checks that the counter outlives the TTL of the table. A counter
// that expires, or is reset, issues tickets twice.
func TestCounterOutlivesTTL(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t, queuelocktest.WithExpiry())
		c, _ := locktest.Open(t, table, "a", locktest.TenSeconds)
		for i := range 3 {
			lock := locktest.Acquire(t, c, waitpolicy.NoWait)
			if got := lock.Ticket().String(); got != fmt.Sprint(i+1) {
				t.Errorf("ticket %s after a year, want %d", got, i+1)
			}
			locktest.Release(t, lock)
			time.Sleep(365 * 24 * time.Hour)
		}
	})
}
