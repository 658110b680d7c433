package queuelock_test

import (
	"context"
	"flag"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"go.uber.org/goleak"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/engines"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

// openMet is open of a client whose table has answered before: its first TAKE
// needs no read.
func openMet(t *testing.T, table *queuelocktest.Table, name string, cfg queuelock.Config) (*queuelock.Client, *queuelocktest.Client) {
	t.Helper()
	c, db := open(t, table, name, cfg)
	if _, err := c.Inspect(t.Context(), queuelock.Key{Entity: "another"}); err != nil {
		t.Fatal(err)
	}
	return c, db
}

func TestMain(m *testing.M) {
	if underRace {
		// Random schedules are many without the race detector, and in the simulator.
		if err := flag.Set("rapid.checks", "20"); err != nil {
			panic(err)
		}
	}
	goleak.VerifyTestMain(engines.Main(m))
}

var order = queuelock.Key{Entity: "order-7"}

// open makes a client of the table, over a network of its own, and closes it
// at the end of the test.
func open(t *testing.T, table *queuelocktest.Table, name string, cfg queuelock.Config) (*queuelock.Client, *queuelocktest.Client) {
	t.Helper()
	db := table.Client(name)
	if cfg.Owner == "" {
		cfg.Owner = name
	}
	c, err := queuelock.New(db, table.Name(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		_ = c.Close(ctx) // tests that care close it themselves
	})
	return c, db
}

// acquire is Acquire where it must succeed.
func acquire(t *testing.T, c *queuelock.Client, wait waitpolicy.Wait, opts ...queuelock.Option) *queuelock.Lock {
	t.Helper()
	lock, err := c.Acquire(t.Context(), order, wait, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return lock
}

// release is Release where it must succeed.
func release(t *testing.T, lock *queuelock.Lock) {
	t.Helper()
	if err := lock.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// cost is what f cost the whole table. Where another client waits, which looks
// when it likes, costTo counts.
func cost(table *queuelocktest.Table, f func()) queuelocktest.Tally {
	before := table.Counts()
	f()
	return table.Counts().Sub(before).Total()
}

// costTo is what f cost one client, whatever others do beside it.
func costTo(db *queuelocktest.Client, f func()) queuelocktest.Tally {
	before := db.Counts()
	f()
	return db.Counts().Sub(before).Total()
}

// outcome is what an Acquire in the background came to.
type outcome struct {
	lock *queuelock.Lock
	err  error
	at   time.Time
}

// queueUp starts an Acquire in the background. Inside a bubble, synctest.Wait
// after it waits until it waits.
func queueUp(ctx context.Context, c *queuelock.Client, wait waitpolicy.Wait) <-chan outcome {
	done := make(chan outcome, 1)
	go func() {
		lock, err := c.Acquire(ctx, order, wait)
		done <- outcome{lock, err, time.Now()}
	}()
	return done
}

// onceItWaits is an option that closes the channel once the Acquire has looked,
// and goes on to wait with its ticket.
func onceItWaits() (<-chan struct{}, queuelock.Option) {
	queued := make(chan struct{})
	tell := sync.OnceFunc(func() { close(queued) })
	return queued, queuelock.OnProgress(func(queuelock.Progress) { tell() })
}

// rowsAndHolders counts what is in the table beside the record.
func rowsAndHolders(t *testing.T, c *queuelock.Client) (rows, holders int) {
	t.Helper()
	state, err := c.Inspect(t.Context(), order)
	if err != nil {
		t.Fatal(err)
	}
	return len(state.Waiting), len(state.Serving)
}

// stalling is an SDK client whose caller stands still before and after some
// requests, as a stopped process does.
type stalling struct {
	*dynamodb.Client
	pause func() time.Duration
}

func stalled[In, Out any](s stalling, ctx context.Context, in In, opts []func(*dynamodb.Options), do func(context.Context, In, ...func(*dynamodb.Options)) (Out, error)) (Out, error) {
	time.Sleep(s.pause())
	out, err := do(ctx, in, opts...)
	time.Sleep(s.pause())
	return out, err
}

func (s stalling) GetItem(ctx context.Context, in *dynamodb.GetItemInput, opts ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	return stalled(s, ctx, in, opts, s.Client.GetItem)
}

func (s stalling) PutItem(ctx context.Context, in *dynamodb.PutItemInput, opts ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	return stalled(s, ctx, in, opts, s.Client.PutItem)
}

func (s stalling) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, opts ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	return stalled(s, ctx, in, opts, s.Client.UpdateItem)
}

func (s stalling) DeleteItem(ctx context.Context, in *dynamodb.DeleteItemInput, opts ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error) {
	return stalled(s, ctx, in, opts, s.Client.DeleteItem)
}

func (s stalling) Query(ctx context.Context, in *dynamodb.QueryInput, opts ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	return stalled(s, ctx, in, opts, s.Client.Query)
}
