package acquire_test

import (
	"context"
	"errors"
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

// TestOwnHolder checks that a wait for a permit of the same client says so, also if that is not the one of the lowest
// ticket, and that no other wait does.
func TestOwnHolder(t *testing.T) {
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		a, b, c := locktest.Three(t, table, queuelock.Config{}, "a", "b", "c")
		permits := queuelock.Permits(2)
		locktest.Acquire(t, b, waitpolicy.NoWait, permits)
		own := locktest.Acquire(t, a, waitpolicy.NoWait, permits).Ticket()
		for of, want := range map[*queuelock.Client]ticket.Number{a: own, c: {}} {
			_, err := of.Acquire(t.Context(), locktest.Order, waitpolicy.For(5*time.Second), permits)
			if got := notAcquired(t, err).Own; got != want {
				t.Errorf("%v, own %v, want %v", err, got, want)
			}
			locktest.Says(t, err, "2 of 2 permits in use")
		}
	})
}

// TestOwnHolderOfItemsAndSeveral checks waits of LockItem and AcquireAll for a lock of the same client, and of another
// one: the error has the own ticket, and the log says so once, after 10 s.
func TestOwnHolderOfItemsAndSeveral(t *testing.T) {
	wait := waitpolicy.For(30 * time.Second)
	type ticketed interface{ Ticket() ticket.Number }
	for name, call := range map[string]func(*queuelock.Client, queuelock.ItemKey, waitpolicy.Wait) (ticketed, error){
		"Acquire": func(c *queuelock.Client, _ queuelock.ItemKey, wait waitpolicy.Wait) (ticketed, error) {
			return c.Acquire(context.Background(), locktest.Order, wait)
		},
		"LockItem": func(c *queuelock.Client, item queuelock.ItemKey, wait waitpolicy.Wait) (ticketed, error) {
			return c.LockItem(context.Background(), item, wait)
		},
		"AcquireAll": func(c *queuelock.Client, _ queuelock.ItemKey, wait waitpolicy.Wait) (ticketed, error) {
			locks, err := c.AcquireAll(context.Background(), []queuelock.Key{{Entity: "other"}, locktest.Order}, wait)
			if err != nil {
				return nil, err
			}
			return locks.All()[1], nil
		},
	} {
		locktest.InTable(t, name, func(t *testing.T, table *queuelocktest.Table) {
			u, key, _ := locktest.NewOrder(t, table)
			var log, others locktest.Journal
			a, _ := locktest.Open(t, table, "a", queuelock.Config{Logger: log.Logger()})
			b, _ := locktest.Open(t, table, "b", queuelock.Config{Logger: others.Logger()})
			own := locktest.Must(call(a, u.Key(key), waitpolicy.NoWait)).Ticket()
			early := 0
			time.AfterFunc(9*time.Second, func() { early = log.Count(ownLog) })
			_, err := call(a, u.Key(key), wait)
			if busy, ok := errors.AsType[*queuelock.NotAcquiredError](err); !ok || busy.Own != own {
				t.Errorf("%v, want own ticket %s", err, own)
			}
			_, err = call(b, u.Key(key), wait)
			if busy, ok := errors.AsType[*queuelock.NotAcquiredError](err); !ok || !busy.Own.IsZero() {
				t.Errorf("another client: %v", err)
			}
			synctest.Wait()
			if n := log.Count(ownLog); early != 0 || n != 1 || others.Says(ownLog) {
				t.Errorf("logged %d times within 9 s and %d times within 30 s, want 0 and 1; by the other client: %v", early, n, others.Says(ownLog))
			}
		})
	}
}

const ownLog = "waits for a lock that this client itself holds"

// TestOwnTurnsAreNotLogged checks that turns of the waiter's own client that each end within 10 s are not logged.
func TestOwnTurnsAreNotLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log locktest.Journal
		c, _ := locktest.Open(t, queuelocktest.NewTable(t), "c", queuelock.Config{Logger: log.Logger()})
		var done []<-chan struct{}
		for range 8 {
			done = append(done, locktest.Attend(t, c, 7*time.Second))
			synctest.Wait()
		}
		for _, d := range done {
			<-d
		}
		synctest.Wait()
		if log.Says(ownLog) {
			t.Error("turns of 7 s were logged")
		}
	})
}

// TestOwnTicketOfATurn checks that a caller which asks for a lock that its own client holds learns the ticket of the present turn.
func TestOwnTicketOfATurn(t *testing.T) {
	withSlowTable(t, func(t *testing.T, table *queuelocktest.Table) {
		holder, _ := locktest.OpenMet(t, table, "holder", queuelock.Config{})
		c, _ := locktest.OpenMet(t, table, "c", queuelock.Config{Block: 64})
		held := locktest.Acquire(t, holder, waitpolicy.NoWait)
		var turns sync.WaitGroup
		for range 4 {
			turns.Go(func() {
				lock := locktest.Acquire(t, c, waitpolicy.Forever)
				_, err := c.Acquire(t.Context(), locktest.Order, waitpolicy.NoWait)
				if busy, ok := errors.AsType[*queuelock.NotAcquiredError](err); !ok || busy.Own != lock.Ticket() {
					t.Errorf("in the turn of ticket %s: %v", lock.Ticket(), err)
				}
				locktest.Release(t, lock)
			})
		}
		time.Sleep(time.Second)
		locktest.Release(t, held)
		turns.Wait()
	})
}
