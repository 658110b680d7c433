package modes_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/itemkey"
	"github.com/queuelock/queuelock/internal/testbed/av"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

// TestMissingItem checks that a missing item is an error by one request, or is created by one.
func TestMissingItem(t *testing.T) {
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		u, _, _ := locktest.NewOrder(t, table)
		c, _ := locktest.OpenMet(t, table, "c", queuelock.Config{})
		none := av.Item{"id": av.Str("none")}
		locktest.Sends(t, table, 1, "a missing item", func() {
			_, err := c.LockItem(t.Context(), u.Key(none), waitpolicy.Forever)
			locktest.Is(t, err, queuelock.ErrNoItem)
			locktest.Says(t, err, "no such item", "none", u.Name)
		})
		if len(u.Get(none))+len(table.Items()) != 0 {
			t.Errorf("now there is %v", u.Get(none))
		}
		var lock *queuelock.ItemLock
		locktest.Sends(t, table, 1, "an item that is created", func() {
			lock = locktest.LockItem(t, c, u.Key(none), waitpolicy.Forever, queuelock.CreateItem())
		})
		locktest.EqualItems(t, "the created item", lock.Item(), none)
		locktest.Release(t, lock)
	})
}

// TestLookAtItem checks that a look at an item is one read, and another of the rows if a ticket is ahead.
func TestLookAtItem(t *testing.T) {
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		u, key, _ := locktest.NewOrder(t, table)
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
			// A look may begin before a count and end after it: one more or less on either side.
			if looks < 5 || i == 0 && rows != 0 || i > 0 && (rows < looks-1 || rows > looks+1) {
				t.Errorf("%s read the item %d times, and the rows %d times", name, looks, rows)
			}
		}
	}, queuelocktest.WithLatency(2*time.Millisecond))
}

// TestQueueOfItem checks that an item's queue is found by every way of writing its key, and by no other item's.
func TestQueueOfItem(t *testing.T) {
	entity := func(prefix string, key av.Item) string {
		return itemkey.Entity(&queue.Home{Table: "orders", Prefix: prefix, Key: key})
	}
	long := strings.Repeat("ä", 1000)
	seen := map[string]av.Item{}
	for _, key := range []av.Item{
		{"id": av.Str("a")}, {"id": av.Str(`a" "sort" S:"b`)}, {"id": av.Str("a"), "sort": av.Str("b")}, {"id": av.Num(1)}, {"id": av.Str("1")}, {"id": av.Bin('1')},
		{"id": av.Num(10)}, {"id": av.Num(-1)}, {"id": av.Str("a"), "sort": av.Num(1)}, {"sort": av.Str("a")},
		{"id": av.Str(long)}, {"id": av.Str(long + "x")}, {"id": av.Str(long), "sort": av.Str(long[:1000])}, {"id": av.Str(long), "sort": av.Str(long[:998])},
	} {
		got := entity("", key)
		if other, ok := seen[got]; ok || got == "" || len(got) > 2048 || entity("l_", key) == got {
			t.Errorf("%s has the queue %q of %s", locktest.PlainItem(key), got, locktest.PlainItem(other))
		}
		seen[got] = key
		if n, ok := key["id"].(*types.AttributeValueMemberN); ok {
			for _, same := range []string{n.Value + ".0", n.Value + "0e-1", n.Value + ".00E+0"} {
				if again := entity("", av.With(key, av.Item{"id": av.Num(same)})); again != got {
					t.Errorf("%s has the queue %q, and %s %q", n.Value, got, same, again)
				}
			}
		}
	}
}

func TestInspectItem(t *testing.T) {
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		key, whole := locktest.OrderItem()
		u := locktest.NewItemTable(t, table, key)
		a, b := locktest.Two(t, table, queuelock.Config{}, "a", "b")
		inspect := func() *queue.State {
			t.Helper()
			var state *queue.State
			spent := locktest.Cost(table, func() { state = locktest.Must(a.Viewer().Inspect(t.Context(), u.Key(key))) })
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
		if s := inspect(); s.Reason != queuelock.ItemReason || lock.ItemKey().Table != u.Name {
			t.Errorf("the lock's key is %v, the queue's %q and %q", lock.ItemKey(), s.Entity, s.Reason)
		}
		cancel()
		if got := <-waiting; !errors.Is(got.Err, context.Canceled) || !errors.Is(got.Err, queuelock.ErrNotAcquired) {
			t.Errorf("the waiter that gave up got %v", got.Err)
		}
		// The lock is kept, and its data changed, without a change of the item.
		time.Sleep(5 * time.Minute)
		if err := lock.SetData(t.Context(), nil); err != nil || lock.Err() != nil {
			t.Error(err, lock.Err())
		}
		locktest.EqualItems(t, "what UpdateAndRelease returned", locktest.Updated(t, lock, locktest.AddOne()), av.With(whole, av.Item{"amount": av.Num(101)}))
	})
}

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
		_, err = c.LockItem(t.Context(), good, waitpolicy.NoWait)
		locktest.Is(t, err, queuelock.ErrClosed)
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
