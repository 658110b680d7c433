package modes_test

import (
	"context"
	"errors"
	"maps"
	"reflect"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/heartbeat"
	"github.com/queuelock/queuelock/internal/testbed/av"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/ticket"
	"github.com/queuelock/queuelock/waitpolicy"
)

// locksOf are the lock's attributes of an item.
func locksOf(i av.Item, prefix string) []string {
	var names []string
	for _, name := range []string{"ticketNumber", "servingAfter", "granted", "holders", "turn", "holdMode", "permits", "scope", "released", "evicted", "unsettled"} {
		if _, ok := i[prefix+name]; ok {
			names = append(names, name)
		}
	}
	return names
}

// TestItemLock checks that an item is read under its lock and written with its release.
func TestItemLock(t *testing.T) {
	for name, key := range map[string]av.Item{
		"S":       {"id": av.Str("order-7")},
		"N":       {"id": av.Num(7)},
		"B":       {"id": av.Bin(0, 255, 7)},
		"S and N": {"id": av.Str("order/7"), "sort": av.Num("1.50")},
		"N and B": {"id": av.Num(-7), "sort": av.Bin(0)},
		"B and S": {"id": av.Bin(1), "sort": av.Str("lock/0")},
	} {
		for _, prefix := range []string{"", "l.k_", "ÄÖ ", "#:"} {
			locktest.InTable(t, name+" "+prefix, func(t *testing.T, table *queuelocktest.Table) {
				u := locktest.NewItemTable(t, table, key)
				_, whole := locktest.OrderItem()
				whole = av.With(whole, key)
				u.Put(whole)
				whole = u.Get(key)                                                                                   // numbers as the engine prints them
				c, _ := locktest.Open(t, table, "c", queuelock.Config{ItemPrefix: prefix, Scope: ticket.ScopeTable}) // which does not apply
				other, _ := locktest.Open(t, table, "other", queuelock.Config{ItemPrefix: prefix})
				attributes := prefix
				if prefix == "" {
					attributes = "lock_"
				}
				want := maps.Clone(whole)
				for turn := range 4 {
					lock := locktest.LockItem(t, c, u.Key(key), waitpolicy.NoWait)
					locktest.EqualItems(t, "the item at its lock", lock.Item(), want)
					_, err := other.LockItem(t.Context(), u.Key(key), waitpolicy.NoWait)
					locktest.Is(t, err, queuelock.ErrNotAcquired)
					waiting := locktest.QueueUpForItem(t.Context(), other, u.Key(key), waitpolicy.For(time.Minute))
					synctest.Wait()
					want = maps.Clone(want)
					want["amount"] = av.Num(101 + 2*turn)
					locktest.EqualItems(t, "what UpdateAndRelease returned", locktest.Updated(t, lock, locktest.AddOne()), want)
					next := <-waiting
					locktest.OK(t, next.Err)
					locktest.EqualItems(t, "the item at the next lock", next.Lock.Item(), want)
					if !lock.Ticket().Less(next.Lock.Ticket()) {
						t.Errorf("ticket %s after %s", next.Lock.Ticket(), lock.Ticket())
					}
					want = maps.Clone(want)
					want["amount"] = av.Num(102 + 2*turn)
					locktest.EqualItems(t, "what UpdateAndRelease returned", locktest.Updated(t, next.Lock, locktest.AddOne()), want)
					time.Sleep(time.Second) // RESET
					now := u.Get(key)
					left := locksOf(now, attributes)
					slices.Sort(left)
					if want := []string{"evicted", "granted", "released", "ticketNumber"}; !slices.Equal(left, want) {
						t.Errorf("a released item has the lock's attributes %q", left)
					}
					for _, name := range left {
						delete(now, attributes+name)
					}
					locktest.EqualItems(t, "the item in its table", now, want)
					if n := len(table.Items()); n != 0 {
						t.Errorf("%d items are left in the lock's table", n)
					}
				}
			})
		}
	}
}

// TestReservedNames checks that the attribute names of the lock are not overwritten on an item.
func TestReservedNames(t *testing.T) {
	for name, value := range map[string]types.AttributeValue{
		"lock_granted": av.Str("x"), "lock_holders": av.Num(1), "lock_servingAfter": av.Num(1), "lock_ticketNumber": av.Str("seven"), "lock_holdMode": av.Num(3), "lock_permits": av.Num(3), "lock_scope": av.Str("x"),
	} {
		locktest.InTable(t, name, func(t *testing.T, table *queuelocktest.Table) {
			key, whole := locktest.OrderItem()
			u := locktest.NewItemTable(t, table, key)
			whole[name] = value
			u.Put(whole)
			c, _ := locktest.Open(t, table, "c", queuelock.Config{})
			_, err := c.LockItem(t.Context(), u.Key(key), waitpolicy.NoWait, queuelock.CreateItem())
			if _, malformed := errors.AsType[*queue.MalformedError](err); !malformed {
				t.Errorf("got %v", err)
			}
			locktest.EqualItems(t, "the item", u.Get(key), whole)
			other, _ := locktest.Open(t, table, "other", queuelock.Config{ItemPrefix: "mutex:"})
			locktest.Release(t, locktest.LockItem(t, other, u.Key(key), waitpolicy.NoWait))
		})
	}
}

// TestDeletedItem checks that a holder and its waiters notice that their item is deleted.
func TestDeletedItem(t *testing.T) {
	locktest.InTable(t, "HolderLosesItAndWaitersFail", func(t *testing.T, table *queuelocktest.Table) {
		u, key, _ := locktest.NewOrder(t, table)
		a, b := locktest.Two(t, table, queuelock.Config{}, "a", "b")
		lock := locktest.LockItem(t, a, u.Key(key), waitpolicy.NoWait)
		waiting := locktest.QueueUpForItem(t.Context(), b, u.Key(key), waitpolicy.Forever)
		synctest.Wait()
		u.Delete(key)
		if got := <-waiting; !errors.Is(got.Err, queuelock.ErrNoItem) {
			t.Errorf("a waiter got %v", got.Err)
		}
		<-lock.Context().Done()
		if lost, ok := errors.AsType[*queuelock.LostError](lock.Err()); !ok || lost.Cause != heartbeat.Evicted {
			t.Errorf("the holder got %v", lock.Err())
		}
		_, err := lock.UpdateAndRelease(t.Context(), locktest.AddOne())
		locktest.Is(t, err, queuelock.ErrLost)
		locktest.Is(t, lock.Release(t.Context()), queuelock.ErrLost)
		time.Sleep(time.Minute)
		if len(u.Get(key)) != 0 || len(table.Items()) != 0 {
			t.Errorf("it was made again, or rows are left: %v, %v", u.Get(key), table.Items())
		}
	})
	locktest.InTable(t, "by its holder, under the lock", func(t *testing.T, table *queuelocktest.Table) {
		u, key, _ := locktest.NewOrder(t, table)
		c, _ := locktest.Open(t, table, "c", queuelock.Config{})
		lock := locktest.LockItem(t, c, u.Key(key), waitpolicy.NoWait)
		u.Delete(key)
		locktest.Release(t, lock)
		if len(u.Get(key)) != 0 {
			t.Error("the release made it again")
		}
	})
	locktest.InTable(t, "and UpdateAndRelease comes first", func(t *testing.T, table *queuelocktest.Table) {
		u, key, _ := locktest.NewOrder(t, table)
		c, _ := locktest.Open(t, table, "c", queuelock.Config{})
		lock := locktest.LockItem(t, c, u.Key(key), waitpolicy.NoWait)
		u.Delete(key)
		_, err := lock.UpdateAndRelease(t.Context(), expression.Set(expression.Name("amount"), expression.Value(1)))
		// Made by an attempt that the client's transport repeated, and deleted
		// then, it would look the same.
		if _, unknown := errors.AsType[*queuelock.UnknownOutcomeError](err); !unknown || !errors.Is(lock.Err(), queuelock.ErrLost) {
			t.Errorf("got %v, and the lock's end is %v", err, lock.Err())
		}
		if len(u.Get(key)) != 0 {
			t.Error("the update made it again")
		}
	})
}

func TestUnknownUpdate(t *testing.T) {
	prepare := func(t *testing.T, cfg queuelock.Config) (*queuelocktest.Table, locktest.ItemTable, *queuelocktest.Client, *queuelock.ItemLock, av.Item) {
		table := queuelocktest.NewTable(t)
		u, key, _ := locktest.NewOrder(t, table)
		c, db := locktest.Open(t, table, "c", cfg)
		return table, u, db, locktest.LockItem(t, c, u.Key(key), waitpolicy.NoWait), key
	}
	locktest.InBubble(t, "partitioned permanently, after it was made", func(t *testing.T) {
		_, u, db, lock, key := prepare(t, queuelock.Config{TTL: 10 * time.Second})
		db.Inject(locktest.UpdatesOfItems(queuelocktest.LoseResponse().Times(1)))
		db.Inject(queuelocktest.LoseRequest())
		_, err := lock.UpdateAndRelease(t.Context(), locktest.AddOne())
		unknown, ok := errors.AsType[*queuelock.UnknownOutcomeError](err)
		if !ok || errors.Is(err, queuelock.ErrLost) || !errors.Is(unknown.End, queuelock.ErrLost) {
			t.Errorf("got %v", err)
		}
		if got := u.Get(key)["amount"]; !reflect.DeepEqual(got, av.Num(101)) {
			t.Errorf("the amount is %v", got)
		}
	})
	locktest.InBubble(t, "SecondCallReportsLateUpdate", func(t *testing.T) {
		table, u, db, lock, key := prepare(t, queuelock.Config{})
		late := db.Inject(locktest.UpdatesOfItems(queuelocktest.HoldRequest().Times(1).LandingAnyway()))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := lock.UpdateAndRelease(ctx, locktest.AddOne())
		if _, unknown := errors.AsType[*queuelock.UnknownOutcomeError](err); !unknown || !errors.Is(err, context.DeadlineExceeded) || lock.Err() != nil {
			t.Fatalf("got %v, and the lock's end is %v", err, lock.Err())
		}
		late.Release()
		locktest.OK(t, table.Settle(t.Context()))
		_, err = lock.UpdateAndRelease(t.Context(), locktest.AddOne())
		locktest.Is(t, err, queuelock.ErrReleased)
		if got := u.Get(key)["amount"]; !reflect.DeepEqual(got, av.Num(101)) {
			t.Errorf("the amount is %v", got)
		}
	})
	locktest.InBubble(t, "RefusedWhileOneIsUnderWay", func(t *testing.T) {
		_, _, db, lock, _ := prepare(t, queuelock.Config{})
		db.Inject(locktest.UpdatesOfItems(queuelocktest.LandLate(5 * time.Second).Times(1)))
		_, err := lock.UpdateAndRelease(t.Context(), locktest.AddOne(), expression.Name("amount").Equal(expression.Value(0)))
		_, unknown := errors.AsType[*queuelock.UnknownOutcomeError](err)
		_, refused := errors.AsType[*queuelock.ConditionError](err)
		if !unknown || refused {
			t.Errorf("got %v", err)
		}
		locktest.Release(t, lock)
	})
	locktest.InTable(t, "Close", func(t *testing.T, table *queuelocktest.Table) {
		u, key, _ := locktest.NewOrder(t, table)
		c, db := locktest.Open(t, table, "c", queuelock.Config{})
		lock := locktest.LockItem(t, c, u.Key(key), waitpolicy.NoWait)
		stuck := db.Inject(locktest.UpdatesOfItems(queuelocktest.SwallowResponse()))
		done := locktest.Background(func() (av.Item, error) { return lock.UpdateAndRelease(t.Context(), locktest.AddOne()) })
		<-stuck.Reached()
		begun := time.Now()
		if err := c.Close(t.Context()); err != nil || time.Since(begun) > time.Second {
			t.Errorf("Close took %v: %v", time.Since(begun), err)
		}
		if _, unknown := errors.AsType[*queuelock.UnknownOutcomeError]((<-done).Err); !unknown {
			t.Error("the call that Close cut short was to have an unknown outcome")
		}
	})
}

// TestItemAtLeast checks that an item stays locked for as long after UpdateAndRelease.
func TestItemAtLeast(t *testing.T) {
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		u, key, whole := locktest.NewOrder(t, table)
		c, other := locktest.Two(t, table, locktest.TenSeconds, "c", "other")
		begun := time.Now()
		lock := locktest.LockItem(t, c, u.Key(key), waitpolicy.NoWait, queuelock.HoldAtLeast(atLeast))
		locktest.EqualItems(t, "the item", locktest.Updated(t, lock, locktest.AddOne()), av.With(whole, av.Item{"amount": av.Num(101)}))
		got := <-locktest.QueueUpForItem(t.Context(), other, u.Key(key), waitpolicy.Forever)
		if took := got.At.Sub(begun); got.Err != nil || took < atLeast || took > atLeast+soon {
			t.Errorf("granted after %v, %v", took, got.Err)
		}
		locktest.Check(t, got.Lock.Release(t.Context()))
	})
}
