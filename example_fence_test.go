package queuelock_test

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"maps"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/ticket"
	"github.com/queuelock/queuelock/waitpolicy"
)

// A protected write commits only while the lock is held, whatever the process believes.
func ExampleLock_Transact() {
	ctx := context.Background()
	db := locktest.Memory()
	if err := createOrders(ctx, db); err != nil {
		fmt.Println(err)
		return
	}
	locks, closed := client(db, "worker-1", time.Minute)
	defer closed()

	setStatus := func(ctx context.Context, orderID string, lock *queuelock.Lock, status string) error {
		return lock.Transact(ctx, types.TransactWriteItem{Update: &types.Update{
			TableName:                 aws.String("orders"),
			Key:                       map[string]types.AttributeValue{"id": &types.AttributeValueMemberS{Value: orderID}},
			UpdateExpression:          aws.String("SET #status = :status"),
			ExpressionAttributeNames:  map[string]string{"#status": "status"},
			ExpressionAttributeValues: map[string]types.AttributeValue{":status": &types.AttributeValueMemberS{Value: status}},
		}})
	}
	lock, err := locks.Acquire(ctx, queuelock.Key{Entity: "order-7"}, waitpolicy.Forever)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(setStatus(ctx, "order-7", lock, "packed"))
	if err := lock.Release(ctx); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(errors.Is(setStatus(ctx, "order-7", lock, "shipped"), queuelock.ErrReleased))
	// Output:
	// <nil>
	// true
}

// After a holder was evicted, a transaction of it may yet become visible. Get waits for that.
func ExampleLock_Get() {
	ctx := context.Background()
	db, key, err := withAnOrder(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	locks, closed := client(db, "worker-1", time.Minute)
	defer closed()
	order := queuelock.Key{Entity: "order-7"}
	if err := hangs(ctx, locks, order); err != nil {
		fmt.Println(err)
		return
	}

	lock, err := locks.Acquire(ctx, order, waitpolicy.For(time.Minute))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("unsettled:", lock.Unsettled())
	items, err := lock.Get(ctx, types.TransactGetItem{Get: &types.Get{TableName: aws.String("orders"), Key: key}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("the total is", items[0]["total"].(*types.AttributeValueMemberN).Value)
	// Output:
	// unsettled: true
	// the total is 100
}

// hangs acquires a lock whose holder an operator evicts.
func hangs(ctx context.Context, locks *queuelock.Client, key queuelock.Key) error {
	lock, err := locks.Acquire(ctx, key, waitpolicy.NoWait)
	if err != nil {
		return err
	}
	state, err := locks.Viewer().Inspect(ctx, key)
	if err != nil {
		return err
	}
	if err := locks.Operator().Evict(ctx, key, state.Serving[0]); err != nil {
		return err
	}
	if err := lock.Release(ctx); !errors.Is(err, queuelock.ErrLost) {
		return fmt.Errorf("released after an eviction: %w", err)
	}
	return nil
}

// putOrder writes an order that has only its key.
func putOrder(id string) types.TransactWriteItem {
	return types.TransactWriteItem{Put: &types.Put{
		TableName: aws.String("orders"),
		Item:      map[string]types.AttributeValue{"id": &types.AttributeValueMemberS{Value: id}},
	}}
}

// The check is a part of a transaction that the program sends itself.
func ExampleLock_Condition() {
	ctx := context.Background()
	db, _, err := withAnOrder(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	locks, closed := client(db, "worker-1", time.Minute)
	defer closed()
	lock, err := locks.Acquire(ctx, queuelock.Key{Entity: "order-8"}, waitpolicy.NoWait)
	if err != nil {
		fmt.Println(err)
		return
	}

	write := func() error {
		held := lock.Condition()
		_, err := db.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{
			TransactItems: []types.TransactWriteItem{{ConditionCheck: &held}, putOrder("order-8")},
		})
		return err
	}
	fmt.Println(write())
	if err := lock.Release(ctx); err != nil {
		fmt.Println(err)
	}
	cancelled, ok := errors.AsType[*types.TransactionCanceledException](write())
	fmt.Println(ok, *cancelled.CancellationReasons[0].Code)
	// Output:
	// <nil>
	// true ConditionalCheckFailed
}

// The ticket is a fencing token. The protected resource keeps the highest one that it
// has seen, and refuses a lower one.
func ExampleLock_Ticket() {
	ctx := context.Background()
	db := locktest.Memory()
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

	// The first holder is slow: it was stopped, or its request was, and goes on when the second has written.
	slow, fast := twoTurns(ctx, locks)
	printWrites(
		setStatus(ctx, "order-7", fast, "packed"),
		setStatus(ctx, "order-7", fast, "shipped"),
		setStatus(ctx, "order-7", slow, "cancelled"),
	)
	// Output:
	// written
	// written
	// refused
}

// The next functions check the token outside DynamoDB, in an SQL database and in an
// object store. In both the check and the write are one step of the resource. A check
// by the process before it writes would not be enough.

// errStaleToken says that a holder with a later ticket has written. Nothing was
// written, because the lock is lost.
var errStaleToken = errors.New("a later holder of the lock has written")

// sqlSetStatus is the whole check. The column token is a CHAR(38), and tokens are
// padded to 38 digits, which every database compares as strings.
//
// A NUMERIC(38) and ticket.Number's String work as well where the column has 38 exact
// digits and the argument is compared as such a number. PostgreSQL does both. MySQL
// compares a DECIMAL with a string as floating-point numbers, which are exact to 2^53
// only, and needs CAST(? AS DECIMAL(38)). SQLite has no exact numbers above 2^63-1. A
// BIGINT holds tickets to 2^63-1, about 9·10^18.
const sqlSetStatus = `UPDATE orders SET status = ?, token = ? WHERE id = ? AND (token IS NULL OR token <= ?)`

// setStatusInSQL sets the status of an order, unless a later holder has written.
func setStatusInSQL(ctx context.Context, db *sql.DB, orderID, status string, lock *queuelock.Lock) error {
	token := lock.Ticket().Padded()
	result, err := db.ExecContext(ctx, sqlSetStatus, status, token, orderID, token)
	if err != nil {
		return err
	}
	// It must count the rows that the condition found, also those with the same values
	// before. The driver of MySQL needs clientFoundRows=true for that.
	n, err := result.RowsAffected()
	switch {
	case err != nil:
		return err
	case n == 0:
		return fmt.Errorf("order %s, token %s: %w, or there is no such order", orderID, lock.Ticket(), errStaleToken)
	}
	return nil
}

// objectStore reads objects, and writes them on the condition that they have not
// changed.
type objectStore interface {
	// get reads an object. An object without an ETag does not exist.
	get(ctx context.Context, name string) (storedObject, error)
	// put writes an object if the stored one has that ETag (If-Match), or if there is
	// none, for an empty ETag (If-None-Match: *). Otherwise the error is
	// errPrecondition: status 412, and also 409 of S3 where two writes met.
	put(ctx context.Context, name string, o storedObject, ifMatch string) error
}

type storedObject struct {
	etag     string
	metadata map[string]string
	body     string
}

var errPrecondition = errors.New("412 Precondition Failed")

// setStatusInObject writes an order's status into an object, unless a later holder has
// written. Objects must not be deleted, because their token would be lost.
//
// The body has the token too. The ETag of some stores, such as S3, depends on the
// contents alone. Two holders that write the same would leave the same ETag, and a late
// If-Match of the earlier one would pass.
func setStatusInObject(ctx context.Context, store objectStore, name, status string, lock *queuelock.Lock) error {
	for {
		found, err := store.get(ctx, name)
		if err != nil {
			return err
		}
		if text, ok := found.metadata["token"]; ok {
			last, err := ticket.Parse(text)
			switch {
			case err != nil:
				return fmt.Errorf("object %s: %w", name, err)
			case lock.Ticket().Less(last):
				return fmt.Errorf("object %s, token %s: %w", name, lock.Ticket(), errStaleToken)
			}
		}
		err = store.put(ctx, name, storedObject{
			metadata: map[string]string{"token": lock.Ticket().String()},
			body:     fmt.Sprintf("token: %s\nstatus: %s\n", lock.Ticket(), status),
		}, found.etag)
		if !errors.Is(err, errPrecondition) {
			return err
		}
		// Another client has written since the read: compare its token.
	}
}

// A slow holder, or its request, was paused, and continues when the next holder has
// written to the SQL database.
func ExampleLock_Ticket_sql() {
	ctx := context.Background()
	locks, closed := client(locktest.Memory(), "worker-1", time.Minute)
	defer closed()
	db := sql.OpenDB(&fakeSQL{rows: map[string]sqlRow{"order-7": {}}})
	defer func() {
		if err := db.Close(); err != nil {
			fmt.Println(err)
		}
	}()

	slow, fast := twoTurns(ctx, locks)
	printWrites(
		setStatusInSQL(ctx, db, "order-7", "packed", fast),
		setStatusInSQL(ctx, db, "order-7", "shipped", fast),
		setStatusInSQL(ctx, db, "order-7", "cancelled", slow),
	)
	// Output:
	// written
	// written
	// refused
}

// The same with an object in a store, whose metadata has the token.
func ExampleLock_Ticket_object() {
	ctx := context.Background()
	locks, closed := client(locktest.Memory(), "worker-1", time.Minute)
	defer closed()
	store := &fakeObjects{stored: map[string]storedObject{}}

	slow, fast := twoTurns(ctx, locks)
	printWrites(
		setStatusInObject(ctx, store, "orders/7", "packed", fast),
		setStatusInObject(ctx, store, "orders/7", "shipped", fast),
		setStatusInObject(ctx, store, "orders/7", "cancelled", slow),
	)
	// Output:
	// written
	// written
	// refused
}

// printWrites prints what a resource that checks tokens has answered.
func printWrites(answers ...error) {
	for _, err := range answers {
		_, refused := errors.AsType[*types.ConditionalCheckFailedException](err)
		switch {
		case refused, errors.Is(err, errStaleToken): // a later holder has written
			fmt.Println("refused")
		case err != nil:
			fmt.Println(err)
		default:
			fmt.Println("written")
		}
	}
}

// twoTurns are two holders of one lock, one after the other. The first does not
// know that its turn is over.
func twoTurns(ctx context.Context, locks *queuelock.Client) (slow, fast *queuelock.Lock) {
	var turns []*queuelock.Lock
	for range 2 {
		err := locks.Do(ctx, queuelock.Key{Entity: "order-7"}, waitpolicy.Forever, func(_ context.Context, lock *queuelock.Lock) error {
			turns = append(turns, lock)
			return nil
		})
		if err != nil {
			panic(err)
		}
	}
	return turns[0], turns[1]
}

// TestStaleTokenAfterRead checks that a token that becomes stale between a read and a
// write is refused. The slow holder reads the object before the fast one writes, and
// writes after it. Both write the same status, over the same status.
func TestStaleTokenAfterRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		locks, _ := locktest.Open(t, queuelocktest.NewTable(t), "a", queuelock.Config{})
		slow, fast := twoTurns(t.Context(), locks)
		store := &fakeObjects{stored: map[string]storedObject{}}
		set := func(lock *queuelock.Lock) error {
			return setStatusInObject(t.Context(), store, "orders/7", "packed", lock)
		}
		if err := set(slow); err != nil {
			t.Fatal(err)
		}
		overtaken := false
		store.beforePut = func() {
			if !overtaken {
				overtaken = true
				if err := set(fast); err != nil {
					t.Error(err)
				}
			}
		}
		if err := set(slow); !errors.Is(err, errStaleToken) || !overtaken {
			t.Errorf("%v, want it refused", err)
		}
		if got := store.stored["orders/7"].metadata["token"]; got != fast.Ticket().String() {
			t.Errorf("the object has token %s, want %s", got, fast.Ticket())
		}
	})
}

// fakeSQL is a database with one table, that knows sqlSetStatus.
type fakeSQL struct {
	mu   sync.Mutex
	rows map[string]sqlRow // by id
}

type sqlRow struct {
	status string
	token  string // empty: NULL
}

func (f *fakeSQL) Connect(context.Context) (driver.Conn, error) { return fakeConn{f}, nil }
func (f *fakeSQL) Driver() driver.Driver                        { return nil }

type fakeConn struct{ db *fakeSQL }

var errNotFaked = errors.New("the fake knows one statement only")

func (c fakeConn) Prepare(string) (driver.Stmt, error) { return nil, errNotFaked }
func (c fakeConn) Begin() (driver.Tx, error)           { return nil, errNotFaked }
func (c fakeConn) Close() error                        { return nil }

func (c fakeConn) ExecContext(_ context.Context, statement string, args []driver.NamedValue) (driver.Result, error) {
	if statement != sqlSetStatus || len(args) != 4 {
		return nil, errNotFaked
	}
	arg := func(n int) string { return args[n].Value.(string) }
	status, token, id, atMost := arg(0), arg(1), arg(2), arg(3)
	c.db.mu.Lock()
	defer c.db.mu.Unlock()
	row, ok := c.db.rows[id]
	if !ok || row.token != "" && row.token > atMost {
		return driver.RowsAffected(0), nil
	}
	c.db.rows[id] = sqlRow{status, token}
	return driver.RowsAffected(1), nil
}

// fakeObjects is an object store whose ETags are those of the contents, as S3's
// are.
type fakeObjects struct {
	beforePut func() // if not nil, called before a put is applied

	mu     sync.Mutex
	stored map[string]storedObject
}

func (f *fakeObjects) get(_ context.Context, name string) (storedObject, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.stored[name], nil
}

func (f *fakeObjects) put(_ context.Context, name string, o storedObject, ifMatch string) error {
	if f.beforePut != nil {
		f.beforePut()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.stored[name].etag != ifMatch {
		return errPrecondition
	}
	o.metadata = maps.Clone(o.metadata)
	o.etag = fmt.Sprintf("%x", sha256.Sum256([]byte(o.body)))
	f.stored[name] = o
	return nil
}
