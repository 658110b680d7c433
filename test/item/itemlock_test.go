package item_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/attr"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

func equal(t *testing.T, what string, got, want attr.Item) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s is\n%v\nwant\n%v", what, plain(got), plain(want))
	}
}

func plain(i attr.Item) string {
	var b strings.Builder
	for name, v := range i {
		fmt.Fprintf(&b, "%s: %#v; ", name, v)
	}
	return b.String()
}

// locksOf are the lock's attributes of an item.
func locksOf(i attr.Item, prefix string) []string {
	var names []string
	for _, name := range []string{"ticketNumber", "servingAfter", "granted", "holders", "turn", "holdMode", "permits", "scope", "released", "evicted"} {
		if _, ok := i[prefix+name]; ok {
			names = append(names, name)
		}
	}
	return names
}

func TestAnItemIsReadUnderItsLockAndWrittenWithItsRelease(t *testing.T) {
	for name, key := range map[string]attr.Item{
		"S":       {"id": attr.Str("order-7")},
		"N":       {"id": attr.Num(7)},
		"B":       {"id": attr.Bin(0, 255, 7)},
		"S and N": {"id": attr.Str("order/7"), "sort": attr.Num("1.50")},
		"N and B": {"id": attr.Num(-7), "sort": attr.Bin(0)},
		"B and S": {"id": attr.Bin(1), "sort": attr.Str("lock/0")},
	} {
		for _, prefix := range []string{"", "l.k_", "ÄÖ ", "#:"} {
			locktest.InBubble(t, name+" "+prefix, func(t *testing.T) {
				table := queuelocktest.NewTable(t)
				u := locktest.NewItemTable(t, table, key)
				_, whole := locktest.OrderItem()
				whole = attr.With(whole, key)
				u.Put(whole)
				whole = u.Get(key)                                                                                       // numbers as the engine prints them
				c, _ := locktest.Open(t, table, "c", queuelock.Config{ItemPrefix: prefix, Scope: queuelock.ScopeShared}) // which does not apply
				other, _ := locktest.Open(t, table, "other", queuelock.Config{ItemPrefix: prefix})
				attributes := prefix
				if prefix == "" {
					attributes = "lock_"
				}
				want := maps.Clone(whole)
				for turn := range 4 {
					lock := locktest.LockItem(t, c, u.Key(key), waitpolicy.NoWait)
					equal(t, "the item at its lock", lock.Item(), want)
					if _, err := other.LockItem(t.Context(), u.Key(key), waitpolicy.NoWait); !errors.Is(err, queuelock.ErrNotAcquired) {
						t.Errorf("a locked item was locked: %v", err)
					}
					waiting := locktest.QueueUpForItem(t.Context(), other, u.Key(key), waitpolicy.For(time.Minute))
					synctest.Wait()
					want = maps.Clone(want)
					want["amount"] = attr.Num(101 + 2*turn)
					equal(t, "what UpdateAndRelease returned", locktest.Updated(t, lock, locktest.AddOne()), want)
					next := <-waiting
					if next.Err != nil {
						t.Fatal(next.Err)
					}
					equal(t, "the item at the next lock", next.Lock.Item(), want)
					if !lock.Ticket().Less(next.Lock.Ticket()) {
						t.Errorf("ticket %s after %s", next.Lock.Ticket(), lock.Ticket())
					}
					want = maps.Clone(want)
					want["amount"] = attr.Num(102 + 2*turn)
					equal(t, "what UpdateAndRelease returned", locktest.Updated(t, next.Lock, locktest.AddOne()), want)
					time.Sleep(time.Second) // QUIET
					now := u.Get(key)
					left := locksOf(now, attributes)
					slices.Sort(left)
					if want := []string{"evicted", "granted", "released", "ticketNumber"}; !slices.Equal(left, want) {
						t.Errorf("a released item has the lock's attributes %q", left)
					}
					for _, name := range left {
						delete(now, attributes+name)
					}
					equal(t, "the item in its table", now, want)
					if n := len(table.Items()); n != 0 {
						t.Errorf("%d items are left in the lock's table", n)
					}
				}
			})
		}
	}
}

func TestRequestsOfItemLocks(t *testing.T) {
	locktest.InBubble(t, "budget", func(t *testing.T) {
		table := queuelocktest.NewTable(t, queuelocktest.WithLatency(2*time.Millisecond))
		key, whole := locktest.OrderItem()
		u := locktest.NewItemTable(t, table, key)
		u.Put(whole)
		a, _ := locktest.OpenMet(t, table, "a", queuelock.Config{})
		b, dbB := locktest.OpenMet(t, table, "b", queuelock.Config{})
		spends := func(what string, requests int, units float64, f func()) {
			t.Helper()
			if spent := locktest.Cost(table, func() { f(); time.Sleep(100 * time.Millisecond) }); spent.Sent != requests || spent.WriteUnits != units || spent.ReadUnits != 0 {
				t.Errorf("%s: %+v, want %d requests, %g WCU, 0 RCU", what, spent, requests, units)
			}
		}
		var lock *queuelock.ItemLock
		spends("the first lock of an item", 2, 2, func() { lock = locktest.LockItem(t, a, u.Key(key), waitpolicy.NoWait) })
		spends("a release", 1, 1, func() { locktest.Release(t, lock.Lock) })
		spends("an idle lock", 1, 1, func() { lock = locktest.LockItem(t, a, u.Key(key), waitpolicy.Forever) })
		spends("a busy item", 1, 1, func() {
			if _, err := b.LockItem(t.Context(), u.Key(key), waitpolicy.NoWait); !errors.Is(err, queuelock.ErrNotAcquired) {
				t.Error(err)
			}
		})
		spends("an update and release", 1, 1, func() { locktest.Updated(t, lock, locktest.AddOne()) })
		spends("read, modify, write", 2, 2, func() {
			locktest.Updated(t, locktest.LockItem(t, a, u.Key(key), waitpolicy.Forever), locktest.AddOne(), expression.AttributeExists(expression.Name("amount")))
		})
		spends("a missing item", 1, 1, func() {
			if _, err := b.LockItem(t.Context(), u.Key(attr.Item{"id": attr.Str("none")}), waitpolicy.Forever); !errors.Is(err, queuelock.ErrNoItem) {
				t.Error(err)
			}
		})
		spends("a missing item that is created", 2, 2, func() {
			lock = locktest.LockItem(t, b, u.Key(attr.Item{"id": attr.Str("none")}), waitpolicy.Forever, queuelock.CreateItem())
		})
		equal(t, "the created item", lock.Item(), attr.Item{"id": attr.Str("none")})
		locktest.Release(t, lock.Lock)

		// One who waits, without polls.
		lock = locktest.LockItem(t, a, u.Key(key), waitpolicy.NoWait)
		before := dbB.Counts()
		waiting := locktest.QueueUpForItem(t.Context(), b, u.Key(key), waitpolicy.Forever)
		time.Sleep(time.Second)
		locktest.Updated(t, lock, locktest.AddOne())
		got := <-waiting
		if got.Err != nil {
			t.Fatal(got.Err)
		}
		locktest.Updated(t, got.Lock, locktest.AddOne())
		time.Sleep(time.Second)
		spent := dbB.Counts().Sub(before)
		polls := locktest.Plus(spent["GetItem"], spent["Query"])
		if rest := locktest.Minus(spent.Total(), polls); rest.Sent != 6 || rest.WriteUnits != 6 {
			t.Errorf("a turn of one who waited took %d requests and %g write units beside polls", rest.Sent, rest.WriteUnits)
		}
		spends("and then", 1, 1, func() { lock = locktest.LockItem(t, a, u.Key(key), waitpolicy.Forever) })
	})
	locktest.InBubble(t, "a process that has not been refused before", func(t *testing.T) {
		for _, older := range []bool{false, true} {
			var opts []queuelocktest.Option
			if older {
				opts = append(opts, queuelocktest.WithoutFailedItem())
			}
			table := queuelocktest.NewTable(t, opts...)
			key, _ := locktest.OrderItem()
			u := locktest.NewItemTable(t, table, key)
			c, _ := locktest.OpenMet(t, table, "c", queuelock.Config{})
			spent := locktest.Cost(table, func() {
				_, err := c.LockItem(t.Context(), u.Key(key), waitpolicy.Forever)
				if !errors.Is(err, queuelock.ErrNoItem) {
					t.Error(err)
				}
				locktest.Says(t, err, "no such item", "order-7", u.Name)
			})
			if spent.Sent != 2 || spent.WriteUnits != 1 {
				t.Errorf("a missing item: %+v", spent)
			}
			if len(u.Get(key)) != 0 || len(table.Items()) != 0 {
				t.Error("something was created")
			}
		}
	})
}

// The record is the item, so the rows are read beside it. One who knows that
// nobody can be ahead reads no rows.
func TestALookAtAnItemIsTwoReadsOrOne(t *testing.T) {
	locktest.InBubble(t, "three who wait", func(t *testing.T) {
		table := queuelocktest.NewTable(t, queuelocktest.WithLatency(2*time.Millisecond))
		key, whole := locktest.OrderItem()
		u := locktest.NewItemTable(t, table, key)
		u.Put(whole)
		holder, _ := locktest.Open(t, table, "holder", queuelock.Config{})
		locktest.LockItem(t, holder, u.Key(key), waitpolicy.NoWait)
		for i, name := range []string{"next", "second", "third"} {
			c, db := locktest.Open(t, table, name, queuelock.Config{})
			locktest.QueueUpForItem(t.Context(), c, u.Key(key), waitpolicy.Forever)
			time.Sleep(time.Second) // a process's first request of all is a read
			before := db.Counts()
			time.Sleep(20 * time.Second)
			spent := db.Counts().Sub(before)
			looks, rows := spent["GetItem"].Sent, spent["Query"].Sent
			if looks == 0 || i == 0 && rows != 0 || i > 0 && rows != looks {
				t.Errorf("%s read the item %d times, and the rows %d times", name, looks, rows)
			}
		}
	})
}

func TestItemLocksWorkWithOlderEngines(t *testing.T) {
	locktest.InBubble(t, "no failed items, no dates", func(t *testing.T) {
		table := queuelocktest.NewTable(t, queuelocktest.WithoutFailedItem(), queuelocktest.WithoutDate())
		key, whole := locktest.OrderItem()
		u := locktest.NewItemTable(t, table, key)
		u.Put(whole)
		a, _ := locktest.Open(t, table, "a", queuelock.Config{})
		b, _ := locktest.Open(t, table, "b", queuelock.Config{})
		for range 3 {
			lock := locktest.LockItem(t, a, u.Key(key), waitpolicy.NoWait)
			if _, err := b.LockItem(t.Context(), u.Key(key), waitpolicy.NoWait); !errors.Is(err, queuelock.ErrNotAcquired) {
				t.Errorf("a locked item was locked: %v", err)
			}
			waiting := locktest.QueueUpForItem(t.Context(), b, u.Key(key), waitpolicy.Forever)
			synctest.Wait()
			_, err := lock.UpdateAndRelease(t.Context(), locktest.AddOne(), expression.Name("amount").Equal(expression.Value(0)))
			if refused, ok := errors.AsType[*queuelock.ConditionError](err); !ok || len(refused.Current) != len(whole) {
				t.Errorf("got %v", err)
			}
			locktest.Updated(t, lock, locktest.AddOne())
			got := <-waiting
			if got.Err != nil {
				t.Fatal(got.Err)
			}
			locktest.Updated(t, got.Lock, locktest.AddOne())
		}
		if got := u.Get(key)["amount"]; !reflect.DeepEqual(got, attr.Num(106)) {
			t.Errorf("the amount is %v", got)
		}
		lock := locktest.LockItem(t, a, u.Key(attr.Item{"id": attr.Str("new")}), waitpolicy.NoWait, queuelock.CreateItem())
		if _, err := b.LockItem(t.Context(), u.Key(attr.Item{"id": attr.Str("new")}), waitpolicy.NoWait, queuelock.CreateItem()); !errors.Is(err, queuelock.ErrNotAcquired) {
			t.Errorf("a locked item was locked: %v", err)
		}
		locktest.Release(t, lock.Lock)
	})
}

// Of two that find an item without a counter one seeds it, whatever they would
// do with a missing one.
func TestAnItemIsSeededOnceAndItsAttributesAreLeftAlone(t *testing.T) {
	for _, there := range []bool{true, false} {
		locktest.InBubble(t, fmt.Sprint("item is there: ", there), func(t *testing.T) {
			table := queuelocktest.NewTable(t, queuelocktest.WithLatency(4*time.Millisecond))
			key, whole := locktest.OrderItem()
			u := locktest.NewItemTable(t, table, key)
			if there {
				u.Put(whole)
			} else {
				whole = maps.Clone(key)
			}
			want := maps.Clone(whole)
			var mu sync.Mutex
			holders, last := 0, uint64(0)
			var wg sync.WaitGroup
			for i := range 8 {
				c, db := locktest.Open(t, table, fmt.Sprint("c", i), queuelock.Config{})
				db.Inject(queuelocktest.LoseResponse().Of("UpdateItem").WithProbability(0.2, uint64(i)))
				wg.Go(func() {
					for range 3 {
						lock, err := c.LockItem(t.Context(), u.Key(key), waitpolicy.For(10*time.Minute), queuelock.CreateItem())
						if err != nil {
							t.Error(err)
							return
						}
						mu.Lock()
						holders++
						if holders != 1 {
							t.Errorf("%d holders", holders)
						}
						last++
						mu.Unlock()
						got := lock.Item()
						delete(got, "turns")
						equal(t, "the item", got, want)
						time.Sleep(10 * time.Millisecond)
						mu.Lock()
						holders--
						mu.Unlock()
						if _, err := lock.UpdateAndRelease(t.Context(), expression.Add(expression.Name("turns"), expression.Value(1))); err != nil {
							t.Error(err)
						}
					}
				})
			}
			wg.Wait()
			if got := u.Get(key)["turns"]; !reflect.DeepEqual(got, attr.Num(24)) {
				t.Errorf("%v turns were counted, want 24", got)
			}
		})
	}
}

func TestAnItemThatIsDeletedWhileItIsLocked(t *testing.T) {
	locktest.InBubble(t, "the holder loses it, those who wait are told", func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		key, whole := locktest.OrderItem()
		u := locktest.NewItemTable(t, table, key)
		u.Put(whole)
		a, _ := locktest.Open(t, table, "a", queuelock.Config{})
		b, _ := locktest.Open(t, table, "b", queuelock.Config{})
		lock := locktest.LockItem(t, a, u.Key(key), waitpolicy.NoWait)
		waiting := locktest.QueueUpForItem(t.Context(), b, u.Key(key), waitpolicy.Forever)
		synctest.Wait()
		u.Delete(key)
		if got := <-waiting; !errors.Is(got.Err, queuelock.ErrNoItem) {
			t.Errorf("one who waited got %v", got.Err)
		}
		<-lock.Done()
		if lost, ok := errors.AsType[*queuelock.LostError](lock.Err()); !ok || lost.Cause != queuelock.Evicted {
			t.Errorf("the holder got %v", lock.Err())
		}
		if _, err := lock.UpdateAndRelease(t.Context(), locktest.AddOne()); !errors.Is(err, queuelock.ErrLost) {
			t.Errorf("UpdateAndRelease gave %v", err)
		}
		if err := lock.Release(t.Context()); !errors.Is(err, queuelock.ErrLost) {
			t.Errorf("Release gave %v", err)
		}
		time.Sleep(time.Minute)
		if len(u.Get(key)) != 0 || len(table.Items()) != 0 {
			t.Errorf("it was made again, or rows are left: %v, %v", u.Get(key), table.Items())
		}
	})
	locktest.InBubble(t, "by its holder, under the lock", func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		key, whole := locktest.OrderItem()
		u := locktest.NewItemTable(t, table, key)
		u.Put(whole)
		c, _ := locktest.Open(t, table, "c", queuelock.Config{})
		lock := locktest.LockItem(t, c, u.Key(key), waitpolicy.NoWait)
		u.Delete(key)
		locktest.Release(t, lock.Lock)
		if len(u.Get(key)) != 0 {
			t.Error("the release made it again")
		}
	})
	locktest.InBubble(t, "and put anew by some other program", func(t *testing.T) {
		for _, held := range []bool{false, true} {
			table := queuelocktest.NewTable(t)
			key, whole := locktest.OrderItem()
			u := locktest.NewItemTable(t, table, key)
			u.Put(whole)
			a, _ := locktest.Open(t, table, "a", queuelock.Config{})
			b, _ := locktest.Open(t, table, "b", queuelock.Config{})
			for range 3 {
				locktest.Release(t, locktest.LockItem(t, a, u.Key(key), waitpolicy.NoWait).Lock)
			}
			lock := locktest.LockItem(t, a, u.Key(key), waitpolicy.NoWait)
			u.Put(whole)
			if held {
				other := locktest.LockItem(t, b, u.Key(key), waitpolicy.NoWait)
				defer func() { locktest.Release(t, other.Lock) }()
			}
			// A release whose copy arrived before would leave the same.
			err := lock.Release(t.Context())
			if _, unknown := errors.AsType[*queuelock.UnknownOutcomeError](err); !unknown {
				t.Errorf("held by another: %t: %v", held, err)
			}
		}
	})
	locktest.InBubble(t, "and UpdateAndRelease comes first", func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		key, whole := locktest.OrderItem()
		u := locktest.NewItemTable(t, table, key)
		u.Put(whole)
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
	locktest.InBubble(t, "and its last answer is lost", func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		key, whole := locktest.OrderItem()
		u := locktest.NewItemTable(t, table, key)
		u.Put(whole)
		c, db := locktest.Open(t, table, "c", queuelock.Config{})
		lock := locktest.LockItem(t, c, u.Key(key), waitpolicy.NoWait)
		gate := db.Inject(queuelocktest.HoldResponse().Of("UpdateItem").Times(1))
		done := make(chan error, 1)
		go func() {
			_, err := lock.UpdateAndRelease(t.Context(), locktest.AddOne())
			done <- err
		}()
		<-gate.Reached()
		u.Delete(key)
		if _, unknown := errors.AsType[*queuelock.UnknownOutcomeError](<-done); !unknown {
			t.Error("it cannot be known whether the update was made")
		}
		gate.Release()
		<-lock.Done()
		if !errors.Is(lock.Err(), queuelock.ErrLost) {
			t.Errorf("the lock's end is %v", lock.Err())
		}
	})
	// A new item counts from 1 again. Tickets of the old one must not be claimed
	// of it.
	for _, turns := range []int{0, 1, 3, 30} {
		locktest.InBubble(t, fmt.Sprint("and made anew, with turns: ", turns), func(t *testing.T) {
			table := queuelocktest.NewTable(t)
			key, whole := locktest.OrderItem()
			u := locktest.NewItemTable(t, table, key)
			u.Put(whole)
			a, _ := locktest.Open(t, table, "a", queuelock.Config{})
			b, dbB := locktest.Open(t, table, "b", queuelock.Config{})
			c, _ := locktest.Open(t, table, "c", queuelock.Config{})
			for range 9 {
				locktest.Release(t, locktest.LockItem(t, a, u.Key(key), waitpolicy.NoWait).Lock)
			}
			old := locktest.LockItem(t, a, u.Key(key), waitpolicy.NoWait) // ticket 10
			waiting := locktest.QueueUpForItem(t.Context(), b, u.Key(key), waitpolicy.Forever)
			synctest.Wait()
			dbB.Partition() // it does not see what happens now
			u.Delete(key)
			u.Put(whole)
			for range turns {
				locktest.Release(t, locktest.LockItem(t, c, u.Key(key), waitpolicy.NoWait).Lock)
			}
			held := locktest.LockItem(t, c, u.Key(key), waitpolicy.NoWait)
			dbB.Heal()
			third := locktest.QueueUpForItem(t.Context(), a, u.Key(key), waitpolicy.Forever)
			time.Sleep(2 * time.Second)
			locktest.Updated(t, held, locktest.AddOne())
			for range 2 {
				var got locktest.ItemOutcome
				select {
				case got = <-waiting:
				case got = <-third:
				}
				if got.Err != nil {
					t.Fatal(got.Err)
				}
				if !held.Ticket().Less(got.Lock.Ticket()) {
					t.Errorf("ticket %s after %s of the same item", got.Lock.Ticket(), held.Ticket())
				}
				held = got.Lock
				locktest.Updated(t, held, locktest.AddOne())
			}
			if !errors.Is(old.Err(), queuelock.ErrLost) {
				<-old.Done()
			}
			if got := u.Get(key)["amount"]; !reflect.DeepEqual(got, attr.Num(103)) {
				t.Errorf("the amount is %v", got)
			}
			time.Sleep(time.Minute)
			if rows := table.Items(); len(rows) != 0 {
				t.Errorf("rows are left: %v", rows)
			}
		})
	}
}

func TestTheLocksOwnNamesOnAnItemAreNotOverwritten(t *testing.T) {
	for name, value := range map[string]types.AttributeValue{
		"lock_granted": attr.Str("x"), "lock_holders": attr.Num(1), "lock_servingAfter": attr.Num(1), "lock_ticketNumber": attr.Str("seven"), "lock_holdMode": attr.Num(3), "lock_permits": attr.Num(3), "lock_scope": attr.Str("x"),
	} {
		locktest.InBubble(t, name, func(t *testing.T) {
			table := queuelocktest.NewTable(t)
			key, whole := locktest.OrderItem()
			u := locktest.NewItemTable(t, table, key)
			whole[name] = value
			u.Put(whole)
			c, _ := locktest.Open(t, table, "c", queuelock.Config{})
			_, err := c.LockItem(t.Context(), u.Key(key), waitpolicy.NoWait, queuelock.CreateItem())
			if _, malformed := errors.AsType[*queuelock.MalformedError](err); !malformed {
				t.Errorf("got %v", err)
			}
			equal(t, "the item", u.Get(key), whole)
			other, _ := locktest.Open(t, table, "other", queuelock.Config{ItemPrefix: "mutex:"})
			locktest.Release(t, locktest.LockItem(t, other, u.Key(key), waitpolicy.NoWait).Lock)
		})
	}
}

func TestBadItemsAreRefusedWithoutARequest(t *testing.T) {
	locktest.InBubble(t, "arguments", func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		key, _ := locktest.OrderItem()
		u := locktest.NewItemTable(t, table, key)
		c, _ := locktest.Open(t, table, "c", queuelock.Config{})
		var nothing types.AttributeValue
		good := u.Key(key)
		spent := locktest.Cost(table, func() {
			for _, bad := range []struct {
				item queuelock.ItemKey
				wait waitpolicy.Wait
				opts []queuelock.Option
				says string
			}{
				{queuelock.ItemKey{Key: key}, waitpolicy.NoWait, nil, "table is empty"},
				{queuelock.ItemKey{Table: "x y", Key: key}, waitpolicy.NoWait, nil, `the item's table is "x y": 3 to 255`},
				{queuelock.ItemKey{Table: "orders"}, waitpolicy.NoWait, nil, "key is empty"},
				{u.Key(attr.Item{"a": attr.Num(1), "b": attr.Num(1), "c": attr.Num(1)}), waitpolicy.NoWait, nil, "3 attributes"},
				{u.Key(attr.Item{"": attr.Num(1)}), waitpolicy.NoWait, nil, "named \"\""},
				{u.Key(attr.Item{"a[0]": attr.Num(1)}), waitpolicy.NoWait, nil, "cannot name"},
				{u.Key(attr.Item{"lock_granted": attr.Num(1)}), waitpolicy.NoWait, nil, "ItemPrefix"},
				{u.Key(attr.Item{"id": nothing}), waitpolicy.NoWait, nil, "a string, a number or binary"},
				{u.Key(attr.Item{"id": (*types.AttributeValueMemberS)(nil)}), waitpolicy.NoWait, nil, "\"id\" is a nil *types.AttributeValueMemberS"},
				{u.Key(attr.Item{"id": (*types.AttributeValueMemberN)(nil)}), waitpolicy.NoWait, nil, "nil"},
				{u.Key(attr.Item{"id": (*types.AttributeValueMemberB)(nil)}), waitpolicy.NoWait, nil, "nil"},
				{u.Key(attr.Item{"id": (*types.AttributeValueMemberBOOL)(nil)}), waitpolicy.NoWait, nil, "nil"},
				{u.Key(attr.Item{"id": attr.Object(nil)}), waitpolicy.NoWait, nil, "is a map"},
				{u.Key(attr.Item{"id": attr.Str("")}), waitpolicy.NoWait, nil, "is empty"},
				{u.Key(attr.Item{"id": attr.Str("\xff")}), waitpolicy.NoWait, nil, "UTF-8"},
				{u.Key(attr.Item{"id": attr.Bin()}), waitpolicy.NoWait, nil, "is empty"},
				{u.Key(attr.Item{"id": attr.Num("seven")}), waitpolicy.NoWait, nil, "no number"},
				{u.Key(attr.Item{"id": attr.Num("1e999999999")}), waitpolicy.NoWait, nil, "no number"},
				{good, waitpolicy.For(-1), nil, "negative"},
				{good, waitpolicy.NoWait, []queuelock.Option{queuelock.Shared()}, "Shared and Permits"},
				{good, waitpolicy.NoWait, []queuelock.Option{queuelock.Permits(2)}, "Shared and Permits"},
				{good, waitpolicy.NoWait, []queuelock.Option{queuelock.OnHandle(func(queuelock.Handle) {})}, "OnHandle"},
				{good, waitpolicy.NoWait, []queuelock.Option{queuelock.FailClosed()}, "FailClosed"},
				{good, waitpolicy.NoWait, []queuelock.Option{queuelock.WithTTL(1)}, "TTL"},
			} {
				_, err := c.LockItem(t.Context(), bad.item, bad.wait, bad.opts...)
				locktest.Says(t, err, "queuelock: ", bad.says)
				_ = bad.item.String() // it prints whatever it is given
				if bad.opts == nil && bad.wait == waitpolicy.NoWait {
					_, err := c.InspectItem(t.Context(), bad.item)
					locktest.Says(t, err, bad.says)
				}
			}
			_, err := c.Acquire(t.Context(), locktest.Order, waitpolicy.NoWait, queuelock.CreateItem())
			locktest.Says(t, err, "CreateItem is for LockItem")
			for prefix, want := range map[string]string{strings.Repeat("x", 201): "201 bytes", "\xff": "UTF-8", "l[0]": "bracket"} {
				_, err := queuelock.New(u.DB, table.Name(), queuelock.Config{ItemPrefix: prefix})
				locktest.Says(t, err, "ItemPrefix", want)
			}
		})
		if spent.Sent != 0 {
			t.Errorf("%d requests were sent", spent.Sent)
		}
		// What only the table knows.
		_, err := c.LockItem(t.Context(), u.Key(attr.Item{"name": attr.Str("order-7")}), waitpolicy.NoWait)
		if _, schema := errors.AsType[*queuelock.TableError](err); !schema {
			t.Errorf("a key of another schema: %v", err)
		}
		locktest.Says(t, err, u.Name, `partition key "id" (S)`, `key "name" (S)`)
		_, err = c.LockItem(t.Context(), u.Key(attr.Item{"id": attr.Num(7)}), waitpolicy.NoWait)
		locktest.Says(t, err, u.Name, `"id" (N)`)
		_, err = c.LockItem(t.Context(), queuelock.ItemKey{Table: "ordres", Key: key}, waitpolicy.NoWait)
		locktest.Says(t, err, "ordres", "no such table", `key "id" (S)`)
		if err := c.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := c.LockItem(t.Context(), good, waitpolicy.NoWait); !errors.Is(err, queuelock.ErrClosed) {
			t.Errorf("after Close: %v", err)
		}
	})
}

// The queue of an item is found by every way of writing its key, and by no other
// item's.
func TestEachItemHasAQueueOfItsOwn(t *testing.T) {
	locktest.InBubble(t, "entities", func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		c, _ := locktest.Open(t, table, "c", queuelock.Config{})
		prefixed, _ := locktest.Open(t, table, "prefixed", queuelock.Config{ItemPrefix: "l_"})
		entity := func(c *queuelock.Client, name string, key attr.Item) string {
			state, err := c.InspectItem(t.Context(), queuelock.ItemKey{Table: name, Key: key})
			if err != nil {
				t.Error(err)
				return ""
			}
			return state.Entity
		}
		long := strings.Repeat("ä", 1000)
		keys := []attr.Item{
			{"id": attr.Str("a")}, {"id": attr.Str(`a" "sort" S:"b`)}, {"id": attr.Str("a"), "sort": attr.Str("b")}, {"id": attr.Num(1)}, {"id": attr.Str("1")}, {"id": attr.Bin('1')},
			{"id": attr.Num(10)}, {"id": attr.Num(-1)}, {"id": attr.Str("a"), "sort": attr.Num(1)}, {"sort": attr.Str("a")},
			{"id": attr.Str(long)}, {"id": attr.Str(long + "x")}, {"id": attr.Str(long), "sort": attr.Str(long[:1000])}, {"id": attr.Str(long), "sort": attr.Str(long[:998])},
		}
		seen := map[string]attr.Item{}
		for _, key := range keys {
			u := locktest.ItemTable{T: t, Name: "orders", DB: table.Client("user")}
			in := &dynamodb.CreateTableInput{TableName: &u.Name, BillingMode: types.BillingModePayPerRequest}
			for _, attribute := range []string{"id", "sort"} {
				if v := key[attribute]; v != nil {
					kind := types.KeyTypeHash
					if len(in.KeySchema) > 0 {
						kind = types.KeyTypeRange
					}
					scalar := map[string]types.ScalarAttributeType{"*types.AttributeValueMemberS": "S", "*types.AttributeValueMemberN": "N", "*types.AttributeValueMemberB": "B"}[fmt.Sprintf("%T", v)]
					in.KeySchema = append(in.KeySchema, types.KeySchemaElement{AttributeName: aws.String(attribute), KeyType: kind})
					in.AttributeDefinitions = append(in.AttributeDefinitions, types.AttributeDefinition{AttributeName: aws.String(attribute), AttributeType: scalar})
				}
			}
			if _, err := u.DB.CreateTable(t.Context(), in); err != nil {
				t.Fatal(err)
			}
			got := entity(c, "orders", key)
			if other, ok := seen[got]; ok || got == "" || len(got) > 2048 {
				t.Errorf("%s has the queue %q of %s", plain(key), got, plain(other))
			}
			seen[got] = key
			if entity(prefixed, "orders", key) == got {
				t.Errorf("another prefix has the same queue")
			}
			if n, ok := key["id"].(*types.AttributeValueMemberN); ok {
				for _, same := range []string{n.Value + ".0", n.Value + "0e-1", n.Value + ".00E+0"} {
					if again := entity(c, "orders", attr.With(key, attr.Item{"id": attr.Num(same)})); again != got {
						t.Errorf("%s has the queue %q, and %s %q", n.Value, got, same, again)
					}
				}
			}
			if _, err := u.DB.DeleteTable(t.Context(), &dynamodb.DeleteTableInput{TableName: &u.Name}); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func TestInspectItemSaysWhoHasItAndWhoWaits(t *testing.T) {
	locktest.InBubble(t, "state", func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		key, whole := locktest.OrderItem()
		u := locktest.NewItemTable(t, table, key)
		a, _ := locktest.Open(t, table, "a", queuelock.Config{})
		b, _ := locktest.Open(t, table, "b", queuelock.Config{})
		inspect := func() *queue.State {
			t.Helper()
			var state *queue.State
			spent := locktest.Cost(table, func() {
				var err error
				if state, err = a.InspectItem(t.Context(), u.Key(key)); err != nil {
					t.Fatal(err)
				}
			})
			if spent.Sent != 2 || spent.WriteUnits != 0 {
				t.Errorf("it took %+v", spent)
			}
			return state
		}
		for range 2 {
			if s := inspect(); !s.Issued.IsZero() || len(s.Serving)+len(s.Waiting) != 0 {
				t.Errorf("an item that was never locked: %+v", s)
			}
			u.Put(whole)
		}
		lock := locktest.LockItem(t, a, u.Key(key), waitpolicy.NoWait, queuelock.WithData([]byte("job 1")))
		ctx, cancel := context.WithCancel(t.Context())
		waiting := locktest.QueueUpForItem(ctx, b, u.Key(key), waitpolicy.Forever)
		synctest.Wait()
		if s := inspect(); len(s.Serving) != 1 || s.Serving[0].Owner != "a" || string(s.Serving[0].Data) != "job 1" || len(s.Waiting) != 1 || s.Waiting[0].Owner != "b" {
			t.Errorf("a locked item: %+v", s)
		}
		if s := inspect(); lock.Key() != (queuelock.Key{Entity: s.Entity, Reason: s.Reason}) || lock.ItemKey().Table != u.Name {
			t.Errorf("the lock's key is %v, the queue's %q and %q", lock.Key(), s.Entity, s.Reason)
		}
		cancel()
		if got := <-waiting; !errors.Is(got.Err, context.Canceled) || !errors.Is(got.Err, queuelock.ErrNotAcquired) {
			t.Errorf("one who gave up got %v", got.Err)
		}
		// The lock is kept, and its data changed, without a change of the item.
		time.Sleep(5 * time.Minute)
		if err := lock.SetData(t.Context(), nil); err != nil || lock.Err() != nil {
			t.Error(err, lock.Err())
		}
		equal(t, "what UpdateAndRelease returned", locktest.Updated(t, lock, locktest.AddOne()), attr.With(whole, attr.Item{"amount": attr.Num(101)}))
	})
}

// A holder that dies is evicted from the item, and its item is as it was.
func TestADeadHoldersItemIsTakenOver(t *testing.T) {
	locktest.InBubble(t, "crash", func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		key, whole := locktest.OrderItem()
		u := locktest.NewItemTable(t, table, key)
		u.Put(whole)
		a, dbA := locktest.Open(t, table, "a", queuelock.Config{})
		b, _ := locktest.Open(t, table, "b", queuelock.Config{})
		lock := locktest.LockItem(t, a, u.Key(key), waitpolicy.NoWait)
		dbA.Partition()
		next := locktest.LockItem(t, b, u.Key(key), waitpolicy.For(3*time.Minute))
		equal(t, "the item", next.Item(), whole)
		dbA.Heal()
		if _, err := lock.UpdateAndRelease(t.Context(), locktest.AddOne()); !errors.Is(err, queuelock.ErrLost) {
			t.Errorf("the dead holder's update gave %v", err)
		}
		equal(t, "what UpdateAndRelease returned", locktest.Updated(t, next, locktest.AddOne()), attr.With(whole, attr.Item{"amount": attr.Num(101)}))
	})
}

// Between the look at an item without a counter and its seed, anything may come.
func TestASeedComesToAnItemThatIsAsItWas(t *testing.T) {
	for name, c := range map[string]struct {
		between func(u locktest.ItemTable, key, whole attr.Item)
		opts    []queuelock.Option
		is      func(err error) bool
	}{
		"deleted": {func(u locktest.ItemTable, key, _ attr.Item) { u.Delete(key) }, nil, func(err error) bool { return errors.Is(err, queuelock.ErrNoItem) }},
		"another name of the lock's": {func(u locktest.ItemTable, _, whole attr.Item) {
			u.Put(attr.With(whole, attr.Item{"lock_permits": attr.Num(3)}))
		}, nil, func(err error) bool {
			_, malformed := errors.AsType[*queuelock.MalformedError](err)
			return malformed
		}},
		"another name, where a missing item may be made": {func(u locktest.ItemTable, _, whole attr.Item) {
			u.Put(attr.With(whole, attr.Item{"lock_turn": attr.Num(3)}))
		}, []queuelock.Option{queuelock.CreateItem()}, func(err error) bool {
			_, malformed := errors.AsType[*queuelock.MalformedError](err)
			return malformed
		}},
	} {
		for _, older := range []bool{false, true} {
			locktest.InBubble(t, fmt.Sprintf("%s, older engine: %v", name, older), func(t *testing.T) {
				var opts []queuelocktest.Option
				if older {
					opts = append(opts, queuelocktest.WithoutFailedItem())
				}
				table := queuelocktest.NewTable(t, opts...)
				key, whole := locktest.OrderItem()
				u := locktest.NewItemTable(t, table, key)
				u.Put(whole)
				a, db := locktest.Open(t, table, "a", queuelock.Config{})
				seed := db.Inject(queuelocktest.HoldRequest().Of("UpdateItem").Mentioning("attribute_not_exists (lock_ticketNumber)").Times(1))
				waiting := locktest.QueueUpForItem(t.Context(), a, u.Key(key), waitpolicy.NoWait, c.opts...)
				<-seed.Reached()
				c.between(u, key, whole)
				before := u.Get(key)
				seed.Release()
				if got := <-waiting; !c.is(got.Err) {
					t.Errorf("got %v", got.Err)
				}
				equal(t, "the item", u.Get(key), before)
			})
		}
	}
}

// A CLAIM that is on its way to an item which is deleted and made anew meanwhile
// must not be granted: its ticket is not of the new counter.
func TestATicketOfADeletedItemIsNotClaimed(t *testing.T) {
	locktest.InBubble(t, "claim", func(t *testing.T) {
		table := queuelocktest.NewTable(t, queuelocktest.WithLatency(2*time.Millisecond))
		key, whole := locktest.OrderItem()
		u := locktest.NewItemTable(t, table, key)
		u.Put(whole)
		a, _ := locktest.Open(t, table, "a", queuelock.Config{})
		b, dbB := locktest.Open(t, table, "b", queuelock.Config{})
		c, _ := locktest.Open(t, table, "c", queuelock.Config{})
		dead, dbDead := locktest.Open(t, table, "dead", queuelock.Config{})
		for range 9 {
			locktest.Release(t, locktest.LockItem(t, a, u.Key(key), waitpolicy.NoWait).Lock)
		}
		held := locktest.LockItem(t, a, u.Key(key), waitpolicy.NoWait)
		waiting := locktest.QueueUpForItem(t.Context(), b, u.Key(key), waitpolicy.Forever) // ticket 11
		time.Sleep(100 * time.Millisecond)
		claim := dbB.Inject(queuelocktest.HoldRequest().Of("UpdateItem").Mentioning("lock_granted = 11").Times(1))
		locktest.Release(t, held.Lock)
		<-claim.Reached()
		u.Delete(key)
		u.Put(whole)
		first := locktest.LockItem(t, c, u.Key(key), waitpolicy.NoWait)
		locktest.QueueUpForItem(t.Context(), dead, u.Key(key), waitpolicy.Forever)
		time.Sleep(100 * time.Millisecond)
		dbDead.Partition() // it has ticket 2, and claims nothing
		locktest.Release(t, first.Lock)
		before := dbB.Counts()
		claim.Release()
		got := <-waiting
		if got.Err != nil {
			t.Fatal(got.Err)
		}
		if got.Lock.Ticket().String() != "3" {
			t.Errorf("it was served with ticket %s, want 3", got.Lock.Ticket())
		}
		if spent := dbB.Counts().Sub(before).Total(); spent.Sent > 200 {
			t.Errorf("it took %d requests", spent.Sent)
		}
		locktest.Release(t, got.Lock.Lock)
	})
}
