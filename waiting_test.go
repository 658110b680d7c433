package queuelock_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

// notAcquired is the error of an Acquire that must fail with one.
func notAcquired(t *testing.T, err error) *queuelock.NotAcquiredError {
	t.Helper()
	e, ok := errors.AsType[*queuelock.NotAcquiredError](err)
	if !ok {
		t.Fatalf("%v", err)
	}
	return e
}

func TestPosition(t *testing.T) {
	inBubble(t, "CountsWaitersOfOneClientAndNotTheirTickets", func(t *testing.T) {
		table := queuelocktest.NewTable(t, queuelocktest.WithLatency(2*time.Millisecond))
		a, _ := open(t, table, "a", queuelock.Config{})
		b, _ := open(t, table, "b", queuelock.Config{})
		held := acquire(t, a, waitpolicy.NoWait)
		var all sync.WaitGroup
		for i := range 4 {
			all.Go(func() {
				time.Sleep(time.Duration(i) * 100 * time.Millisecond)
				for range 5 {
					_, err := b.Acquire(t.Context(), order, waitpolicy.For(time.Second), queuelock.OnProgress(func(p queuelock.Progress) {
						if p.Position > 4 || p.TicketsAhead < p.Position-1 {
							t.Errorf("%+v, with four waiters", p)
						}
					}))
					if e := notAcquired(t, err); e.Position < 1 || e.Position > 4 {
						t.Errorf("position %d, with four waiters", e.Position)
					}
				}
			})
		}
		all.Wait()
		release(t, held)
	})
	inBubble(t, "FollowsTheWaitersAhead", func(t *testing.T) {
		table := queuelocktest.NewTable(t, queuelocktest.WithLatency(2*time.Millisecond))
		var clients []*queuelock.Client
		for _, name := range []string{"a", "b", "c"} {
			c, _ := open(t, table, name, queuelock.Config{})
			clients = append(clients, c)
		}
		a, b, c := clients[0], clients[1], clients[2]
		held := acquire(t, a, waitpolicy.NoWait)
		// In order: c, b, c, b. The two of c give up, and then the last knows only
		// that the ticket between may be a waiter's.
		ctx, cancel := context.WithCancel(t.Context())
		gone := []<-chan outcome{queueUp(ctx, c, waitpolicy.Forever)}
		time.Sleep(time.Second)
		first := queueUp(t.Context(), b, waitpolicy.For(40*time.Second))
		time.Sleep(time.Second)
		gone = append(gone, queueUp(ctx, c, waitpolicy.Forever))
		time.Sleep(time.Second)
		var w told
		last := acquireWith(t.Context(), b, waitpolicy.For(30*time.Second), queuelock.OnProgress(w.tell))
		time.Sleep(time.Second)
		if got := w.places(); got != "4/3 a; " {
			t.Errorf("told of %s", got)
		}
		cancel()
		for _, g := range gone {
			<-g
		}
		if e := notAcquired(t, (<-last).err); e.Position != 3 {
			t.Errorf("position %d, want 3", e.Position)
		}
		if e := notAcquired(t, (<-first).err); e.Position != 1 {
			t.Errorf("position %d, want 1", e.Position)
		}
		release(t, held)
	})
}

// A waiter behind another of its client does not look, and the holder that was
// served when it came may be gone: it knows what the first of them sees.
func TestServing(t *testing.T) {
	inBubble(t, "AgesUntilTheErrorIsMade", func(t *testing.T) {
		table := queuelocktest.NewTable(t, queuelocktest.WithLatency(2*time.Millisecond))
		a, _ := openMet(t, table, "a", queuelock.Config{})
		b, _ := open(t, table, "b", queuelock.Config{Poll: waitpolicy.Schedule{SlowestNext: 30 * time.Second, Slowest: 30 * time.Second}})
		c, _ := open(t, table, "c", queuelock.Config{})
		held := acquire(t, a, waitpolicy.NoWait)
		between := attend(t, c, time.Hour)
		time.Sleep(time.Second)
		first := queueUp(t.Context(), b, waitpolicy.For(100*time.Second))
		time.Sleep(time.Second)
		second := queueUp(t.Context(), b, waitpolicy.For(80*time.Second))
		time.Sleep(18 * time.Second)
		release(t, held)
		served := time.Now()
		for _, done := range []<-chan outcome{second, first} {
			got := <-done
			s := notAcquired(t, got.err).Serving
			if s == nil || s.Owner != "c" {
				t.Fatalf("%+v", s)
			}
			if age := got.at.Sub(served); s.Age < age-2*time.Second || s.Age > age+2*time.Second || s.Remaining > time.Minute {
				t.Errorf("%+v, which has held for %v", s, age)
			}
		}
		_ = c.Close(t.Context())
		<-between
	})
}

func TestShortWait(t *testing.T) {
	for _, scope := range []queuelock.Scope{queuelock.ScopeQueue, queuelock.ScopeShared} {
		inBubble(t, fmt.Sprint("MakesOneAttempt/", scope), func(t *testing.T) {
			table := queuelocktest.NewTable(t, queuelocktest.WithLatency(2*time.Millisecond))
			cfg := queuelock.Config{Scope: scope}
			key, whole := anOrder()
			u := usersTable(t, table, key)
			u.put(whole)
			for i, wait := range []waitpolicy.Wait{waitpolicy.For(30), waitpolicy.For(time.Millisecond)} {
				a, _ := open(t, table, fmt.Sprint("a", i), cfg) // which reads before its first TAKE
				lock := acquire(t, a, wait)
				b, db := open(t, table, fmt.Sprint("b", i), cfg)
				if e := notAcquired(t, must1(b.Acquire(t.Context(), order, wait))); e.Serving == nil {
					t.Errorf("a busy lock: %v", e)
				}
				if rows, _ := rowsAndHolders(t, a); rows != 0 {
					t.Errorf("%d rows", rows)
				}
				release(t, lock)
				all, err := b.AcquireAll(t.Context(), keysOf("x", "y"), waitpolicy.For(30))
				if err != nil {
					t.Fatal(err)
				}
				releaseAll(t, all)
				item := lockItem(t, b, u.key(key), wait)
				if err := item.Release(t.Context()); err != nil {
					t.Fatal(err)
				}
				db.Partition()
				begun := time.Now()
				if _, err := b.Acquire(t.Context(), order, wait); err == nil || time.Since(begun) > 5*time.Second {
					t.Errorf("without a network: %v after %v", err, time.Since(begun))
				}
				ctx, cancel := context.WithCancel(t.Context())
				cancel()
				sent := db.Counts().Total().Sent
				if _, err := b.Acquire(ctx, order, wait); !errors.Is(err, context.Canceled) || db.Counts().Total().Sent != sent {
					t.Errorf("with a context that has ended: %v, and %d requests", err, db.Counts().Total().Sent-sent)
				}
			}
		})
	}
}

// must1 is the error of a call that returns something else too.
func must1[T any](_ T, err error) error { return err }

// A lock that was lost before AcquireAll returned it opens its queue at once, also
// if the network was silent when it was lost.
func TestLockDelayOfLostMember(t *testing.T) {
	inBubble(t, "EndsOnceTheTableAnswers", func(t *testing.T) {
		table := queuelocktest.NewTable(t, queuelocktest.WithLatency(2*time.Millisecond))
		cfg := queuelock.Config{TTL: 3 * time.Second, Scope: queuelock.ScopeShared}
		a, _ := open(t, table, "a", cfg)
		b, db := open(t, table, "b", cfg)
		held := acquireAll(t, a, waitpolicy.NoWait, "b")
		done := make(chan severalOutcome, 1)
		go func() {
			locks, err := b.AcquireAll(t.Context(), keysOf("a", "b"), waitpolicy.Forever, queuelock.LockDelay(20*time.Second))
			done <- severalOutcome{locks, err, time.Now()}
		}()
		time.Sleep(10 * time.Second)
		db.Partition()
		time.Sleep(4 * time.Second)
		db.Heal()
		time.Sleep(3 * time.Second)
		state := must(a.Inspect(t.Context(), queuelock.Key{Entity: "a"}))
		if len(state.Serving) != 1 || state.Serving[0].Remaining > 24*time.Second || state.Serving[0].Age > 4*time.Second {
			t.Errorf("a is not held by the next round: %+v", state.Serving)
		}
		releaseAll(t, held)
		freed := time.Now()
		got := <-done
		if got.err != nil || got.at.Sub(freed) > 3*time.Second {
			t.Fatalf("%v after both were free: %+v", got.at.Sub(freed), got)
		}
		releaseAll(t, got.locks)
	})
	inBubble(t, "IsReportedIfTheTableStaysSilent", func(t *testing.T) {
		table := queuelocktest.NewTable(t, queuelocktest.WithLatency(2*time.Millisecond))
		cfg := queuelock.Config{TTL: 3 * time.Second, Scope: queuelock.ScopeShared}
		a, _ := open(t, table, "a", cfg)
		b, db := open(t, table, "b", cfg)
		acquireAll(t, a, waitpolicy.NoWait, "b")
		done := make(chan severalOutcome, 1)
		begun := time.Now()
		go func() {
			locks, err := b.AcquireAll(t.Context(), keysOf("a", "b"), waitpolicy.For(15*time.Second), queuelock.LockDelay(20*time.Second))
			done <- severalOutcome{locks, err, time.Now()}
		}()
		time.Sleep(10 * time.Second)
		db.Partition()
		got := <-done
		if !strings.Contains(fmt.Sprint(got.err), `"a" (lock) ticket 2 was lost before it was returned, and may keep its queue closed for its lock delay of 20s`) {
			t.Error(got.err)
		}
		if took := got.at.Sub(begun); !errors.Is(got.err, queuelock.ErrUnavailable) || took > 25*time.Second {
			t.Errorf("after %v: %v", took, got.err)
		}
	})
}
