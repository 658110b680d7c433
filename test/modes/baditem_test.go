package modes_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/av"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

// TestBadItems checks that bad items are refused without a request.
func TestBadItems(t *testing.T) {
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		key, _ := locktest.OrderItem()
		u := locktest.NewItemTable(t, table, key)
		c, _ := locktest.Open(t, table, "c", queuelock.Config{})
		var nothing types.AttributeValue
		good := u.Key(key)
		locktest.Sends(t, table, 0, "what is refused", func() {
			for _, bad := range []struct {
				item queuelock.ItemKey
				wait waitpolicy.Wait
				opts []queuelock.Option
				says string
			}{
				{queuelock.ItemKey{Key: key}, waitpolicy.NoWait, nil, "table is empty"},
				{queuelock.ItemKey{Table: "x y", Key: key}, waitpolicy.NoWait, nil, `the item's table is "x y": 3 to 255`},
				{queuelock.ItemKey{Table: "orders"}, waitpolicy.NoWait, nil, "key is empty"},
				{u.Key(av.Item{"a": av.Num(1), "b": av.Num(1), "c": av.Num(1)}), waitpolicy.NoWait, nil, "3 attributes"},
				{u.Key(av.Item{"": av.Num(1)}), waitpolicy.NoWait, nil, "named \"\""},
				{u.Key(av.Item{"a[0]": av.Num(1)}), waitpolicy.NoWait, nil, "cannot name"},
				{u.Key(av.Item{"lock_granted": av.Num(1)}), waitpolicy.NoWait, nil, "ItemPrefix"},
				{u.Key(av.Item{"id": nothing}), waitpolicy.NoWait, nil, "a string, a number or binary"},
				{u.Key(av.Item{"id": (*types.AttributeValueMemberS)(nil)}), waitpolicy.NoWait, nil, "\"id\" is a nil *types.AttributeValueMemberS"},
				{u.Key(av.Item{"id": av.Object(nil)}), waitpolicy.NoWait, nil, "is a map"},
				{u.Key(av.Item{"id": av.Str("")}), waitpolicy.NoWait, nil, "is empty"},
				{u.Key(av.Item{"id": av.Str("\xff")}), waitpolicy.NoWait, nil, "UTF-8"},
				{u.Key(av.Item{"id": av.Bin()}), waitpolicy.NoWait, nil, "is empty"},
				{u.Key(av.Item{"id": av.Num("seven")}), waitpolicy.NoWait, nil, "no number"},
				{u.Key(av.Item{"id": av.Num("1e999999999")}), waitpolicy.NoWait, nil, "no number"},
				{good, waitpolicy.For(-1), nil, "negative"},
				{good, waitpolicy.NoWait, []queuelock.Option{queuelock.WithTTL(1)}, "TTL"},
			} {
				_, err := c.LockItem(t.Context(), bad.item, bad.wait, bad.opts...)
				locktest.Says(t, err, "queuelock: ", bad.says)
				_ = bad.item.String() // it prints whatever it is given
				if bad.opts == nil && bad.wait == waitpolicy.NoWait {
					_, err := c.Viewer().Inspect(t.Context(), bad.item)
					locktest.Says(t, err, bad.says)
				}
			}
			for prefix, want := range map[string]string{strings.Repeat("x", 201): "201 bytes", "\xff": "UTF-8", "l[0]": "bracket"} {
				_, err := queuelock.New(u.DB, table.Name(), queuelock.Config{ItemPrefix: prefix})
				locktest.Says(t, err, "ItemPrefix", want)
			}
		})
		// What only the table knows.
		_, err := c.LockItem(t.Context(), u.Key(av.Item{"name": av.Str("order-7")}), waitpolicy.NoWait)
		if _, schema := errors.AsType[*queue.TableError](err); !schema {
			t.Errorf("a key of another schema: %v", err)
		}
		locktest.Says(t, err, u.Name, `partition key "id" (S)`, `key "name" (S)`)
		_, err = c.LockItem(t.Context(), u.Key(av.Item{"id": av.Num(7)}), waitpolicy.NoWait)
		locktest.Says(t, err, u.Name, `"id" (N)`)
		_, err = c.LockItem(t.Context(), queuelock.ItemKey{Table: "ordres", Key: key}, waitpolicy.NoWait)
		locktest.Says(t, err, "ordres", "no such table", `key "id" (S)`)
		locktest.OK(t, c.Close(t.Context()))
		if _, err := c.LockItem(t.Context(), good, waitpolicy.NoWait); !errors.Is(err, queuelock.ErrClosed) {
			t.Errorf("after Close: %v", err)
		}
	})
}

// TestUpdateOfBadEntry checks that no update is made if the ticket of the holder's entry cannot be read, and that the error
// says so. Release removes the entry.
func TestUpdateOfBadEntry(t *testing.T) {
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		u, key, _ := locktest.NewOrder(t, table)
		c, db := locktest.OpenMet(t, table, "c", queuelock.Config{})
		lock := locktest.LockItem(t, c, u.Key(key), waitpolicy.NoWait)
		item := u.Get(key)
		for _, entry := range item["lock_holders"].(*types.AttributeValueMemberM).Value {
			entry.(*types.AttributeValueMemberM).Value["ticket"] = av.Num(-3)
		}
		u.Put(item)
		locktest.Sends(t, db, 1, "the update", func() {
			_, err := lock.UpdateAndRelease(t.Context(), locktest.AddOne())
			if _, malformed := errors.AsType[*queue.MalformedError](err); !malformed || errors.Is(err, queuelock.ErrLost) {
				t.Errorf("%v, want a MalformedError of a lock that is held", err)
			}
		})
		locktest.EqualItems(t, "the item", u.Get(key), item)
		locktest.Is(t, lock.Release(t.Context()), queuelock.ErrLost)
		locktest.Updated(t, locktest.LockItem(t, c, u.Key(key), waitpolicy.NoWait), locktest.AddOne())
	})
}
