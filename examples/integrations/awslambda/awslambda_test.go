package main

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

var order = queuelock.Key{Entity: "order-7"}

// message is a message about the order.
func message(id string) events.SQSMessage {
	return events.SQSMessage{MessageId: id, Attributes: map[string]string{"MessageGroupId": order.Entity}}
}

func newInstance(t *testing.T, table *queuelocktest.Table, name string, work func(context.Context) error) *function {
	locks, err := queuelock.New(table.Client(name), table.Name(), queuelock.Config{Owner: name})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := locks.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return &function{locks: locks, log: slog.New(slog.DiscardHandler), work: func(ctx context.Context, _ *queuelock.Lock, _ string) error {
		return work(ctx)
	}}
}

// invoke calls the handler as Lambda does, with the deadline of the function. It returns
// the number of messages to deliver again, and the time that was left.
func (f *function) invoke(t *testing.T, messages ...events.SQSMessage) (again int, left time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	response, err := f.handle(ctx, events.SQSEvent{Records: messages})
	if err != nil {
		t.Fatal(err)
	}
	deadline, _ := ctx.Deadline()
	return len(response.BatchItemFailures), time.Until(deadline)
}

// idle checks that the invocation has left neither a holder nor a waiter.
func (f *function) idle(t *testing.T) {
	t.Helper()
	state, err := f.locks.Viewer().Inspect(t.Context(), order)
	if err != nil {
		t.Fatal(err)
	}
	if !state.Idle() {
		t.Errorf("left behind: %+v", state)
	}
}

// inTable runs a subtest in a bubble of its own, with a table.
func inTable(t *testing.T, name string, f func(t *testing.T, table *queuelocktest.Table)) {
	t.Run(name, func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) { f(t, queuelocktest.NewTable(t, queuelocktest.WithLatency(5*time.Millisecond))) })
	})
}

func TestFunction(t *testing.T) {
	inTable(t, "ReleasesBeforeItReturns", func(t *testing.T, table *queuelocktest.Table) {
		held := 0
		var f *function
		f = newInstance(t, table, "a", func(ctx context.Context) error {
			if locked, err := f.locks.IsLocked(ctx, order); err != nil || !locked {
				t.Errorf("during the work: %v, %v", locked, err)
			}
			held++
			return nil
		})
		if again, _ := f.invoke(t, message("m-1"), message("m-2")); again != 0 || held != 2 {
			t.Errorf("%d messages again, %d turns", again, held)
		}
		f.idle(t)
	})
	inTable(t, "ReleasesBeforeItsDeadline", func(t *testing.T, table *queuelocktest.Table) {
		f := newInstance(t, table, "a", func(ctx context.Context) error { <-ctx.Done(); return context.Cause(ctx) })
		again, left := f.invoke(t, message("m-1"), message("m-2"))
		if again != 2 || left < reserve/2 {
			t.Errorf("%d messages again, and %v were left", again, left)
		}
		f.idle(t)
	})
	inTable(t, "ReturnsBeforeItsDeadlineInAnOutage", func(t *testing.T, table *queuelocktest.Table) {
		var outage *queuelocktest.Injection
		f := newInstance(t, table, "a", func(ctx context.Context) error {
			outage = table.Inject(queuelocktest.SwallowRequest())
			<-ctx.Done()
			return context.Cause(ctx)
		})
		if again, left := f.invoke(t, message("m-1")); again != 1 || left <= 0 {
			t.Errorf("%d messages again, and %v were left", again, left)
		}
		outage.Remove()
	})
	inTable(t, "ReturnsMessagesOfABusyOrder", func(t *testing.T, table *queuelocktest.Table) {
		other := newInstance(t, table, "other", nil)
		lock, err := other.locks.Acquire(t.Context(), order, waitpolicy.NoWait)
		if err != nil {
			t.Fatal(err)
		}
		f := newInstance(t, table, "a", func(context.Context) error { return errors.New("not its turn") })
		again, left := f.invoke(t, message("m-1"))
		if again != 1 || timeout-left > wait+time.Second {
			t.Errorf("%d messages again, after %v", again, timeout-left)
		}
		if err := lock.Release(t.Context()); err != nil {
			t.Error(err)
		}
		f.idle(t)
	})
	inTable(t, "HoldsTheLockWithoutHeartbeats", func(t *testing.T, table *queuelocktest.Table) {
		var during int
		f := newInstance(t, table, "a", func(ctx context.Context) error {
			before := table.Counts()
			<-time.After(20 * time.Second)
			during = table.Counts().Sub(before).Total().Sent
			return ctx.Err()
		})
		if again, _ := f.invoke(t, message("m-1")); again != 0 || during != 0 {
			t.Errorf("%d messages again; %d requests during the work", again, during)
		}
	})
}
