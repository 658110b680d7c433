package locktest

import (
	"context"
	"reflect"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/av"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

// ItemTable is a table of the user's own items.
type ItemTable struct {
	T    *testing.T
	Name string
	DB   *queuelocktest.Client // without faults
}

// NewItemTable creates an ItemTable, with key attributes of the types that key has.
func NewItemTable(t *testing.T, table *queuelocktest.Table, key av.Item) ItemTable {
	t.Helper()
	u := ItemTable{T: t, Name: table.Name() + "-orders", DB: table.Client("user")}
	in := &dynamodb.CreateTableInput{TableName: &u.Name, BillingMode: types.BillingModePayPerRequest}
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
	_, err := u.DB.CreateTable(t.Context(), in)
	OK(t, err)
	t.Cleanup(func() { _, _ = u.DB.DeleteTable(context.Background(), &dynamodb.DeleteTableInput{TableName: &u.Name}) })
	return u
}

// Put writes an item.
func (u ItemTable) Put(i av.Item) {
	u.T.Helper()
	_, err := u.DB.PutItem(u.T.Context(), &dynamodb.PutItemInput{TableName: &u.Name, Item: i})
	OK(u.T, err)
}

// Get reads an item.
func (u ItemTable) Get(key av.Item) av.Item {
	u.T.Helper()
	out, err := u.DB.GetItem(u.T.Context(), &dynamodb.GetItemInput{TableName: &u.Name, Key: key, ConsistentRead: aws.Bool(true)})
	OK(u.T, err)
	return out.Item
}

// Delete deletes an item.
func (u ItemTable) Delete(key av.Item) {
	u.T.Helper()
	deleteItem(u.T, u.DB, u.Name, key)
}

// Key returns the key as the library takes it.
func (u ItemTable) Key(key av.Item) queuelock.ItemKey {
	return queuelock.ItemKey{Table: u.Name, Key: key}
}

// OrderItem returns an item of an [ItemTable] and its key. Some of its attributes
// have names that resemble the lock's.
func OrderItem() (key, whole av.Item) {
	key = av.Item{"id": av.Str("order-7")}
	return key, av.With(key, av.Item{
		"amount": av.Num(100), "lines": &types.AttributeValueMemberL{Value: []types.AttributeValue{av.Str("a"), av.Num(1)}},
		"lock": av.Str("a name like the lock's"), "holders": av.Object(av.Item{"x": av.Num(1)}), "ticketNumber": av.Str("mine"), "lock_color": av.Str("red"),
	})
}

// NewOrder creates an [ItemTable] with the item of [OrderItem].
func NewOrder(t *testing.T, table *queuelocktest.Table) (u ItemTable, key, whole av.Item) {
	t.Helper()
	key, whole = OrderItem()
	u = NewItemTable(t, table, key)
	u.Put(whole)
	return u, key, whole
}

// LockItem calls LockItem, which must succeed.
func LockItem(t *testing.T, c *queuelock.Client, key queuelock.ItemKey, wait waitpolicy.Wait, opts ...queuelock.Option) *queuelock.ItemLock {
	t.Helper()
	lock, err := c.LockItem(t.Context(), key, wait, opts...)
	OK(t, err)
	return lock
}

// Updated calls UpdateAndRelease, which must succeed.
func Updated(t *testing.T, lock *queuelock.ItemLock, update expression.UpdateBuilder, cond ...expression.ConditionBuilder) av.Item {
	t.Helper()
	after, err := lock.UpdateAndRelease(t.Context(), update, cond...)
	OK(t, err)
	return after
}

// AddOne returns an update that adds one to an item's amount.
func AddOne() expression.UpdateBuilder {
	return expression.Set(expression.Name("amount"), expression.Plus(expression.Name("amount"), expression.Value(1)))
}

// QueueUpForItem calls LockItem in the background.
func QueueUpForItem(ctx context.Context, c *queuelock.Client, key queuelock.ItemKey, wait waitpolicy.Wait, opts ...queuelock.Option) <-chan ItemOutcome {
	return Background(func() (*queuelock.ItemLock, error) { return c.LockItem(ctx, key, wait, opts...) })
}

// EqualItems checks that an item is as it should be.
func EqualItems(t *testing.T, what string, got, want av.Item) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s is\n%v\nwant\n%v", what, PlainItem(got), PlainItem(want))
	}
}

// PlainItem returns an item as text.
func PlainItem(i av.Item) string { return av.Print(av.Object(i)) }

// UpdatesOfItems limits a fault to the requests of UpdateAndRelease with [AddOne].
func UpdatesOfItems(f queuelocktest.Fault) queuelocktest.Fault {
	return f.Of("UpdateItem").Mentioning("amount = amount + 1")
}
