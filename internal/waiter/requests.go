package waiter

import (
	"cmp"
	"context"
	"time"

	"github.com/queuelock/queuelock/internal/retry"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/queue"
)

// answerGrace is how long the answer to a request is awaited after the caller's context has ended.
const answerGrace = time.Second

// answered is the policy of a request that is not repeated as it is: its refusal, or failure, is followed by another one.
var answered = retry.Policy{Grace: answerGrace}

// send sends a request, and repeats it while it fails transiently. Its answer is awaited for answerGrace after the
// end of ctx, whose error send then returns.
func (w *Waiter) send(ctx context.Context, what string, request func(context.Context) error) error {
	return w.persist(ctx, what, answerGrace, func(ctx context.Context) error {
		sent := time.Now()
		defer func() { w.progress.pace.Timed(sent, time.Now()) }()
		return request(ctx)
	})
}

// date finds out DynamoDB's time, so that the lease which begins next has an end.
func (w *Waiter) date(ctx context.Context) error {
	if !w.cfg.Queue.Clock().Needed(time.Now()) {
		return nil // and the last failure stays
	}
	return w.persist(ctx, "find out the time", answerGrace, w.cfg.Queue.Date)
}

// read is send for LOOK. period is how long the answer is awaited after the end of ctx, to learn whether the table
// answers. It is zero if another request will show that.
func (w *Waiter) read(ctx context.Context, period time.Duration, look func(context.Context) (queue.Snapshot, error)) error {
	return w.persist(ctx, "look", period, func(ctx context.Context) error {
		w.touch()
		sent := time.Now()
		defer func() { w.progress.pace.Timed(sent, time.Now()) }()
		snapshot, err := look(ctx)
		if err == nil {
			w.snapshot = snapshot
		}
		return err
	})
}

// persist sends a request of the series of the step under way. See send and read.
func (w *Waiter) persist(ctx context.Context, what string, period time.Duration, request func(context.Context) error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	err := retry.Policy{
		Retryable: func(err error) bool { return table.Unanswered(err) && ctx.Err() == nil },
		Schedule:  w.series, Grace: period,
		OnRetry: func(err error) { w.repeated(what, err) },
	}.Do(ctx, request)
	switch {
	case err == nil:
		w.failure = nil
	case ctx.Err() != nil && table.Unanswered(err):
		if period > 0 {
			w.unanswered(err) // no answer came in all that time
		}
		return ctx.Err()
	}
	return err
}

// pause waits before the attempt that follows a transient failure. Any error that it returns ends the series.
func (w *Waiter) pause(ctx context.Context, what string, err error) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case !table.Unanswered(err): // the end of a context is not that of ctx
		return err
	}
	w.repeated(what, err)
	if w.series.Pause(ctx) {
		return nil
	}
	return cmp.Or(ctx.Err(), err)
}

// repeated records a failure of a request that is sent again.
func (w *Waiter) repeated(what string, err error) {
	w.failure = err
	w.cfg.Log.Debug("queuelock: a request failed and is tried again",
		"queue", w.cfg.Queue.String(), "what", what, "error", err)
}

// unanswered records a failure which shows that the table does not answer, unless an earlier one has.
func (w *Waiter) unanswered(err error) {
	if w.failure == nil && table.Unanswered(err) {
		w.failure = err
	}
}
