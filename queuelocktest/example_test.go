package queuelocktest_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/queuelocktest"
)

// exampleT stands for the *testing.T of a test, which an example does not have.
type exampleT struct {
	testing.TB
	cleanups []func()
}

func (t *exampleT) Helper()                           {}
func (t *exampleT) Failed() bool                      { return false }
func (t *exampleT) Context() context.Context          { return context.Background() }
func (t *exampleT) Cleanup(do func())                 { t.cleanups = append(t.cleanups, do) }
func (t *exampleT) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }
func (t *exampleT) end() {
	for _, do := range t.cleanups {
		do()
	}
}

// book is the code under test: it books a seat once.
func book(ctx context.Context, db *dynamodb.Client, table, seat string) error {
	_, err := db.PutItem(ctx, &dynamodb.PutItemInput{
		TableName:           aws.String(table),
		Item:                key("train-1", seat),
		ConditionExpression: aws.String("attribute_not_exists(pk)"),
	})
	return err
}

// bookAll books all seats, or none.
func bookAll(ctx context.Context, db *dynamodb.Client, table string, seats ...string) error {
	var items []types.TransactWriteItem
	for _, seat := range seats {
		items = append(items, types.TransactWriteItem{Put: &types.Put{
			TableName:           aws.String(table),
			Item:                key("train-1", seat),
			ConditionExpression: aws.String("attribute_not_exists(pk)"),
		}})
	}
	_, err := db.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: items})
	return err
}

// A response is lost after the write. The SDK tries again by itself, and the
// condition fails on the write that succeeded.
func Example() {
	t := &exampleT{} // in a test: its *testing.T
	defer t.end()

	table := queuelocktest.NewTable(t)
	alice := table.Client("alice")
	table.Inject(queuelocktest.LoseResponse().Of("PutItem").Times(1))

	err := book(t.Context(), alice.Client, table.Name(), "12A")

	var taken *types.ConditionalCheckFailedException
	fmt.Println("seat taken by another caller:", errors.As(err, &taken))
	fmt.Println("seats booked:", len(table.Items()))
	// Output:
	// seat taken by another caller: true
	// seats booked: 1
}

// Alice's request is on its way when Bob's overtakes it.
func ExampleHoldRequest() {
	t := &exampleT{} // in a test: its *testing.T
	defer t.end()

	table := queuelocktest.NewTable(t)
	alice, bob := table.Client("alice"), table.Client("bob")

	gate := alice.Inject(queuelocktest.HoldRequest().Of("PutItem").On("train-1", "12A"))
	answer := make(chan error)
	go func() { answer <- book(t.Context(), alice.Client, table.Name(), "12A") }()
	<-gate.Reached()
	fmt.Println("bob has the seat:", book(t.Context(), bob.Client, table.Name(), "12A") == nil)
	gate.Release()
	fmt.Println("alice has the seat:", <-answer == nil)
	// Output:
	// bob has the seat: true
	// alice has the seat: false
}

// Alice books two seats in one transaction, and Bob sees the first of them before
// the second. Only Alice learns, from her answer, that both are booked.
func ExampleSplitTransaction() {
	t := &exampleT{} // in a test: its *testing.T
	defer t.end()

	table := queuelocktest.NewTable(t)
	alice, bob := table.Client("alice"), table.Client("bob")
	taken := func(seat string) bool {
		out, err := bob.GetItem(t.Context(), &dynamodb.GetItemInput{
			TableName:      aws.String(table.Name()),
			Key:            key("train-1", seat),
			ConsistentRead: aws.Bool(true),
		})
		return err == nil && out.Item != nil
	}

	alice.Inject(queuelocktest.SplitTransaction(0, time.Hour))
	ctx, giveUp := context.WithCancel(t.Context())
	answer := make(chan error)
	go func() { answer <- bookAll(ctx, alice.Client, table.Name(), "12A", "12B") }()
	for !taken("12A") {
	}
	fmt.Println("12B is taken, too:", taken("12B"))

	var conflict *types.TransactionConflictException
	err := book(t.Context(), bob.Client, table.Name(), "12B")
	fmt.Println("bob may try again:", errors.As(err, &conflict))

	giveUp()
	fmt.Println("alice knows that both are booked:", <-answer == nil)
	// Output:
	// 12B is taken, too: false
	// bob may try again: true
	// alice knows that both are booked: false
}

// A program in any language uses the table over HTTP, here through an SDK client as it is made for AWS.
func ExampleClient_Serve() {
	t := &exampleT{} // in a test: its *testing.T
	defer t.end()

	table := queuelocktest.NewTable(t)
	endpoint := table.Client("program").Serve()
	db := dynamodb.NewFromConfig(aws.Config{
		BaseEndpoint: aws.String(endpoint),
		Region:       "local", // the SDK needs some region, and some credentials
		Credentials:  credentials.NewStaticCredentialsProvider("local", "local", ""),
	})
	fmt.Println("booked:", book(t.Context(), db, table.Name(), "12A") == nil)
	fmt.Println("seats booked:", len(table.Items()))
	// Output:
	// booked: true
	// seats booked: 1
}

// What a piece of code costs is the difference of two snapshots.
func ExampleCounts_Sub() {
	t := &exampleT{} // in a test: its *testing.T
	defer t.end()

	table := queuelocktest.NewTable(t)
	alice := table.Client("alice")

	before := table.Counts()
	for _, seat := range []string{"12A", "12B", "12A"} {
		if err := book(t.Context(), alice.Client, table.Name(), seat); err != nil {
			fmt.Println(seat, "is taken")
		}
	}
	cost := table.Counts().Sub(before)["PutItem"]
	fmt.Printf("%d requests, %d of them refused, %g write units\n", cost.Applied, cost.FailedConditions, cost.WriteUnits)
	// Output:
	// 12A is taken
	// 3 requests, 1 of them refused, 3 write units
}
