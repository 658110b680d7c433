package waiter

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/queuelock/queuelock/heartbeat"
	"github.com/queuelock/queuelock/internal/handover"
	"github.com/queuelock/queuelock/internal/notify"
	"github.com/queuelock/queuelock/internal/serving"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
	"github.com/queuelock/queuelock/waitpolicy"
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
	c.Local = handover.New(time.Minute)
	c.Log, c.RetryTimeout = notify.New(slog.New(slog.DiscardHandler), nil), 10*time.Second
	c.Observer = heartbeat.NewObserver(c.Queue.Clock(), false)
	return New(t.Context(), &c)
}

var instant = time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC)

func n(i int) ticket.Number { return ticket.FromUint64(uint64(i)) }

func record(granted int, holders ...queue.Holder) queue.Record {
	return queue.Record{Exists: true, Present: true, TicketNumber: n(20), Granted: n(granted), Holders: holders}
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
				err := w.persist(ctx, "try", answers(&calls, test.answers...))
				if !errors.Is(err, test.want) || (err == nil) != (test.want == nil) {
					t.Errorf("error %v, want %v", err, test.want)
				}
				if test.calls > 0 && calls != test.calls || test.end < 0 && calls != 0 {
					t.Errorf("%d calls, want %d", calls, test.calls)
				}
				if w.failure.get() != test.failure {
					t.Errorf("failure %v, want %v", w.failure.get(), test.failure)
				}
			})
		})
	}
	t.Run("ReportNoAnswerWithinGrace", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			w, begun := newTestWaiter(t, Config{}), time.Now()
			err := w.persist(ctx, "try", func(ctx context.Context) error {
				cancel()
				<-ctx.Done()
				return errCancelled
			})
			if err != context.Canceled || w.failure.get() != errCancelled || time.Since(begun) != answerGrace {
				t.Errorf("error %v, failure %v after %v", err, w.failure.get(), time.Since(begun))
			}
		})
	})
	t.Run("ShareOneTimeout", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			w, calls := newTestWaiter(t, Config{}), 0
			_ = w.persist(t.Context(), "first", answers(&calls, errTimeout))
			first := calls
			if err := w.persist(t.Context(), "second", answers(&calls, errTimeout)); err != errTimeout || calls != first+1 {
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
		"EndsWithContext":    {err: errTimeout, ended: true, want: context.Canceled, failure: errTimeout},
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
				w.err = test.err
				if err := w.pause(ctx); err != test.want || w.failure.get() != test.failure {
					t.Errorf("error %v, failure %v, want %v, %v", err, w.failure.get(), test.want, test.failure)
				}
			})
		})
	}
}

// TestRead checks what a look that fails says about the table.
func TestRead(t *testing.T) {
	for name, test := range map[string]struct {
		answer  error
		ended   bool
		row     bool // whose delete shows whether the table answers
		failure error
	}{
		"Answered":                   {},
		"NotAnsweredIsRepeated":      {answer: errTimeout},
		"NotAnsweredByTheCallersEnd": {answer: errCancelled, ended: true, failure: errCancelled},
		"LeavesThatToTheRow":         {answer: errCancelled, ended: true, row: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				w := newTestWaiter(t, Config{})
				if test.row {
					w.row = true
				}
				if test.ended {
					cancel()
				}
				e := w.looked(ctx, queue.SnapshotOf(record(7), time.Now()), test.answer)
				if _, seen := e.(queue.Seen); seen != (test.answer == nil) || w.failure.get() != test.failure {
					t.Errorf("event %T, failure %v, want %v", e, w.failure.get(), test.failure)
				}
			})
		})
	}
}

func TestHighest(t *testing.T) {
	w := newTestWaiter(t, Config{})
	for _, step := range []struct{ raise, want int }{{3, 3}, {9, 9}, {4, 9}} {
		if w.raise(Highest{Ticket: n(step.raise)}); w.highest.Ticket != n(step.want) {
			t.Errorf("after %d it is %s, want %d", step.raise, w.highest.Ticket, step.want)
		}
	}
}

// TestUsable checks until when a grant may be used, by both clocks.
func TestUsable(t *testing.T) {
	for name, test := range map[string]struct {
		after time.Duration
		until time.Duration // after it was sent, on a clock which says that an hour has passed; zero: unknown
		want  bool
	}{
		"AtOnce":              {want: true},
		"BeforeItsDeadline":   {after: 53 * time.Second, want: true},
		"NotAfterItsDeadline": {after: 54 * time.Second},
		"NotAfterSuspension":  {until: time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newTestWaiter(t, Config{Entry: Entry{Terms: heartbeat.Terms{TTL: time.Minute, Margin: 6 * time.Second}}})
				sent, lease := time.Now(), queue.Lease{TTL: time.Minute}
				if test.until > 0 {
					lease.Until = sent.Add(test.until)
					w.cfg.Queue.Clock().Observe(sent, sent, sent.Add(time.Hour))
				}
				time.Sleep(test.after)
				if got := (clock{&w.player}).Usable(lease, sent, false); got != test.want {
					t.Errorf("usable is %v", got)
				}
			})
		})
	}
}

func TestDelayOfTurn(t *testing.T) {
	schedule := waitpolicy.Schedule{Fastest: time.Second, SlowestNext: 5 * time.Second, Slowest: time.Minute}
	slots := make(chan struct{}, 1)
	for name, test := range map[string]struct {
		slots    chan struct{}
		slot     bool
		ahead    int
		min, max time.Duration
		waits    bool // for a slot
	}{
		"IsShortToJoin":          {ahead: 1, min: 2 * time.Second, max: 2 * time.Second},
		"IsBoundedToJoin":        {ahead: 100, min: 5 * time.Second, max: 5 * time.Second},
		"IsLongWithoutSlot":      {slots: slots, min: 20 * time.Second, max: time.Minute, waits: true},
		"IsAsUsualWithSlot":      {slots: slots, slot: true, min: time.Second, max: time.Second},
		"IsAsUsualForSingleLock": {min: time.Second, max: time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			w := newTestWaiter(t, Config{Schedule: schedule, Several: Several{Slots: test.slots}})
			w.wait.Snapshot = queue.SnapshotOf(record(6), time.Now())
			w.sight.pace.Decided(queue.Decision{Joins: true})
			w.sight.status.Rows = test.ahead
			d, waits := w.sight.delay(t.Context(), test.slot)
			if d < test.min || d > test.max || (waits != nil) != test.waits {
				t.Errorf("%v, waits for a slot %v, want %v to %v, %v", d, waits != nil, test.min, test.max, test.waits)
			}
		})
	}
}
