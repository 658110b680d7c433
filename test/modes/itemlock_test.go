package modes_test

import (
	"errors"
	"maps"
	"slices"
	"testing"
	"testing/synctest"
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
					if _, err := other.LockItem(t.Context(), u.Key(key), waitpolicy.NoWait); !errors.Is(err, queuelock.ErrNotAcquired) {
						t.Errorf("a locked item was locked: %v", err)
					}
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
