package notify

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/queuelock/queuelock/internal/group"
)

// Queue makes calls in order, from one goroutine, which ends when the queue is empty. A full queue drops the oldest of
// the calls that weigh least; the next call learns how many were dropped. It is safe for concurrent use.
type Queue struct {
	Capacity int // in calls; required

	runs     group.Group // of run, at most one at a time
	mu       sync.Mutex
	panicked sync.Once // a handler has

	calls   []call // guarded by mu
	dropped int    // guarded by mu; since the last call that was made
	running bool   // guarded by mu
}

type call struct {
	weight int
	f      func(dropped int)
}

// Add makes a call soon. It does not wait for it.
func (q *Queue) Add(weight int, f func(dropped int)) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.calls = append(q.calls, call{weight, f})
	if len(q.calls) > q.Capacity {
		least := 0
		for i, c := range q.calls {
			if c.weight < q.calls[least].weight {
				least = i
			}
		}
		q.calls = slices.Delete(q.calls, least, least+1)
		q.dropped++
	}
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
	for f, dropped := q.take(); f != nil; f, dropped = q.take() {
		f(dropped)
	}
	ended = true
}

// take returns the oldest call; if there is none, the goroutine ends.
func (q *Queue) take() (f func(int), dropped int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.calls) == 0 {
		q.running, q.calls = false, nil
		return nil, 0
	}
	f, dropped = q.calls[0].f, q.dropped
	q.calls, q.dropped = q.calls[1:], 0
	return f, dropped
}

// Handler returns a handler that queues its records for next, by their levels. It waits for next in Enabled, WithAttrs
// and WithGroup, which do no output: a record below its level takes no room.
func (q *Queue) Handler(next slog.Handler) slog.Handler { return handler{q, next} }

type handler struct {
	queue *Queue
	next  slog.Handler
}

// Enabled may be called with a mutex held, and in a goroutine that renews a lease: a panic of next counts as false.
func (h handler) Enabled(ctx context.Context, l slog.Level) (enabled bool) {
	defer func() { _ = recover() }()
	return h.next.Enabled(ctx, l)
}

func (h handler) Handle(ctx context.Context, r slog.Record) error {
	ctx, r = context.WithoutCancel(ctx), r.Clone()
	h.queue.Add(int(r.Level), func(dropped int) {
		defer h.recovered()
		if dropped > 0 && h.Enabled(ctx, slog.LevelWarn) {
			note := slog.NewRecord(time.Now(), slog.LevelWarn,
				"queuelock: records were dropped: there were more than the Logger has taken", 0)
			note.AddAttrs(slog.Int("dropped", dropped))
			_ = h.next.Handle(ctx, note) // as slog.Logger does
		}
		_ = h.next.Handle(ctx, r)
	})
	return nil
}

// recovered ends a panic of next, which must not end the process that holds a lock. The program's own logger hears of
// the first.
func (h handler) recovered() {
	v := recover()
	if v == nil {
		return
	}
	h.queue.panicked.Do(func() {
		defer func() { _ = recover() }() // it may be the same logger
		slog.Default().Error("queuelock: the Logger panicked, and is called again for the next record", "panic", v)
	})
}

func (h handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return h.with(func() slog.Handler { return h.next.WithAttrs(attrs) })
}

func (h handler) WithGroup(name string) slog.Handler {
	return h.with(func() slog.Handler { return h.next.WithGroup(name) })
}

// with returns the handler that next returns; one that panics lacks what was added.
func (h handler) with(next func() slog.Handler) (changed slog.Handler) {
	changed = h
	defer h.recovered()
	return h.queue.Handler(next())
}
