package optimistic_test

import (
	"context"
	"crypto/rand"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/internal/testbed/av"
	"github.com/queuelock/queuelock/internal/testbed/engines"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/optimistic"
	"github.com/queuelock/queuelock/queuelocktest"
)

func TestMain(m *testing.M) { os.Exit(engines.Main(m).Run()) }

type attributes = map[string]types.AttributeValue

var str, num = av.Str, av.Num

// order is the key of the item that the tests change.
var order = attributes{"pk": str("order-7"), "sk": str("header")}

// open makes a Table over a network of its own.
func open(t *testing.T, table *queuelocktest.Table, name string, cfg optimistic.Config) (*optimistic.Table, *queuelocktest.Client) {
	t.Helper()
	db := table.Client(name)
	if cfg.SortKey == "" {
		cfg.SortKey = "sk"
	}
	return locktest.Must(optimistic.New(db, table.Name(), "pk", cfg)), db
}

// fresh is an item that is not in the table, with a counter.
func fresh(n int) optimistic.Item {
	return optimistic.Item{Attributes: attributes{"pk": order["pk"], "sk": order["sk"], "n": num(n)}}
}

func save(t *testing.T, items *optimistic.Table, item optimistic.Item, opts ...optimistic.Option) optimistic.Item {
	t.Helper()
	return locktest.Must(items.Save(t.Context(), item, opts...))
}

func load(t *testing.T, items *optimistic.Table) optimistic.Item {
	t.Helper()
	return locktest.Must(items.Load(t.Context(), order))
}

// counter is n of the item; 0 if it has none.
func counter(item optimistic.Item) int {
	n, ok := item.Attributes["n"].(*types.AttributeValueMemberN)
	if !ok {
		return 0
	}
	return locktest.Must(strconv.Atoi(n.Value))
}

// increment is a change for Update.
func increment(item optimistic.Item) (optimistic.Item, error) {
	item.Attributes["n"] = num(counter(item) + 1)
	return item, nil
}

// write puts an item into the table as some other program does.
func write(t *testing.T, table *queuelocktest.Table, item attributes) {
	t.Helper()
	locktest.Must(table.Client("other program").PutItem(t.Context(), &dynamodb.PutItemInput{TableName: new(table.Name()), Item: item}))
}

// onEveryEngine runs f with a new table on each engine, in real time. The table
// has the library's keys, unless create makes another one.
func onEveryEngine(t *testing.T, create func(name string) *dynamodb.CreateTableInput, f func(t *testing.T, table *queuelocktest.Table)) {
	t.Parallel()
	engines.Each(t, func(t *testing.T, e engines.Engine) {
		t.Parallel()
		name, db := "version-"+strings.ToLower(rand.Text()[:12]), e.Client(t)
		opts := []queuelocktest.Option{queuelocktest.WithEngine(e.Handler(t)), queuelocktest.WithName(name), queuelocktest.WithoutTable()}
		locktest.Must(db.CreateTable(t.Context(), create(name)))
		t.Cleanup(func() {
			if _, err := db.DeleteTable(context.Background(), &dynamodb.DeleteTableInput{TableName: &name}); err != nil {
				t.Error(err)
			}
		})
		f(t, queuelocktest.NewTable(t, opts...))
	})
}

// keyed is a table with these keys; a name and its type, "id" and "N".
func keyed(keys ...[2]string) func(name string) *dynamodb.CreateTableInput {
	return func(name string) *dynamodb.CreateTableInput {
		in := &dynamodb.CreateTableInput{TableName: &name, BillingMode: types.BillingModePayPerRequest}
		for i, k := range keys {
			kind := []types.KeyType{types.KeyTypeHash, types.KeyTypeRange}[i]
			in.KeySchema = append(in.KeySchema, types.KeySchemaElement{AttributeName: &k[0], KeyType: kind})
			in.AttributeDefinitions = append(in.AttributeDefinitions, types.AttributeDefinition{AttributeName: &k[0], AttributeType: types.ScalarAttributeType(k[1])})
		}
		return in
	}
}

func parts(items ...types.TransactWriteItem) []types.TransactWriteItem { return items }
