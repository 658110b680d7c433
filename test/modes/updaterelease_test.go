package modes_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"pgregory.net/rapid"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/av"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

// TestRefusedUpdate checks that an update that its condition refuses keeps the lock.
func TestRefusedUpdate(t *testing.T) {
	amount := expression.Name("amount")
	for _, queued := range []bool{false, true} {
		locktest.InTable(t, fmt.Sprint("queued: ", queued), func(t *testing.T, table *queuelocktest.Table) {
			u, key, whole := locktest.NewOrder(t, table)
			c, db, other := locktest.Pair(t, table, queuelock.Config{}, "c", "other")
			lock := locktest.LockItem(t, c, u.Key(key), waitpolicy.NoWait)
			want := 1
			if queued {
				locktest.QueueUpForItem(t.Context(), other, u.Key(key), waitpolicy.Forever)
				synctest.Wait()
				want = 2 // the fast form and the hand-off
			}
			before := db.Counts()
			after, err := lock.UpdateAndRelease(t.Context(), locktest.AddOne(), amount.Equal(expression.Value(100)), amount.LessThan(expression.Value(50)))
			refused, ok := errors.AsType[*queuelock.ConditionError](err)
			if !ok || after != nil || errors.Is(err, queuelock.ErrLost) {
				t.Fatalf("got %v", err)
			}
			locktest.EqualItems(t, "the current item", refused.Current, whole)
			locktest.Says(t, err, "order-7", u.Name, "condition", "held")
			if spent := db.Counts().Sub(before).Total(); spent.Sent != want {
				t.Errorf("it took %d requests, want %d", spent.Sent, want)
			}
			time.Sleep(5 * time.Minute)
			if lock.Err() != nil {
				t.Fatalf("the lock has ended by it: %v", lock.Err())
			}
			locktest.EqualItems(t, "what it returned then", locktest.Updated(t, lock, locktest.AddOne(), amount.Equal(expression.Value(100)), amount.GreaterThan(expression.Value(50))),
				av.With(whole, av.Item{"amount": av.Num(101)}))
		})
	}
}

// TestProtectedAttributes checks that an update leaves the key and the attributes of the lock alone.
func TestProtectedAttributes(t *testing.T) {
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		u, key, whole := locktest.NewOrder(t, table)
		c, _ := locktest.Open(t, table, "c", queuelock.Config{ItemPrefix: "l.k_"})
		lock := locktest.LockItem(t, c, u.Key(key), waitpolicy.NoWait)
		dotted := func(name string) expression.NameBuilder { return expression.NameNoDotSplit(name) }
		one := expression.Value(1)
		locktest.Sends(t, table, 0, "what is refused", func() {
			for name, update := range map[string]expression.UpdateBuilder{
				"l.k_granted":      expression.Set(dotted("l.k_granted"), one),
				"l.k_holders":      expression.Set(expression.Name("amount"), one).Remove(dotted("l.k_holders")),
				"l.k_servingAfter": expression.Remove(dotted("l.k_servingAfter")),
				"l.k_ticketNumber": expression.Add(dotted("l.k_ticketNumber"), one),
				"l.k_turn":         expression.Set(dotted("l.k_turn"), one),
				"l.k_permits":      expression.Set(dotted("l.k_permits"), one),
				"l.k_released":     expression.Remove(dotted("l.k_released")),
				"l.k_evicted":      expression.Remove(dotted("l.k_evicted")),
				"l.k_unsettled":    expression.Delete(dotted("l.k_unsettled"), expression.Value(&types.AttributeValueMemberNS{Value: []string{"1"}})),
				"l.k_holdMode":     expression.Set(expression.Name("amount"), one).Set(expression.Name("x"), expression.IfNotExists(expression.Name("y"), dotted("l.k_holdMode"))),
				"id":               expression.Set(expression.Name("id"), expression.Value("other")),
			} {
				_, err := lock.UpdateAndRelease(t.Context(), update)
				locktest.Says(t, err, fmt.Sprintf("%q", name))
			}
			_, err := lock.UpdateAndRelease(t.Context(), expression.Set(dotted("l.k_holders").AppendName(dotted("x")), one))
			locktest.Says(t, err, `"l.k_holders"`)
			_, err = lock.UpdateAndRelease(t.Context(), expression.UpdateBuilder{})
			locktest.Says(t, err, "UpdateAndRelease: the update is empty: set")
			exists := expression.AttributeExists(expression.Name("amount"))
			_, err = lock.UpdateAndRelease(t.Context(), expression.UpdateBuilder{}, exists)
			locktest.Says(t, err, "UpdateAndRelease: the update is empty: set")
			_, err = lock.UpdateAndRelease(t.Context(), locktest.AddOne(), expression.ConditionBuilder{})
			locktest.Says(t, err, "UpdateAndRelease: a condition is empty: leave it out")
			_, err = lock.UpdateAndRelease(t.Context(), expression.Set(expression.Name(""), one))
			locktest.Says(t, err, "UpdateAndRelease: a name in the update or in a condition is empty")
			over, cancel := context.WithCancel(t.Context())
			cancel()
			_, err = lock.UpdateAndRelease(over, locktest.AddOne())
			if _, unknown := errors.AsType[*queuelock.UnknownOutcomeError](err); unknown || !errors.Is(err, context.Canceled) {
				t.Errorf("with a context that had ended: %v", err)
			}
		})
		// What only DynamoDB can tell: nothing is written, and the lock is held.
		for _, update := range []expression.UpdateBuilder{
			expression.Set(expression.Name("amount"), one).Set(expression.Name("amount"), one),
			expression.Set(expression.Name("amount"), expression.Plus(expression.Name("missing"), one)),
			expression.Add(expression.Name("lock"), one),
		} {
			_, err := lock.UpdateAndRelease(t.Context(), update)
			_, unknown := errors.AsType[*queuelock.UnknownOutcomeError](err)
			_, schema := errors.AsType[*queue.TableError](err)
			if err == nil || unknown || schema || lock.Err() != nil {
				t.Errorf("got %v, and the lock's end is %v", err, lock.Err())
			}
		}
		// Names that look like the lock's are the user's own, and conditions may
		// name anything. The caller's builders may be used again.
		update := locktest.AddOne().Set(expression.Name("holders.l"), one).Remove(expression.Name("lock_color")).
			Set(expression.Name("l").AppendName(expression.Name("k_granted")), one)
		u.Put(av.With(u.Get(key), av.Item{"l": av.Object(av.Item{"k_granted": av.Num(0)})}))
		condition := expression.Name("amount").LessThan(expression.Value(1000)).And(dotted("l.k_granted").LessThan(dotted("l.k_ticketNumber")))
		for n := range 2 {
			after := locktest.Updated(t, lock, update, condition)
			want := av.With(av.Without(whole, "lock_color"), av.Item{"amount": av.Num(101 + n), "holders": av.Object(av.Item{"x": av.Num(1), "l": av.Num(1)}), "l": av.Object(av.Item{"k_granted": av.Num(1)})})
			locktest.EqualItems(t, "what it returned", after, want)
			if n == 0 {
				lock = locktest.LockItem(t, c, u.Key(key), waitpolicy.NoWait)
				condition = expression.Name("amount").LessThan(expression.Value(1000))
			}
		}
	})
}

// TestOwnAttributes checks that any update that a user may write changes the item as it would without the lock, and leaves
// the lock's own attributes to it.
func TestOwnAttributes(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		names := []string{"a", "b.c", "lock", "lock_", "holders", "ticketNumber", "Ünï cøde", "#0", ":0", "SET", "u0", "x y"}
		name := rapid.SampledFrom(names)
		initial := av.Item{"id": av.Str("x")}
		for range rapid.IntRange(0, 8).Draw(r, "attributes") {
			initial[name.Draw(r, "name")] = av.Num(rapid.IntRange(0, 9).Draw(r, "value"))
		}
		var update expression.UpdateBuilder
		want, used := maps.Clone(initial), map[string]bool{}
		for range rapid.IntRange(1, 6).Draw(r, "actions") {
			n := name.Draw(r, "target")
			if used[n] {
				continue
			}
			used[n] = true
			path, v := expression.NameNoDotSplit(n), rapid.IntRange(0, 99).Draw(r, "by")
			switch rapid.SampledFrom([]string{"set", "remove", "add", "copy"}).Draw(r, "action") {
			case "set":
				update, want[n] = update.Set(path, expression.Value(v)), av.Num(v)
			case "remove":
				update = update.Remove(path)
				delete(want, n)
			case "add":
				update = update.Add(path, expression.Value(v))
				sum := v
				if old, ok := initial[n].(*types.AttributeValueMemberN); ok {
					var was int
					fmt.Sscan(old.Value, &was)
					sum += was
				}
				want[n] = av.Num(sum)
			case "copy":
				update, want[n] = update.Set(path, expression.IfNotExists(path, expression.Value(v))), av.Num(v)
				if old, ok := initial[n]; ok {
					want[n] = old
				}
			}
		}
		prefix := rapid.SampledFrom([]string{"", "l.", "#", "lock", "u"}).Draw(r, "prefix")
		condition := rapid.Bool().Draw(r, "with a condition")
		queued := rapid.Bool().Draw(r, "queued")
		var problem string // the property fails outside of the bubble: within, the panic would end the process
		locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
			key := av.Item{"id": av.Str("x")}
			u := locktest.NewItemTable(t, table, key)
			u.Put(initial)
			c, other := locktest.Two(t, table, queuelock.Config{ItemPrefix: prefix}, "c", "other")
			lock := locktest.Must(c.LockItem(t.Context(), u.Key(key), waitpolicy.NoWait))
			if !reflect.DeepEqual(lock.Item(), initial) {
				problem = fmt.Sprintf("the item is %v, want %v", locktest.PlainItem(lock.Item()), locktest.PlainItem(initial))
				return
			}
			var waiting <-chan locktest.ItemOutcome
			if queued {
				waiting = locktest.QueueUpForItem(t.Context(), other, u.Key(key), waitpolicy.Forever)
				synctest.Wait()
			}
			var conditions []expression.ConditionBuilder
			if condition {
				conditions = append(conditions, expression.AttributeExists(expression.Name("id")), expression.Value(1).LessThan(expression.Value(2)).Or(expression.AttributeExists(expression.Name("nothing"))))
			}
			after := locktest.Must(lock.UpdateAndRelease(t.Context(), update, conditions...))
			if !reflect.DeepEqual(after, want) {
				problem = fmt.Sprintf("it returned\n%v\nwant\n%v", locktest.PlainItem(after), locktest.PlainItem(want))
				return
			}
			if queued {
				got := <-waiting
				if got.Err != nil {
					problem = got.Err.Error()
					return
				}
				if !reflect.DeepEqual(got.Lock.Item(), want) {
					problem = fmt.Sprintf("the next has\n%v\nwant\n%v", locktest.PlainItem(got.Lock.Item()), locktest.PlainItem(want))
					return
				}
				locktest.Release(t, got.Lock)
			}
		})
		if problem != "" {
			r.Fatal(problem)
		}
	})
}
