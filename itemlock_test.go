package queuelock_test

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
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

func bin(b ...byte) types.AttributeValue { return &types.AttributeValueMemberB{Value: b} }

// users is a table of the user's own items.
type users struct {
	t    *testing.T
	name string
	db   *queuelocktest.Client // around all faults
}

// usersTable makes one, with keys of the types of that key.
func usersTable(t *testing.T, table *queuelocktest.Table, key item) users {
	t.Helper()
	u := users{t: t, name: table.Name() + "-orders", db: table.Client("user")}
	in := &dynamodb.CreateTableInput{TableName: &u.name, BillingMode: types.BillingModePayPerRequest}
	for i, name := range []string{"id", "sort"} {
		kind := map[bool]types.KeyType{true: types.KeyTypeHash, false: types.KeyTypeRange}[i == 0]
		scalar := types.ScalarAttributeTypeS
		switch key[name].(type) {
		case *types.AttributeValueMemberN:
			scalar = types.ScalarAttributeTypeN
		case *types.AttributeValueMemberB:
			scalar = types.ScalarAttributeTypeB
		case nil:
			continue
		}
		in.KeySchema = append(in.KeySchema, types.KeySchemaElement{AttributeName: aws.String(name), KeyType: kind})
		in.AttributeDefinitions = append(in.AttributeDefinitions, types.AttributeDefinition{AttributeName: aws.String(name), AttributeType: scalar})
	}
	if _, err := u.db.CreateTable(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = u.db.DeleteTable(context.Background(), &dynamodb.DeleteTableInput{TableName: &u.name}) })
	return u
}

func (u users) put(i item) {
	u.t.Helper()
	if _, err := u.db.PutItem(u.t.Context(), &dynamodb.PutItemInput{TableName: &u.name, Item: i}); err != nil {
		u.t.Fatal(err)
	}
}

func (u users) get(key item) item {
	u.t.Helper()
	out, err := u.db.GetItem(u.t.Context(), &dynamodb.GetItemInput{TableName: &u.name, Key: key, ConsistentRead: aws.Bool(true)})
	if err != nil {
		u.t.Fatal(err)
	}
	return out.Item
}

func (u users) delete(key item) {
	u.t.Helper()
	if _, err := u.db.DeleteItem(u.t.Context(), &dynamodb.DeleteItemInput{TableName: &u.name, Key: key}); err != nil {
		u.t.Fatal(err)
	}
}

func (u users) key(key item) queuelock.ItemKey { return queuelock.ItemKey{Table: u.name, Key: key} }

// anOrder is an item, and its key.
func anOrder() (key, whole item) {
	key = item{"id": str("order-7")}
	return key, with(key, item{
		"amount": num(100), "lines": &types.AttributeValueMemberL{Value: []types.AttributeValue{str("a"), num(1)}},
		"lock": str("a name like the lock's"), "holders": object(item{"x": num(1)}), "ticketNumber": str("mine"), "lock_color": str("red"),
	})
}

// lockItem is LockItem where it must succeed.
func lockItem(t *testing.T, c *queuelock.Client, key queuelock.ItemKey, wait waitpolicy.Wait, opts ...queuelock.Option) *queuelock.ItemLock {
	t.Helper()
	lock, err := c.LockItem(t.Context(), key, wait, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return lock
}

// updated is UpdateAndRelease where it must succeed.
func updated(t *testing.T, lock *queuelock.ItemLock, update expression.UpdateBuilder, cond ...expression.ConditionBuilder) item {
	t.Helper()
	after, err := lock.UpdateAndRelease(t.Context(), update, cond...)
	if err != nil {
		t.Fatal(err)
	}
	return after
}

func addOne() expression.UpdateBuilder {
	return expression.Set(expression.Name("amount"), expression.Plus(expression.Name("amount"), expression.Value(1)))
}

type itemOutcome struct {
	lock *queuelock.ItemLock
	err  error
}

func queueUpForItem(ctx context.Context, c *queuelock.Client, key queuelock.ItemKey, wait waitpolicy.Wait, opts ...queuelock.Option) <-chan itemOutcome {
	done := make(chan itemOutcome, 1)
	go func() {
		lock, err := c.LockItem(ctx, key, wait, opts...)
		done <- itemOutcome{lock, err}
	}()
	return done
}

func equal(t *testing.T, what string, got, want item) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s is\n%v\nwant\n%v", what, plain(got), plain(want))
	}
}

func plain(i item) string {
	var b strings.Builder
	for name, v := range i {
		fmt.Fprintf(&b, "%s: %#v; ", name, v)
	}
	return b.String()
}

// locksOf are the lock's attributes of an item.
func locksOf(i item, prefix string) []string {
	var names []string
	for _, name := range []string{"ticketNumber", "servingAfter", "granted", "holders", "turn", "holdMode", "permits", "scope", "released", "evicted"} {
		if _, ok := i[prefix+name]; ok {
			names = append(names, name)
		}
	}
	return names
}

func TestAnItemIsReadUnderItsLockAndWrittenWithItsRelease(t *testing.T) {
	for name, key := range map[string]item{
		"S":       {"id": str("order-7")},
		"N":       {"id": num(7)},
		"B":       {"id": bin(0, 255, 7)},
		"S and N": {"id": str("order/7"), "sort": num("1.50")},
		"N and B": {"id": num(-7), "sort": bin(0)},
		"B and S": {"id": bin(1), "sort": str("lock/0")},
	} {
		for _, prefix := range []string{"", "l.k_", "ÄÖ ", "#:"} {
			inBubble(t, name+" "+prefix, func(t *testing.T) {
				table := queuelocktest.NewTable(t)
				u := usersTable(t, table, key)
				_, whole := anOrder()
				whole = with(whole, key)
				u.put(whole)
				whole = u.get(key)                                                                              // numbers as the engine prints them
				c, _ := open(t, table, "c", queuelock.Config{ItemPrefix: prefix, Scope: queuelock.ScopeShared}) // which does not apply
				other, _ := open(t, table, "other", queuelock.Config{ItemPrefix: prefix})
				attributes := prefix
				if prefix == "" {
					attributes = "lock_"
				}
				want := maps.Clone(whole)
				for turn := range 4 {
					lock := lockItem(t, c, u.key(key), waitpolicy.NoWait)
					equal(t, "the item at its lock", lock.Item(), want)
					if _, err := other.LockItem(t.Context(), u.key(key), waitpolicy.NoWait); !errors.Is(err, queuelock.ErrNotAcquired) {
						t.Errorf("a locked item was locked: %v", err)
					}
					waiting := queueUpForItem(t.Context(), other, u.key(key), waitpolicy.For(time.Minute))
					synctest.Wait()
					want = maps.Clone(want)
					want["amount"] = num(101 + 2*turn)
					equal(t, "what UpdateAndRelease returned", updated(t, lock, addOne()), want)
					next := <-waiting
					if next.err != nil {
						t.Fatal(next.err)
					}
					equal(t, "the item at the next lock", next.lock.Item(), want)
					if !lock.Ticket().Less(next.lock.Ticket()) {
						t.Errorf("ticket %s after %s", next.lock.Ticket(), lock.Ticket())
					}
					want = maps.Clone(want)
					want["amount"] = num(102 + 2*turn)
					equal(t, "what UpdateAndRelease returned", updated(t, next.lock, addOne()), want)
					time.Sleep(time.Second) // QUIET
					now := u.get(key)
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
	inBubble(t, "budget", func(t *testing.T) {
		table := queuelocktest.NewTable(t, queuelocktest.WithLatency(2*time.Millisecond))
		key, whole := anOrder()
		u := usersTable(t, table, key)
		u.put(whole)
		a, _ := openMet(t, table, "a", queuelock.Config{})
		b, dbB := openMet(t, table, "b", queuelock.Config{})
		spends := func(what string, requests int, units float64, f func()) {
			t.Helper()
			if spent := cost(table, func() { f(); time.Sleep(100 * time.Millisecond) }); spent.Sent != requests || spent.WriteUnits != units || spent.ReadUnits != 0 {
				t.Errorf("%s: %+v, want %d requests, %g WCU, 0 RCU", what, spent, requests, units)
			}
		}
		var lock *queuelock.ItemLock
		spends("the first lock of an item", 2, 2, func() { lock = lockItem(t, a, u.key(key), waitpolicy.NoWait) })
		spends("a release", 1, 1, func() { release(t, lock.Lock) })
		spends("an idle lock", 1, 1, func() { lock = lockItem(t, a, u.key(key), waitpolicy.Forever) })
		spends("a busy item", 1, 1, func() {
			if _, err := b.LockItem(t.Context(), u.key(key), waitpolicy.NoWait); !errors.Is(err, queuelock.ErrNotAcquired) {
				t.Error(err)
			}
		})
		spends("an update and release", 1, 1, func() { updated(t, lock, addOne()) })
		spends("read, modify, write", 2, 2, func() {
			updated(t, lockItem(t, a, u.key(key), waitpolicy.Forever), addOne(), expression.AttributeExists(expression.Name("amount")))
		})
		spends("a missing item", 1, 1, func() {
			if _, err := b.LockItem(t.Context(), u.key(item{"id": str("none")}), waitpolicy.Forever); !errors.Is(err, queuelock.ErrNoItem) {
				t.Error(err)
			}
		})
		spends("a missing item that is created", 2, 2, func() {
			lock = lockItem(t, b, u.key(item{"id": str("none")}), waitpolicy.Forever, queuelock.CreateItem())
		})
		equal(t, "the created item", lock.Item(), item{"id": str("none")})
		release(t, lock.Lock)

		// One who waits, without polls.
		lock = lockItem(t, a, u.key(key), waitpolicy.NoWait)
		before := dbB.Counts()
		waiting := queueUpForItem(t.Context(), b, u.key(key), waitpolicy.Forever)
		time.Sleep(time.Second)
		updated(t, lock, addOne())
		got := <-waiting
		if got.err != nil {
			t.Fatal(got.err)
		}
		updated(t, got.lock, addOne())
		time.Sleep(time.Second)
		spent := dbB.Counts().Sub(before)
		polls := plus(spent["GetItem"], spent["Query"])
		if rest := minus(spent.Total(), polls); rest.Sent != 6 || rest.WriteUnits != 6 {
			t.Errorf("a turn of one who waited took %d requests and %g write units beside polls", rest.Sent, rest.WriteUnits)
		}
		spends("and then", 1, 1, func() { lock = lockItem(t, a, u.key(key), waitpolicy.Forever) })
	})
	inBubble(t, "a process that has not been refused before", func(t *testing.T) {
		for _, older := range []bool{false, true} {
			var opts []queuelocktest.Option
			if older {
				opts = append(opts, queuelocktest.WithoutFailedItem())
			}
			table := queuelocktest.NewTable(t, opts...)
			key, _ := anOrder()
			u := usersTable(t, table, key)
			c, _ := openMet(t, table, "c", queuelock.Config{})
			spent := cost(table, func() {
				_, err := c.LockItem(t.Context(), u.key(key), waitpolicy.Forever)
				if !errors.Is(err, queuelock.ErrNoItem) {
					t.Error(err)
				}
				says(t, err, "no such item", "order-7", u.name)
			})
			if spent.Sent != 2 || spent.WriteUnits != 1 {
				t.Errorf("a missing item: %+v", spent)
			}
			if len(u.get(key)) != 0 || len(table.Items()) != 0 {
				t.Error("something was created")
			}
		}
	})
}

// The record is the item, so the rows are read beside it. One who knows that
// nobody can be ahead reads no rows.
func TestALookAtAnItemIsTwoReadsOrOne(t *testing.T) {
	inBubble(t, "three who wait", func(t *testing.T) {
		table := queuelocktest.NewTable(t, queuelocktest.WithLatency(2*time.Millisecond))
		key, whole := anOrder()
		u := usersTable(t, table, key)
		u.put(whole)
		holder, _ := open(t, table, "holder", queuelock.Config{})
		lockItem(t, holder, u.key(key), waitpolicy.NoWait)
		for i, name := range []string{"next", "second", "third"} {
			c, db := open(t, table, name, queuelock.Config{})
			queueUpForItem(t.Context(), c, u.key(key), waitpolicy.Forever)
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
	inBubble(t, "no failed items, no dates", func(t *testing.T) {
		table := queuelocktest.NewTable(t, queuelocktest.WithoutFailedItem(), queuelocktest.WithoutDate())
		key, whole := anOrder()
		u := usersTable(t, table, key)
		u.put(whole)
		a, _ := open(t, table, "a", queuelock.Config{})
		b, _ := open(t, table, "b", queuelock.Config{})
		for range 3 {
			lock := lockItem(t, a, u.key(key), waitpolicy.NoWait)
			if _, err := b.LockItem(t.Context(), u.key(key), waitpolicy.NoWait); !errors.Is(err, queuelock.ErrNotAcquired) {
				t.Errorf("a locked item was locked: %v", err)
			}
			waiting := queueUpForItem(t.Context(), b, u.key(key), waitpolicy.Forever)
			synctest.Wait()
			_, err := lock.UpdateAndRelease(t.Context(), addOne(), expression.Name("amount").Equal(expression.Value(0)))
			if refused, ok := errors.AsType[*queuelock.ConditionError](err); !ok || len(refused.Current) != len(whole) {
				t.Errorf("got %v", err)
			}
			updated(t, lock, addOne())
			got := <-waiting
			if got.err != nil {
				t.Fatal(got.err)
			}
			updated(t, got.lock, addOne())
		}
		if got := u.get(key)["amount"]; !reflect.DeepEqual(got, num(106)) {
			t.Errorf("the amount is %v", got)
		}
		lock := lockItem(t, a, u.key(item{"id": str("new")}), waitpolicy.NoWait, queuelock.CreateItem())
		if _, err := b.LockItem(t.Context(), u.key(item{"id": str("new")}), waitpolicy.NoWait, queuelock.CreateItem()); !errors.Is(err, queuelock.ErrNotAcquired) {
			t.Errorf("a locked item was locked: %v", err)
		}
		release(t, lock.Lock)
	})
}

// Of two that find an item without a counter one seeds it, whatever they would
// do with a missing one.
func TestAnItemIsSeededOnceAndItsAttributesAreLeftAlone(t *testing.T) {
	for _, there := range []bool{true, false} {
		inBubble(t, fmt.Sprint("item is there: ", there), func(t *testing.T) {
			table := queuelocktest.NewTable(t, queuelocktest.WithLatency(4*time.Millisecond))
			key, whole := anOrder()
			u := usersTable(t, table, key)
			if there {
				u.put(whole)
			} else {
				whole = maps.Clone(key)
			}
			want := maps.Clone(whole)
			var mu sync.Mutex
			holders, last := 0, uint64(0)
			var wg sync.WaitGroup
			for i := range 8 {
				c, db := open(t, table, fmt.Sprint("c", i), queuelock.Config{})
				db.Inject(queuelocktest.LoseResponse().Of("UpdateItem").WithProbability(0.2, uint64(i)))
				wg.Go(func() {
					for range 3 {
						lock, err := c.LockItem(t.Context(), u.key(key), waitpolicy.For(10*time.Minute), queuelock.CreateItem())
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
			if got := u.get(key)["turns"]; !reflect.DeepEqual(got, num(24)) {
				t.Errorf("%v turns were counted, want 24", got)
			}
		})
	}
}

func TestAnItemThatIsDeletedWhileItIsLocked(t *testing.T) {
	inBubble(t, "the holder loses it, those who wait are told", func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		key, whole := anOrder()
		u := usersTable(t, table, key)
		u.put(whole)
		a, _ := open(t, table, "a", queuelock.Config{})
		b, _ := open(t, table, "b", queuelock.Config{})
		lock := lockItem(t, a, u.key(key), waitpolicy.NoWait)
		waiting := queueUpForItem(t.Context(), b, u.key(key), waitpolicy.Forever)
		synctest.Wait()
		u.delete(key)
		if got := <-waiting; !errors.Is(got.err, queuelock.ErrNoItem) {
			t.Errorf("one who waited got %v", got.err)
		}
		<-lock.Done()
		if lost, ok := errors.AsType[*queuelock.LostError](lock.Err()); !ok || lost.Cause != queuelock.Evicted {
			t.Errorf("the holder got %v", lock.Err())
		}
		if _, err := lock.UpdateAndRelease(t.Context(), addOne()); !errors.Is(err, queuelock.ErrLost) {
			t.Errorf("UpdateAndRelease gave %v", err)
		}
		if err := lock.Release(t.Context()); !errors.Is(err, queuelock.ErrLost) {
			t.Errorf("Release gave %v", err)
		}
		time.Sleep(time.Minute)
		if len(u.get(key)) != 0 || len(table.Items()) != 0 {
			t.Errorf("it was made again, or rows are left: %v, %v", u.get(key), table.Items())
		}
	})
	inBubble(t, "by its holder, under the lock", func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		key, whole := anOrder()
		u := usersTable(t, table, key)
		u.put(whole)
		c, _ := open(t, table, "c", queuelock.Config{})
		lock := lockItem(t, c, u.key(key), waitpolicy.NoWait)
		u.delete(key)
		release(t, lock.Lock)
		if len(u.get(key)) != 0 {
			t.Error("the release made it again")
		}
	})
	inBubble(t, "and put anew by some other program", func(t *testing.T) {
		for _, held := range []bool{false, true} {
			table := queuelocktest.NewTable(t)
			key, whole := anOrder()
			u := usersTable(t, table, key)
			u.put(whole)
			a, _ := open(t, table, "a", queuelock.Config{})
			b, _ := open(t, table, "b", queuelock.Config{})
			for range 3 {
				release(t, lockItem(t, a, u.key(key), waitpolicy.NoWait).Lock)
			}
			lock := lockItem(t, a, u.key(key), waitpolicy.NoWait)
			u.put(whole)
			if held {
				other := lockItem(t, b, u.key(key), waitpolicy.NoWait)
				defer func() { release(t, other.Lock) }()
			}
			// A release whose copy arrived before would leave the same.
			err := lock.Release(t.Context())
			if _, unknown := errors.AsType[*queuelock.UnknownOutcomeError](err); !unknown {
				t.Errorf("held by another: %t: %v", held, err)
			}
		}
	})
	inBubble(t, "and UpdateAndRelease comes first", func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		key, whole := anOrder()
		u := usersTable(t, table, key)
		u.put(whole)
		c, _ := open(t, table, "c", queuelock.Config{})
		lock := lockItem(t, c, u.key(key), waitpolicy.NoWait)
		u.delete(key)
		_, err := lock.UpdateAndRelease(t.Context(), expression.Set(expression.Name("amount"), expression.Value(1)))
		// Made by an attempt that the client's transport repeated, and deleted
		// then, it would look the same.
		if _, unknown := errors.AsType[*queuelock.UnknownOutcomeError](err); !unknown || !errors.Is(lock.Err(), queuelock.ErrLost) {
			t.Errorf("got %v, and the lock's end is %v", err, lock.Err())
		}
		if len(u.get(key)) != 0 {
			t.Error("the update made it again")
		}
	})
	inBubble(t, "and its last answer is lost", func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		key, whole := anOrder()
		u := usersTable(t, table, key)
		u.put(whole)
		c, db := open(t, table, "c", queuelock.Config{})
		lock := lockItem(t, c, u.key(key), waitpolicy.NoWait)
		gate := db.Inject(queuelocktest.HoldResponse().Of("UpdateItem").Times(1))
		done := make(chan error, 1)
		go func() {
			_, err := lock.UpdateAndRelease(t.Context(), addOne())
			done <- err
		}()
		<-gate.Reached()
		u.delete(key)
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
		inBubble(t, fmt.Sprint("and made anew, with turns: ", turns), func(t *testing.T) {
			table := queuelocktest.NewTable(t)
			key, whole := anOrder()
			u := usersTable(t, table, key)
			u.put(whole)
			a, _ := open(t, table, "a", queuelock.Config{})
			b, dbB := open(t, table, "b", queuelock.Config{})
			c, _ := open(t, table, "c", queuelock.Config{})
			for range 9 {
				release(t, lockItem(t, a, u.key(key), waitpolicy.NoWait).Lock)
			}
			old := lockItem(t, a, u.key(key), waitpolicy.NoWait) // ticket 10
			waiting := queueUpForItem(t.Context(), b, u.key(key), waitpolicy.Forever)
			synctest.Wait()
			dbB.Partition() // it does not see what happens now
			u.delete(key)
			u.put(whole)
			for range turns {
				release(t, lockItem(t, c, u.key(key), waitpolicy.NoWait).Lock)
			}
			held := lockItem(t, c, u.key(key), waitpolicy.NoWait)
			dbB.Heal()
			third := queueUpForItem(t.Context(), a, u.key(key), waitpolicy.Forever)
			time.Sleep(2 * time.Second)
			updated(t, held, addOne())
			for range 2 {
				var got itemOutcome
				select {
				case got = <-waiting:
				case got = <-third:
				}
				if got.err != nil {
					t.Fatal(got.err)
				}
				if !held.Ticket().Less(got.lock.Ticket()) {
					t.Errorf("ticket %s after %s of the same item", got.lock.Ticket(), held.Ticket())
				}
				held = got.lock
				updated(t, held, addOne())
			}
			if !errors.Is(old.Err(), queuelock.ErrLost) {
				<-old.Done()
			}
			if got := u.get(key)["amount"]; !reflect.DeepEqual(got, num(103)) {
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
		"lock_granted": str("x"), "lock_holders": num(1), "lock_servingAfter": num(1), "lock_ticketNumber": str("seven"), "lock_holdMode": num(3), "lock_permits": num(3), "lock_scope": str("x"),
	} {
		inBubble(t, name, func(t *testing.T) {
			table := queuelocktest.NewTable(t)
			key, whole := anOrder()
			u := usersTable(t, table, key)
			whole[name] = value
			u.put(whole)
			c, _ := open(t, table, "c", queuelock.Config{})
			_, err := c.LockItem(t.Context(), u.key(key), waitpolicy.NoWait, queuelock.CreateItem())
			if _, malformed := errors.AsType[*queuelock.MalformedError](err); !malformed {
				t.Errorf("got %v", err)
			}
			equal(t, "the item", u.get(key), whole)
			other, _ := open(t, table, "other", queuelock.Config{ItemPrefix: "mutex:"})
			release(t, lockItem(t, other, u.key(key), waitpolicy.NoWait).Lock)
		})
	}
}

func TestBadItemsAreRefusedWithoutARequest(t *testing.T) {
	inBubble(t, "arguments", func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		key, _ := anOrder()
		u := usersTable(t, table, key)
		c, _ := open(t, table, "c", queuelock.Config{})
		var nothing types.AttributeValue
		good := u.key(key)
		spent := cost(table, func() {
			for _, bad := range []struct {
				item queuelock.ItemKey
				wait waitpolicy.Wait
				opts []queuelock.Option
				says string
			}{
				{queuelock.ItemKey{Key: key}, waitpolicy.NoWait, nil, "table is empty"},
				{queuelock.ItemKey{Table: "x y", Key: key}, waitpolicy.NoWait, nil, `the item's table is "x y": 3 to 255`},
				{queuelock.ItemKey{Table: "orders"}, waitpolicy.NoWait, nil, "key is empty"},
				{u.key(item{"a": num(1), "b": num(1), "c": num(1)}), waitpolicy.NoWait, nil, "3 attributes"},
				{u.key(item{"": num(1)}), waitpolicy.NoWait, nil, "named \"\""},
				{u.key(item{"a[0]": num(1)}), waitpolicy.NoWait, nil, "cannot name"},
				{u.key(item{"lock_granted": num(1)}), waitpolicy.NoWait, nil, "ItemPrefix"},
				{u.key(item{"id": nothing}), waitpolicy.NoWait, nil, "a string, a number or binary"},
				{u.key(item{"id": (*types.AttributeValueMemberS)(nil)}), waitpolicy.NoWait, nil, "\"id\" is a nil *types.AttributeValueMemberS"},
				{u.key(item{"id": (*types.AttributeValueMemberN)(nil)}), waitpolicy.NoWait, nil, "nil"},
				{u.key(item{"id": (*types.AttributeValueMemberB)(nil)}), waitpolicy.NoWait, nil, "nil"},
				{u.key(item{"id": (*types.AttributeValueMemberBOOL)(nil)}), waitpolicy.NoWait, nil, "nil"},
				{u.key(item{"id": object(nil)}), waitpolicy.NoWait, nil, "is a map"},
				{u.key(item{"id": str("")}), waitpolicy.NoWait, nil, "is empty"},
				{u.key(item{"id": str("\xff")}), waitpolicy.NoWait, nil, "UTF-8"},
				{u.key(item{"id": bin()}), waitpolicy.NoWait, nil, "is empty"},
				{u.key(item{"id": num("seven")}), waitpolicy.NoWait, nil, "no number"},
				{u.key(item{"id": num("1e999999999")}), waitpolicy.NoWait, nil, "no number"},
				{good, waitpolicy.For(-1), nil, "negative"},
				{good, waitpolicy.NoWait, []queuelock.Option{queuelock.Shared()}, "Shared and Permits"},
				{good, waitpolicy.NoWait, []queuelock.Option{queuelock.Permits(2)}, "Shared and Permits"},
				{good, waitpolicy.NoWait, []queuelock.Option{queuelock.OnHandle(func(queuelock.Handle) {})}, "OnHandle"},
				{good, waitpolicy.NoWait, []queuelock.Option{queuelock.FailClosed()}, "FailClosed"},
				{good, waitpolicy.NoWait, []queuelock.Option{queuelock.WithTTL(1)}, "TTL"},
			} {
				_, err := c.LockItem(t.Context(), bad.item, bad.wait, bad.opts...)
				says(t, err, "queuelock: ", bad.says)
				_ = bad.item.String() // it prints whatever it is given
				if bad.opts == nil && bad.wait == waitpolicy.NoWait {
					_, err := c.InspectItem(t.Context(), bad.item)
					says(t, err, bad.says)
				}
			}
			_, err := c.Acquire(t.Context(), order, waitpolicy.NoWait, queuelock.CreateItem())
			says(t, err, "CreateItem is for LockItem")
			for prefix, want := range map[string]string{strings.Repeat("x", 201): "201 bytes", "\xff": "UTF-8", "l[0]": "bracket"} {
				_, err := queuelock.New(u.db, table.Name(), queuelock.Config{ItemPrefix: prefix})
				says(t, err, "ItemPrefix", want)
			}
		})
		if spent.Sent != 0 {
			t.Errorf("%d requests were sent", spent.Sent)
		}
		// What only the table knows.
		_, err := c.LockItem(t.Context(), u.key(item{"name": str("order-7")}), waitpolicy.NoWait)
		if _, schema := errors.AsType[*queuelock.TableError](err); !schema {
			t.Errorf("a key of another schema: %v", err)
		}
		says(t, err, u.name, `partition key "id" (S)`, `key "name" (S)`)
		_, err = c.LockItem(t.Context(), u.key(item{"id": num(7)}), waitpolicy.NoWait)
		says(t, err, u.name, `"id" (N)`)
		_, err = c.LockItem(t.Context(), queuelock.ItemKey{Table: "ordres", Key: key}, waitpolicy.NoWait)
		says(t, err, "ordres", "no such table", `key "id" (S)`)
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
	inBubble(t, "entities", func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		c, _ := open(t, table, "c", queuelock.Config{})
		prefixed, _ := open(t, table, "prefixed", queuelock.Config{ItemPrefix: "l_"})
		entity := func(c *queuelock.Client, name string, key item) string {
			state, err := c.InspectItem(t.Context(), queuelock.ItemKey{Table: name, Key: key})
			if err != nil {
				t.Error(err)
				return ""
			}
			return state.Key.Entity
		}
		long := strings.Repeat("ä", 1000)
		keys := []item{
			{"id": str("a")}, {"id": str(`a" "sort" S:"b`)}, {"id": str("a"), "sort": str("b")}, {"id": num(1)}, {"id": str("1")}, {"id": bin('1')},
			{"id": num(10)}, {"id": num(-1)}, {"id": str("a"), "sort": num(1)}, {"sort": str("a")},
			{"id": str(long)}, {"id": str(long + "x")}, {"id": str(long), "sort": str(long[:1000])}, {"id": str(long), "sort": str(long[:998])},
		}
		seen := map[string]item{}
		for _, key := range keys {
			u := users{t: t, name: "orders", db: table.Client("user")}
			in := &dynamodb.CreateTableInput{TableName: &u.name, BillingMode: types.BillingModePayPerRequest}
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
			if _, err := u.db.CreateTable(t.Context(), in); err != nil {
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
					if again := entity(c, "orders", with(key, item{"id": num(same)})); again != got {
						t.Errorf("%s has the queue %q, and %s %q", n.Value, got, same, again)
					}
				}
			}
			if _, err := u.db.DeleteTable(t.Context(), &dynamodb.DeleteTableInput{TableName: &u.name}); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func TestInspectItemSaysWhoHasItAndWhoWaits(t *testing.T) {
	inBubble(t, "state", func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		key, whole := anOrder()
		u := usersTable(t, table, key)
		a, _ := open(t, table, "a", queuelock.Config{})
		b, _ := open(t, table, "b", queuelock.Config{})
		inspect := func() *queuelock.State {
			t.Helper()
			var state *queuelock.State
			spent := cost(table, func() {
				var err error
				if state, err = a.InspectItem(t.Context(), u.key(key)); err != nil {
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
			u.put(whole)
		}
		lock := lockItem(t, a, u.key(key), waitpolicy.NoWait, queuelock.WithData([]byte("job 1")))
		ctx, cancel := context.WithCancel(t.Context())
		waiting := queueUpForItem(ctx, b, u.key(key), waitpolicy.Forever)
		synctest.Wait()
		if s := inspect(); len(s.Serving) != 1 || s.Serving[0].Owner != "a" || string(s.Serving[0].Data) != "job 1" || len(s.Waiting) != 1 || s.Waiting[0].Owner != "b" {
			t.Errorf("a locked item: %+v", s)
		}
		if lock.Key() != inspect().Key || lock.ItemKey().Table != u.name {
			t.Errorf("the lock's key is %v, the queue's %v", lock.Key(), inspect().Key)
		}
		cancel()
		if got := <-waiting; !errors.Is(got.err, context.Canceled) || !errors.Is(got.err, queuelock.ErrNotAcquired) {
			t.Errorf("one who gave up got %v", got.err)
		}
		// The lock is kept, and its data changed, without a change of the item.
		time.Sleep(5 * time.Minute)
		if err := lock.SetData(t.Context(), nil); err != nil || lock.Err() != nil {
			t.Error(err, lock.Err())
		}
		equal(t, "what UpdateAndRelease returned", updated(t, lock, addOne()), with(whole, item{"amount": num(101)}))
	})
}

// A holder that dies is evicted from the item, and its item is as it was.
func TestADeadHoldersItemIsTakenOver(t *testing.T) {
	inBubble(t, "crash", func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		key, whole := anOrder()
		u := usersTable(t, table, key)
		u.put(whole)
		a, dbA := open(t, table, "a", queuelock.Config{})
		b, _ := open(t, table, "b", queuelock.Config{})
		lock := lockItem(t, a, u.key(key), waitpolicy.NoWait)
		dbA.Partition()
		next := lockItem(t, b, u.key(key), waitpolicy.For(3*time.Minute))
		equal(t, "the item", next.Item(), whole)
		dbA.Heal()
		if _, err := lock.UpdateAndRelease(t.Context(), addOne()); !errors.Is(err, queuelock.ErrLost) {
			t.Errorf("the dead holder's update gave %v", err)
		}
		equal(t, "what UpdateAndRelease returned", updated(t, next, addOne()), with(whole, item{"amount": num(101)}))
	})
}

// Between the look at an item without a counter and its seed, anything may come.
func TestASeedComesToAnItemThatIsAsItWas(t *testing.T) {
	for name, c := range map[string]struct {
		between func(u users, key, whole item)
		opts    []queuelock.Option
		is      func(err error) bool
	}{
		"deleted": {func(u users, key, _ item) { u.delete(key) }, nil, func(err error) bool { return errors.Is(err, queuelock.ErrNoItem) }},
		"another name of the lock's": {func(u users, _, whole item) { u.put(with(whole, item{"lock_permits": num(3)})) }, nil, func(err error) bool {
			_, malformed := errors.AsType[*queuelock.MalformedError](err)
			return malformed
		}},
		"another name, where a missing item may be made": {func(u users, _, whole item) { u.put(with(whole, item{"lock_turn": num(3)})) }, []queuelock.Option{queuelock.CreateItem()}, func(err error) bool {
			_, malformed := errors.AsType[*queuelock.MalformedError](err)
			return malformed
		}},
	} {
		for _, older := range []bool{false, true} {
			inBubble(t, fmt.Sprintf("%s, older engine: %v", name, older), func(t *testing.T) {
				var opts []queuelocktest.Option
				if older {
					opts = append(opts, queuelocktest.WithoutFailedItem())
				}
				table := queuelocktest.NewTable(t, opts...)
				key, whole := anOrder()
				u := usersTable(t, table, key)
				u.put(whole)
				a, db := open(t, table, "a", queuelock.Config{})
				seed := db.Inject(queuelocktest.HoldRequest().Of("UpdateItem").Mentioning("attribute_not_exists (lock_ticketNumber)").Times(1))
				waiting := queueUpForItem(t.Context(), a, u.key(key), waitpolicy.NoWait, c.opts...)
				<-seed.Reached()
				c.between(u, key, whole)
				before := u.get(key)
				seed.Release()
				if got := <-waiting; !c.is(got.err) {
					t.Errorf("got %v", got.err)
				}
				equal(t, "the item", u.get(key), before)
			})
		}
	}
}

// A CLAIM that is on its way to an item which is deleted and made anew meanwhile
// must not be granted: its ticket is not of the new counter.
func TestATicketOfADeletedItemIsNotClaimed(t *testing.T) {
	inBubble(t, "claim", func(t *testing.T) {
		table := queuelocktest.NewTable(t, queuelocktest.WithLatency(2*time.Millisecond))
		key, whole := anOrder()
		u := usersTable(t, table, key)
		u.put(whole)
		a, _ := open(t, table, "a", queuelock.Config{})
		b, dbB := open(t, table, "b", queuelock.Config{})
		c, _ := open(t, table, "c", queuelock.Config{})
		dead, dbDead := open(t, table, "dead", queuelock.Config{})
		for range 9 {
			release(t, lockItem(t, a, u.key(key), waitpolicy.NoWait).Lock)
		}
		held := lockItem(t, a, u.key(key), waitpolicy.NoWait)
		waiting := queueUpForItem(t.Context(), b, u.key(key), waitpolicy.Forever) // ticket 11
		time.Sleep(100 * time.Millisecond)
		claim := dbB.Inject(queuelocktest.HoldRequest().Of("UpdateItem").Mentioning("lock_granted = 11").Times(1))
		release(t, held.Lock)
		<-claim.Reached()
		u.delete(key)
		u.put(whole)
		first := lockItem(t, c, u.key(key), waitpolicy.NoWait)
		queueUpForItem(t.Context(), dead, u.key(key), waitpolicy.Forever)
		time.Sleep(100 * time.Millisecond)
		dbDead.Partition() // it has ticket 2, and claims nothing
		release(t, first.Lock)
		before := dbB.Counts()
		claim.Release()
		got := <-waiting
		if got.err != nil {
			t.Fatal(got.err)
		}
		if got.lock.Ticket().String() != "3" {
			t.Errorf("it was served with ticket %s, want 3", got.lock.Ticket())
		}
		if spent := dbB.Counts().Sub(before).Total(); spent.Sent > 200 {
			t.Errorf("it took %d requests", spent.Sent)
		}
		release(t, got.lock.Lock)
	})
}
