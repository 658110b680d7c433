package notify

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/queuelock/queuelock/internal/group"
)

// Queue makes calls in order, from one goroutine, which ends when the queue is empty. A full queue drops its oldest
// call; the next call learns how many were dropped. It is safe for concurrent use.
type Queue struct {
	Capacity int // in calls; required

	runs    group.Group // of run, at most one at a time
	mu      sync.Mutex
	calls   []func(dropped int) // guarded by mu
	dropped int                 // guarded by mu; since the last call that was made
	running bool                // guarded by mu
}

// Add makes a call soon. It does not wait for it.
func (q *Queue) Add(call func(dropped int)) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.calls) == q.Capacity {
		q.calls = q.calls[1:]
		q.dropped++
	}
	q.calls = append(q.calls, call)
	if !q.running {
		q.running = true
		q.runs.Run(q.run)
	}
}

// Wait waits until the queue is empty, or returns ctx's error.
func (q *Queue) Wait(ctx context.Context) error { return q.runs.Wait(ctx) }

func (q *Queue) run() {
	ended := false
	defer func() {
		if !ended { // a call has ended the goroutine
			q.runs.Run(q.run)
		}
	}()
	for call, dropped := q.take(); call != nil; call, dropped = q.take() {
		call(dropped)
	}
	ended = true
}

// take returns the oldest call; if there is none, the goroutine ends.
func (q *Queue) take() (call func(int), dropped int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.calls) == 0 {
		q.running, q.calls = false, nil
		return nil, 0
	}
	call, dropped = q.calls[0], q.dropped
	q.calls, q.dropped = q.calls[1:], 0
	return call, dropped
}

// Handler returns a handler that queues its records for next. None of its methods waits for next, except WithAttrs and
// WithGroup.
func (q *Queue) Handler(next slog.Handler) slog.Handler { return handler{q, next} }

type handler struct {
	queue *Queue
	next  slog.Handler
}

// Enabled is always true: next may block here too, and is asked later.
func (h handler) Enabled(context.Context, slog.Level) bool { return true }

func (h handler) Handle(ctx context.Context, r slog.Record) error {
	ctx, r = context.WithoutCancel(ctx), r.Clone()
	h.queue.Add(func(dropped int) {
		if dropped > 0 {
			note := slog.NewRecord(time.Now(), slog.LevelWarn, "queuelock: the logger is slow, and records were dropped", 0)
			note.AddAttrs(slog.Int("dropped", dropped))
			h.pass(ctx, note)
		}
		h.pass(ctx, r)
	})
	return nil
}

func (h handler) pass(ctx context.Context, r slog.Record) {
	if h.next.Enabled(ctx, r.Level) {
		_ = h.next.Handle(ctx, r) // as slog.Logger does
	}
}

func (h handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return h.queue.Handler(h.next.WithAttrs(attrs))
}

func (h handler) WithGroup(name string) slog.Handler { return h.queue.Handler(h.next.WithGroup(name)) }
