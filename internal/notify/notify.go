// Package notify passes events to the Logger and the Observer of a client. A slow or blocked one does not delay the
// code that reports.
package notify

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/queuelock/queuelock/event"
	"github.com/queuelock/queuelock/internal/quote"
	"github.com/queuelock/queuelock/ticket"
)

// Waiting is the number of records, and of events, that wait for a slow receiver.
const Waiting = 4096

// Log reports to the Logger and to the Observer of a client. One that Of returns reports what happens in one acquire.
type Log struct {
	*slog.Logger         // never blocks
	to           *outlet // nil: there is neither
	origin       event.Origin
	tickets      *atomic.Int64 // of the acquire
}

// outlet is what all Logs of a client share.
type outlet struct {
	records, events Queue
	observer        event.Observer // nil: none
	panicked        sync.Once

	mu  sync.Mutex
	hot map[string]time.Time // guarded by mu; when a queue was last logged as hot
}

// hotEvery is the time between two warnings that a queue is hot.
const hotEvery = time.Minute

// hotAgain reports whether such a warning is due.
func (o *outlet) hotAgain(queue string, now time.Time) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	maps.DeleteFunc(o.hot, func(_ string, at time.Time) bool { return now.Sub(at) >= hotEvery })
	if _, recent := o.hot[queue]; recent {
		return false
	}
	o.hot[queue] = now
	return true
}

// New returns the Log of a client. The Observer may be nil.
func New(l *slog.Logger, o event.Observer) *Log {
	h := l.Handler()
	if h == slog.DiscardHandler && o == nil {
		return &Log{Logger: l}
	}
	to := &outlet{records: Queue{Capacity: Waiting}, events: Queue{Capacity: Waiting}, observer: o,
		hot: map[string]time.Time{}}
	if h != slog.DiscardHandler {
		l = slog.New(to.records.Handler(h))
	}
	return &Log{Logger: l, to: to}
}

// Of returns the Log of an acquire.
func (l *Log) Of(o event.Origin) *Log {
	if l.to == nil {
		return l
	}
	o.Context = context.WithoutCancel(o.Context)
	return &Log{Logger: l.Logger, to: l.to, origin: o, tickets: new(atomic.Int64)}
}

// Silent reports whether no event has a receiver.
func (l *Log) Silent() bool { return l.to == nil }

// Observed reports whether all events have a receiver: an Observer, or a Logger of each step.
func (l *Log) Observed() bool { return l.reads(slog.LevelDebug) }

// reads reports whether an event that is logged at a level has a receiver.
func (l *Log) reads(level slog.Level) bool {
	return l != nil && l.to != nil && (l.to.observer != nil || l.Enabled(context.Background(), level))
}

// Ticket reports that the acquire was issued a ticket.
func (l *Log) Ticket(t ticket.Number) {
	if l.tickets != nil {
		Send(l, event.Ticketed{Origin: l.Origin(t), Again: l.tickets.Add(1) > 1})
	}
}

// Origin returns the origin of an event that happens now to a ticket of the acquire.
func (l *Log) Origin(t ticket.Number) event.Origin {
	if l == nil || l.to == nil {
		return event.Origin{}
	}
	o := l.origin
	o.Time, o.Ticket = time.Now(), t
	return o
}

// Send reports an event. It allocates nothing if there is no receiver, or no Log.
func Send[E event.Event](l *Log, e E) {
	if l.reads(level(e)) {
		l.send(e)
	}
}

// level returns the level at which an event is logged.
func level[E event.Event](e E) slog.Level {
	switch any(e).(type) {
	case event.Lost:
		return slog.LevelError
	case event.Evicted, event.Throttled:
		return slog.LevelWarn
	case event.Swept, event.Revoked:
		return slog.LevelInfo
	}
	return slog.LevelDebug
}

func (l *Log) send(e event.Event) {
	if l.Enabled(context.Background(), level(e)) {
		l.write(e)
	}
	if l.to.observer != nil {
		l.to.events.Add(int(level(e)), func(dropped int) {
			if dropped > 0 {
				l.observe(event.Dropped{Origin: event.Origin{Time: time.Now(), Context: context.Background()}, Count: dropped})
			}
			l.observe(e)
		})
	}
}

// observe calls the Observer. The first of its panics is logged.
func (l *Log) observe(e event.Event) {
	defer func() {
		if v := recover(); v != nil {
			l.to.panicked.Do(func() {
				l.Error("queuelock: the Observer panicked, and is called again for the next event", "event", fmt.Sprintf("%T", e),
					"panic", v)
			})
		}
	}()
	l.to.observer.Observe(e)
}

// Wait waits until the Observer and the Logger have received everything, or returns an error when ctx ends.
func (l *Log) Wait(ctx context.Context) error {
	if l.to == nil {
		return nil
	}
	if err := l.to.events.Wait(ctx); err != nil {
		return fmt.Errorf("the Observer still has events to take: %w", err)
	}
	if err := l.to.records.Wait(ctx); err != nil {
		return fmt.Errorf("the Logger still has records to take: %w", err)
	}
	return nil
}

// write logs the change of state that an event is.
func (l *Log) write(e event.Event) {
	o := e.From()
	queue := o.Entity + " " + o.Reason
	switch e := e.(type) {
	case event.Ticketed:
		l.Debug("queuelock: took a ticket", "queue", queue, "ticket", o.Ticket, "again", e.Again)
	case event.Queued:
		l.Debug("queuelock: queued", "queue", queue, "ticket", o.Ticket, "ahead", e.Ahead)
	case event.Granted:
		l.Debug("queuelock: granted a lock", "queue", queue, "ticket", o.Ticket, "waited", e.Waited)
	case event.NotAcquired:
		l.Debug("queuelock: did not acquire a lock", "queue", queue, "waited", e.Waited, "error", e.Err)
	case event.Released:
		l.Debug("queuelock: released a lock", "queue", queue, "ticket", o.Ticket, "held", e.Held)
	case event.Lost:
		l.Error("queuelock: lost a lock", "queue", queue, "ticket", o.Ticket, "cause", e.Cause, "error", e.Err)
	case event.Revoked:
		l.Info("queuelock: was asked to give way", "queue", queue, "ticket", o.Ticket, "by", quote.Text(e.By), "why", e.Why)
	case event.Swept:
		l.Info("queuelock: swept expired queue rows", "queue", queue, "expired", e.Expired, "removed", e.Removed)
	case event.Evicted:
		writeEviction(l.Logger, queue, e)
	case event.Throttled:
		if e.Limit == event.KeyRange && l.to.hotAgain(queue, o.Time) {
			l.Warn("queuelock: DynamoDB throttles a queue by the limit of a key range: its entity is hot", "queue", queue,
				"operation", e.Operation)
		}
	}
}

func writeEviction(l *slog.Logger, queue string, e event.Evicted) {
	switch e.By {
	case event.ByExpiry:
		l.Warn("queuelock: evicted holders whose leases had ended", "queue", queue, "ticket", e.Holder, "owner",
			quote.Text(e.Owner), "evicted", e.Count)
	case event.ByOperator:
		l.Warn("queuelock: evicted a fail-closed holder on an operator's request", "queue", queue, "ticket", e.Holder,
			"owner", quote.Text(e.Owner))
	case event.ByOperatorForce:
		l.Warn("queuelock: evicted a holder with a lease on an operator's request", "queue", queue, "ticket", e.Holder,
			"owner", quote.Text(e.Owner))
	}
}
