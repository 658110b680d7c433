package queuelock_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/embedded"
	"github.com/queuelock/queuelock/waitpolicy"
)

// The snippets of README.md and docs/ stand here, letter for letter: test/repository
// sees to that.

// memory carries requests to a DynamoDB in memory. Tests use package
// queuelocktest; an example has no testing.TB to give it.
type memory struct{ engine http.Handler }

func (m memory) RoundTrip(r *http.Request) (*http.Response, error) {
	answer := httptest.NewRecorder()
	m.engine.ServeHTTP(answer, r)
	return answer.Result(), nil
}

// newMemory is a client of a DynamoDB in memory that has no table.
func newMemory() *dynamodb.Client {
	return dynamodb.New(dynamodb.Options{
		Region:       "local",
		BaseEndpoint: aws.String("http://dynamodb.invalid"),
		HTTPClient:   &http.Client{Transport: memory{embedded.New(embedded.Config{})}},
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "local", SecretAccessKey: "local"}, nil
		}),
	})
}

// newMemoryTable is a client of a DynamoDB in memory with the table "queuelock".
func newMemoryTable() *dynamodb.Client {
	db := newMemory()
	if err := queuelock.CreateTable(context.Background(), db, "queuelock", queuelock.Config{}); err != nil {
		panic(err)
	}
	return db
}

// client is one process's client of it. closed must be called in the end.
func client(db queuelock.DynamoDB, owner string, ttl time.Duration) (locks *queuelock.Client, closed func()) {
	locks, err := queuelock.New(db, "queuelock", queuelock.Config{Owner: owner, TTL: ttl})
	if err != nil {
		panic(err)
	}
	return locks, func() {
		if err := locks.Close(context.Background()); err != nil {
			panic(err)
		}
	}
}

// ship is what a lock protects: it passes the ticket on to what it writes to.
func ship(ctx context.Context, lock *queuelock.Lock) error {
	fmt.Printf("shipping %s with ticket %s\n", lock.Key().Entity, lock.Ticket())
	return ctx.Err()
}

// With the AWS settings of the environment. The table was made by CreateTable,
// or by "queuelock create-table".
func Example() {
	shipOrder := func(ctx context.Context) error {
		cfg, err := config.LoadDefaultConfig(ctx)
		if err != nil {
			return err
		}
		locks, err := queuelock.New(dynamodb.NewFromConfig(cfg), "queuelock", queuelock.Config{})
		if err != nil {
			return err
		}
		key := queuelock.Key{Entity: "order-7"}
		return errors.Join(locks.Do(ctx, key, waitpolicy.For(time.Minute), ship), locks.Close(ctx))
	}
	if err := shipOrder(context.Background()); err != nil {
		fmt.Println(err)
	}
}

// Made once, by hand or at the start of the program.
func ExampleCreateTable() {
	ctx, db := context.Background(), newMemory()

	createTable := func() error {
		if err := queuelock.CreateTable(ctx, db, "queuelock", queuelock.Config{}); err != nil {
			return err
		}
		fmt.Println("the table is ready")
		return nil
	}
	if err := errors.Join(createTable(), createTable()); err != nil { // calling it again is safe
		fmt.Println(err)
	}
	// Output:
	// the table is ready
	// the table is ready
}

func ExampleClient_Do() {
	ctx := context.Background()
	locks, closed := client(newMemoryTable(), "worker-1", time.Minute)
	defer closed()

	for range 2 {
		err := locks.Do(ctx, queuelock.Key{Entity: "order-7"}, waitpolicy.For(time.Minute), ship)
		if err != nil {
			fmt.Println(err)
		}
	}
	// Output:
	// shipping order-7 with ticket 1
	// shipping order-7 with ticket 2
}

func shipAlone(ctx context.Context, locks *queuelock.Client) (err error) {
	lock, err := locks.Acquire(ctx, queuelock.Key{Entity: "order-7"}, waitpolicy.For(time.Minute))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Release(ctx)) }()
	return ship(lock.Context(), lock) // a context that ends with the lock
}

func ExampleClient_Acquire() {
	ctx := context.Background()
	locks, closed := client(newMemoryTable(), "worker-1", time.Minute)
	defer closed()

	if err := shipAlone(ctx, locks); err != nil {
		fmt.Println(err)
	}
	// Output:
	// shipping order-7 with ticket 1
}

// A lock that is busy tells who is being served.
func ExampleNotAcquiredError() {
	ctx := context.Background()
	db := newMemoryTable()
	alice, closed := client(db, "alice", time.Minute)
	defer closed()
	bob, closed := client(db, "bob", time.Minute)
	defer closed()
	order := queuelock.Key{Entity: "order-7"}

	err := alice.Do(ctx, order, waitpolicy.NoWait, func(ctx context.Context, _ *queuelock.Lock) error {
		return bob.Do(ctx, order, waitpolicy.NoWait, ship)
	})
	var busy *queuelock.NotAcquiredError
	if errors.As(err, &busy) && busy.Serving != nil {
		fmt.Printf("%s is being served, with ticket %s\n", busy.Serving.Owner, busy.Serving.Ticket)
	}
	// Output:
	// alice is being served, with ticket 1
}

// An operator takes a lock away. Its holder is told.
func ExampleLostError() {
	ctx := context.Background()
	db := newMemoryTable()
	locks, closed := client(db, "worker-1", 4*time.Second)
	defer closed()
	order := queuelock.Key{Entity: "order-7"}

	takeAway := func(ctx context.Context, lock *queuelock.Lock) error {
		_, err := db.UpdateItem(ctx, &dynamodb.UpdateItemInput{
			TableName: aws.String("queuelock"),
			Key: map[string]types.AttributeValue{
				"pk": &types.AttributeValueMemberS{Value: lock.Key().Entity},
				"sk": &types.AttributeValueMemberS{Value: fmt.Sprintf("%s/%038d", lock.Key().Reason, 0)},
			},
			UpdateExpression:          aws.String("SET holders = :nobody"),
			ConditionExpression:       aws.String("attribute_exists(holders)"),
			ExpressionAttributeValues: map[string]types.AttributeValue{":nobody": &types.AttributeValueMemberM{}},
		})
		return err
	}

	err := locks.Do(ctx, order, waitpolicy.Forever, func(ctx context.Context, lock *queuelock.Lock) error {
		if err := takeAway(ctx, lock); err != nil {
			return err
		}
		<-ctx.Done() // ends with the lock
		return context.Cause(ctx)
	})
	var lost *queuelock.LostError
	if errors.As(err, &lost) {
		fmt.Printf("lost %s, ticket %s: %s\n", lost.Key.Entity, lost.Ticket, lost.Cause)
	}
	// Output:
	// lost order-7, ticket 1: evicted
}

// The ticket is a fencing token. What the lock protects keeps the highest it has
// seen, and refuses a lower one.
func ExampleLock_Ticket() {
	ctx := context.Background()
	db := newMemoryTable()
	if err := createOrders(ctx, db); err != nil {
		fmt.Println(err)
		return
	}
	locks, closed := client(db, "worker-1", time.Minute)
	defer closed()

	setStatus := func(ctx context.Context, orderID string, lock *queuelock.Lock, status string) error {
		_, err := db.UpdateItem(ctx, &dynamodb.UpdateItemInput{
			TableName:           aws.String("orders"),
			Key:                 map[string]types.AttributeValue{"id": &types.AttributeValueMemberS{Value: orderID}},
			UpdateExpression:    aws.String("SET #status = :status, #token = :token"),
			ConditionExpression: aws.String("attribute_not_exists(#token) OR #token <= :token"),
			// Both names are reserved words of DynamoDB.
			ExpressionAttributeNames: map[string]string{"#status": "status", "#token": "token"},
			ExpressionAttributeValues: map[string]types.AttributeValue{
				":status": &types.AttributeValueMemberS{Value: status},
				":token":  lock.Ticket().Attribute(),
			},
		})
		return err
	}

	// Two turns, one after the other. The first holder is slow: it was stopped,
	// or its request was, and goes on when the second has written.
	var holders []*queuelock.Lock
	for range 2 {
		err := locks.Do(ctx, queuelock.Key{Entity: "order-7"}, waitpolicy.Forever, func(_ context.Context, lock *queuelock.Lock) error {
			holders = append(holders, lock)
			return nil
		})
		if err != nil {
			fmt.Println(err)
			return
		}
	}
	slow, fast := holders[0], holders[1]
	for _, err := range []error{
		setStatus(ctx, "order-7", fast, "packed"),
		setStatus(ctx, "order-7", fast, "shipped"),
		setStatus(ctx, "order-7", slow, "cancelled"),
	} {
		var refused *types.ConditionalCheckFailedException
		switch {
		case err == nil:
			fmt.Println("written")
		case errors.As(err, &refused):
			fmt.Println("refused: a later holder has written")
		default:
			fmt.Println(err)
		}
	}
	// Output:
	// written
	// written
	// refused: a later holder has written
}

// createOrders makes the table that the lock protects.
func createOrders(ctx context.Context, db *dynamodb.Client) error {
	_, err := db.CreateTable(ctx, &dynamodb.CreateTableInput{
		TableName:            aws.String("orders"),
		BillingMode:          types.BillingModePayPerRequest,
		KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("id"), KeyType: types.KeyTypeHash}},
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("id"), AttributeType: types.ScalarAttributeTypeS}},
	})
	return err
}

func ExampleClient_Inspect() {
	ctx := context.Background()
	db := newMemoryTable()
	alice, closed := client(db, "alice", time.Minute)
	defer closed()
	bob, closed := client(db, "bob", time.Minute)
	defer closed()
	order := queuelock.Key{Entity: "order-7"}

	lock, err := alice.Acquire(ctx, order, waitpolicy.NoWait)
	if err != nil {
		fmt.Println(err)
		return
	}
	served := make(chan error)
	go func() { served <- bob.Do(ctx, order, waitpolicy.Forever, ship) }()

	for {
		state, err := alice.Inspect(ctx, order)
		if err != nil {
			fmt.Println(err)
			return
		}
		if len(state.Waiting) == 0 {
			continue // bob is on his way
		}
		for _, h := range state.Serving {
			fmt.Printf("served: %s, ticket %s\n", h.Owner, h.Ticket)
		}
		for _, w := range state.Waiting {
			fmt.Printf("%d: %s, ticket %s\n", w.Position, w.Owner, w.Ticket)
		}
		break
	}
	if err := errors.Join(lock.Release(ctx), <-served); err != nil {
		fmt.Println(err)
	}
	// Output:
	// served: alice, ticket 1
	// 1: bob, ticket 2
	// shipping order-7 with ticket 2
}

// A look for a page or a metric; to take the lock or go without it, Acquire with
// NoWait.
func ExampleClient_IsLocked() {
	ctx := context.Background()
	db := newMemoryTable()
	alice, closed := client(db, "alice", time.Minute)
	defer closed()
	bob, closed := client(db, "bob", time.Minute)
	defer closed()
	order := queuelock.Key{Entity: "order-7"}

	look := func() error {
		locked, err := bob.IsLocked(ctx, order)
		if err != nil {
			return err
		}
		fmt.Println("locked:", locked)
		return nil
	}
	err := alice.Do(ctx, order, waitpolicy.NoWait, func(context.Context, *queuelock.Lock) error { return look() })
	if err := errors.Join(err, look()); err != nil {
		fmt.Println(err)
	}
	// Output:
	// locked: true
	// locked: false
}

// A holder tells those who look how far it has come.
func ExampleLock_SetData() {
	ctx := context.Background()
	db := newMemoryTable()
	alice, closed := client(db, "alice", time.Minute)
	defer closed()
	bob, closed := client(db, "bob", time.Minute)
	defer closed()
	order := queuelock.Key{Entity: "order-7"}

	look := func() error {
		state, err := bob.Inspect(ctx, order)
		if err != nil {
			return err
		}
		for _, h := range state.Serving {
			fmt.Printf("%s: %s\n", h.Owner, h.Data)
		}
		return nil
	}
	err := alice.Do(ctx, order, waitpolicy.NoWait, func(ctx context.Context, lock *queuelock.Lock) error {
		if err := look(); err != nil {
			return err
		}
		if err := lock.SetData(ctx, []byte("packed, 2 of 5")); err != nil {
			return err
		}
		return look()
	}, queuelock.WithData([]byte("counting")))
	if err != nil {
		fmt.Println(err)
	}
	// Output:
	// alice: counting
	// alice: packed, 2 of 5
}
