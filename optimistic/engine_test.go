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

// What the tests in bubbles show of the embedded engine must be true of the
// others as well.

// TestEngineKeys checks that tables may have any key. Any key schema, and names that are
// reserved words.
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

func TestEngineConflictsAndTransactions(t *testing.T) {
	onEveryEngine(t, keyed([2]string{"pk", "S"}, [2]string{"sk", "S"}), func(t *testing.T, table *queuelocktest.Table) {
		items, db := open(t, table, "a", optimistic.Config{})
		transact := func(item optimistic.Item) (optimistic.Item, error) {
			t.Helper()
			put, saved, err := items.SaveItem(item)
			if err != nil {
				t.Fatal(err)
			}
			_, err = db.TransactWriteItems(t.Context(), &dynamodb.TransactWriteItemsInput{TransactItems: parts(put)})
			return saved, items.Outcome(err, 0, saved)
		}
		old := locktest.Must(transact(fresh(1)))
		now := save(t, items, old)
		_, transactErr := transact(old)
		_, saveErr := items.Save(t.Context(), old)
		for _, err := range []error{transactErr, saveErr} {
			var conflict *optimistic.ConflictError
			if !errors.As(err, &conflict) {
				t.Errorf("%v, want a conflict", err)
			} else if conflict.Current != nil && conflict.Current.Tag() != now.Tag() || err == saveErr && conflict.Current == nil {
				t.Errorf("current is %+v, want tag %s", conflict.Current, now.Tag())
			}
		}
		locktest.OK(t, items.Delete(t.Context(), now))
		if _, err := items.Save(t.Context(), now); !errors.Is(err, optimistic.ErrConflict) {
			t.Errorf("save of what was deleted: %v", err)
		}
		write(t, table, attributes{"pk": order["pk"], "sk": order["sk"]})
		taken := load(t, items)
		save(t, items, taken)
		if _, err := items.Save(t.Context(), taken); !errors.Is(err, optimistic.ErrConflict) {
			t.Errorf("second save of an item without a version: %v", err)
		}
	})
}
