package optimistic_test

import (
	"errors"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/optimistic"
	"github.com/queuelock/queuelock/queuelocktest"
)

// What the tests in bubbles show of the embedded engine must be true of the others as well.

// TestEngineKeys checks that tables may have any key, also with names that are reserved words.
func TestEngineKeys(t *testing.T) {
	for name, c := range map[string]struct {
		keys   [][2]string
		values []types.AttributeValue
	}{
		"S":       {[][2]string{{"name", "S"}}, []types.AttributeValue{str("order-7")}},
		"N":       {[][2]string{{"id", "N"}}, []types.AttributeValue{num(7)}},
		"B":       {[][2]string{{"hash", "B"}}, []types.AttributeValue{&types.AttributeValueMemberB{Value: []byte{0, 255}}}},
		"S and N": {[][2]string{{"order", "S"}, {"range", "N"}}, []types.AttributeValue{str("order-7"), num(3)}},
		"N and B": {[][2]string{{"id", "N"}, {"data", "B"}}, []types.AttributeValue{num(7), &types.AttributeValueMemberB{Value: []byte("x")}}},
	} {
		t.Run(name, func(t *testing.T) {
			onEveryEngine(t, keyed(c.keys...), func(t *testing.T, table *queuelocktest.Table) {
				cfg := optimistic.Config{VersionAttribute: "size", TokenAttribute: "token"}
				key := attributes{c.keys[0][0]: c.values[0]}
				if len(c.keys) == 2 {
					cfg.SortKey = c.keys[1][0]
					key[cfg.SortKey] = c.values[1]
				}
				items := locktest.Must(optimistic.New(table.Client("a"), table.Name(), c.keys[0][0], cfg))
				made := locktest.Must(items.Update(t.Context(), key, increment, optimistic.OrCreate()))
				again, err := items.Update(t.Context(), key, increment)
				if err != nil || again.Version() != 2 || counter(again) != 2 {
					t.Fatalf("%+v: %v", again, err)
				}
				if _, err := items.Save(t.Context(), optimistic.Item{Attributes: key}); !errors.Is(err, optimistic.ErrConflict) {
					t.Errorf("create: %v, want a conflict", err)
				}
				locktest.Is(t, items.Delete(t.Context(), made), optimistic.ErrConflict)
				locktest.Check(t, items.Delete(t.Context(), again))
			})
		})
	}
}

// TestEngineTransactions checks that a transaction saves an item together with others, and what conflicts with it.
func TestEngineTransactions(t *testing.T) {
	onEveryEngine(t, keyed([2]string{"pk", "S"}, [2]string{"sk", "S"}), func(t *testing.T, table *queuelocktest.Table) {
		items, db := open(t, table, "a", optimistic.Config{})
		transact := func(item optimistic.Item, opts ...optimistic.Option) (optimistic.Item, error) {
			t.Helper()
			put, saved, err := items.SaveItem(item, opts...)
			locktest.OK(t, err)
			outbox := optimistic.Item{Attributes: attributes{"pk": str("outbox"), "sk": str(saved.Tag())}}
			row, _, err := items.SaveItem(outbox)
			locktest.OK(t, err)
			_, err = db.TransactWriteItems(t.Context(), &dynamodb.TransactWriteItemsInput{TransactItems: parts(row, put)})
			return saved, items.Outcome(err, 1, saved)
		}
		first := locktest.Must(transact(fresh(1)))
		if got := load(t, items); got.Tag() != first.Tag() || got.Version() != 1 {
			t.Errorf("%+v, want what SaveItem returned", got)
		}
		lost := db.Inject(queuelocktest.LoseResponse().Of("TransactWriteItems").Times(1))
		second, err := transact(first, optimistic.WithToken("charge-9"))
		if err != nil || lost.Fired() != 1 {
			t.Errorf("a lost answer: %v", err)
		}
		_, err = transact(first)
		var conflict *optimistic.ConflictError
		if !errors.As(err, &conflict) || !errors.Is(err, optimistic.ErrConflict) {
			t.Errorf("%v, want a conflict", err)
		} else if conflict.Current != nil && conflict.Current.Tag() != second.Tag() {
			t.Errorf("current is %+v", conflict.Current)
		}
		_, err = items.Save(t.Context(), first)
		if c, ok := errors.AsType[*optimistic.ConflictError](err); !ok || c.Current == nil || c.Current.Tag() != second.Tag() {
			t.Errorf("save: %v, want a conflict with tag %s", err, second.Tag())
		}
		if n := len(table.Items()); n != 3 {
			t.Errorf("%d items, want the order and two rows of the outbox", n)
		}
		// The same write again, by a program that does not know of it.
		put, saved, err := items.SaveItem(first, optimistic.WithToken("charge-9"))
		locktest.OK(t, err)
		_, err = db.TransactWriteItems(t.Context(), &dynamodb.TransactWriteItemsInput{TransactItems: parts(put)})
		if conflict != nil && conflict.Current != nil { // an engine that returns it
			locktest.Check(t, items.Outcome(err, 0, saved))
		}
		if got := items.Outcome(err, 7, saved); got != err {
			t.Errorf("%v, want the error itself for a part that is not there", got)
		}

		check := locktest.Must(items.CheckItem(second))
		locktest.Must(db.TransactWriteItems(t.Context(), &dynamodb.TransactWriteItemsInput{TransactItems: parts(check)}))
		remove := locktest.Must(items.DeleteItem(second))
		locktest.Must(db.TransactWriteItems(t.Context(), &dynamodb.TransactWriteItemsInput{TransactItems: parts(remove)}))
		if _, err := items.Load(t.Context(), order); !errors.Is(err, optimistic.ErrNotFound) {
			t.Errorf("%v, want that it was deleted", err)
		}
		_, err = items.Save(t.Context(), second)
		locktest.Is(t, err, optimistic.ErrConflict)

		write(t, table, order) // without a version
		taken := load(t, items)
		save(t, items, taken)
		_, err = items.Save(t.Context(), taken)
		locktest.Is(t, err, optimistic.ErrConflict)
	})
}
