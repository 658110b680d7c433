package hold_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/heartbeat"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

// TestRemaining checks that Remaining falls to zero at the deadline, and is zero after
// the end.
func TestRemaining(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		c, db := locktest.Open(t, table, "a", locktest.TenSeconds)
		locktest.Release(t, locktest.Acquire(t, c, waitpolicy.NoWait))
		lock := locktest.Acquire(t, c, waitpolicy.NoWait)
		before := db.Counts().Total().Sent
		for _, step := range []struct{ after, least, most time.Duration }{
			{0, 9 * time.Second, 9 * time.Second},
			{4 * time.Second, 5 * time.Second, 5 * time.Second},
			{2 * time.Second, 7500 * time.Millisecond, 8 * time.Second}, // renewed between 4.5 s and 5 s
		} {
			time.Sleep(step.after)
			if got := lock.Remaining(); got < step.least || got > step.most {
				t.Errorf("%v remain, want between %v and %v", got, step.least, step.most)
			}
		}
		if n := db.Counts().Total().Sent - before; n != 1 {
			t.Errorf("%d requests, want the heartbeat alone", n)
		}
		db.Partition()
		time.Sleep(lock.Remaining() - 1)
		if got := lock.Remaining(); got != 1 {
			t.Errorf("%v remain, want 1ns", got)
		}
		time.Sleep(time.Nanosecond)
		if got := lock.Remaining(); got != 0 || !errors.Is(lock.Err(), queuelock.ErrLost) {
			t.Errorf("%v remain of a lost lock, %v", got, lock.Err())
		}
		db.Heal()
		_ = lock.Release(t.Context())
		lock = locktest.Acquire(t, c, waitpolicy.Forever)
		locktest.Release(t, lock)
		if got := lock.Remaining(); got != 0 {
			t.Errorf("%v remain of a released lock", got)
		}
	})
}

// TestExtend checks that Extend is one request, from which the next heartbeat counts.
func TestExtend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		c, db := locktest.Open(t, table, "a", queuelock.Config{})
		locktest.Release(t, locktest.Acquire(t, c, waitpolicy.NoWait))
		lock := locktest.Acquire(t, c, waitpolicy.NoWait)
		full := lock.Remaining()
		time.Sleep(20 * time.Second)
		spent := locktest.Cost(table, func() {
			if err := lock.Extend(t.Context()); err != nil {
				t.Fatal(err)
			}
		})
		if spent.Sent != 1 || spent.WriteUnits != 1 || spent.ReadUnits != 0 {
			t.Errorf("it cost %+v, want one request", spent)
		}
		if got := lock.Remaining(); got != full {
			t.Errorf("%v remain, want %v", got, full)
		}
		before := db.Counts().Total().Sent
		time.Sleep(26900 * time.Millisecond)
		if n := db.Counts().Total().Sent - before; n != 0 {
			t.Errorf("%d requests within 26.9 s of it", n)
		}
		time.Sleep(4100 * time.Millisecond)
		if n := db.Counts().Total().Sent - before; n != 1 {
			t.Errorf("%d requests within 31 s of it, want a heartbeat", n)
		}
		// Others leave it as long as its holder believes in it.
		if h := locktest.Must(c.Viewer().Inspect(t.Context(), locktest.Order)).Serving[0]; h.Remaining < lock.Remaining() {
			t.Errorf("to others %v remain, to its holder %v", h.Remaining, lock.Remaining())
		}
		locktest.Release(t, lock)
		before = db.Counts().Total().Sent
		if err := lock.Extend(t.Context()); !errors.Is(err, queuelock.ErrReleased) || db.Counts().Total().Sent != before {
			t.Errorf("after the release: %v", err)
		}
	})
}

// TestExtendBesideHeartbeats checks that extensions and heartbeats are sent one by one.
// Heartbeats and calls meet: never two renewals of one lock at one time.
func TestExtendBesideHeartbeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		c, db := locktest.Open(t, table, "a", locktest.TenSeconds)
		lock := locktest.Acquire(t, c, waitpolicy.NoWait)
		var underWay, most atomic.Int32
		db.Inject(queuelocktest.DelayResponse(700 * time.Millisecond).Mentioning("beat + 1").Where(func(queuelocktest.Request) bool {
			most.Store(max(most.Load(), underWay.Add(1)))
			time.AfterFunc(699*time.Millisecond, func() { underWay.Add(-1) })
			return true
		}))
		var wg sync.WaitGroup
		for i := range 5 {
			wg.Go(func() {
				for range 20 {
					time.Sleep(time.Duration(500+i*300) * time.Millisecond)
					if err := lock.Extend(t.Context()); err != nil {
						t.Error(err)
					}
					if got := lock.Remaining(); got < 8*time.Second-200*time.Millisecond {
						t.Errorf("%v remain after it was extended", got)
					}
				}
			})
		}
		wg.Wait()
		if most.Load() != 1 {
			t.Errorf("%d renewals at one time", most.Load())
		}
		locktest.Release(t, lock)
	})
}

// TestExtendUnderFaults checks that Extend survives network faults, or returns the
// reason.
func TestExtendUnderFaults(t *testing.T) {
	for name, fault := range map[string]queuelocktest.Fault{
		"request lost":  queuelocktest.LoseRequest().Times(1),
		"response lost": queuelocktest.LoseResponse().Times(1),
		"arrives twice": queuelocktest.Duplicate(time.Second),
		"lands late":    queuelocktest.LandLate(8 * time.Second).Times(1),
	} {
		locktest.InBubble(t, name, func(t *testing.T) {
			table := queuelocktest.NewTable(t)
			c, db := locktest.Open(t, table, "a", locktest.TenSeconds)
			lock := locktest.Acquire(t, c, waitpolicy.NoWait)
			time.Sleep(2 * time.Second)
			injected := db.Inject(fault.Of("UpdateItem"))
			if err := lock.Extend(t.Context()); err != nil || injected.Fired() == 0 {
				t.Errorf("%v, after %d faults", err, injected.Fired())
			}
			if err := table.Settle(t.Context()); err != nil {
				t.Fatal(err)
			}
			if h := locktest.Must(c.Viewer().Inspect(t.Context(), locktest.Order)).Serving[0]; lock.Err() != nil || h.Remaining < lock.Remaining() {
				t.Errorf("%v; to others %v remain, to its holder %v", lock.Err(), h.Remaining, lock.Remaining())
			}
			locktest.Release(t, lock)
		})
	}
	locktest.InBubble(t, "throttled for long", func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		c, db := locktest.Open(t, table, "a", locktest.TenSeconds)
		lock := locktest.Acquire(t, c, waitpolicy.NoWait)
		time.Sleep(2 * time.Second)
		left := lock.Remaining()
		fault := db.Inject(queuelocktest.Refuse(queuelocktest.Throttling).Of("UpdateItem"))
		err := lock.Extend(t.Context())
		if err == nil || errors.Is(err, queuelock.ErrLost) || lock.Err() != nil || lock.Remaining() > left {
			t.Errorf("%v, lock %v, %v remain", err, lock.Err(), lock.Remaining())
		}
		fault.Remove()
		time.Sleep(time.Second) // the heartbeat tries on
		if got := lock.Remaining(); got < 8*time.Second {
			t.Errorf("%v remain after the network was mended", got)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := lock.Extend(ctx); !errors.Is(err, context.Canceled) || lock.Err() != nil {
			t.Errorf("%v", err)
		}
		locktest.Release(t, lock)
	})
}

// TestExtendAfterEnd checks that Extend reports a loss and a release.
func TestExtendAfterEnd(t *testing.T) {
	locktest.InBubble(t, "evicted", func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		c, db := locktest.Open(t, table, "a", queuelock.Config{})
		lock := locktest.Acquire(t, c, waitpolicy.NoWait)
		if _, err := db.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
			TableName: aws.String(table.Name()), Key: locktest.RecordKey(),
			UpdateExpression: aws.String("REMOVE holders, servingAfter SET granted = ticketNumber"),
		}); err != nil {
			t.Fatal(err)
		}
		loss, ok := errors.AsType[*queuelock.LostError](lock.Extend(t.Context()))
		if !ok || loss.Cause != heartbeat.Evicted || lock.Remaining() != 0 {
			t.Errorf("%v, %v remain", loss, lock.Remaining())
		}
		<-lock.Context().Done()
		if n := len(locktest.Entries(table)); n != 0 {
			t.Errorf("%d holders: it was put back", n)
		}
	})
	locktest.InBubble(t, "lost while it waits", func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		c, db := locktest.Open(t, table, "a", locktest.TenSeconds)
		lock := locktest.Acquire(t, c, waitpolicy.NoWait)
		db.Partition()
		for lock.Err() == nil {
			_ = lock.Extend(t.Context()) // its errors until then are the table's
			time.Sleep(time.Millisecond) // without retries of the SDK, once its quota is empty, Extend takes no time here
		}
		loss, ok := errors.AsType[*queuelock.LostError](lock.Extend(t.Context()))
		if !ok || loss.Cause != heartbeat.Unreachable {
			t.Errorf("%v", loss)
		}
	})
	locktest.InBubble(t, "released while it waits", func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		c, db := locktest.Open(t, table, "a", queuelock.Config{})
		lock := locktest.Acquire(t, c, waitpolicy.NoWait)
		held := db.Inject(queuelocktest.HoldRequest().LandingAnyway().Mentioning("beat + 1").Times(1))
		done := make(chan error)
		go func() { done <- lock.Extend(t.Context()) }()
		<-held.Reached()
		locktest.Release(t, lock)
		if err := <-done; !errors.Is(err, queuelock.ErrReleased) {
			t.Errorf("%v", err)
		}
		held.Release()
		if err := table.Settle(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := len(locktest.Entries(table)); n != 0 {
			t.Errorf("%d holders: the late renewal put one back", n)
		}
	})
}
