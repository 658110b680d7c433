package waiter

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/queuelock/queuelock/heartbeat"
	"github.com/queuelock/queuelock/internal/localqueue"
	"github.com/queuelock/queuelock/internal/notify"
	"github.com/queuelock/queuelock/internal/serving"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/queue"
)

var (
	errTimeout   = &table.Error{Operation: "UpdateItem", Timeout: time.Second, Err: context.DeadlineExceeded}
	errCancelled = &table.Error{Operation: "UpdateItem", Err: context.Canceled}
	errMissing   = &table.SchemaError{Table: "t"}
)

// answers is a request that is answered by one after the other, and then by the last
// again and again.
func answers(calls *int, all ...error) func(context.Context) error {
	return func(context.Context) error {
		*calls++
		return all[min(*calls, len(all))-1]
	}
}

// newTestWaiter returns a waiter without a table.
func newTestWaiter(t *testing.T, c Config) *Waiter {
	c.Queue = table.NewStore(nil, table.Layout{Table: "t"}, time.Second).Queue("e", "lock", nil)
	c.Local = localqueue.New(time.Minute)
	c.Log, c.RetryTimeout = notify.New(slog.New(slog.DiscardHandler), nil), 10*time.Second
	c.Observer = heartbeat.NewObserver(c.Queue.Clock(), false)
	return New(t.Context(), &c)
}

func TestRequests(t *testing.T) {
	for name, test := range map[string]struct {
		answers []error
		end     time.Duration // of ctx; zero: never
		want    error
		calls   int // zero: any number
		failure error
	}{
		"SucceedAtOnce":          {answers: []error{nil}, calls: 1},
		"SucceedAfterFailures":   {answers: []error{errTimeout, errTimeout, nil}, calls: 3},
		"EndWithRefusal":         {answers: []error{errTimeout, serving.ErrRefused}, want: serving.ErrRefused, calls: 2, failure: errTimeout},
		"EndWithFatalError":      {answers: []error{errMissing}, want: errMissing, calls: 1},
		"EndAfterTimeout":        {answers: []error{errTimeout}, want: errTimeout, failure: errTimeout},
		"EndWithContext":         {answers: []error{errTimeout}, end: time.Second, want: context.DeadlineExceeded, failure: errTimeout},
		"AreNotSentAfterContext": {answers: []error{nil}, end: -1, want: context.DeadlineExceeded},
		"RepeatForeignEnd":       {answers: []error{errCancelled, nil}, calls: 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, calls, w := t.Context(), 0, newTestWaiter(t, Config{})
				if test.end != 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, test.end)
					defer cancel()
				}
				err := w.send(ctx, "try", answers(&calls, test.answers...))
				if !errors.Is(err, test.want) || (err == nil) != (test.want == nil) {
					t.Errorf("error %v, want %v", err, test.want)
				}
				if test.calls > 0 && calls != test.calls || test.end < 0 && calls != 0 {
					t.Errorf("%d calls, want %d", calls, test.calls)
				}
				if w.failure != test.failure {
					t.Errorf("failure %v, want %v", w.failure, test.failure)
				}
			})
		})
	}
	t.Run("ReportNoAnswerWithinGrace", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			w, begun := newTestWaiter(t, Config{}), time.Now()
			err := w.send(ctx, "try", func(ctx context.Context) error {
				cancel()
				<-ctx.Done()
				return errCancelled
			})
			if err != context.Canceled || w.failure != errCancelled || time.Since(begun) != answerGrace {
				t.Errorf("error %v, failure %v after %v", err, w.failure, time.Since(begun))
			}
		})
	})
	t.Run("ShareOneTimeout", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			w, calls := newTestWaiter(t, Config{}), 0
			_ = w.send(t.Context(), "first", answers(&calls, errTimeout))
			first := calls
			if err := w.send(t.Context(), "second", answers(&calls, errTimeout)); err != errTimeout || calls != first+1 {
				t.Errorf("error %v after %d calls, want one call", err, calls-first)
			}
		})
	})
}

func TestPauseAfterFailure(t *testing.T) {
	for name, test := range map[string]struct {
		err     error
		ended   bool
		want    error
		failure error
	}{
		"GoesOn":             {err: errTimeout, failure: errTimeout},
		"GoesOnAtForeignEnd": {err: errCancelled, failure: errCancelled},
		"EndsWithFatalError": {err: errMissing, want: errMissing},
		"EndsWithContext":    {err: errTimeout, ended: true, want: context.Canceled},
		"EndsWithNewTicket":  {err: ErrNewTicket, want: ErrNewTicket},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if test.ended {
					cancel()
				}
				w := newTestWaiter(t, Config{})
				if err := w.pause(ctx, "claim", test.err); err != test.want || w.failure != test.failure {
					t.Errorf("error %v, failure %v, want %v, %v", err, w.failure, test.want, test.failure)
				}
			})
		})
	}
}

func TestLook(t *testing.T) {
	for name, test := range map[string]struct {
		answer  error
		ended   bool
		grace   time.Duration
		want    error
		failure error
	}{
		"ReturnsSnapshot":           {},
		"EndsWithFatalError":        {answer: errMissing, want: errMissing},
		"EndsAfterTimeout":          {answer: errTimeout, want: errTimeout, failure: errTimeout},
		"RepeatsForeignEnd":         {answer: errCancelled, want: errCancelled, failure: errCancelled},
		"ReportsNoAnswerWithGrace":  {answer: errCancelled, ended: true, grace: time.Second, want: context.Canceled, failure: errCancelled},
		"LeavesAnswerToRowsRequest": {answer: errCancelled, ended: true, want: context.Canceled},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				w := newTestWaiter(t, Config{})
				err := w.read(ctx, test.grace, func(context.Context) (queue.Snapshot, error) {
					if test.ended {
						cancel()
					}
					return queue.SnapshotOf(record(7), time.Now()), test.answer
				})
				if err != test.want || w.failure != test.failure || w.snapshot.Record.Present != (err == nil) {
					t.Errorf("error %v, failure %v, want %v, %v", err, w.failure, test.want, test.failure)
				}
			})
		})
	}
}

func TestWithout(t *testing.T) {
	a, b, c := queue.Waiter{Ticket: n(1), ID: "a"}, queue.Waiter{Ticket: n(2), ID: "b"}, queue.Waiter{Ticket: n(2), ID: "c"}
	all := []queue.Waiter{a, b, c}
	if got := without(all, []queue.Waiter{a, c}); len(got) != 1 || got[0].ID != "b" || len(all) != 3 || all[0].ID != "a" {
		t.Errorf("%v of %v", got, all)
	}
}
