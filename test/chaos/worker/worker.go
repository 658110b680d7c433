package worker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/workload/crew"
	"github.com/queuelock/queuelock/internal/workload/turns"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/waitpolicy"
)

// CloseLimit bounds how long a worker takes to end once it was asked to.
const CloseLimit = 10 * time.Second

// beat is the time between the instants at which the callers of a worker ask.
const beat = time.Second

// Assignment is what a worker is to do: the first line on its standard input.
type Assignment struct {
	Name      string
	Table     string
	Entities  []string
	Home      int // index of the entity for which it asks most of the time
	Seed      uint64
	TTL       time.Duration
	WaiterTTL time.Duration
	// LongestTurn bounds a turn's work, whose lower bound is a twentieth of that.
	LongestTurn time.Duration
	Callers     int     // goroutines that take turns
	Mistake     Mistake // that is planted
}

// Mistake is one that the judges must find.
type Mistake string

// The mistakes. Correct workers have none.
const (
	// Unfenced workers do not ask whether they still hold the lock, and write
	// without the fence.
	Unfenced Mistake = "unfenced"
	// Late workers make some writes without the fence after they have released the
	// lock, and only if a later turn of the block has begun.
	Late Mistake = "late"
)

// DynamoDB is what a worker needs of an SDK client.
type DynamoDB interface {
	queuelock.DynamoDB
	TransactWriteItems(context.Context, *dynamodb.TransactWriteItemsInput, ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error)
}

// worker is one process.
type worker struct {
	Assignment
	db     DynamoDB
	post   *crew.Post
	client *queuelock.Client
	begun  time.Time
}

// caller is a goroutine that takes turns.
type caller struct {
	*worker
	number int
	random *rand.Rand
}

// Work is the life of a worker process: it reads its Assignment from in, takes
// turns until ctx or in ends, and writes records to out. Then it releases what
// it holds and leaves every queue, within CloseLimit. Its error was reported as
// well.
func Work(ctx context.Context, db DynamoDB, in io.Reader, out io.Writer) error {
	w := &worker{db: db, post: crew.NewPost(in, out), begun: time.Now()}
	err := w.work(ctx)
	if err != nil {
		w.post.Report(turns.Record{Kind: turns.Failed, Error: err.Error()})
	}
	return err
}

func (w *worker) work(ctx context.Context) (err error) {
	if err := w.post.Read(&w.Assignment); err != nil {
		return fmt.Errorf("read the assignment: %w", err)
	}
	w.client, err = queuelock.New(w.db, w.Table, queuelock.Config{TTL: w.TTL, WaiterTTL: w.WaiterTTL, Owner: w.Name})
	if err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), CloseLimit)
		defer cancel()
		if err = errors.Join(err, w.client.Close(ctx)); err == nil {
			w.post.Report(turns.Record{Kind: turns.Done})
		}
	}()
	ctx, cancel := w.post.Attended(ctx)
	defer cancel(nil)
	w.post.Report(turns.Record{Kind: turns.Ready})
	var callers sync.WaitGroup
	for n := range w.Callers {
		callers.Go(func() {
			c := &caller{worker: w, number: n, random: rand.New(rand.NewPCG(w.Seed, uint64(n)))}
			for ctx.Err() == nil && w.post.Err() == nil {
				c.attempt(ctx)
			}
		})
	}
	callers.Wait()
	return w.post.Err()
}

// attempt asks for one of the locks, and takes a turn if it gets it.
func (c *caller) attempt(ctx context.Context) {
	entity := c.Entities[c.Home] // so that each lock has a waiter, also while one lock is blocked
	if c.random.IntN(4) == 0 {
		entity = c.Entities[c.random.IntN(len(c.Entities))]
	}
	wait := waitpolicy.Forever
	switch n := c.random.IntN(10); {
	case n < 2:
		wait = waitpolicy.NoWait
	case n < 4:
		wait = waitpolicy.For(300*time.Millisecond + c.upTo(3*time.Second))
	}
	c.report(turns.Record{Kind: turns.Asked, Entity: entity, Waits: !wait.IsNoWait()})
	lock, err := c.client.Acquire(ctx, queuelock.Key{Entity: entity}, wait)
	if err != nil {
		c.report(turns.Record{Kind: turns.Denied, Entity: entity, Error: err.Error(), Odd: !errors.Is(err, queuelock.ErrNotAcquired) && odd(err)})
	} else {
		c.turn(ctx, lock, entity)
	}
	pause := c.upTo(80 * time.Millisecond)
	if c.random.IntN(20) == 0 {
		pause = c.upTo(time.Second) // so that queues fall quiet at times
	}
	if c.Callers > 1 {
		pause += beat - (time.Since(c.begun)+pause)%beat // so that several ask at once
	}
	sleep(ctx, pause)
}

func (c *caller) report(r turns.Record) {
	r.Caller = c.number
	c.post.Report(r)
}

func (c *caller) upTo(d time.Duration) time.Duration {
	return time.Duration(c.random.Int64N(int64(d) + 1))
}

func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// number is a ticket as a number: a run does not take more than 2^64 of them.
func number(lock *queuelock.Lock) uint64 {
	n, err := strconv.ParseUint(lock.Ticket().String(), 10, 64)
	if err != nil {
		panic("a ticket is a number: " + err.Error())
	}
	return n
}

// odd reports whether no fault of a network or a busy server explains an error:
// DynamoDB refuses the request as wrong, or finds an item malformed.
func odd(err error) bool {
	if _, ok := errors.AsType[*queue.MalformedError](err); ok {
		return true
	}
	if _, ok := errors.AsType[*queue.TableError](err); ok {
		return true
	}
	if canceled, ok := errors.AsType[*types.TransactionCanceledException](err); ok {
		for _, reason := range canceled.CancellationReasons {
			if reason.Code != nil && *reason.Code != "None" && *reason.Code != "TransactionConflict" && *reason.Code != failedCheck {
				return true
			}
		}
		return false
	}
	api, ok := errors.AsType[smithy.APIError](err)
	if !ok {
		return false
	}
	switch api.ErrorCode() {
	case "ValidationException", "SerializationException", "AccessDeniedException", "IdempotentParameterMismatchException", "ConditionalCheckFailedException":
		return true
	}
	return false
}
