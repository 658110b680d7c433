package queuelocktest_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/event"
	"github.com/queuelock/queuelock/internal/embedded"
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
		TableName: aws.String(table),
		Item: map[string]types.AttributeValue{
			"pk": &types.AttributeValueMemberS{Value: "train-1"},
			"sk": &types.AttributeValueMemberS{Value: seat},
		},
		ConditionExpression: aws.String("attribute_not_exists(pk)"),
	})
	return err
}

// bookAll books all seats, or none.
func bookAll(ctx context.Context, db *dynamodb.Client, table string, seats ...string) error {
	var items []types.TransactWriteItem
	for _, seat := range seats {
		items = append(items, types.TransactWriteItem{Put: &types.Put{
			TableName: aws.String(table),
			Item: map[string]types.AttributeValue{
				"pk": &types.AttributeValueMemberS{Value: "train-1"},
				"sk": &types.AttributeValueMemberS{Value: seat},
			},
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
			TableName: aws.String(table.Name()),
			Key: map[string]types.AttributeValue{
				"pk": &types.AttributeValueMemberS{Value: "train-1"},
				"sk": &types.AttributeValueMemberS{Value: seat},
			},
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

// A program in any language uses the table over HTTP, here through an SDK client as it is
// made for AWS.
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

// Faults by chance, reproducible by their seed: about one request in ten is
// throttled, and one answer in twenty is late.
func ExampleFault_WithProbability() {
	t := &exampleT{} // in a test: its *testing.T
	defer t.end()

	const seed = 1
	table := queuelocktest.NewTable(t)
	throttled := table.Inject(queuelocktest.Refuse(queuelocktest.Throttling).WithProbability(0.1, seed))
	table.Inject(queuelocktest.DelayResponse(time.Millisecond).WithProbability(0.05, seed))

	noRetries := func(o *dynamodb.Options) { o.RetryMaxAttempts = 1 }
	alice := table.Client("alice", noRetries)
	failed := 0
	for n := range 100 {
		if err := book(t.Context(), alice.Client, table.Name(), fmt.Sprint(n)); err != nil {
			failed++
		}
	}
	fmt.Println("every failure was injected:", failed > 0 && failed == throttled.Fired())
	fmt.Println("every other seat was booked:", len(table.Items()) == 100-failed)
	// Output:
	// every failure was injected: true
	// every other seat was booked: true
}

// oneTry turns the retries of an SDK client off.
func oneTry(o *dynamodb.Options) { o.RetryMaxAttempts = 1 }

// A throttle names its limit, as DynamoDB's do.
func ExampleThrottle() {
	t := &exampleT{} // in a test: its *testing.T
	defer t.end()

	table := queuelocktest.NewTable(t)
	alice := table.Client("alice", oneTry)
	alice.Inject(queuelocktest.Throttle(event.KeyRange).On("train-1", ""))
	err := book(t.Context(), alice.Client, table.Name(), "12A")
	fmt.Println("the train is hot:", event.LimitOf(err) == event.KeyRange)
	// Output:
	// the train is hot: true
}

// A request is counted also if it never arrives.
func ExampleClient_Partition() {
	t := &exampleT{} // in a test: its *testing.T
	defer t.end()

	table := queuelocktest.NewTable(t)
	alice := table.Client("alice", oneTry)
	alice.Partition()
	fmt.Println("partitioned:", book(t.Context(), alice.Client, table.Name(), "12A") != nil)
	alice.Heal()
	fmt.Println("healed:", book(t.Context(), alice.Client, table.Name(), "12A") == nil)
	sent := alice.Counts()["PutItem"]
	fmt.Printf("%s sent %d, and %d arrived\n", alice.Name(), sent.Sent, sent.Applied)
	fmt.Println("of all clients:", table.Counts().Total().Sent)
	// Output:
	// partitioned: true
	// healed: true
	// alice sent 2, and 1 arrived
	// of all clients: 2
}

// What the client sees, and what is in the table.
func ExampleFault() {
	t := &exampleT{} // in a test: its *testing.T
	defer t.end()

	for _, fault := range []queuelocktest.Fault{
		queuelocktest.LoseRequest(),
		queuelocktest.LoseResponse(),
		queuelocktest.Refuse(queuelocktest.InternalError),
		queuelocktest.DelayRequest(time.Millisecond),
		queuelocktest.LandLate(time.Millisecond),
		queuelocktest.Duplicate(time.Millisecond),
	} {
		table := queuelocktest.NewTable(t)
		injected := table.Inject(fault.Of("PutItem").Times(1))
		err := book(t.Context(), table.Client("alice", oneTry).Client, table.Name(), "12A")
		if err := table.Settle(t.Context()); err != nil { // until the late ones have arrived
			fmt.Println(err)
		}
		fmt.Printf("failed: %t, booked: %d, fired: %d\n", err != nil, len(table.Items()), injected.Fired())
	}
	// Output:
	// failed: true, booked: 0, fired: 1
	// failed: true, booked: 1, fired: 1
	// failed: true, booked: 0, fired: 1
	// failed: false, booked: 1, fired: 1
	// failed: true, booked: 1, fired: 1
	// failed: false, booked: 1, fired: 1
}

// A network that does not answer, before the write or after it, until the caller gives up.
func ExampleSwallowResponse() {
	t := &exampleT{} // in a test: its *testing.T
	defer t.end()

	for _, fault := range []queuelocktest.Fault{queuelocktest.SwallowRequest(), queuelocktest.SwallowResponse()} {
		table := queuelocktest.NewTable(t)
		swallowed := table.Inject(fault)
		ctx, giveUp := context.WithCancel(t.Context())
		context.AfterFunc(ctx, swallowed.Remove)
		go func() {
			<-swallowed.Reached()
			giveUp()
		}()
		err := book(ctx, table.Client("alice").Client, table.Name(), "12A")
		fmt.Printf("given up: %t, booked: %d\n", errors.Is(err, context.Canceled), len(table.Items()))
	}
	// Output:
	// given up: true, booked: 0
	// given up: true, booked: 1
}

// Bob sees the seat taken before Alice knows that it is hers.
func ExampleHoldResponse() {
	t := &exampleT{} // in a test: its *testing.T
	defer t.end()

	table := queuelocktest.NewTable(t)
	alice, bob := table.Client("alice"), table.Client("bob")
	gate := alice.Inject(queuelocktest.HoldResponse())
	answer := make(chan error)
	go func() { answer <- book(t.Context(), alice.Client, table.Name(), "12A") }()
	<-gate.Reached()
	fmt.Println("bob has the seat:", book(t.Context(), bob.Client, table.Name(), "12A") == nil)
	gate.Release()
	fmt.Println("alice has the seat:", <-answer == nil)
	// Output:
	// bob has the seat: false
	// alice has the seat: true
}

// A copy of a request arrives when the test lets it.
func ExampleHoldDuplicate() {
	t := &exampleT{} // in a test: its *testing.T
	defer t.end()

	table := queuelocktest.NewTable(t)
	alice := table.Client("alice")
	gate := alice.Inject(queuelocktest.HoldDuplicate().Times(1))
	fmt.Println(book(t.Context(), alice.Client, table.Name(), "12A"))
	gate.Release()
	fmt.Println(table.Settle(t.Context()))
	fmt.Println("refused:", table.Counts()["PutItem"].FailedConditions)
	// Output:
	// <nil>
	// <nil>
	// refused: 1
}

// A request arrives after its caller has given up.
func ExampleFault_LandingAnyway() {
	t := &exampleT{} // in a test: its *testing.T
	defer t.end()

	table := queuelocktest.NewTable(t)
	alice := table.Client("alice")
	gate := alice.Inject(queuelocktest.HoldRequest().LandingAnyway())
	ctx, giveUp := context.WithCancel(t.Context())
	go func() {
		<-gate.Reached()
		giveUp()
	}()
	err := book(ctx, alice.Client, table.Name(), "12A")
	fmt.Printf("given up: %t, booked: %d\n", err != nil, len(table.Items()))
	gate.Release()
	fmt.Println(table.Settle(t.Context()))
	fmt.Println("booked:", len(table.Items()))
	// Output:
	// given up: true, booked: 0
	// <nil>
	// booked: 1
}

// A fault meets the second conditional write of a seat in row 12 only.
func ExampleFault_Where() {
	t := &exampleT{} // in a test: its *testing.T
	defer t.end()

	table := queuelocktest.NewTable(t)
	row12 := func(r queuelocktest.Request) bool { return strings.HasPrefix(r.Items()[0].Sort, "12") }
	conditional := func(r queuelocktest.Request) bool { return strings.Contains(r.Expression(), "attribute_not_exists") }
	refused := queuelocktest.Refuse(queuelocktest.AccessDenied).Of("PutItem")
	table.Inject(refused.Mentioning("attribute_not_exists").Where(row12).Nth(2))
	later := table.Inject(refused.Where(conditional).After(4))
	alice := table.Client("alice")
	for _, seat := range []string{"11A", "12A", "12B", "12C", "12D", "12E", "12F"} {
		if seat == "12F" {
			later.Remove()
		}
		if err := book(t.Context(), alice.Client, table.Name(), seat); err != nil {
			fmt.Println(seat, "is not booked")
		}
	}
	fmt.Println("in the log:", strings.Contains(table.Log(), "AccessDeniedException"))
	// Output:
	// 12B is not booked
	// 12E is not booked
	// in the log: true
}

// Items expire on the database's clock, which the test moves.
func ExampleWithClock() {
	t := &exampleT{} // in a test: its *testing.T
	defer t.end()

	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	table := queuelocktest.NewTable(t, queuelocktest.WithClock(func() time.Time { return now }),
		queuelocktest.WithExpiry(), queuelocktest.WithTTLAttribute("until"), queuelocktest.WithLatency(time.Millisecond))
	_, err := table.Client("alice").PutItem(t.Context(), &dynamodb.PutItemInput{
		TableName: aws.String(table.Name()),
		Item: map[string]types.AttributeValue{
			"pk": &types.AttributeValueMemberS{Value: "train-1"}, "sk": &types.AttributeValueMemberS{Value: "12A"},
			"until": &types.AttributeValueMemberN{Value: fmt.Sprint(now.Add(time.Hour).Unix())},
		},
	})
	fmt.Println(err, len(table.Items()))
	now = now.Add(2 * time.Hour)
	fmt.Println("after two hours:", len(table.Items()))
	// Output:
	// <nil> 1
	// after two hours: 0
}

// A table without dates, with names of the test's own.
func ExampleNewTable() {
	t := &exampleT{} // in a test: its *testing.T
	defer t.end()

	table := queuelocktest.NewTable(t, queuelocktest.WithName("seats"), queuelocktest.WithKeys("train", "seat"),
		queuelocktest.WithoutDate())
	found, err := table.Client("alice").DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: aws.String("seats")})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, key := range found.Table.KeySchema {
		fmt.Println(table.Name(), key.KeyType, *key.AttributeName)
	}
	// Output:
	// seats HASH train
	// seats RANGE seat
}

// Transactions of all clients, or of one, become visible item by item.
func ExampleWithSplitTransactions() {
	t := &exampleT{} // in a test: its *testing.T
	defer t.end()

	const seed = 1
	table := queuelocktest.NewTable(t, queuelocktest.WithSplitTransactions(2*time.Millisecond, 0, seed))
	alice, bob := table.Client("alice"), table.Client("bob")
	bob.Inject(queuelocktest.SplitTransactions(time.Millisecond, seed))
	fmt.Println(bookAll(t.Context(), alice.Client, table.Name(), "12A", "12B"))
	fmt.Println(bookAll(t.Context(), bob.Client, table.Name(), "13A", "13B"))
	fmt.Println("visible once answered:", len(table.Items()))
	// Output:
	// <nil>
	// <nil>
	// visible once answered: 4
}

// Another engine, and a table that the program under test creates.
func ExampleWithEngine() {
	t := &exampleT{} // in a test: its *testing.T
	defer t.end()

	engine := embedded.New(embedded.Config{}) // in place of a proxy to DynamoDB Local
	table := queuelocktest.NewTable(t, queuelocktest.WithEngine(engine), queuelocktest.WithoutTable())
	out, err := table.Client("alice").ListTables(t.Context(), &dynamodb.ListTablesInput{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("tables:", len(out.TableNames))
	// Output:
	// tables: 0
}
