// Package queuelock_test introduces the lock by its main calls. The tests of each
// behaviour are under test/, by topic.
package queuelock_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/engines"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/ticket"
	"github.com/queuelock/queuelock/waitpolicy"
)

func TestMain(m *testing.M) {
	locktest.SmallTickets()
	os.Exit(engines.Main(m).Run())
}

// TestQueue has five processes wait for a lock. They are served in the order of
// their tickets, each with a higher fencing token than the one before.
func TestQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		key := queuelock.Key{Entity: "order-7"}
		first, _ := locktest.Open(t, table, "first", queuelock.Config{})
		lock, err := first.Acquire(t.Context(), key, waitpolicy.Forever)
		if err != nil {
			t.Fatal(err)
		}

		type turn struct {
			owner  string
			ticket ticket.Number
		}
		turns := make(chan turn)
		var want []string
		for i := range 5 {
			owner := fmt.Sprint("waiter-", i+1)
			want = append(want, owner)
			c, _ := locktest.Open(t, table, owner, queuelock.Config{})
			go func() {
				if err := c.Do(t.Context(), key, waitpolicy.Forever, func(_ context.Context, lock *queuelock.Lock) error {
					turns <- turn{owner, lock.Ticket()}
					return nil
				}); err != nil {
					t.Error(err)
				}
			}()
			synctest.Wait() // the waiter has its ticket
		}

		if err := lock.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		last := lock.Ticket()
		var served []string
		for range want {
			next := <-turns
			served = append(served, next.owner)
			if !last.Less(next.ticket) {
				t.Errorf("ticket %s was served after ticket %s", next.ticket, last)
			}
			last = next.ticket
		}
		if !slices.Equal(served, want) {
			t.Errorf("served %v, want %v", served, want)
		}
	})
}

// TestBusyLock has a caller give up. Its error names the holder.
func TestBusyLock(t *testing.T) {
	for name, wait := range map[string]waitpolicy.Wait{
		"ReturnsAtOnceWithNoWait": waitpolicy.NoWait,
		"TimesOut":                waitpolicy.For(10 * time.Second),
	} {
		locktest.InBubble(t, name, func(t *testing.T) {
			table := queuelocktest.NewTable(t)
			holder, _ := locktest.Open(t, table, "holder", queuelock.Config{})
			other, _ := locktest.Open(t, table, "other", queuelock.Config{})
			held := locktest.Acquire(t, holder, waitpolicy.NoWait)

			_, err := other.Acquire(t.Context(), locktest.Order, wait)
			busy, ok := errors.AsType[*queuelock.NotAcquiredError](err)
			if !ok || !errors.Is(err, queuelock.ErrNotAcquired) || busy.Serving == nil || busy.Serving.Owner != "holder" {
				t.Errorf("%v, want that the holder has the lock", err)
			}

			locktest.Release(t, held)
			locktest.Release(t, locktest.Acquire(t, other, waitpolicy.NoWait))
		})
	}
}

// TestLoss partitions a holder from the table. The holder learns of the loss before
// the next waiter is served.
func TestLoss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		holder, network := locktest.Open(t, table, "holder", locktest.TenSeconds)
		waiter, _ := locktest.Open(t, table, "waiter", locktest.TenSeconds)
		lost := locktest.Acquire(t, holder, waitpolicy.Forever)
		waiting := locktest.QueueUp(t.Context(), waiter, waitpolicy.Forever)
		synctest.Wait()

		network.Partition()
		<-lost.Context().Done()
		if loss, ok := errors.AsType[*queuelock.LostError](lost.Err()); !ok || loss.Ticket != lost.Ticket() {
			t.Errorf("%v, want a loss of ticket %s", lost.Err(), lost.Ticket())
		}
		if !errors.Is(context.Cause(lost.Context()), queuelock.ErrLost) {
			t.Errorf("the lock's context ended by %v", context.Cause(lost.Context()))
		}
		select {
		case <-waiting:
			t.Fatal("the waiter was served before the holder knew of its loss")
		default:
		}

		next := <-waiting
		if next.Err != nil {
			t.Fatal(next.Err)
		}
		if !lost.Ticket().Less(next.Lock.Ticket()) {
			t.Errorf("ticket %s was served after ticket %s", next.Lock.Ticket(), lost.Ticket())
		}
		locktest.Release(t, next.Lock)
	})
}

// TestReleaseEndsLock checks that a lock ends with its release, and reports it.
func TestReleaseEndsLock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type key struct{}
		table := queuelocktest.NewTable(t)
		c, _ := locktest.Open(t, table, "a", queuelock.Config{})
		ctx, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, "trace"))
		lock, err := c.Acquire(ctx, queuelock.Key{Entity: "order-7"}, waitpolicy.Forever)
		if err != nil {
			t.Fatal(err)
		}
		cancel() // the wait's context does not end the lock
		if lock.Err() != nil || lock.Context().Err() != nil || lock.Context().Value(key{}) != "trace" {
			t.Errorf("held: %v, %v, %v", lock.Err(), lock.Context().Err(), lock.Context().Value(key{}))
		}
		if want := (queuelock.Key{Entity: "order-7", Reason: "lock"}); lock.Key() != want {
			t.Errorf("key %v, want %v", lock.Key(), want)
		}
		locktest.Release(t, lock)
		<-lock.Context().Done()
		if !errors.Is(lock.Err(), queuelock.ErrReleased) || !errors.Is(context.Cause(lock.Context()), queuelock.ErrReleased) || !errors.Is(lock.Context().Err(), context.Canceled) {
			t.Errorf("released: %v, %v, %v", lock.Err(), context.Cause(lock.Context()), lock.Context().Err())
		}
	})
}

func TestDo(t *testing.T) {
	boom := errors.New("boom")
	for name, returned := range map[string]func(loss error) error{
		"ReportsLossOnceIfReturned":          func(loss error) error { return loss },
		"ReportsLossOnceIfWrapped":           func(loss error) error { return fmt.Errorf("shipping: %w", loss) },
		"ReportsLossOnceIfJoined":            func(loss error) error { return errors.Join(boom, loss) },
		"ReportsLossOnceBesideAnother":       func(error) error { return boom },
		"ReportsLossOnceIfNothingIsReturned": func(error) error { return nil },
		"ReportsLossBesideAnotherLocksLoss":  func(error) error { return &queuelock.LostError{Key: queuelock.Key{Entity: "other"}} },
	} {
		locktest.InBubble(t, name, func(t *testing.T) {
			table := queuelocktest.NewTable(t)
			c, db := locktest.Open(t, table, "a", locktest.TenSeconds)
			var want error
			err := c.Do(t.Context(), locktest.Order, waitpolicy.NoWait, func(ctx context.Context, _ *queuelock.Lock) error {
				db.Partition()
				<-ctx.Done()
				want = context.Cause(ctx)
				return returned(want)
			})
			if !errors.Is(err, want) || !errors.Is(want, queuelock.ErrLost) || strings.Count(err.Error(), want.Error()) != 1 {
				t.Errorf("%v: want the loss %v, once", err, want)
			}
		})
	}
}
