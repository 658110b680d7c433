package waiter

import (
	"cmp"
	"context"
	"time"

	"github.com/queuelock/queuelock/event"
	"github.com/queuelock/queuelock/internal/counter"
	"github.com/queuelock/queuelock/internal/notify"
	"github.com/queuelock/queuelock/internal/retry"
	"github.com/queuelock/queuelock/internal/serving"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/sweeper"
	"github.com/queuelock/queuelock/waitpolicy"
)

// answerGrace is how long the answer to a request is awaited after the caller's context has ended.
const answerGrace = time.Second

// sender sends the requests of the wait, and knows how they have failed.
type sender struct {
	cfg     *Config
	wait    queue.Wait
	pace    *waitpolicy.Pace // learns the round trips
	series  *retry.Schedule  // of the step under way
	err     error            // of the request that has failed last
	what    queue.Doing      // it was
	failure error            // of the last request, if the table did not answer
	row     bool             // the delete of the row will show whether the table answers
	sent    bool             // a write of the machine was
}

// request sends a write, whose answer is awaited for answerGrace after the end of ctx.
//
//go:noinline // what it needs of the stack, a resting waiter does not occupy
func (s *sender) request(ctx context.Context, do *queue.Do) queue.Event {
	extended, cancel := retry.Outlive(ctx, answerGrace)
	defer cancel()
	s.sent = true
	sent := time.Now()
	rec, err := s.write(extended, do)
	s.pace.Timed(sent, time.Now())
	return s.replied(ctx, do, rec, err)
}

// write sends the write that the machine asks for.
func (s *sender) write(ctx context.Context, do *queue.Do) (rec queue.Record, err error) {
	q := s.cfg.Queue
	switch do.State {
	case queue.Taking:
		return serving.Take(ctx, q, do.Entry, s.cfg.NoWait)
	case queue.Entering:
		return serving.Enter(ctx, q, do.Entry, s.wait.Ticket, s.cfg.Counter.Scope, s.cfg.NoWait)
	case queue.TakingOver:
		return serving.Resume(ctx, q, do.Holders[0], do.Entry)
	case queue.Confirming:
		return serving.Confirm(ctx, q, do.Attempt.ID, do.Holder.Ticket, q.Clock().Middle(do.Attempt.Sent))
	case queue.Evicting:
		rec, evicted, err := sweeper.Holders(ctx, q, do.Holders)
		if evicted > 0 {
			notify.Send(s.cfg.Log, event.Evicted{
				Origin: s.cfg.Log.Origin(s.wait.Ticket), Count: evicted, Holder: do.Holders[0].Ticket, Owner: do.Holders[0].Owner,
			})
		}
		return rec, err
	case queue.Sweeping:
		removed, err := sweeper.Rows(ctx, q, do.Rows)
		notify.Send(s.cfg.Log, event.Swept{Origin: s.cfg.Log.Origin(s.wait.Ticket), Expired: len(do.Rows), Removed: removed})
		if err == nil && removed < len(do.Rows) {
			err = serving.ErrRefused
		}
		return s.wait.Snapshot.Record, err
	}
	return serving.Claim(ctx, q, do.Entry, s.wait.Ticket)
}

// replied returns the reply to a request that has returned the record, or has failed with err.
func (s *sender) replied(ctx context.Context, do *queue.Do, rec queue.Record, err error) queue.Replied {
	r := queue.Replied{Reply: serving.ReplyOf(err), Record: rec}
	if r.Reply < queue.ReplyFailed {
		s.failure = nil
		return r
	}
	if do.State == queue.Taking && !counter.MayHaveTaken(err) {
		r.Reply = queue.ReplyFailed
	}
	s.err, s.what = err, do.State
	if ctx.Err() != nil && !s.row {
		s.unanswered(err) // no answer came in all that time. Else the delete of the row shows whether the table answers
	}
	return r
}

// read sends a look. Its answer is awaited after the end of ctx to learn whether the table answers, unless the row's delete
// will show that.
func (s *sender) read(ctx context.Context, look func(context.Context) (queue.Snapshot, error)) (queue.Event, error) {
	answered := ctx
	if !s.row {
		extended, cancel := retry.Outlive(ctx, answerGrace)
		defer cancel()
		answered = extended
	}
	sent := time.Now()
	seen, err := look(answered)
	s.pace.Timed(sent, time.Now())
	if err != nil {
		return s.replied(ctx, &queue.Do{State: queue.Looking}, queue.Record{}, err), nil
	}
	s.failure = nil
	return queue.Seen{Snapshot: seen}, nil
}

// pause waits before the attempt that follows a failed request. Any error that it returns ends the series.
func (s *sender) pause(ctx context.Context) error {
	err := s.err
	if !table.Unanswered(err) { // the end of a context is not that of ctx
		return err
	}
	s.repeated(s.what.String(), err)
	if s.series.Pause(ctx) {
		return nil
	}
	return cmp.Or(ctx.Err(), err)
}

// unanswered records a failure which shows that the table does not answer, unless an earlier one has.
func (s *sender) unanswered(err error) {
	if s.failure == nil && table.Unanswered(err) {
		s.failure = err
	}
}

// persist sends a request that is not the machine's, and repeats it while it fails transiently. Its answer is awaited for
// answerGrace after the end of ctx, whose error persist then returns.
func (s *sender) persist(ctx context.Context, what string, request func(context.Context) error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	err := retry.Policy{
		Retryable: func(err error) bool { return table.Unanswered(err) && ctx.Err() == nil },
		Schedule:  s.series, Grace: answerGrace,
		OnRetry: func(err error) { s.repeated(what, err) },
	}.Do(ctx, func(ctx context.Context) error {
		sent := time.Now()
		defer func() { s.pace.Timed(sent, time.Now()) }()
		return request(ctx)
	})
	switch {
	case err == nil:
		s.failure = nil
	case ctx.Err() != nil && table.Unanswered(err):
		s.unanswered(err) // no answer came in all that time
		return ctx.Err()
	}
	return err
}

// repeated records a failure of a request that is sent again.
func (s *sender) repeated(what string, err error) {
	s.failure = err
	s.cfg.Log.Debug("queuelock: a request failed and is tried again",
		"queue", s.cfg.Queue.String(), "what", what, "error", err)
}
