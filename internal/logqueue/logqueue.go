// Package logqueue keeps a slow or blocked slog.Handler from delaying the code
// that logs.
//
// A Queue passes records to the next handler in order, from one goroutine, which ends
// when the queue is empty. A full queue drops its oldest record; the next record that
// gets through is preceded by a warning with the number of records dropped.
package logqueue

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/queuelock/queuelock/internal/group"
)

// Capacity is the number of records that a Queue holds.
const Capacity = 256

// Queue holds records for handlers. It is safe for concurrent use.
type Queue struct {
	runs    group.Group // of run, at most one at a time
	mu      sync.Mutex
	entries []entry // guarded by mu
	dropped int     // guarded by mu; since the last record that got through
	running bool    // guarded by mu
}

type entry struct {
	ctx    context.Context
	next   slog.Handler
	record slog.Record
}

// Handler returns a handler that queues its records for next. None of its
// methods waits for next, except WithAttrs and WithGroup.
func (q *Queue) Handler(next slog.Handler) slog.Handler { return handler{q, next} }

// Wait waits until the queue is empty, or returns ctx's error.
func (q *Queue) Wait(ctx context.Context) error { return q.runs.Wait(ctx) }

func (q *Queue) add(e entry) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.entries) == Capacity {
		q.entries = q.entries[1:]
		q.dropped++
	}
	q.entries = append(q.entries, e)
	if !q.running {
		q.running = true
		q.runs.Run(q.run)
	}
}

func (q *Queue) run() {
	for e, dropped, ok := q.take(); ok; e, dropped, ok = q.take() {
		if dropped > 0 {
			note := slog.NewRecord(time.Now(), slog.LevelWarn, "queuelock: the logger is slow, and records were dropped", 0)
			note.AddAttrs(slog.Int("dropped", dropped))
			e.pass(note)
		}
		e.pass(e.record)
	}
}

// take returns the oldest entry; if there is none, the goroutine ends.
func (q *Queue) take() (e entry, dropped int, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.entries) == 0 {
		q.running, q.entries = false, nil
		return entry{}, 0, false
	}
	e, dropped = q.entries[0], q.dropped
	q.entries, q.dropped = q.entries[1:], 0
	return e, dropped, true
}

func (e entry) pass(r slog.Record) {
	if e.next.Enabled(e.ctx, r.Level) {
		_ = e.next.Handle(e.ctx, r) // as slog.Logger does
	}
}

type handler struct {
	queue *Queue
	next  slog.Handler
}

// Enabled is always true: next may block here too, and is asked later.
func (h handler) Enabled(context.Context, slog.Level) bool { return true }

func (h handler) Handle(ctx context.Context, r slog.Record) error {
	h.queue.add(entry{context.WithoutCancel(ctx), h.next, r.Clone()})
	return nil
}

func (h handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return h.queue.Handler(h.next.WithAttrs(attrs))
}

func (h handler) WithGroup(name string) slog.Handler { return h.queue.Handler(h.next.WithGroup(name)) }
