package modes_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/av"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/ticket"
	"github.com/queuelock/queuelock/waitpolicy"
)

// TestNoWaitBesideReaders checks how NoWait treats a client that would join the holders.
func TestNoWaitBesideReaders(t *testing.T) {
	locktest.WithWatched(t, func(t *testing.T, table *queuelocktest.Table) {
		a, _ := locktest.OpenMet(t, table, "a", queuelock.Config{})
		b, dbB := locktest.OpenMet(t, table, "b", queuelock.Config{})
		w, _ := locktest.Open(t, table, "w", queuelock.Config{})
		busy := func(what string, requests int, opts ...queuelock.AcquireOption) {
			t.Helper()
			locktest.Sends(t, dbB, requests, what, func() {
				_, err := b.Acquire(t.Context(), locktest.Order, waitpolicy.NoWait, opts...)
				locktest.Is(t, err, queuelock.ErrNotAcquired)
			})
		}
		lock := locktest.Acquire(t, a, waitpolicy.NoWait)
		busy("a reader beside a writer", 1, queuelock.Shared())
		locktest.Release(t, lock)
		reads := locktest.Acquire(t, a, waitpolicy.NoWait, queuelock.Shared())
		joins := locktest.Acquire(t, b, waitpolicy.NoWait, queuelock.Shared())
		busy("a writer beside readers", 1)
		locktest.Release(t, joins)
		writer := locktest.Waiting(t, w)
		busy("a reader behind a writer", 2, queuelock.Shared())
		locktest.Release(t, reads)
		time.Sleep(5 * time.Second)
		locktest.Release(t, locktest.Granted(t, "the writer", writer))
	})
}

func TestStateOfSharedLock(t *testing.T) {
	locktest.WithWatched(t, func(t *testing.T, table *queuelocktest.Table) {
		a, b, c := locktest.Three(t, table, queuelock.Config{}, "a", "b", "c")
		locktest.Acquire(t, a, waitpolicy.NoWait, queuelock.Shared())
		locktest.Waiting(t, b)
		locktest.Waiting(t, c, queuelock.Shared())
		s, err := a.Viewer().Inspect(t.Context(), locktest.Order)
		if err != nil || s.Permits != 0 || len(s.Serving) != 1 || !s.Serving[0].Shared || len(s.Waiting) != 2 || s.Waiting[0].Shared || !s.Waiting[1].Shared {
			t.Errorf("%+v, %v", s, err)
		}
		permits := queuelock.Key{Entity: "order-7", Reason: "permits"}
		locktest.OK(t, a.Do(t.Context(), permits, waitpolicy.NoWait, func(context.Context, *queuelock.Lock) error { return nil }, queuelock.Permits(7)))
		if s, err := a.Viewer().Inspect(t.Context(), permits); err != nil || s.Permits != 7 {
			t.Errorf("%+v, %v", s, err)
		}
	})
}

// TestDowngrade checks that a downgrade lets readers join, and lets no writer in between.
func TestDowngrade(t *testing.T) {
	locktest.WithWatched(t, func(t *testing.T, table *queuelocktest.Table) {
		w, dbW := locktest.Open(t, table, "w", queuelock.Config{})
		lock := locktest.Acquire(t, w, waitpolicy.NoWait)
		var readers []<-chan locktest.Outcome
		for i := range 2 {
			c, _ := locktest.Open(t, table, fmt.Sprint("r", i), queuelock.Config{})
			readers = append(readers, locktest.Waiting(t, c, queuelock.Shared()))
		}
		c, _ := locktest.Open(t, table, "w2", queuelock.Config{})
		writer := locktest.Waiting(t, c)
		last, _ := locktest.Open(t, table, "r9", queuelock.Config{})
		behind := locktest.LockBy(t, last, queuelock.Shared())
		time.Sleep(5 * time.Second)
		exclusive := lock.Condition()
		locktest.Sends(t, dbW, 1, "the first time", func() { locktest.OK(t, lock.Downgrade(t.Context())) })
		locktest.Sends(t, dbW, 0, "the second time", func() {
			if err := lock.Downgrade(t.Context()); err != nil || !lock.Shared() {
				t.Errorf("the second time: %v, shared %v", err, lock.Shared())
			}
		})
		time.Sleep(5 * time.Second)
		for i, done := range readers {
			if got := locktest.Granted(t, fmt.Sprint("reader ", i), done); !got.Shared() {
				t.Error("a reader does not share")
			}
		}
		locktest.StillWaits(t, "a writer", writer)
		locktest.StillWaits(t, "a reader behind a writer", behind)
		// The downgraded lock can still write, but what it sent before cannot come now.
		locktest.Check(t, lock.Transact(t.Context(), locktest.Deposit(table, nil)))
		if err := locktest.WithCondition(t, table, exclusive); err == nil {
			t.Error("a write of before the downgrade was made beside readers")
		}
		time.Sleep(2 * time.Minute) // heartbeats go on
		locktest.Check(t, lock.Err())
		locktest.Release(t, lock)
		time.Sleep(5 * time.Second)
		locktest.StillWaits(t, "a writer beside two readers", writer)
	})
}

func TestDowngradeRefusals(t *testing.T) {
	locktest.WithWatched(t, func(t *testing.T, table *queuelocktest.Table) {
		a, dbA, b := locktest.Pair(t, table, locktest.TenSeconds, "a", "b")
		released := locktest.Acquire(t, a, waitpolicy.NoWait)
		locktest.Release(t, released)
		locktest.Is(t, released.Downgrade(t.Context()), queuelock.ErrReleased)
		lost := locktest.Acquire(t, a, waitpolicy.NoWait)
		dbA.Partition()
		next := locktest.Acquire(t, b, waitpolicy.For(time.Minute))
		dbA.Heal()
		locktest.Is(t, lost.Downgrade(t.Context()), queuelock.ErrLost)
		if next.Shared() {
			t.Error("the next holder shares")
		}
		locktest.Release(t, next)
		key := queuelock.Key{Entity: "order-7", Reason: "permit"}
		permit := locktest.Must(a.Acquire(t.Context(), key, waitpolicy.NoWait, queuelock.Permits(2)))
		if err := permit.Downgrade(t.Context()); err == nil || errors.Is(err, queuelock.ErrLost) || permit.Err() != nil {
			t.Errorf("of a permit: %v, and then %v", err, permit.Err())
		}
		locktest.Release(t, permit)
	})
}

// slotOf returns the number of a permit; -1 if it has none.
func slotOf(l *queuelock.Lock) int {
	if slot, ok := l.Slot(); ok {
		return slot
	}
	return -1
}

func TestSlot(t *testing.T) {
	permits := queuelock.Permits(3)
	locktest.OnEveryEngine(t, func(t *testing.T, table *queuelocktest.Table) {
		a, b := locktest.Two(t, table, queuelock.Config{}, "a", "b")
		acquire := func(c *queuelock.Client, want int) *queuelock.Lock {
			t.Helper()
			lock := locktest.Acquire(t, c, waitpolicy.For(time.Minute), permits)
			if got := slotOf(lock); got != want {
				t.Fatalf("ticket %s has number %d, want %d", lock.Ticket(), got, want)
			}
			return lock
		}
		first, second, third := acquire(a, 0), acquire(b, 1), acquire(a, 2)
		locktest.Release(t, second)
		second = acquire(a, 1) // the lowest that is free, and not the next
		locktest.Release(t, first)
		resumed := locktest.Must(b.Resume(t.Context(), second.Handle(), waitpolicy.NoWait))
		if got := slotOf(resumed); got != 1 {
			t.Errorf("it is resumed with number %d, want 1", got)
		}
		first = acquire(b, 0)
		for _, lock := range []*queuelock.Lock{first, resumed, third} {
			locktest.Release(t, lock)
			if slotOf(lock) < 0 {
				t.Error("it has no number after its release")
			}
		}
		locktest.Release(t, acquire(a, 0))
	})
	locktest.InTable(t, "NoSemaphore", func(t *testing.T, table *queuelocktest.Table) {
		a, b := locktest.Two(t, table, queuelock.Config{}, "a", "b")
		for _, opts := range [][]queuelock.AcquireOption{nil, {queuelock.Shared()}} {
			lock := locktest.Acquire(t, a, waitpolicy.NoWait, opts...)
			waiting := locktest.Background(func() (*queuelock.Lock, error) {
				return b.Acquire(t.Context(), locktest.Order, waitpolicy.Forever)
			})
			time.Sleep(time.Second)
			locktest.Release(t, lock)
			next := locktest.Lock(t, <-waiting)
			if slot, ok := lock.Slot(); ok || slot != 0 || slotOf(next) >= 0 {
				t.Errorf("a lock has number %d", slot)
			}
			locktest.Release(t, next)
		}
	})
	locktest.InTable(t, "AtOnce", slotsAtOnce)
	locktest.InTable(t, "EarlierVersion", func(t *testing.T, table *queuelocktest.Table) {
		a, b := locktest.Two(t, table, queuelock.Config{TTL: time.Hour}, "a", "b")
		old := locktest.Acquire(t, a, waitpolicy.NoWait, permits)
		malformed := locktest.Acquire(t, a, waitpolicy.NoWait, permits)
		record, _ := locktest.Record(t, table)
		for _, entry := range record["holders"].(*types.AttributeValueMemberM).Value {
			e := entry.(*types.AttributeValueMemberM).Value
			if delete(e, "slot"); e["ticket"] != nil {
				e["slot"] = av.Num(7)
			}
		}
		locktest.Write(t, table, record)
		lock := locktest.Acquire(t, b, waitpolicy.NoWait, permits)
		if got := slotOf(lock); got != 0 {
			t.Errorf("beside entries without a number it has %d, want 0", got)
		}
		if _, err := b.Acquire(t.Context(), locktest.Order, waitpolicy.NoWait, permits); err == nil {
			t.Error("a fourth has a permit of three")
		}
		resumed := locktest.Must(b.Resume(t.Context(), old.Handle(), waitpolicy.NoWait))
		if slot, ok := resumed.Slot(); ok || slot != 0 {
			t.Errorf("it is resumed with number %d, and its entry had none", slot)
		}
		locktest.Release(t, malformed)
		if next := locktest.Acquire(t, b, waitpolicy.NoWait, permits); slotOf(next) != 1 {
			t.Errorf("the next has number %d, want 1", slotOf(next))
		}
	})
	locktest.InTable(t, "StaysClosed", func(t *testing.T, table *queuelocktest.Table) {
		a, b := locktest.Two(t, table, queuelock.Config{}, "a", "b")
		every := queuelock.Every(time.Minute)
		locktest.Release(t, locktest.Acquire(t, a, waitpolicy.NoWait, permits, every))
		if lock := locktest.Acquire(t, b, waitpolicy.NoWait, permits, every); slotOf(lock) != 1 {
			t.Errorf("it has number %d, and a turn that has ended keeps 0", slotOf(lock))
		}
		time.Sleep(2 * time.Minute)
		if lock := locktest.Acquire(t, a, waitpolicy.NoWait, permits, every); slotOf(lock) != 0 {
			t.Errorf("it has number %d, and 0 is free again", slotOf(lock))
		}
	})
	locktest.InTable(t, "Scopes", func(t *testing.T, table *queuelocktest.Table) {
		a, b := locktest.Two(t, table, queuelock.Config{Scope: ticket.ScopeTable}, "a", "b")
		all := locktest.Must(a.AcquireAll(t.Context(), locktest.KeysOf("pool-1", "pool-2"), waitpolicy.NoWait, permits))
		more := locktest.Must(b.AcquireAll(t.Context(), locktest.KeysOf("pool-1", "pool-2"), waitpolicy.For(time.Minute), permits))
		for i, locks := range [][]*queuelock.Lock{all.All(), more.All()} {
			for _, lock := range locks {
				if slotOf(lock) != i {
					t.Errorf("%s has number %d, want %d", lock, slotOf(lock), i)
				}
			}
		}
	})
}

// slotsAtOnce lets many processes take permits at the same time, some without an answer. No two have the same number.
func slotsAtOnce(t *testing.T, table *queuelocktest.Table) {
	const permits, processes = 4, 12
	var mu sync.Mutex
	var taken [permits]bool // guarded by mu
	var turns [permits]int  // guarded by mu
	var done sync.WaitGroup
	for i := range processes {
		c, db := locktest.Open(t, table, fmt.Sprint("p", i), queuelock.Config{})
		db.Inject(queuelocktest.LoseResponse().Of("UpdateItem").WithProbability(0.1, uint64(i)))
		done.Go(func() {
			for range 5 {
				lock := locktest.Acquire(t, c, waitpolicy.Forever, queuelock.Permits(permits))
				slot := slotOf(lock)
				mu.Lock()
				if slot < 0 || taken[slot] {
					t.Errorf("ticket %s has number %d; taken: %v", lock.Ticket(), slot, taken)
				}
				taken[max(0, slot)] = true
				turns[max(0, slot)]++
				mu.Unlock()
				time.Sleep(time.Second)
				mu.Lock()
				taken[max(0, slot)] = false
				mu.Unlock()
				locktest.Check(t, lock.Release(t.Context()))
			}
		})
	}
	done.Wait()
	if slices.Min(turns[:]) == 0 {
		t.Errorf("the numbers have %v turns", turns)
	}
}

// TestRecordWithoutMode checks that a reader gets an error that names a record without the mode of its holders.
func TestRecordWithoutMode(t *testing.T) {
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		c, _ := locktest.Open(t, table, "c", queuelock.Config{})
		old := av.Item{"beat": av.Num(0), "ttl": av.Num(60000), "owner": av.Str("old")}
		locktest.Write(t, table, av.With(locktest.RecordKey(), av.Item{
			"ticketNumber": av.Num(3), "servingAfter": av.Num(2), "granted": av.Num(0), "holders": av.Object(av.Item{"old-0": av.Object(old)}),
		}))
		for _, wait := range []waitpolicy.Wait{waitpolicy.NoWait, waitpolicy.Forever} {
			_, err := c.Acquire(t.Context(), locktest.Order, wait, queuelock.Shared())
			if malformed, ok := errors.AsType[*queue.MalformedError](err); !ok || malformed.Attribute != "holdMode" {
				t.Errorf("%s: %v", wait, err)
			}
		}
	})
}
