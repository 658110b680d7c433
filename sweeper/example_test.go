package sweeper_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/clause"
	"github.com/queuelock/queuelock/heartbeat"
	"github.com/queuelock/queuelock/internal/embedded"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/sweeper"
	"github.com/queuelock/queuelock/ticket"
)

// A process that lives long sweeps in the background until it shuts down.
func ExampleRun() {
	run := func(ctx context.Context, db *dynamodb.Client) error {
		locks, err := queuelock.New(db, "queuelock", queuelock.Config{})
		if err != nil {
			return err
		}
		return sweeper.Run(ctx, locks.Operator(), sweeper.Fixed(queuelock.Key{Entity: "hourly-report"}), sweeper.Config{
			Interval: 10 * time.Minute,
			OnSwept: func(queue string, swept sweeper.Swept) {
				slog.Info("swept", "queue", queue, "waiters", swept.Waiters, "holders", swept.Holders)
			},
			OnError: func(queue string, err error) { slog.Warn("sweep failed", "queue", queue, "error", err) },
		})
	}
	ctx, shutDown := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer shutDown()
	fmt.Println(run(ctx, newMemoryTable()))
	// Output:
	// context deadline exceeded
}

// A cron job sweeps once.
func ExampleOnce() {
	job := func(ctx context.Context, locks *queuelock.Client) error {
		swept, err := sweeper.Once(ctx, locks.Operator(), queuelock.Key{Entity: "order-7"}, queuelock.Key{Entity: "order-8"})
		slog.Info("swept", "waiters", swept.Waiters, "holders", swept.Holders)
		return err
	}
	locks, err := queuelock.New(newMemoryTable(), "queuelock", queuelock.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	fmt.Println(job(ctx, locks), locks.Close(ctx))
	// Output:
	// <nil> <nil>
}

// items are the items of one queue in memory, which do what DynamoDB does with a write.
type items struct {
	queue  queue.Items
	record clause.Item
	rows   []clause.Item
}

func (t *items) Record(context.Context) (queue.Record, error) {
	return queue.DecodeRecord(t.queue, t.record)
}

func (t *items) Look(context.Context) (queue.Snapshot, error) {
	look := queue.Snapshot{Whole: true, ReadAt: time.Now()}
	for _, item := range append([]clause.Item{t.record}, t.rows...) {
		if err := look.Add(t.queue, item); err != nil {
			return look, err
		}
	}
	return look, nil
}

func (t *items) Write(_ context.Context, w clause.Write) (rec queue.Record, applied bool, err error) {
	item, fate := w.Apply(t.queue.Names(), t.record)
	t.record = item
	rec, err = queue.DecodeRecord(t.queue, item)
	return rec, fate == clause.Applied, err
}

func (t *items) Remove(_ context.Context, row queue.Waiter, w clause.Write) (applied bool, err error) {
	t.rows = slices.DeleteFunc(t.rows, func(item clause.Item) bool {
		same := queue.DecodeRow(t.queue, item).Ticket == row.Ticket && w.Refuses(t.queue.RowNames(), item) == nil
		applied = applied || same
		return same
	})
	return applied, nil
}

// A holder and a waiter whose leases are over are removed, and the lock is idle again.
func ExampleSweeper_Sweep() {
	q := queue.Items{PK: "pk", SK: "sk", TTL: "expiresAt", Entity: "order-7", Reason: "lock"}
	over := queue.Lease{TTL: 15 * time.Second, Until: time.Now().Add(-time.Minute)}
	holder := clause.Item{}
	over.Fill(holder)
	record := q.RecordKey()
	record["ticketNumber"], record["granted"], record["servingAfter"] = clause.Int(8), clause.Int(7), clause.Int(6)
	record["holders"] = clause.Map(clause.Item{"crashed": clause.Map(holder)})
	table := &items{queue: q, record: record, rows: []clause.Item{queue.Waiter{Ticket: ticket.FromUint64(8), ID: "w", Lease: over}.Item(q)}}

	var clock heartbeat.Clock // of DynamoDB, by the dates of its answers
	clock.Observe(time.Now(), time.Now(), time.Now())
	s := sweeper.Sweeper{Table: table, Items: q, Clock: &clock, Observer: heartbeat.NewObserver(&clock, false)}
	swept, err := s.Sweep(context.Background())
	fmt.Println(swept.Waiters, "waiter and", swept.Holders, "holder removed,", err)
	rec, _ := table.Record(context.Background())
	fmt.Println(len(rec.Holders), "left")
	// Output:
	// 1 waiter and 1 holder removed, <nil>
	// 0 left
}

// memory carries requests to a DynamoDB in memory. Tests use package
// queuelocktest; an example has no testing.TB to give it.
type memory struct{ engine http.Handler }

func (m memory) RoundTrip(r *http.Request) (*http.Response, error) {
	answer := httptest.NewRecorder()
	m.engine.ServeHTTP(answer, r)
	return answer.Result(), nil
}

// newMemoryTable is a client of a DynamoDB in memory with the table "queuelock".
func newMemoryTable() *dynamodb.Client {
	db := dynamodb.New(dynamodb.Options{
		Region:       "local",
		BaseEndpoint: aws.String("http://dynamodb.invalid"),
		HTTPClient:   &http.Client{Transport: memory{embedded.New(embedded.Config{})}},
		Credentials:  credentials.NewStaticCredentialsProvider("local", "local", ""),
	})
	if err := queuelock.CreateTable(context.Background(), db, "queuelock", queuelock.Config{}); err != nil {
		panic(err)
	}
	return db
}
