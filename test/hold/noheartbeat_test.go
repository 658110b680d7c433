package hold_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/heartbeat"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

func TestNoHeartbeat(t *testing.T) {
	const left = locktest.TTL * 9 / 10 // to the owner's deadline
	take := func(t *testing.T, table *queuelocktest.Table, opts ...queuelock.AcquireOption) (*queuelock.Lock, *queuelocktest.Client) {
		return hold(t, table, locktest.TenSeconds, append(opts, queuelock.NoHeartbeat())...)
	}
	end := func(t *testing.T, lock *queuelock.Lock) {
		t.Helper()
		select {
		case <-lock.Context().Done():
		case <-time.After(time.Hour):
			t.Fatal("its lease does not end")
		}
		synctest.Wait()
	}
	lostBy := func(t *testing.T, lock *queuelock.Lock, want heartbeat.Cause) {
		t.Helper()
		if loss, ok := errors.AsType[*queuelock.LostError](lock.Err()); !ok || loss.Cause != want {
			t.Errorf("%v, want a loss by %v", lock.Err(), want)
		}
	}
	for name, opts := range map[string][]queuelock.AcquireOption{
		"Alone": nil, "Shared": {queuelock.Shared()}, "OfManyPermits": {queuelock.Permits(5)},
	} {
		locktest.InTable(t, "SendsNothing/"+name, func(t *testing.T, table *queuelocktest.Table) {
			begun := time.Now()
			lock, db := take(t, table, opts...)
			if n := locktest.Cost(db, func() { end(t, lock) }).Sent; n != 0 || time.Since(begun) != left {
				t.Errorf("%d requests in %v, want none in %v", n, time.Since(begun), left)
			}
			lostBy(t, lock, heartbeat.Expired)
		})
	}
	locktest.InTable(t, "KeepsOthersOutUntilItsEnd", func(t *testing.T, table *queuelocktest.Table) {
		begun := time.Now()
		lock, _ := take(t, table)
		b, _ := locktest.Open(t, table, "b", locktest.TenSeconds)
		next := <-locktest.QueueUp(t.Context(), b, waitpolicy.For(time.Minute))
		if next.Err != nil || time.Since(begun) < locktest.TTL || lock.Err() == nil {
			t.Fatalf("%v after %v, while the first: %v", next.Err, time.Since(begun), lock.Err())
		}
		locktest.Release(t, next.Lock)
	})
	locktest.InTable(t, "ExtendRenews", func(t *testing.T, table *queuelocktest.Table) {
		begun := time.Now()
		lock, db := take(t, table)
		sent := db.Counts().Total().Sent
		time.Sleep(8 * time.Second)
		if err := lock.Extend(t.Context()); err != nil || lock.Remaining() != left {
			t.Errorf("%v, and %v remain", err, lock.Remaining())
		}
		end(t, lock)
		if n := db.Counts().Total().Sent - sent; n != 1 || time.Since(begun) != 8*time.Second+left {
			t.Errorf("%d requests, lost after %v", n, time.Since(begun))
		}
	})
	locktest.InTable(t, "FailedExtendIsNotRetried", func(t *testing.T, table *queuelocktest.Table) {
		lock, db := take(t, table)
		db.Partition()
		if err := lock.Extend(t.Context()); err == nil || lock.Err() != nil {
			t.Errorf("%v, and the lock: %v", err, lock.Err())
		}
		db.Heal()
		if n := locktest.Cost(db, func() { end(t, lock) }).Sent; n != 0 {
			t.Errorf("%d requests", n)
		}
		lostBy(t, lock, heartbeat.Unreachable)
	})
	locktest.InTable(t, "WarnsWithAnyMargin", func(t *testing.T, table *queuelocktest.Table) {
		told := newAlarms()
		lock, _ := take(t, table, queuelock.OnExpiring(left-time.Second, told.ring))
		end(t, lock)
		if at := told.times(); len(at) != 1 || at[0] != time.Second {
			t.Errorf("called at %v, want once, after 1 s", at)
		}
	})
	locktest.InTable(t, "RefusesFailClosed", func(t *testing.T, table *queuelocktest.Table) {
		c, db := locktest.Open(t, table, "a", locktest.TenSeconds)
		_, err := c.Acquire(t.Context(), locktest.Order, waitpolicy.NoWait, queuelock.FailClosed(), queuelock.NoHeartbeat())
		locktest.Says(t, err, "FailClosed and NoHeartbeat", "eviction")
		_, err = c.Acquire(t.Context(), locktest.Order, waitpolicy.NoWait, queuelock.NoHeartbeat(),
			queuelock.OnExpiring(left+1, func(*queuelock.Lock) {}))
		locktest.Says(t, err, "OnExpiring", "at most 9s", "TTL 10s")
		locktest.SentNothing(t, db)
	})
}
