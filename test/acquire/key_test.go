package acquire_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/av"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

// FuzzKey checks that a key is refused before a request, or names its own record and no other.
func FuzzKey(f *testing.F) {
	for _, seed := range [][2]string{
		{"order-7", ""}, {"order-7", "lock"}, {"", "lock"}, {"a", "b/c"}, {"a/b", "c"}, {"\x00", "\x00"}, {"ä", "\xff"},
		{strings.Repeat("x", 2048), strings.Repeat("y", 985)}, {strings.Repeat("x", 2049), ""}, {"a", strings.Repeat("y", 986)},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, entity, reason string) {
		table := queuelocktest.NewTable(t)
		c, db := locktest.Open(t, table, "a", queuelock.Config{})
		key := queuelock.Key{Entity: entity, Reason: reason}
		lock, err := c.Acquire(t.Context(), key, waitpolicy.NoWait)
		if err != nil {
			if n := db.Counts().Total().Sent; n != 0 {
				t.Fatalf("%v, after %d requests: what is refused must be refused before", err, n)
			}
			if strings.ContainsAny(err.Error(), "\n\x00") {
				t.Errorf("error %q is not one printable line", err)
			}
			return
		}
		other, err := c.Acquire(t.Context(), queuelock.Key{Entity: entity, Reason: lock.Key().Reason + "2"}, waitpolicy.NoWait)
		if err == nil {
			locktest.Release(t, other)
		}
		items := table.Items()
		sk := lock.Key().Reason + "/" + strings.Repeat("0", 38)
		found := false
		for _, item := range items {
			pk, sort := item["pk"].(*types.AttributeValueMemberS), item["sk"].(*types.AttributeValueMemberS)
			found = found || pk.Value == entity && sort.Value == sk
		}
		if !found {
			t.Errorf("no item %q %q among %v", entity, sk, items)
		}
		locktest.Release(t, lock)
	})
}

func TestKeyString(t *testing.T) {
	for want, key := range map[string]queuelock.Key{
		`"order-7" (lock)`: {Entity: "order-7"},
		`"a\"b\n" (stock)`: {Entity: "a\"b\n", Reason: "stock"},
		// The keys of items' queues, and what only looks like one.
		`item "orders" {id S:"7"}`:                           {Entity: `item "orders" "lock_" "id" S:"7"`, Reason: "item"},
		`item "orders" {"a \"b" B:"Bw==", id S:"x\" \"y\""}`: {Entity: `item "orders" "l_" "a \"b" B:"Bw==" "id" S:"x\" \"y\""`, Reason: "item"},
		`"item \"orders\" \"lock_\" \"id\" S:\"7\"" (lock)`:  {Entity: `item "orders" "lock_" "id" S:"7"`},
		`"item \"orders\" \"lock_\" \"id\" S:\"7" (item)`:    {Entity: `item "orders" "lock_" "id" S:"7`, Reason: "item"},
		`"item" (item)`: {Entity: "item", Reason: "item"},
	} {
		if got := key.String(); got != want {
			t.Errorf("%#v is printed as %s, want %s", key, got, want)
		}
	}
}

// TestLockString checks how locks are printed: without an id, by which a client could take over the lock.
func TestLockString(t *testing.T) {
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		c, _ := locktest.Open(t, table, "c", locktest.SharedScope)
		both := locktest.AcquireAll(t, c, waitpolicy.NoWait, "x", "y")
		u, key, _ := locktest.NewOrder(t, table)
		item := locktest.LockItem(t, c, u.Key(key), waitpolicy.NoWait)
		itemWant := `item "` + u.Name + `" {id S:"order-7"} ticket 1`
		for want, lock := range map[string]fmt.Stringer{
			`"x" (lock) ticket 1`:                      both.All()[0],
			`"x" (lock) ticket 1, "y" (lock) ticket 1`: both,
			itemWant: item,
		} {
			for _, got := range []string{fmt.Sprint(lock), fmt.Sprintf("%+v", lock), lock.String()} {
				if got != want {
					t.Errorf("it is printed as %s, want %s", got, want)
				}
			}
		}
		if got := item.String(); got != itemWant {
			t.Errorf("the lock of an item is printed as %s", got)
		}
		locktest.Release(t, both)
		locktest.Release(t, item)
	})
}

// An item's lock is named by the item, and not by the key of its queue.
func TestErrorsNameTheItem(t *testing.T) {
	for name, key := range map[string]av.Item{
		"one attribute": {"id": av.Str("order-7")}, "two": {"id": av.Num(7), "sort": av.Bin(1, 2)}, "quotes": {"id": av.Str(`x" "sort" S:"y`)},
	} {
		locktest.InTable(t, name, func(t *testing.T, table *queuelocktest.Table) {
			u := locktest.NewItemTable(t, table, key)
			u.Put(av.With(key, av.Item{"amount": av.Num(1)}))
			a, _ := locktest.Open(t, table, "a", queuelock.Config{})
			b, db := locktest.Open(t, table, "b", locktest.TenSeconds)
			held := locktest.LockItem(t, a, u.Key(key), waitpolicy.NoWait)
			want := ": item " + u.Key(key).String()
			_, err := b.LockItem(t.Context(), u.Key(key), waitpolicy.NoWait)
			locktest.Says(t, err, "queuelock: lock not acquired"+want+" after ")
			cancelled, cancel := context.WithCancel(t.Context())
			cancel()
			locktest.Says(t, held.Transact(cancelled, locktest.Deposit(table, nil)), "queuelock"+want+": transact: ")
			locktest.Release(t, held)
			held = locktest.LockItem(t, b, u.Key(key), waitpolicy.NoWait)
			db.Partition()
			<-held.Context().Done()
			locktest.Says(t, held.Err(), "queuelock: lock lost"+want+" ticket 2: ")
		})
	}
}
