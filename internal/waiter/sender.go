package waiter

import (
	"cmp"
	"context"
	"sync/atomic"
	"time"

	"github.com/queuelock/queuelock/event"
	"github.com/queuelock/queuelock/internal/notify"
	"github.com/queuelock/queuelock/internal/retry"
	"github.com/queuelock/queuelock/internal/rows"
	"github.com/queuelock/queuelock/internal/serving"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/sweeper"
	"github.com/queuelock/queuelock/ticket"
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
	what    queue.Doing      // which request that was
	failure failure          // of the last request, if the table did not answer
	row     bool             // the delete of the row will show whether the table answers
	sent    bool             // a write of the machine was sent
}

// failure is an error that other goroutines may read, or nil.
type failure struct{ atomic.Pointer[error] }

func (f *failure) set(err error) {
	if err == nil {
		f.Store(nil)
	} else {
		f.Store(&err)
	}
}

func (f *failure) get() (err error) {
	if at := f.Load(); at != nil {
		err = *at
	}
	return err
}

// request sends the write that the machine asks for. Its answer is awaited for answerGrace after the end of ctx.
//
//go:noinline // what it needs of the stack, a resting waiter does not occupy
func (s *sender) request(ctx context.Context, do *queue.Do) queue.Event {
	extended, cancel := retry.Outlive(ctx, answerGrace)
	defer cancel()
	s.sent = true
	q, sent := s.cfg.Queue, time.Now()
	var rec queue.Record
	var reply queue.Reply
	var err error
	switch do.State {
	case queue.Taking:
		rec, reply, err = serving.Take(extended, q, do.Rider)
	case queue.Evicting:
		var evicted int
		rec, evicted, err = sweeper.Holders(extended, q, do.Holders)
		if reply = serving.ReplyOf(err); evicted > 0 {
			first := queue.Turns(do.Holders)[0]
			notify.Send(s.cfg.Log, event.Evicted{
				Origin: s.cfg.Log.Origin(s.wait.Ticket), Count: evicted, Holder: first.Ticket, Owner: first.Owner,
			})
		}
	case queue.Sweeping:
		var removed int
		removed, err = sweeper.Rows(extended, q, do.Rows)
		if rec, reply = s.wait.Snapshot.Record, serving.ReplyOf(err); err == nil && removed < len(do.Rows) {
			reply = queue.ReplyRefused
		}
		notify.Send(s.cfg.Log, event.Swept{Origin: s.cfg.Log.Origin(s.wait.Ticket), Expired: len(do.Rows), Removed: removed})
	default:
		rec, reply, err = serving.Send(extended, q, do.Write)
		if do.State == queue.Asking && (reply == queue.ReplyApplied || reply == queue.ReplyUnknown) {
			s.cfg.Local.Ring(do.Holder.Bell)
		}
	}
	s.pace.Timed(sent, time.Now())
	return s.replied(ctx, do.State, rec, reply, err)
}

// replied returns the reply to a request.
func (s *sender) replied(ctx context.Context, what queue.Doing, rec queue.Record, reply queue.Reply, err error) queue.Event {
	if reply < queue.ReplyFailed {
		s.failure.set(nil)
	} else {
		s.err, s.what = err, what
		if ctx.Err() != nil && !s.row {
			s.unanswered(err) // no answer came in all that time. Else the delete of the row shows whether the table answers
		}
	}
	return queue.Replied{Reply: reply, Record: rec}
}

// read sends a look. Its answer is awaited after the end of ctx to learn whether the table answers, unless the row's delete
// will show that.
//
//go:noinline // what it needs of the stack, a resting waiter does not occupy
func (s *sender) read(ctx context.Context, turns int, do *queue.Do) queue.Event {
	answered := ctx
	if !s.row {
		extended, cancel := retry.Outlive(ctx, answerGrace)
		defer cancel()
		answered = extended
	}
	t, floor, sent := s.wait.Ticket, do.Floor, time.Now()
	if s.wait.State == queue.Checking {
		t, floor = floor, ticket.Number{}
	}
	var seen queue.Snapshot
	var err error
	if do.Later {
		seen, err = rows.LookAround(answered, s.cfg.Queue, t)
	} else {
		seen, err = rows.Look(answered, s.cfg.Queue, t, floor, turns)
	}
	s.pace.Timed(sent, time.Now())
	return s.looked(ctx, seen, err)
}

// looked returns what a look has come to.
func (s *sender) looked(ctx context.Context, seen queue.Snapshot, err error) queue.Event {
	if err != nil {
		return s.replied(ctx, queue.Looking, queue.Record{}, serving.ReplyOf(err), err)
	}
	s.failure.set(nil)
	return queue.Seen{Snapshot: seen}
}

// pause waits before the attempt that follows a failed request. Any error that it returns ends the series.
func (s *sender) pause(ctx context.Context) error {
	switch {
	case s.attempts(s.what.String()).Again(ctx, s.err):
		return nil
	case table.Unanswered(s.err):
		return cmp.Or(ctx.Err(), s.err)
	}
	return s.err // the end of a context is not that of ctx
}

// unanswered records a failure which shows that the table does not answer, unless an earlier one has.
func (s *sender) unanswered(err error) {
	if s.failure.get() == nil && table.Unanswered(err) {
		s.failure.set(err)
	}
}

// persist sends a request that is not the machine's, and repeats it while it fails transiently. Its answer is awaited for
// answerGrace after the end of ctx, whose error persist then returns.
func (s *sender) persist(ctx context.Context, what string, request func(context.Context) error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	attempts := s.attempts(what)
	attempts.Retryable = func(err error) bool { return table.Unanswered(err) && ctx.Err() == nil }
	err := attempts.Do(ctx, func(ctx context.Context) error {
		extended, cancel := retry.Outlive(ctx, answerGrace)
		defer cancel()
		sent := time.Now()
		defer func() { s.pace.Timed(sent, time.Now()) }()
		return request(extended)
	})
	switch {
	case err == nil:
		s.failure.set(nil)
	case ctx.Err() != nil && table.Unanswered(err):
		s.unanswered(err) // no answer came in all that time
		return ctx.Err()
	}
	return err
}

// attempts is the policy of each request of the step under way.
func (s *sender) attempts(what string) retry.Policy {
	return retry.Policy{
		Retryable: table.Unanswered,
		Schedule:  s.series,
		OnRetry: func(err error) {
			s.failure.set(err)
			s.cfg.Log.Debug("queuelock: a request failed and is tried again",
				"queue", s.cfg.Queue.String(), "what", what, "error", err)
		},
	}
}
