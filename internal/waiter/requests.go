package waiter

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/queuelock/queuelock/internal/retry"
	"github.com/queuelock/queuelock/internal/rows"
	"github.com/queuelock/queuelock/internal/serving"
	"github.com/queuelock/queuelock/internal/table"
)

// answerGrace is how long the answer to a request is awaited after the caller's context
// has ended.
const answerGrace = time.Second

// errChanged reports that the record would not refuse the request any more.
var errChanged = fmt.Errorf("the record has changed meanwhile: %w", serving.ErrRefused)

// requests repeats the requests of one acquire, and keeps the last failure for its error.
type requests struct {
	queue   table.Queue
	log     *slog.Logger
	timeout time.Duration // of a series of failures
	failure error         // of the last request, if the table did not answer
}

// series returns the Schedule of a new series of requests.
func (r *requests) series() *retry.Schedule { return retry.For(r.timeout) }

// send sends a request, and repeats it while it fails transiently. Its answer is awaited
// for answerGrace after the end of ctx, whose error send then returns.
func (r *requests) send(ctx context.Context, series *retry.Schedule, what string, request func(context.Context) error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	err := retry.Policy{
		Retryable: retryable, Schedule: series, Grace: answerGrace,
		OnRetry: func(err error) { r.failed(what, err) },
	}.Do(ctx, request)
	switch {
	case err == nil:
		r.failure = nil
	case retryable(err):
		return cmp.Or(ctx.Err(), err)
	case ctx.Err() != nil:
		r.unanswered(err) // no answer came in all that time
	}
	return err
}

func retryable(err error) bool { return table.Transient(err) || errors.Is(err, errChanged) }

// pause waits before the attempt that follows a transient failure. Any error that it
// returns ends the series.
func (r *requests) pause(ctx context.Context, series *retry.Schedule, what string, err error) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case !table.Transient(err):
		return err
	}
	r.failed(what, err)
	if series.Pause(ctx) {
		return nil
	}
	return cmp.Or(ctx.Err(), err)
}

// failed records a failure of a request that is sent again.
func (r *requests) failed(what string, err error) {
	r.failure = err
	r.log.Debug("queuelock: a request failed and is tried again", "queue", r.queue.String(), "what", what, "error", err)
}

// unanswered records a failure which shows that the table does not answer, unless an
// earlier one has.
func (r *requests) unanswered(err error) {
	if r.failure == nil && table.Unanswered(err) {
		r.failure = err
	}
}

// look sends LOOK, and repeats it while the table does not answer. period is how long the
// answer is awaited after the end of ctx, to learn whether the table answers. It is zero
// if another request will show that.
func (r *requests) look(ctx context.Context, series *retry.Schedule, period time.Duration, look func(context.Context) (rows.Snapshot, error)) (rows.Snapshot, error) {
	var snapshot rows.Snapshot
	err := retry.Policy{
		Retryable: func(err error) bool { return table.Unanswered(err) && ctx.Err() == nil },
		Schedule:  series, Grace: period,
		OnRetry: func(err error) { r.failed("look", err) },
	}.Do(ctx, func(ctx context.Context) (err error) {
		snapshot, err = look(ctx)
		return err
	})
	switch {
	case err == nil:
		r.failure = nil
		return snapshot, nil
	case table.Unanswered(err) && ctx.Err() != nil:
		if period > 0 {
			r.unanswered(err)
		}
		err = ctx.Err()
	}
	return rows.Snapshot{}, err
}
