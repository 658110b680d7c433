package queuelock_test

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

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

// lockBy is Acquire in the background, with options.
func lockBy(t *testing.T, c *queuelock.Client, opts ...queuelock.Option) <-chan outcome {
	done := make(chan outcome, 1)
	go func() {
		lock, err := c.Acquire(t.Context(), order, waitpolicy.Forever, opts...)
		done <- outcome{lock, err, time.Now()}
	}()
	return done
}

// granted is what came of an Acquire that must have succeeded by now.
func granted(t *testing.T, what string, done <-chan outcome) *queuelock.Lock {
	t.Helper()
	select {
	case got := <-done:
		if got.err != nil {
			t.Fatalf("%s: %v", what, got.err)
		}
		return got.lock
	default:
		t.Fatalf("%s still waits", what)
		return nil
	}
}

func stillWaits(t *testing.T, what string, done <-chan outcome) {
	t.Helper()
	select {
	case got := <-done:
		t.Fatalf("%s: %+v, want that it waits", what, got)
	default:
	}
}

func TestReadersHoldTogetherAndWritersAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := watched(t)
		client := func(name string) *queuelock.Client { c, _ := open(t, table, name, queuelock.Config{}); return c }
		first := acquire(t, client("r1"), waitpolicy.NoWait, queuelock.Shared())
		second := acquire(t, client("r2"), waitpolicy.For(time.Second), queuelock.Shared())
		writer := lockBy(t, client("w"))
		time.Sleep(time.Second)
		third := lockBy(t, client("r3"), queuelock.Shared())
		time.Sleep(10 * time.Second)
		stillWaits(t, "a writer beside readers", writer)
		stillWaits(t, "a reader behind a writer", third)
		if !first.Shared() || !second.Shared() {
			t.Error("a shared lock says that it is not")
		}
		release(t, first)
		time.Sleep(3 * time.Second)
		stillWaits(t, "a writer beside one reader", writer)
		release(t, second)
		time.Sleep(3 * time.Second)
		w := granted(t, "the writer", writer)
		stillWaits(t, "a reader beside a writer", third)
		if w.Shared() {
			t.Error("a writer says that it shares")
		}
		release(t, w)
		time.Sleep(3 * time.Second)
		release(t, granted(t, "the last reader", third))
	})
}

// Readers that follow each other are all admitted, each with a request or two of
// its own, and none waits for another's work.
func TestConsecutiveReadersAreAdmittedTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := watched(t)
		w, _ := open(t, table, "w", queuelock.Config{})
		held := acquire(t, w, waitpolicy.NoWait)
		const readers = 12
		var waiting []<-chan outcome
		for i := range readers {
			c, _ := open(t, table, fmt.Sprint("r", i), queuelock.Config{})
			waiting = append(waiting, lockBy(t, c, queuelock.Shared()))
			time.Sleep(50 * time.Millisecond)
		}
		time.Sleep(30 * time.Second)
		release(t, held)
		begun := time.Now()
		time.Sleep(20 * time.Second)
		for i, done := range waiting {
			got := <-done
			if got.err != nil {
				t.Fatal(got.err)
			}
			if took := got.at.Sub(begun); took > 5*time.Second {
				t.Errorf("reader %d was admitted after %v", i, took)
			}
		}
	})
}

// A stream of readers, of whom one always holds, does not keep a writer out.
func TestReadersDoNotStarveWriters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := watched(t)
		stop := make(chan struct{})
		var reads atomic.Int64
		for i := range 4 {
			c, _ := open(t, table, fmt.Sprint("r", i), queuelock.Config{})
			go func() {
				time.Sleep(time.Duration(i) * 700 * time.Millisecond)
				for {
					select {
					case <-stop:
						return
					default:
					}
					err := c.Do(t.Context(), order, waitpolicy.Forever, func(context.Context, *queuelock.Lock) error {
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
		w, _ := open(t, table, "w", queuelock.Config{})
		time.Sleep(10 * time.Second)
		for range 5 {
			begun := time.Now()
			lock := acquire(t, w, waitpolicy.For(time.Minute))
			if took := time.Since(begun); took > 10*time.Second {
				t.Errorf("a writer waited for %v behind turns of 3 s", took)
			}
			release(t, lock)
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
		table := watched(t)
		var now, most, done atomic.Int64
		var mu sync.Mutex
		var tickets []string // guarded by mu
		for i := range 10 {
			c, _ := open(t, table, fmt.Sprint("p", i), queuelock.Config{})
			go func() {
				err := c.Do(t.Context(), order, waitpolicy.Forever, func(_ context.Context, l *queuelock.Lock) error {
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
				a, _ := open(t, table, "a", queuelock.Config{})
				b, _ := open(t, table, "b", queuelock.Config{})
				for _, held := range []bool{true, false} {
					lock := acquire(t, a, waitpolicy.NoWait, test.first...)
					if !held {
						release(t, lock)
					}
					before, removals := table.Items(), table.Inject(queuelocktest.Refuse(queuelocktest.InternalError).Of("UpdateItem").Mentioning("REMOVE"))
					for _, wait := range []waitpolicy.Wait{waitpolicy.NoWait, waitpolicy.Forever} {
						_, err := b.Acquire(t.Context(), order, wait, test.then...)
						if _, ok := errors.AsType[*queuelock.MismatchError](err); !ok {
							t.Fatalf("%s, %v: %v, want a MismatchError", name, wait, err)
						}
						says(t, err, test.says...)
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
						release(t, lock)
					}
				}
			}
		}
	})
}

func TestBadModesAreRefusedWithoutARequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		c, db := open(t, table, "a", queuelock.Config{})
		for word, opts := range map[string][]queuelock.Option{
			"between 1 and 500":      {queuelock.Permits(0)},
			"at":                     {queuelock.Permits(-3)},
			"are possible":           {queuelock.Permits(501)},
			"cannot be combined":     {queuelock.Permits(2), queuelock.Shared()},
			"semaphore has no write": {queuelock.Shared(), queuelock.Permits(1)},
		} {
			_, err := c.Acquire(t.Context(), order, waitpolicy.NoWait, opts...)
			if word != "at" {
				says(t, err, word)
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
		"request lost":  ptr(queuelocktest.LoseRequest().Mentioning(`"shared"`).Of("UpdateItem").Times(1)),
		"response lost": ptr(queuelocktest.LoseResponse().Mentioning(`"shared"`).Of("UpdateItem").Times(1)),
		"it comes late": ptr(queuelocktest.Duplicate(30 * time.Second).Mentioning(`"shared"`).Of("UpdateItem").Times(1)),
	} {
		inBubble(t, name, func(t *testing.T) {
			table := watched(t)
			w, dbW := open(t, table, "w", queuelock.Config{})
			lock := acquire(t, w, waitpolicy.NoWait)
			var readers []<-chan outcome
			for i := range 2 {
				c, _ := open(t, table, fmt.Sprint("r", i), queuelock.Config{})
				readers = append(readers, lockBy(t, c, queuelock.Shared()))
				time.Sleep(time.Second)
			}
			c, _ := open(t, table, "w2", queuelock.Config{})
			writer := lockBy(t, c)
			time.Sleep(time.Second)
			last, _ := open(t, table, "r9", queuelock.Config{})
			behind := lockBy(t, last, queuelock.Shared())
			time.Sleep(5 * time.Second)
			exclusive := lock.Condition()
			if fault != nil {
				dbW.Inject(*fault)
			}
			spent := costTo(dbW, func() {
				if err := lock.Downgrade(t.Context()); err != nil {
					t.Fatal(err)
				}
			})
			if fault == nil && spent.Sent != 1 {
				t.Errorf("%+v, want one request", spent)
			}
			if spent := costTo(dbW, func() {
				if err := lock.Downgrade(t.Context()); err != nil || !lock.Shared() {
					t.Errorf("the second time: %v, shared %v", err, lock.Shared())
				}
			}); spent.Sent != 0 {
				t.Errorf("the second time: %+v, want no request", spent)
			}
			time.Sleep(5 * time.Second)
			for i, done := range readers {
				if got := granted(t, fmt.Sprint("reader ", i), done); !got.Shared() {
					t.Error("a reader does not share")
				}
			}
			stillWaits(t, "a writer", writer)
			stillWaits(t, "a reader behind a writer", behind)
			// The downgraded lock can still write, but what it sent before cannot come now.
			if err := lock.Transact(t.Context(), deposit(table, nil)); err != nil {
				t.Errorf("a write after the downgrade: %v", err)
			}
			if err := withCondition(t, table, exclusive); err == nil {
				t.Error("a write of before the downgrade was made beside readers")
			}
			time.Sleep(2 * time.Minute) // heartbeats go on
			if err := lock.Err(); err != nil {
				t.Errorf("the downgraded lock: %v", err)
			}
			release(t, lock)
			time.Sleep(5 * time.Second)
			stillWaits(t, "a writer beside two readers", writer)
		})
	}
}

func ptr[T any](v T) *T { return &v }

// withCondition makes a deposit under a condition of the caller's.
func withCondition(t *testing.T, table *queuelocktest.Table, check types.ConditionCheck) error {
	_, err := table.Client("user").TransactWriteItems(t.Context(), &dynamodb.TransactWriteItemsInput{
		TransactItems: []types.TransactWriteItem{deposit(table, nil), {ConditionCheck: &check}},
	})
	return err
}

func TestDowngradeOfWhatIsNotHeldIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := watched(t)
		a, dbA := open(t, table, "a", tenSeconds)
		b, _ := open(t, table, "b", tenSeconds)
		released := acquire(t, a, waitpolicy.NoWait)
		release(t, released)
		if err := released.Downgrade(t.Context()); !errors.Is(err, queuelock.ErrReleased) {
			t.Errorf("after the release: %v", err)
		}
		lost := acquire(t, a, waitpolicy.NoWait)
		dbA.Partition()
		next := acquire(t, b, waitpolicy.For(time.Minute))
		dbA.Heal()
		if err := lost.Downgrade(t.Context()); !errors.Is(err, queuelock.ErrLost) {
			t.Errorf("after the loss: %v", err)
		}
		if next.Shared() {
			t.Error("the next holder shares")
		}
		release(t, next)
		key := queuelock.Key{Entity: "order-7", Reason: "permit"}
		permit, err := a.Acquire(t.Context(), key, waitpolicy.NoWait, queuelock.Permits(2))
		if err != nil {
			t.Fatal(err)
		}
		if err := permit.Downgrade(t.Context()); err == nil || errors.Is(err, queuelock.ErrLost) || permit.Err() != nil {
			t.Errorf("of a permit: %v, and then %v", err, permit.Err())
		}
		release(t, permit)
	})
}

// A write that was on its way before a downgrade does not take a held lock for
// lost, and a write with a release is not made beside readers.
func TestWritesBesideADowngrade(t *testing.T) {
	inBubble(t, "a transaction", func(t *testing.T) {
		table := watched(t)
		w, dbW := open(t, table, "w", tenSeconds)
		r, _ := open(t, table, "r", tenSeconds)
		lock := acquire(t, w, waitpolicy.NoWait)
		late := dbW.Inject(queuelocktest.HoldRequest().Of("TransactWriteItems").Times(1))
		written, shares := make(chan error, 1), make(chan error, 1)
		go func() { written <- lock.Transact(t.Context(), deposit(table, nil)) }()
		<-late.Reached()
		go func() { shares <- lock.Downgrade(t.Context()) }()
		synctest.Wait()
		if lock.Shared() {
			t.Error("others may join, and do not see what is being written")
		}
		late.Release()
		if err := <-written; err != nil || balance(table) != "1" {
			t.Errorf("%v, and the balance is %s", err, balance(table))
		}
		if err := <-shares; err != nil || !lock.Shared() {
			t.Errorf("%v, shared: %v", err, lock.Shared())
		}
		release(t, acquire(t, r, waitpolicy.For(time.Minute), queuelock.Shared()))
		release(t, lock)
	})
	inBubble(t, "with a release", func(t *testing.T) {
		table := watched(t)
		w, dbW := open(t, table, "w", tenSeconds)
		r, _ := open(t, table, "r", tenSeconds)
		lock := acquire(t, w, waitpolicy.NoWait)
		late := dbW.Inject(queuelocktest.HoldRequest().Of("TransactWriteItems").Times(1).LandingAnyway())
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := lock.ReleaseWith(ctx, deposit(table, nil)); err == nil {
			t.Fatal("it was answered")
		}
		if err := lock.Downgrade(t.Context()); err != nil {
			t.Fatal(err)
		}
		reader := acquire(t, r, waitpolicy.For(time.Minute), queuelock.Shared())
		late.Release()
		if err := table.Settle(t.Context()); err != nil || balance(table) != "0" {
			t.Errorf("%v: a write of the exclusive lock was made beside a reader", err)
		}
		release(t, reader)
		release(t, lock)
	})
}

// A reader that dies is evicted alone; those who share with it are not disturbed.
func TestADeadReaderIsEvictedAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := watched(t)
		alive, _ := open(t, table, "alive", tenSeconds)
		dead, dbDead := open(t, table, "dead", tenSeconds)
		w, _ := open(t, table, "w", tenSeconds)
		held := acquire(t, alive, waitpolicy.NoWait, queuelock.Shared())
		gone := acquire(t, dead, waitpolicy.Forever, queuelock.Shared())
		time.Sleep(2 * time.Second)
		dbDead.Partition()
		writer := lockBy(t, w)
		time.Sleep(20 * time.Second)
		if held.Err() != nil || !errors.Is(gone.Err(), queuelock.ErrLost) {
			t.Errorf("the living reader: %v, the dead one: %v", held.Err(), gone.Err())
		}
		stillWaits(t, "a writer beside a reader that lives", writer)
		release(t, held)
		time.Sleep(5 * time.Second)
		release(t, granted(t, "the writer", writer))
	})
}

// The hold mode goes with the holders: a writer that comes to an idle queue after
// readers is alone.
func TestAQueueThatReadersHaveLeftIsAWritersAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := watched(t)
		r, _ := open(t, table, "r", queuelock.Config{})
		w, _ := open(t, table, "w", queuelock.Config{})
		one, two := acquire(t, r, waitpolicy.NoWait, queuelock.Shared()), acquire(t, r, waitpolicy.Forever, queuelock.Shared())
		release(t, one)
		release(t, two)
		time.Sleep(time.Second)
		lock := acquire(t, w, waitpolicy.NoWait)
		if _, err := r.Acquire(t.Context(), order, waitpolicy.NoWait, queuelock.Shared()); !errors.Is(err, queuelock.ErrNotAcquired) {
			t.Errorf("a reader beside a writer: %v", err)
		}
		release(t, lock)
	})
}

func TestRequestsOfSharedLocksAndSemaphores(t *testing.T) {
	for name, opt := range map[string]queuelock.Option{"shared": queuelock.Shared(), "semaphore": queuelock.Permits(2)} {
		inBubble(t, name, func(t *testing.T) {
			table := queuelocktest.NewTable(t, queuelocktest.WithLatency(time.Millisecond))
			a, _ := open(t, table, "a", queuelock.Config{})
			b, db := open(t, table, "b", queuelock.Config{})
			release(t, acquire(t, a, waitpolicy.NoWait, opt))
			var held *queuelock.Lock
			if spent := cost(table, func() { held = acquire(t, a, waitpolicy.NoWait, opt) }); spent.Sent != 1 {
				t.Errorf("idle: %+v, want one request", spent)
			}
			second := acquire(t, b, waitpolicy.Forever, opt)
			release(t, held)
			release(t, second)
			time.Sleep(time.Second)
			counts := db.Counts()
			polls := counts["Query"].Sent + counts["GetItem"].Sent
			if spent := counts.Total(); spent.Sent-polls > 6 || polls > 1 {
				t.Errorf("joining and leaving took %d requests and %d polls, want at most 6 and 1\n%s", spent.Sent-polls, polls, table.Log())
			}
			if spent := cost(table, func() { release(t, acquire(t, a, waitpolicy.NoWait, opt)) }); spent.Sent != 2 {
				t.Errorf("idle again: %+v, want two requests", spent)
			}
		})
	}
}

func TestNoWaitOfOneWhoWouldJoin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := watched(t)
		a, _ := open(t, table, "a", queuelock.Config{})
		b, dbB := openMet(t, table, "b", queuelock.Config{})
		w, _ := open(t, table, "w", queuelock.Config{})
		busy := func(what string, requests int, opts ...queuelock.Option) {
			t.Helper()
			spent := costTo(dbB, func() {
				if _, err := b.Acquire(t.Context(), order, waitpolicy.NoWait, opts...); !errors.Is(err, queuelock.ErrNotAcquired) {
					t.Errorf("%s: %v", what, err)
				}
			})
			if spent.Sent != requests {
				t.Errorf("%s: %+v, want %d requests", what, spent, requests)
			}
		}
		lock := acquire(t, a, waitpolicy.NoWait)
		busy("a reader beside a writer", 1, queuelock.Shared())
		release(t, lock)
		reads := acquire(t, a, waitpolicy.NoWait, queuelock.Shared())
		joins := acquire(t, b, waitpolicy.NoWait, queuelock.Shared())
		busy("a writer beside readers", 1)
		release(t, joins)
		writer := lockBy(t, w)
		time.Sleep(time.Second)
		busy("a reader behind a writer", 2, queuelock.Shared())
		release(t, reads)
		time.Sleep(5 * time.Second)
		release(t, granted(t, "the writer", writer))
	})
}

// A record with holders that does not say how they hold refuses readers, and will
// go on to: they are told so, in every scope, and do not ask again.
func TestARecordThatDoesNotSayHowItsHoldersHoldIsNamedToAReader(t *testing.T) {
	for _, cfg := range []queuelock.Config{{}, shared} {
		for _, entries := range []item{{}, {"old-0": object(item{"beat": num(0), "ttl": num(60000), "owner": str("old")})}} {
			for _, wait := range []waitpolicy.Wait{waitpolicy.NoWait, waitpolicy.Forever} {
				inBubble(t, fmt.Sprintf("%s, holders: %d, wait: %s", cfg.Scope, len(entries), wait), func(t *testing.T) {
					table := queuelocktest.NewTable(t, queuelocktest.WithLatency(time.Millisecond))
					c, _ := open(t, table, "c", cfg)
					for range 3 {
						release(t, acquire(t, c, waitpolicy.NoWait)) // the counter knows of three tickets
					}
					record := with(recordKey(), item{"ticketNumber": num(3), "servingAfter": num(2), "granted": num(0), "holders": object(entries)})
					if cfg.Scope == queuelock.ScopeShared {
						record["scope"] = str("shared")
					}
					write(t, table, record)
					ctx, cancel := context.WithTimeout(t.Context(), time.Second)
					defer cancel()
					spent := cost(table, func() {
						_, err := c.Acquire(ctx, order, wait, queuelock.Shared())
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
		table := watched(t)
		a, _ := open(t, table, "a", queuelock.Config{})
		b, _ := open(t, table, "b", queuelock.Config{})
		c, _ := open(t, table, "c", queuelock.Config{})
		held := acquire(t, a, waitpolicy.NoWait, queuelock.Shared())
		writer := lockBy(t, b)
		time.Sleep(time.Second)
		reader := lockBy(t, c, queuelock.Shared())
		time.Sleep(time.Second)
		s, err := a.Inspect(t.Context(), order)
		if err != nil || s.Permits != 0 || len(s.Serving) != 1 || !s.Serving[0].Shared || len(s.Waiting) != 2 || s.Waiting[0].Shared || !s.Waiting[1].Shared {
			t.Errorf("%+v, %v", s, err)
		}
		release(t, held)
		time.Sleep(3 * time.Second)
		release(t, granted(t, "the writer", writer))
		time.Sleep(3 * time.Second)
		release(t, granted(t, "the reader", reader))
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
	onEveryEngine(t, func(t *testing.T, table *queuelocktest.Table) {
		a, _ := open(t, table, "a", fast)
		b, _ := open(t, table, "b", fast)
		writer := acquire(t, a, waitpolicy.NoWait)
		waiting := lockBy(t, b, queuelock.Shared())
		if err := writer.Downgrade(t.Context()); err != nil {
			t.Fatal(err)
		}
		reader := (<-waiting).lock
		if reader == nil || !reader.Shared() || reader.Ticket().Compare(writer.Ticket()) <= 0 {
			t.Fatal("no reader has joined")
		}
		if _, err := b.Acquire(t.Context(), order, waitpolicy.NoWait); !errors.Is(err, queuelock.ErrNotAcquired) {
			t.Errorf("a writer beside readers: %v", err)
		}
		if err := reader.Transact(t.Context(), deposit(table, nil)); err != nil {
			t.Errorf("a fenced write of a reader: %v", err)
		}
		release(t, writer)
		release(t, reader)
		if err := reader.Transact(t.Context(), deposit(table, nil)); !errors.Is(err, queuelock.ErrReleased) {
			t.Errorf("after its release: %v", err)
		}
		release(t, acquire(t, b, waitpolicy.For(time.Minute)))

		permits := queuelock.Key{Entity: order.Entity, Reason: "permits"}
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
			release(t, lock)
		}
	})
}
