package mode_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/attr"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

func TestReadersHoldTogetherAndWritersAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := locktest.Watched(t)
		client := func(name string) *queuelock.Client {
			c, _ := locktest.Open(t, table, name, queuelock.Config{})
			return c
		}
		first := locktest.Acquire(t, client("r1"), waitpolicy.NoWait, queuelock.Shared())
		second := locktest.Acquire(t, client("r2"), waitpolicy.For(time.Second), queuelock.Shared())
		writer := locktest.LockBy(t, client("w"))
		time.Sleep(time.Second)
		third := locktest.LockBy(t, client("r3"), queuelock.Shared())
		time.Sleep(10 * time.Second)
		locktest.StillWaits(t, "a writer beside readers", writer)
		locktest.StillWaits(t, "a reader behind a writer", third)
		if !first.Shared() || !second.Shared() {
			t.Error("a shared lock says that it is not")
		}
		locktest.Release(t, first)
		time.Sleep(3 * time.Second)
		locktest.StillWaits(t, "a writer beside one reader", writer)
		locktest.Release(t, second)
		time.Sleep(3 * time.Second)
		w := locktest.Granted(t, "the writer", writer)
		locktest.StillWaits(t, "a reader beside a writer", third)
		if w.Shared() {
			t.Error("a writer says that it shares")
		}
		locktest.Release(t, w)
		time.Sleep(3 * time.Second)
		locktest.Release(t, locktest.Granted(t, "the last reader", third))
	})
}

// Readers that follow each other are all admitted, each with a request or two of
// its own, and none waits for another's work.
func TestConsecutiveReadersAreAdmittedTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := locktest.Watched(t)
		w, _ := locktest.Open(t, table, "w", queuelock.Config{})
		held := locktest.Acquire(t, w, waitpolicy.NoWait)
		const readers = 12
		var waiting []<-chan locktest.Outcome
		for i := range readers {
			c, _ := locktest.Open(t, table, fmt.Sprint("r", i), queuelock.Config{})
			waiting = append(waiting, locktest.LockBy(t, c, queuelock.Shared()))
			time.Sleep(50 * time.Millisecond)
		}
		time.Sleep(30 * time.Second)
		locktest.Release(t, held)
		begun := time.Now()
		time.Sleep(20 * time.Second)
		for i, done := range waiting {
			got := <-done
			if got.Err != nil {
				t.Fatal(got.Err)
			}
			if took := got.At.Sub(begun); took > 5*time.Second {
				t.Errorf("reader %d was admitted after %v", i, took)
			}
		}
	})
}

// A stream of readers, of whom one always holds, does not keep a writer out.
func TestReadersDoNotStarveWriters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := locktest.Watched(t)
		stop := make(chan struct{})
		var reads atomic.Int64
		for i := range 4 {
			c, _ := locktest.Open(t, table, fmt.Sprint("r", i), queuelock.Config{})
			go func() {
				time.Sleep(time.Duration(i) * 700 * time.Millisecond)
				for {
					select {
					case <-stop:
						return
					default:
					}
					err := c.Do(t.Context(), locktest.Order, waitpolicy.Forever, func(context.Context, *queuelock.Lock) error {
						reads.Add(1)
						time.Sleep(3 * time.Second)
						return nil
					}, queuelock.Shared())
					if err != nil && t.Context().Err() == nil {
						t.Error(err)
						return
					}
				}
			}()
		}
		w, _ := locktest.Open(t, table, "w", queuelock.Config{})
		time.Sleep(10 * time.Second)
		for range 5 {
			begun := time.Now()
			lock := locktest.Acquire(t, w, waitpolicy.For(time.Minute))
			if took := time.Since(begun); took > 10*time.Second {
				t.Errorf("a writer waited for %v behind turns of 3 s", took)
			}
			locktest.Release(t, lock)
			time.Sleep(5 * time.Second)
		}
		close(stop)
		if reads.Load() < 10 {
			t.Errorf("%d reads: too few to starve anybody", reads.Load())
		}
		time.Sleep(time.Minute)
	})
}

func TestASemaphoreAdmitsAsManyAsItHasPermitsInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := locktest.Watched(t)
		var now, most, done atomic.Int64
		var mu sync.Mutex
		var tickets []string // guarded by mu
		for i := range 10 {
			c, _ := locktest.Open(t, table, fmt.Sprint("p", i), queuelock.Config{})
			go func() {
				err := c.Do(t.Context(), locktest.Order, waitpolicy.Forever, func(_ context.Context, l *queuelock.Lock) error {
					mu.Lock()
					tickets = append(tickets, l.Ticket().Padded())
					mu.Unlock()
					n := now.Add(1)
					if m := most.Load(); n > m {
						most.Store(n)
					}
					time.Sleep(5 * time.Second)
					now.Add(-1)
					done.Add(1)
					return nil
				}, queuelock.Permits(3))
				if err != nil {
					t.Error(err)
				}
			}()
			time.Sleep(100 * time.Millisecond)
		}
		time.Sleep(2 * time.Minute)
		if most.Load() != 3 || done.Load() != 10 {
			t.Errorf("at most %d at once, %d turns; want 3 and 10", most.Load(), done.Load())
		}
		if !slices.IsSorted(tickets) {
			t.Errorf("tickets in the order %q", tickets)
		}
	})
}

func TestAQueueKeepsItsKind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, test := range map[string]struct {
			first, then []queuelock.Option
			says        []string
		}{
			"another number": {[]queuelock.Option{queuelock.Permits(3)}, []queuelock.Option{queuelock.Permits(5)}, []string{"is a semaphore of 3, and a semaphore of 5 is asked for", "pass Permits(3), or use another Reason"}},
			"a lock":         {[]queuelock.Option{queuelock.Permits(3)}, nil, []string{"is a semaphore of 3, and a lock is asked for", "pass Permits(3), or use another Reason"}},
			"a semaphore":    {nil, []queuelock.Option{queuelock.Permits(1)}, []string{"is a lock, and a semaphore of 1 is asked for", "leave Permits out, or use another Reason"}},
			"a reader":       {[]queuelock.Option{queuelock.Permits(2)}, []queuelock.Option{queuelock.Shared()}, []string{"a semaphore of 2", "a lock"}},
		} {
			for _, engine := range [][]queuelocktest.Option{nil, {queuelocktest.WithoutFailedItem()}} {
				table := queuelocktest.NewTable(t, engine...)
				a, _ := locktest.Open(t, table, "a", queuelock.Config{})
				b, _ := locktest.Open(t, table, "b", queuelock.Config{})
				for _, held := range []bool{true, false} {
					lock := locktest.Acquire(t, a, waitpolicy.NoWait, test.first...)
					if !held {
						locktest.Release(t, lock)
					}
					before, removals := table.Items(), table.Inject(queuelocktest.Refuse(queuelocktest.InternalError).Of("UpdateItem").Mentioning("REMOVE"))
					for _, wait := range []waitpolicy.Wait{waitpolicy.NoWait, waitpolicy.Forever} {
						_, err := b.Acquire(t.Context(), locktest.Order, wait, test.then...)
						if _, ok := errors.AsType[*queuelock.MismatchError](err); !ok {
							t.Fatalf("%s, %v: %v, want a MismatchError", name, wait, err)
						}
						locktest.Says(t, err, test.says...)
						if !strings.HasPrefix(err.Error(), `queuelock: "order-7" (lock) is `) || strings.Count(err.Error(), "order-7") != 1 {
							t.Errorf("%s: %v, want the key once", name, err)
						}
					}
					if removals.Remove(); removals.Fired() != 0 {
						t.Errorf("%s: it removed what it had not put", name)
					}
					if after := table.Items(); fmt.Sprint(len(before)) != fmt.Sprint(len(after)) {
						t.Errorf("%s: it has left %v", name, after)
					}
					if held {
						locktest.Release(t, lock)
					}
				}
			}
		}
	})
}

func TestBadModesAreRefusedWithoutARequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		c, db := locktest.Open(t, table, "a", queuelock.Config{})
		for word, opts := range map[string][]queuelock.Option{
			"between 1 and 500":      {queuelock.Permits(0)},
			"at":                     {queuelock.Permits(-3)},
			"are possible":           {queuelock.Permits(501)},
			"cannot be combined":     {queuelock.Permits(2), queuelock.Shared()},
			"semaphore has no write": {queuelock.Shared(), queuelock.Permits(1)},
		} {
			_, err := c.Acquire(t.Context(), locktest.Order, waitpolicy.NoWait, opts...)
			if word != "at" {
				locktest.Says(t, err, word)
			} else if err == nil {
				t.Error("Permits(-3) is taken")
			}
		}
		if sent := db.Counts().Total().Sent; sent != 0 {
			t.Errorf("%d requests were sent", sent)
		}
	})
}

func TestDowngradeLetsReadersJoinAndNoWriterInBetween(t *testing.T) {
	for name, fault := range map[string]*queuelocktest.Fault{
		"no fault":      nil,
		"request lost":  locktest.Ptr(queuelocktest.LoseRequest().Mentioning(`"shared"`).Of("UpdateItem").Times(1)),
		"response lost": locktest.Ptr(queuelocktest.LoseResponse().Mentioning(`"shared"`).Of("UpdateItem").Times(1)),
		"it comes late": locktest.Ptr(queuelocktest.Duplicate(30 * time.Second).Mentioning(`"shared"`).Of("UpdateItem").Times(1)),
	} {
		locktest.InBubble(t, name, func(t *testing.T) {
			table := locktest.Watched(t)
			w, dbW := locktest.Open(t, table, "w", queuelock.Config{})
			lock := locktest.Acquire(t, w, waitpolicy.NoWait)
			var readers []<-chan locktest.Outcome
			for i := range 2 {
				c, _ := locktest.Open(t, table, fmt.Sprint("r", i), queuelock.Config{})
				readers = append(readers, locktest.LockBy(t, c, queuelock.Shared()))
				time.Sleep(time.Second)
			}
			c, _ := locktest.Open(t, table, "w2", queuelock.Config{})
			writer := locktest.LockBy(t, c)
			time.Sleep(time.Second)
			last, _ := locktest.Open(t, table, "r9", queuelock.Config{})
			behind := locktest.LockBy(t, last, queuelock.Shared())
			time.Sleep(5 * time.Second)
			exclusive := lock.Condition()
			if fault != nil {
				dbW.Inject(*fault)
			}
			spent := locktest.CostTo(dbW, func() {
				if err := lock.Downgrade(t.Context()); err != nil {
					t.Fatal(err)
				}
			})
			if fault == nil && spent.Sent != 1 {
				t.Errorf("%+v, want one request", spent)
			}
			if spent := locktest.CostTo(dbW, func() {
				if err := lock.Downgrade(t.Context()); err != nil || !lock.Shared() {
					t.Errorf("the second time: %v, shared %v", err, lock.Shared())
				}
			}); spent.Sent != 0 {
				t.Errorf("the second time: %+v, want no request", spent)
			}
			time.Sleep(5 * time.Second)
			for i, done := range readers {
				if got := locktest.Granted(t, fmt.Sprint("reader ", i), done); !got.Shared() {
					t.Error("a reader does not share")
				}
			}
			locktest.StillWaits(t, "a writer", writer)
			locktest.StillWaits(t, "a reader behind a writer", behind)
			// The downgraded lock can still write, but what it sent before cannot come now.
			if err := lock.Transact(t.Context(), locktest.Deposit(table, nil)); err != nil {
				t.Errorf("a write after the downgrade: %v", err)
			}
			if err := locktest.WithCondition(t, table, exclusive); err == nil {
				t.Error("a write of before the downgrade was made beside readers")
			}
			time.Sleep(2 * time.Minute) // heartbeats go on
			if err := lock.Err(); err != nil {
				t.Errorf("the downgraded lock: %v", err)
			}
			locktest.Release(t, lock)
			time.Sleep(5 * time.Second)
			locktest.StillWaits(t, "a writer beside two readers", writer)
		})
	}
}

func TestDowngradeOfWhatIsNotHeldIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := locktest.Watched(t)
		a, dbA := locktest.Open(t, table, "a", locktest.TenSeconds)
		b, _ := locktest.Open(t, table, "b", locktest.TenSeconds)
		released := locktest.Acquire(t, a, waitpolicy.NoWait)
		locktest.Release(t, released)
		if err := released.Downgrade(t.Context()); !errors.Is(err, queuelock.ErrReleased) {
			t.Errorf("after the release: %v", err)
		}
		lost := locktest.Acquire(t, a, waitpolicy.NoWait)
		dbA.Partition()
		next := locktest.Acquire(t, b, waitpolicy.For(time.Minute))
		dbA.Heal()
		if err := lost.Downgrade(t.Context()); !errors.Is(err, queuelock.ErrLost) {
			t.Errorf("after the loss: %v", err)
		}
		if next.Shared() {
			t.Error("the next holder shares")
		}
		locktest.Release(t, next)
		key := queuelock.Key{Entity: "order-7", Reason: "permit"}
		permit, err := a.Acquire(t.Context(), key, waitpolicy.NoWait, queuelock.Permits(2))
		if err != nil {
			t.Fatal(err)
		}
		if err := permit.Downgrade(t.Context()); err == nil || errors.Is(err, queuelock.ErrLost) || permit.Err() != nil {
			t.Errorf("of a permit: %v, and then %v", err, permit.Err())
		}
		locktest.Release(t, permit)
	})
}

// A write that was on its way before a downgrade does not take a held lock for
// lost, and a write with a release is not made beside readers.
func TestWritesBesideADowngrade(t *testing.T) {
	locktest.InBubble(t, "a transaction", func(t *testing.T) {
		table := locktest.Watched(t)
		w, dbW := locktest.Open(t, table, "w", locktest.TenSeconds)
		r, _ := locktest.Open(t, table, "r", locktest.TenSeconds)
		lock := locktest.Acquire(t, w, waitpolicy.NoWait)
		late := dbW.Inject(queuelocktest.HoldRequest().Of("TransactWriteItems").Times(1))
		written, shares := make(chan error, 1), make(chan error, 1)
		go func() { written <- lock.Transact(t.Context(), locktest.Deposit(table, nil)) }()
		<-late.Reached()
		go func() { shares <- lock.Downgrade(t.Context()) }()
		synctest.Wait()
		if lock.Shared() {
			t.Error("others may join, and do not see what is being written")
		}
		late.Release()
		if err := <-written; err != nil || locktest.Balance(table) != "1" {
			t.Errorf("%v, and the balance is %s", err, locktest.Balance(table))
		}
		if err := <-shares; err != nil || !lock.Shared() {
			t.Errorf("%v, shared: %v", err, lock.Shared())
		}
		locktest.Release(t, locktest.Acquire(t, r, waitpolicy.For(time.Minute), queuelock.Shared()))
		locktest.Release(t, lock)
	})
	locktest.InBubble(t, "with a release", func(t *testing.T) {
		table := locktest.Watched(t)
		w, dbW := locktest.Open(t, table, "w", locktest.TenSeconds)
		r, _ := locktest.Open(t, table, "r", locktest.TenSeconds)
		lock := locktest.Acquire(t, w, waitpolicy.NoWait)
		late := dbW.Inject(queuelocktest.HoldRequest().Of("TransactWriteItems").Times(1).LandingAnyway())
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := lock.ReleaseWith(ctx, locktest.Deposit(table, nil)); err == nil {
			t.Fatal("it was answered")
		}
		if err := lock.Downgrade(t.Context()); err != nil {
			t.Fatal(err)
		}
		reader := locktest.Acquire(t, r, waitpolicy.For(time.Minute), queuelock.Shared())
		late.Release()
		if err := table.Settle(t.Context()); err != nil || locktest.Balance(table) != "0" {
			t.Errorf("%v: a write of the exclusive lock was made beside a reader", err)
		}
		locktest.Release(t, reader)
		locktest.Release(t, lock)
	})
}

// A reader that dies is evicted alone; those who share with it are not disturbed.
func TestADeadReaderIsEvictedAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := locktest.Watched(t)
		alive, _ := locktest.Open(t, table, "alive", locktest.TenSeconds)
		dead, dbDead := locktest.Open(t, table, "dead", locktest.TenSeconds)
		w, _ := locktest.Open(t, table, "w", locktest.TenSeconds)
		held := locktest.Acquire(t, alive, waitpolicy.NoWait, queuelock.Shared())
		gone := locktest.Acquire(t, dead, waitpolicy.Forever, queuelock.Shared())
		time.Sleep(2 * time.Second)
		dbDead.Partition()
		writer := locktest.LockBy(t, w)
		time.Sleep(20 * time.Second)
		if held.Err() != nil || !errors.Is(gone.Err(), queuelock.ErrLost) {
			t.Errorf("the living reader: %v, the dead one: %v", held.Err(), gone.Err())
		}
		locktest.StillWaits(t, "a writer beside a reader that lives", writer)
		locktest.Release(t, held)
		time.Sleep(5 * time.Second)
		locktest.Release(t, locktest.Granted(t, "the writer", writer))
	})
}

// The hold mode goes with the holders: a writer that comes to an idle queue after
// readers is alone.
func TestAQueueThatReadersHaveLeftIsAWritersAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := locktest.Watched(t)
		r, _ := locktest.Open(t, table, "r", queuelock.Config{})
		w, _ := locktest.Open(t, table, "w", queuelock.Config{})
		one, two := locktest.Acquire(t, r, waitpolicy.NoWait, queuelock.Shared()), locktest.Acquire(t, r, waitpolicy.Forever, queuelock.Shared())
		locktest.Release(t, one)
		locktest.Release(t, two)
		time.Sleep(time.Second)
		lock := locktest.Acquire(t, w, waitpolicy.NoWait)
		if _, err := r.Acquire(t.Context(), locktest.Order, waitpolicy.NoWait, queuelock.Shared()); !errors.Is(err, queuelock.ErrNotAcquired) {
			t.Errorf("a reader beside a writer: %v", err)
		}
		locktest.Release(t, lock)
	})
}

func TestRequestsOfSharedLocksAndSemaphores(t *testing.T) {
	for name, opt := range map[string]queuelock.Option{"shared": queuelock.Shared(), "semaphore": queuelock.Permits(2)} {
		locktest.InBubble(t, name, func(t *testing.T) {
			table := queuelocktest.NewTable(t, queuelocktest.WithLatency(time.Millisecond))
			a, _ := locktest.Open(t, table, "a", queuelock.Config{})
			b, db := locktest.Open(t, table, "b", queuelock.Config{})
			locktest.Release(t, locktest.Acquire(t, a, waitpolicy.NoWait, opt))
			var held *queuelock.Lock
			if spent := locktest.Cost(table, func() { held = locktest.Acquire(t, a, waitpolicy.NoWait, opt) }); spent.Sent != 1 {
				t.Errorf("idle: %+v, want one request", spent)
			}
			second := locktest.Acquire(t, b, waitpolicy.Forever, opt)
			locktest.Release(t, held)
			locktest.Release(t, second)
			time.Sleep(time.Second)
			counts := db.Counts()
			polls := counts["Query"].Sent + counts["GetItem"].Sent
			if spent := counts.Total(); spent.Sent-polls > 6 || polls > 1 {
				t.Errorf("joining and leaving took %d requests and %d polls, want at most 6 and 1\n%s", spent.Sent-polls, polls, table.Log())
			}
			if spent := locktest.Cost(table, func() { locktest.Release(t, locktest.Acquire(t, a, waitpolicy.NoWait, opt)) }); spent.Sent != 2 {
				t.Errorf("idle again: %+v, want two requests", spent)
			}
		})
	}
}

func TestNoWaitOfOneWhoWouldJoin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := locktest.Watched(t)
		a, _ := locktest.Open(t, table, "a", queuelock.Config{})
		b, dbB := locktest.OpenMet(t, table, "b", queuelock.Config{})
		w, _ := locktest.Open(t, table, "w", queuelock.Config{})
		busy := func(what string, requests int, opts ...queuelock.Option) {
			t.Helper()
			spent := locktest.CostTo(dbB, func() {
				if _, err := b.Acquire(t.Context(), locktest.Order, waitpolicy.NoWait, opts...); !errors.Is(err, queuelock.ErrNotAcquired) {
					t.Errorf("%s: %v", what, err)
				}
			})
			if spent.Sent != requests {
				t.Errorf("%s: %+v, want %d requests", what, spent, requests)
			}
		}
		lock := locktest.Acquire(t, a, waitpolicy.NoWait)
		busy("a reader beside a writer", 1, queuelock.Shared())
		locktest.Release(t, lock)
		reads := locktest.Acquire(t, a, waitpolicy.NoWait, queuelock.Shared())
		joins := locktest.Acquire(t, b, waitpolicy.NoWait, queuelock.Shared())
		busy("a writer beside readers", 1)
		locktest.Release(t, joins)
		writer := locktest.LockBy(t, w)
		time.Sleep(time.Second)
		busy("a reader behind a writer", 2, queuelock.Shared())
		locktest.Release(t, reads)
		time.Sleep(5 * time.Second)
		locktest.Release(t, locktest.Granted(t, "the writer", writer))
	})
}

// A record with holders that does not say how they hold refuses readers, and will
// go on to: they are told so, in every scope, and do not ask again.
func TestARecordThatDoesNotSayHowItsHoldersHoldIsNamedToAReader(t *testing.T) {
	for _, cfg := range []queuelock.Config{{}, locktest.SharedScope} {
		for _, entries := range []attr.Item{{}, {"old-0": attr.Object(attr.Item{"beat": attr.Num(0), "ttl": attr.Num(60000), "owner": attr.Str("old")})}} {
			for _, wait := range []waitpolicy.Wait{waitpolicy.NoWait, waitpolicy.Forever} {
				locktest.InBubble(t, fmt.Sprintf("%s, holders: %d, wait: %s", cfg.Scope, len(entries), wait), func(t *testing.T) {
					table := queuelocktest.NewTable(t, queuelocktest.WithLatency(time.Millisecond))
					c, _ := locktest.Open(t, table, "c", cfg)
					for range 3 {
						locktest.Release(t, locktest.Acquire(t, c, waitpolicy.NoWait)) // the counter knows of three tickets
					}
					record := attr.With(locktest.RecordKey(), attr.Item{"ticketNumber": attr.Num(3), "servingAfter": attr.Num(2), "granted": attr.Num(0), "holders": attr.Object(entries)})
					if cfg.Scope == queuelock.ScopeShared {
						record["scope"] = attr.Str("shared")
					}
					locktest.Write(t, table, record)
					ctx, cancel := context.WithTimeout(t.Context(), time.Second)
					defer cancel()
					spent := locktest.Cost(table, func() {
						_, err := c.Acquire(ctx, locktest.Order, wait, queuelock.Shared())
						if malformed, ok := errors.AsType[*queuelock.MalformedError](err); !ok || malformed.Attribute != "holdMode" {
							t.Errorf("%v", err)
						}
					})
					if spent.Sent > 3 {
						t.Errorf("%d requests", spent.Sent)
					}
				})
			}
		}
	}
}

func TestStateSaysWhoShares(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := locktest.Watched(t)
		a, _ := locktest.Open(t, table, "a", queuelock.Config{})
		b, _ := locktest.Open(t, table, "b", queuelock.Config{})
		c, _ := locktest.Open(t, table, "c", queuelock.Config{})
		held := locktest.Acquire(t, a, waitpolicy.NoWait, queuelock.Shared())
		writer := locktest.LockBy(t, b)
		time.Sleep(time.Second)
		reader := locktest.LockBy(t, c, queuelock.Shared())
		time.Sleep(time.Second)
		s, err := a.Inspect(t.Context(), locktest.Order)
		if err != nil || s.Permits != 0 || len(s.Serving) != 1 || !s.Serving[0].Shared || len(s.Waiting) != 2 || s.Waiting[0].Shared || !s.Waiting[1].Shared {
			t.Errorf("%+v, %v", s, err)
		}
		locktest.Release(t, held)
		time.Sleep(3 * time.Second)
		locktest.Release(t, locktest.Granted(t, "the writer", writer))
		time.Sleep(3 * time.Second)
		locktest.Release(t, locktest.Granted(t, "the reader", reader))
		permits := queuelock.Key{Entity: "order-7", Reason: "permits"}
		if err := a.Do(t.Context(), permits, waitpolicy.NoWait, func(context.Context, *queuelock.Lock) error { return nil }, queuelock.Permits(7)); err != nil {
			t.Fatal(err)
		}
		if s, err := a.Inspect(t.Context(), permits); err != nil || s.Permits != 7 {
			t.Errorf("%+v, %v", s, err)
		}
	})
}

func TestEngineReadersAndPermits(t *testing.T) {
	locktest.OnEveryEngine(t, func(t *testing.T, table *queuelocktest.Table) {
		a, _ := locktest.Open(t, table, "a", locktest.Fast)
		b, _ := locktest.Open(t, table, "b", locktest.Fast)
		writer := locktest.Acquire(t, a, waitpolicy.NoWait)
		waiting := locktest.LockBy(t, b, queuelock.Shared())
		if err := writer.Downgrade(t.Context()); err != nil {
			t.Fatal(err)
		}
		reader := (<-waiting).Lock
		if reader == nil || !reader.Shared() || reader.Ticket().Compare(writer.Ticket()) <= 0 {
			t.Fatal("no reader has joined")
		}
		if _, err := b.Acquire(t.Context(), locktest.Order, waitpolicy.NoWait); !errors.Is(err, queuelock.ErrNotAcquired) {
			t.Errorf("a writer beside readers: %v", err)
		}
		if err := reader.Transact(t.Context(), locktest.Deposit(table, nil)); err != nil {
			t.Errorf("a fenced write of a reader: %v", err)
		}
		locktest.Release(t, writer)
		locktest.Release(t, reader)
		if err := reader.Transact(t.Context(), locktest.Deposit(table, nil)); !errors.Is(err, queuelock.ErrReleased) {
			t.Errorf("after its release: %v", err)
		}
		locktest.Release(t, locktest.Acquire(t, b, waitpolicy.For(time.Minute)))

		permits := queuelock.Key{Entity: locktest.Order.Entity, Reason: "permits"}
		var locks []*queuelock.Lock
		for _, c := range []*queuelock.Client{a, b} {
			lock, err := c.Acquire(t.Context(), permits, waitpolicy.For(time.Minute), queuelock.Permits(2))
			if err != nil {
				t.Fatal(err)
			}
			locks = append(locks, lock)
		}
		if _, err := a.Acquire(t.Context(), permits, waitpolicy.NoWait, queuelock.Permits(2)); !errors.Is(err, queuelock.ErrNotAcquired) {
			t.Errorf("a third of two: %v", err)
		}
		var mismatch *queuelock.MismatchError
		if _, err := a.Acquire(t.Context(), permits, waitpolicy.NoWait, queuelock.Permits(3)); !errors.As(err, &mismatch) {
			t.Errorf("another number: %v", err)
		}
		for _, lock := range locks {
			if err := lock.Extend(t.Context()); err != nil {
				t.Error(err)
			}
			locktest.Release(t, lock)
		}
	})
}
