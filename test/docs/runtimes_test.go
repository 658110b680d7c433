package docs_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"testing"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

// docs/operations-runtimes.md repeats parts of this file.

// serveUntilSignal is the life of a program.
func serveUntilSignal(db queuelock.DynamoDB, serve func(context.Context, *queuelock.Client) error) error {
	locks, err := queuelock.New(db, "queuelock", queuelock.Config{})
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err = serve(ctx, locks) // returns soon after ctx has ended
	ending, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	return errors.Join(err, locks.Close(ending))
}

// An SDK client for locks, and an orderly end.
func Example_shuttingDown() {
	var lock *queuelock.Lock
	err := serveUntilSignal(locktest.Memory(), func(ctx context.Context, locks *queuelock.Client) (err error) {
		lock, err = locks.Acquire(ctx, order, waitpolicy.NoWait)
		return err
	})
	fmt.Println("released:", err == nil && errors.Is(lock.Err(), queuelock.ErrReleased))
	// Output:
	// released: true
}

// function is a Lambda function.
type function struct {
	locks *queuelock.Client
	work  func(context.Context, *queuelock.Lock) error
}

func (f *function) handle(ctx context.Context, order string) error {
	const reserve = 5 * time.Second // to leave the queue, or to release the lock
	if deadline, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, deadline.Add(-reserve))
		defer cancel()
	}
	return f.locks.Do(ctx, queuelock.Key{Entity: order}, waitpolicy.For(2*time.Second), f.work,
		queuelock.WithTTL(36*time.Second), queuelock.NoHeartbeat()) // the timeout is 30 s
}

// TestReserve checks that the handler returns before its deadline, and leaves nothing, when
// the lock is busy, when the work lasts too long, and when the table stops answering.
func TestReserve(t *testing.T) {
	const timeout = 10 * time.Second
	for name, c := range map[string]struct {
		busy, partition bool
		want            error
	}{
		"BusyLock":  {busy: true, want: queuelock.ErrNotAcquired},
		"LongWork":  {want: context.DeadlineExceeded},
		"Partition": {partition: true, want: context.DeadlineExceeded},
	} {
		locktest.InBubble(t, name, func(t *testing.T) {
			table := newTable(t)
			other, _ := locktest.Open(t, table, "other", queuelock.Config{})
			var db *queuelocktest.Client
			f := &function{work: func(ctx context.Context, _ *queuelock.Lock) error {
				if c.partition {
					db.Partition()
				}
				<-ctx.Done()
				return ctx.Err()
			}}
			f.locks, db = locktest.Open(t, table, "function", queuelock.Config{})
			if c.busy {
				defer locktest.Release(t, locktest.Acquire(t, other, waitpolicy.NoWait))
			}
			ctx, cancel := context.WithTimeout(t.Context(), timeout)
			defer cancel()
			begun := time.Now()
			if err := f.handle(ctx, order.Entity); !errors.Is(err, c.want) {
				t.Errorf("%v, want %v", err, c.want)
			}
			if took := time.Since(begun); took >= timeout {
				t.Errorf("the handler took %v of %v", took, timeout)
			}
			db.Heal()
		})
	}
}
