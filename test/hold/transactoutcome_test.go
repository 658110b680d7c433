package hold_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

// TestUnknownOutcome checks that a protected write of unknown outcome is never reported as lost.
func TestUnknownOutcome(t *testing.T) {
	locktest.InTable(t, "it was made", func(t *testing.T, table *queuelocktest.Table) {
		lock, db := hold(t, table, locktest.TenSeconds)
		db.Inject(queuelocktest.LoseResponse().Of("TransactWriteItems").Times(1))
		db.Inject(queuelocktest.LoseRequest())
		err := lock.Transact(t.Context(), locktest.Deposit(table, nil))
		unknown, ok := errors.AsType[*queuelock.UnknownOutcomeError](err)
		if !ok || errors.Is(err, queuelock.ErrLost) || !errors.Is(unknown.End, queuelock.ErrLost) {
			t.Errorf("got %v, which is ErrLost: %v", err, errors.Is(err, queuelock.ErrLost))
		}
		locktest.Says(t, err, "order-7", "not known", "lock lost")
		if locktest.Balance(table) != "1" {
			t.Error("the write was to be made")
		}
	})
	locktest.InTable(t, "a throttle proves nothing", func(t *testing.T, table *queuelocktest.Table) {
		lock, db := hold(t, table, locktest.TenSeconds)
		db.Inject(queuelocktest.Refuse(queuelocktest.Throttling))
		err := lock.Transact(t.Context(), locktest.Deposit(table, nil))
		if unknown, ok := errors.AsType[*queuelock.UnknownOutcomeError](err); !ok || !errors.Is(unknown.End, queuelock.ErrLost) {
			t.Errorf("got %v", err)
		}
	})
	locktest.InTable(t, "a transport that sends it again proves nothing", func(t *testing.T, table *queuelocktest.Table) {
		db := table.Client("c", func(o *dynamodb.Options) { o.HTTPClient = twice{o.HTTPClient} })
		c := locktest.Must(queuelock.New(db, table.Name(), queuelock.Config{}))
		lock := locktest.Acquire(t, c, waitpolicy.NoWait)
		lost := db.Inject(queuelocktest.LoseResponse().Of("TransactWriteItems").Times(1))
		denied := db.Inject(queuelocktest.Refuse(queuelocktest.AccessDenied).Of("TransactWriteItems").Times(1).Where(func(queuelocktest.Request) bool { return lost.Fired() > 0 }))
		err := lock.Transact(t.Context(), locktest.Deposit(table, nil))
		if err != nil || denied.Fired() != 1 || locktest.Balance(table) != "1" {
			t.Errorf("got %v, and the account holds %s", err, locktest.Balance(table))
		}
		locktest.Release(t, lock)
	})
	locktest.InTable(t, "no rights", func(t *testing.T, table *queuelocktest.Table) {
		lock, db := hold(t, table, queuelock.Config{})
		denied := db.Inject(queuelocktest.Refuse(queuelocktest.AccessDenied).Of("TransactWriteItems"))
		var err error
		sent := locktest.Cost(db, func() { err = lock.Transact(t.Context(), locktest.Deposit(table, nil)) }).Sent
		if isUnknown(err) || denied.Fired() != 1 || sent != 2 { // and SETTLE
			t.Errorf("got %v after %d requests", err, sent)
		}
		locktest.Says(t, err, "AccessDenied")
		locktest.Release(t, lock)
	})
}

// twice is a transport that sends a request without an answer once more.
type twice struct{ dynamodb.HTTPClient }

func (c twice) Do(r *http.Request) (*http.Response, error) {
	again := r.Clone(r.Context())
	if r.GetBody != nil {
		again.Body, _ = r.GetBody()
	}
	answer, err := c.HTTPClient.Do(r)
	if err != nil && again.Body != nil {
		return c.HTTPClient.Do(again)
	}
	return answer, err
}

// DynamoDB forgets a transaction's token after ten minutes.
func TestTransactToken(t *testing.T) {
	// Two evictions later the table does not show what became of it. A refusal proves that it was not made for as
	// long as DynamoDB remembers the token.
	for outage, want := range map[time.Duration]bool{8 * time.Minute: false, 10 * time.Minute: true} {
		locktest.InTable(t, fmt.Sprintf("RefusedByAnotherHolder/after %v", outage), func(t *testing.T, table *queuelocktest.Table) {
			lock, db := hold(t, table, queuelock.Config{TTL: 2 * time.Hour})
			others, _ := locktest.Open(t, table, "others", queuelock.Config{TTL: 2 * time.Hour})
			out := db.Inject(queuelocktest.LoseRequest().Of("TransactWriteItems"))
			time.AfterFunc(outage, out.Remove)
			done := make(chan error, 1)
			go func() { done <- lock.Transact(t.Context(), locktest.Deposit(table, nil)) }()
			time.Sleep(time.Minute)
			for range 2 {
				locktest.OK(t, evict(t.Context(), others))
				locktest.Acquire(t, others, waitpolicy.NoWait)
			}
			err := <-done
			if isUnknown(err) != want || !want && !errors.Is(err, queuelock.ErrLost) {
				t.Errorf("got %v, which is unknown: %v", err, isUnknown(err))
			}
			if locktest.Balance(table) != "0" {
				t.Errorf("it was made after its lock was evicted: %s", locktest.Balance(table))
			}
		})
	}
	locktest.InTable(t, "NewAfterACancellation", func(t *testing.T, table *queuelocktest.Table) {
		lock, db := hold(t, table, queuelock.Config{})
		tokens := map[any]bool{}
		db.Inject(queuelocktest.DelayRequest(0).Of("TransactWriteItems").Where(func(r queuelocktest.Request) bool {
			tokens[r.Body["ClientRequestToken"]] = true
			return false
		}))
		db.Inject(queuelocktest.Refuse(queuelocktest.TransactionConflict).Of("TransactWriteItems").Times(2))
		locktest.OK(t, lock.Transact(t.Context(), locktest.Deposit(table, nil)))
		if len(tokens) != 3 {
			t.Errorf("three attempts had %d tokens", len(tokens))
		}
	})
}

// TestMissingTableOfCaller checks that an error about a table of the caller's does not blame that of the lock.
func TestMissingTableOfCaller(t *testing.T) {
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		lock, _ := hold(t, table, queuelock.Config{})
		item := locktest.Deposit(table, nil)
		item.Update.TableName = aws.String("ordres")
		err := lock.Transact(t.Context(), item)
		if _, schema := errors.AsType[*queue.TableError](err); err == nil || schema {
			t.Errorf("got %v, which blames the lock's table: %v", err, schema)
		}
		locktest.Says(t, err, `TransactWriteItems on tables "ordres", "queuelock": ResourceNotFoundException`)
		_, err = lock.Get(t.Context(), types.TransactGetItem{Get: &types.Get{TableName: aws.String("ordres"), Key: item.Update.Key}})
		locktest.Says(t, err, `"ordres"`)
		locktest.Release(t, lock)
	})
}

// TestEndedContext checks that nothing is sent for a context that has ended, and no unknown outcome is reported.
func TestEndedContext(t *testing.T) {
	for _, end := range []error{context.Canceled, context.DeadlineExceeded} {
		locktest.InTable(t, end.Error(), func(t *testing.T, table *queuelocktest.Table) {
			c, _ := locktest.Open(t, table, "c", locktest.SharedScope)
			both := locktest.AcquireAll(t, c, waitpolicy.NoWait, "x", "y")
			ctx, cancel := context.WithCancel(t.Context())
			if cancel(); end == context.DeadlineExceeded {
				ctx = limited(t, 0)
			}
			for what, transact := range map[string]func(context.Context, ...types.TransactWriteItem) error{
				"Lock.Transact": both.All()[0].Transact, "Locks.Transact": both.Transact,
			} {
				var err error
				spent := locktest.Cost(table, func() { err = transact(ctx, locktest.Deposit(table, nil)) })
				if isUnknown(err) || !errors.Is(err, end) {
					t.Errorf("%s: %v", what, err)
				}
				locktest.Says(t, err, `queuelock: "x" (lock): transact: nothing was sent: `)
				if spent.Sent != 0 {
					t.Errorf("%s sent %d requests", what, spent.Sent)
				}
			}
			if err := both.Transact(t.Context(), locktest.Deposit(table, nil)); err != nil || locktest.Balance(table) != "1" {
				t.Errorf("afterwards: %v, and the account holds %s", err, locktest.Balance(table))
			}
			locktest.Release(t, both)
		})
	}
}

// panicking is an SDK client that panics once, after it has sent a transaction.
type panicking struct {
	*queuelocktest.Client
	done *atomic.Bool
}

func (p panicking) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, opts ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	if p.done.Swap(true) {
		return p.Client.TransactWriteItems(ctx, in, opts...)
	}
	go func() { _, _ = p.Client.TransactWriteItems(context.WithoutCancel(ctx), in, opts...) }()
	time.Sleep(100 * time.Millisecond)
	panic("out of order")
}

// TestTransactPanic checks that a transaction during which the SDK client panicked counts as one of unknown outcome: the next
// holder sees its writes, or knows that they may appear.
func TestTransactPanic(t *testing.T) {
	for name, window := range map[string]time.Duration{"visible soon": time.Second, "visible late": time.Minute} {
		locktest.InTable(t, name, func(t *testing.T, table *queuelocktest.Table) {
			db := table.Client("a")
			a := locktest.Must(queuelock.New(panicking{db, new(atomic.Bool)}, table.Name(), locktest.TenSeconds))
			t.Cleanup(func() { _ = a.Close(context.Background()) })
			b, _ := locktest.Open(t, table, "b", locktest.TenSeconds)
			lock := locktest.Acquire(t, a, waitpolicy.NoWait)
			db.Inject(queuelocktest.SplitTransaction(window, 0).Times(1)) // the account's item late, the record at once
			if recovered(func() { _ = lock.Transact(t.Context(), locktest.Deposit(table, nil)) }) == nil {
				t.Error("the client did not panic")
			}
			locktest.Release(t, lock)
			next := locktest.Acquire(t, b, waitpolicy.Forever)
			before, unsettled := locktest.Balance(table), next.Unsettled()
			time.Sleep(2 * time.Minute)
			if after := locktest.Balance(table); after != "1" || before != after && !unsettled {
				t.Errorf("the account held %s, and %s later, and Unsettled was %t", before, after, unsettled)
			}
			locktest.Release(t, next)
		})
	}
}
