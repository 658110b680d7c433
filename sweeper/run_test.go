package sweeper_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/sweeper"
	"github.com/queuelock/queuelock/waitpolicy"
)

var key = queuelock.Key{Entity: "order-7"}

// crash leaves an entry of a holder and a row of a waiter in the queue.
func crash(t *testing.T, table *queuelocktest.Table) {
	t.Helper()
	c, db := locktest.Open(t, table, "crashed", queuelock.Config{})
	locktest.Must(c.Acquire(t.Context(), key, waitpolicy.NoWait))
	go func() {
		if _, err := c.Acquire(t.Context(), key, waitpolicy.For(time.Minute)); err == nil {
			t.Error("a crashed client was served")
		}
	}()
	time.Sleep(time.Second)
	db.Partition()
}

func TestRun(t *testing.T) {
	locktest.InTable(t, "SweepsUntilContextEnds", func(t *testing.T, table *queuelocktest.Table) {
		crash(t, table)
		c, db := locktest.Open(t, table, "sweeper", queuelock.Config{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		var total sweeper.Swept
		err := sweeper.Run(ctx, c.Operator(), sweeper.Fixed(key), sweeper.Config{OnSwept: func(k string, swept sweeper.Swept) {
			if k != key.String() {
				t.Errorf("swept %v", k)
			}
			total.Waiters += swept.Waiters
			total.Holders += swept.Holders
		}})
		if !errors.Is(err, context.DeadlineExceeded) || total != (sweeper.Swept{Waiters: 1, Holders: 1}) {
			t.Errorf("%v, after %+v", err, total)
		}
		if rounds := db.Counts()["Query"].Sent; rounds < 60 || rounds > 67 {
			t.Errorf("%d rounds in an hour, one a minute is the default", rounds)
		}
	})
	locktest.InTable(t, "RetriesAtNextInterval", func(t *testing.T, table *queuelocktest.Table) {
		crash(t, table)
		time.Sleep(2 * time.Minute)
		c, db := locktest.Open(t, table, "sweeper", queuelock.Config{})
		outage := db.Inject(queuelocktest.Refuse(queuelocktest.AccessDenied).Of("Query").Times(1))
		calls, failed := 0, errors.New("no keys yet")
		keys := func(context.Context) ([]queuelock.Key, error) {
			if calls++; calls == 1 {
				return nil, failed
			}
			return []queuelock.Key{key}, nil
		}
		ctx, cancel := context.WithCancel(t.Context())
		var reported []error
		begun := time.Now()
		err := sweeper.Run(ctx, c.Operator(), keys, sweeper.Config{
			Interval: 10 * time.Second,
			OnSwept:  func(string, sweeper.Swept) { cancel() },
			OnError:  func(_ string, err error) { reported = append(reported, err) },
		})
		if took := time.Since(begun); took < 18*time.Second || took > 21*time.Second {
			t.Errorf("the third round began after %v", took)
		}
		if !errors.Is(err, context.Canceled) || len(reported) != 2 || !errors.Is(reported[0], failed) || outage.Fired() != 1 {
			t.Errorf("%v, after %v", err, reported)
		}
	})
	locktest.InTable(t, "ContinuesAfterBadKey", func(t *testing.T, table *queuelocktest.Table) {
		crash(t, table)
		time.Sleep(2 * time.Minute)
		c, _ := locktest.Open(t, table, "sweeper", queuelock.Config{})
		ctx, cancel := context.WithCancel(t.Context())
		var bad []string
		err := sweeper.Run(ctx, c.Operator(), sweeper.Fixed(queuelock.Key{Reason: "no entity"}, key), sweeper.Config{
			OnSwept: func(string, sweeper.Swept) { cancel() },
			OnError: func(k string, _ error) { bad = append(bad, k) },
		})
		if !errors.Is(err, context.Canceled) || !slices.Equal(bad, []string{queuelock.Key{Reason: "no entity"}.String()}) {
			t.Errorf("%v, after errors of %v", err, bad)
		}
	})
	locktest.InTable(t, "EndsWithClosedClient", func(t *testing.T, table *queuelocktest.Table) {
		c, _ := locktest.Open(t, table, "sweeper", queuelock.Config{})
		ended := make(chan error)
		go func() {
			ended <- sweeper.Run(t.Context(), c.Operator(), sweeper.Fixed(key), sweeper.Config{OnError: func(_ string, err error) { t.Error(err) }})
		}()
		synctest.Wait()
		locktest.Check(t, c.Close(t.Context()))
		locktest.Is(t, <-ended, queuelock.ErrClosed)
	})
	locktest.InTable(t, "LeavesLiveAlone", func(t *testing.T, table *queuelocktest.Table) {
		holder, _ := locktest.Open(t, table, "holder", queuelock.Config{})
		lock := locktest.Must(holder.Acquire(t.Context(), key, waitpolicy.NoWait))
		c, _ := locktest.Open(t, table, "sweeper", queuelock.Config{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		err := sweeper.Run(ctx, c.Operator(), sweeper.Fixed(key), sweeper.Config{OnSwept: func(_ string, s sweeper.Swept) { t.Errorf("swept %+v", s) }})
		if !errors.Is(err, context.DeadlineExceeded) || lock.Err() != nil {
			t.Errorf("%v; the lock: %v", err, lock.Err())
		}
	})
	locktest.InTable(t, "RefusesBadArguments", func(t *testing.T, table *queuelocktest.Table) {
		c, db := locktest.Open(t, table, "sweeper", queuelock.Config{})
		for _, bad := range []struct {
			client sweeper.Client[queuelock.Key]
			keys   sweeper.Keys[queuelock.Key]
			cfg    sweeper.Config
			says   string
		}{
			{nil, sweeper.Fixed(key), sweeper.Config{}, "client is nil"},
			{c.Operator(), nil, sweeper.Config{}, "Keys is nil"},
			{c.Operator(), sweeper.Fixed(key), sweeper.Config{Interval: time.Millisecond}, "Interval is 1ms: at least 1s"},
			{c.Operator(), sweeper.Fixed(key), sweeper.Config{Interval: -time.Minute}, "Interval is -1m0s"},
		} {
			if err := sweeper.Run(t.Context(), bad.client, bad.keys, bad.cfg); err == nil || !strings.Contains(err.Error(), bad.says) {
				t.Errorf("%v, want %q", err, bad.says)
			}
		}
		if _, err := sweeper.Once(t.Context(), (*queuelock.Operator)(nil), key); err == nil {
			t.Error("Once took a nil client")
		}
		if n := db.Counts().Total().Sent; n != 0 {
			t.Errorf("%d requests were sent", n)
		}
	})
}

func TestOnce(t *testing.T) {
	locktest.InTable(t, "SweepsEachKey", func(t *testing.T, table *queuelocktest.Table) {
		crash(t, table)
		time.Sleep(2 * time.Minute)
		c, db := locktest.Open(t, table, "sweeper", queuelock.Config{})
		swept, err := sweeper.Once(t.Context(), c.Operator(), queuelock.Key{}, key, queuelock.Key{Entity: "idle"})
		if err == nil || swept != (sweeper.Swept{Waiters: 1, Holders: 1}) || db.Counts()["Query"].Sent != 2 {
			t.Errorf("%+v, %v, %v", swept, err, db.Counts())
		}
		if swept, err := sweeper.Once(t.Context(), c.Operator(), key); err != nil || swept != (sweeper.Swept{}) {
			t.Errorf("again: %+v, %v", swept, err)
		}
	})
	locktest.InTable(t, "EndsWithContext", func(t *testing.T, table *queuelocktest.Table) {
		c, db := locktest.Open(t, table, "sweeper", queuelock.Config{})
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := sweeper.Once(ctx, c.Operator(), key, key, key); !errors.Is(err, context.Canceled) || db.Counts()["Query"].Sent > 1 {
			t.Errorf("%v, after %v", err, db.Counts())
		}
	})
}
