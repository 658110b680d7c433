package otelqueuelock

import (
	"context"
	"errors"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/event"
	"github.com/queuelock/queuelock/heartbeat"
)

// New returns an Observer for queuelock.Config, also of several Clients. A process needs only one. Of several with the
// same provider, a gauge shows the age that one of them has.
func New(opts ...Option) event.Observer {
	c := newConfig(opts)
	meter := c.meters.Meter(scope)
	o := &observer{
		config: c, instruments: newInstruments(meter), tracer: c.tracers.Tracer(scope),
		acquires: map[uint64]map[queue]*acquire{}, counted: map[series]bool{},
		ages: ages{waits: map[place]event.Origin{}, holds: map[place]event.Origin{}},
	}
	o.instruments.missed.Add(context.Background(), 0)
	gauge := func(name, description string) metric.Float64ObservableGauge {
		return must(meter.Float64ObservableGauge(name, metric.WithUnit("s"), metric.WithDescription(description)))
	}
	waits := gauge("queuelock.wait.age", "Age of the oldest wait that has not ended.")
	holds := gauge("queuelock.hold.age", "Age of the oldest lock that is held.")
	must(meter.RegisterCallback(func(_ context.Context, to metric.Observer) error { // a callback of a gauge would be the first Observer's alone
		o.oldest(to, waits, o.ages.waits)
		o.oldest(to, holds, o.ages.holds)
		return nil
	}, waits, holds))
	return o
}

type observer struct {
	config      config
	instruments instruments
	tracer      trace.Tracer
	ages        ages

	mu       sync.Mutex
	acquires map[uint64]map[queue]*acquire // guarded by mu; those under way, by call
	counted  map[series]bool               // guarded by mu; whose counters exist
}

type queue struct{ entity, reason string }

// series identifies a time series of a metric. The entity is empty without EntityOnMetrics.
type series struct {
	queue
	mode event.Mode
}

func (o *observer) series(from event.Origin) series {
	s := series{queue{from.Entity, from.Reason}, from.Mode}
	if !o.config.metrics {
		s.entity = ""
	}
	return s
}

// acquire is what has happened in a call that has not returned.
type acquire struct {
	queued bool
	steps  []step
	links  []trace.Link
}

// step is an event of a span.
type step struct {
	name string
	opts []trace.EventOption
}

// The most steps and links that are kept of one acquire.
const (
	maxSteps = 64
	maxLinks = 8
)

// Observe records an event.
func (o *observer) Observe(e event.Event) {
	o.ages.update(e)
	o.mu.Lock()
	defer o.mu.Unlock()
	m, from := &o.instruments, e.From()
	ctx := from.Context
	o.count(from)
	switch e := e.(type) {
	case event.Ticketed:
		if e.Again {
			m.renewed.Add(ctx, 1, o.attributes(from))
		}
		o.step(from, "ticket")
	case event.Queued:
		o.queued(e)
	case event.Moved:
		o.place(event.Queued(e), "position")
	case event.Granted:
		o.granted(e)
	case event.NotAcquired:
		with := o.attributes(from, keyOutcome.String(outcome(e.Err)))
		m.acquire.Record(ctx, e.Waited.Seconds(), with)
		if !errors.Is(e.Err, queuelock.ErrResult) {
			m.failures.Add(ctx, 1, with)
		}
		o.acquired(from, e.Waited, e.Err)
		delete(o.acquires, from.Acquire)
	case event.Renewed:
		m.lag.Record(ctx, e.Lag.Seconds(), o.attributes(from))
		m.margin.Record(ctx, e.Margin.Seconds(), o.attributes(from))
	case event.Released:
		o.released(e)
	case event.Lost:
		cause := keyCause.String(e.Cause.String())
		m.losses.Add(ctx, 1, o.attributes(from, cause))
		m.hold.Record(ctx, e.Held.Seconds(), o.attributes(from, keyOutcome.String("lost")))
		span := o.span(from, "queuelock hold", from.Time.Add(-e.Held), nil)
		span.AddEvent("lost", trace.WithTimestamp(from.Time), trace.WithAttributes(cause))
		span.SetStatus(codes.Error, "lost: "+e.Cause.String())
		span.End(trace.WithTimestamp(from.Time))
	case event.Revoked:
		m.revocations.Add(ctx, 1, o.attributes(from))
	case event.Evicted:
		m.evictions.Add(ctx, int64(e.Count), o.reason(from, keyCause.String(e.By.String())))
	case event.Swept:
		m.sweeps.Add(ctx, int64(e.Removed), o.reason(from))
	case event.Dropped:
		m.missed.Add(ctx, int64(e.Count))
		clear(o.acquires) // their ends may be among them
	}
}

// count makes the counters of a series at its first acquire. Without a zero, a rate would miss the first increase.
func (o *observer) count(from event.Origin) {
	s, m, ctx := o.series(from), &o.instruments, from.Context
	if from.Acquire == 0 || o.counted[s] {
		return
	}
	o.counted[s] = true
	for _, err := range failures {
		m.failures.Add(ctx, 0, o.attributes(from, keyOutcome.String(outcome(err))))
	}
	for _, cause := range []heartbeat.Cause{heartbeat.Evicted, heartbeat.Expired, heartbeat.Unreachable} {
		m.losses.Add(ctx, 0, o.attributes(from, keyCause.String(cause.String())))
	}
	for _, by := range []event.By{event.ByExpiry, event.ByOperator, event.ByOperatorForce} {
		m.evictions.Add(ctx, 0, o.reason(from, keyCause.String(by.String())))
	}
	m.renewed.Add(ctx, 0, o.attributes(from))
	m.revocations.Add(ctx, 0, o.attributes(from))
	m.sweeps.Add(ctx, 0, o.reason(from))
}

func (o *observer) queued(e event.Queued) {
	o.instruments.depth.Record(e.Context, int64(e.Ahead), o.attributes(e.Origin))
	o.under(e.Origin).queued = true
	o.place(e, "queued")
}

func (o *observer) granted(e event.Granted) {
	m, ctx := &o.instruments, e.Context
	m.acquire.Record(ctx, e.Waited.Seconds(), o.attributes(e.Origin, keyOutcome.String("granted")))
	if e.Handover > 0 {
		m.handover.Record(ctx, e.Handover.Seconds(), o.attributes(e.Origin))
	}
	if !o.under(e.Origin).queued {
		m.depth.Record(ctx, 0, o.attributes(e.Origin))
	}
	o.step(e.Origin, "granted")
	o.acquired(e.Origin, e.Waited, nil)
}

func (o *observer) released(e event.Released) {
	outcome, called := "released", e.Time.Add(-e.Took)
	if e.Err != nil {
		outcome = "unknown"
	}
	o.instruments.hold.Record(e.Context, e.Held.Seconds(), o.attributes(e.Origin, keyOutcome.String(outcome)))
	o.span(e.Origin, "queuelock hold", called.Add(-e.Held), nil).End(trace.WithTimestamp(called))
	span := o.span(e.Origin, "queuelock release", called, nil)
	fail(span, e.Err)
	span.End(trace.WithTimestamp(e.Time))
}

// under returns what is known of an acquire.
func (o *observer) under(from event.Origin) *acquire {
	of := o.acquires[from.Acquire]
	if of == nil {
		of = map[queue]*acquire{}
		o.acquires[from.Acquire] = of
	}
	q := queue{from.Entity, from.Reason}
	if of[q] == nil {
		of[q] = &acquire{}
	}
	return of[q]
}

// step keeps an event of an acquire's span.
func (o *observer) step(from event.Origin, name string, attributes ...attribute.KeyValue) {
	a := o.under(from)
	if len(a.steps) < maxSteps {
		attributes = append(attributes, keyTicket.String(from.Ticket.String()))
		a.steps = append(a.steps, step{name, []trace.EventOption{trace.WithTimestamp(from.Time), trace.WithAttributes(attributes...)}})
	}
}

// place keeps a place in the queue, and a link to the span that the holder has published.
func (o *observer) place(e event.Queued, name string) {
	o.step(e.Origin, name, keyAhead.Int(e.Ahead))
	if e.Serving == nil {
		return
	}
	a, published := o.under(e.Origin), traceOf(e.Serving.Data)
	for _, l := range a.links {
		if l.SpanContext.Equal(published) {
			return
		}
	}
	if published.IsValid() && len(a.links) < maxLinks {
		a.links = append(a.links, trace.Link{SpanContext: published, Attributes: []attribute.KeyValue{
			keyTicket.String(e.Serving.Ticket.String()),
		}})
	}
}

// acquired makes the span of an acquire that has ended.
func (o *observer) acquired(from event.Origin, waited time.Duration, err error) {
	a := o.under(from)
	span := o.span(from, "queuelock acquire", from.Time.Add(-waited), a.links)
	for _, s := range a.steps {
		span.AddEvent(s.name, s.opts...)
	}
	fail(span, err)
	span.End(trace.WithTimestamp(from.Time))
	if of := o.acquires[from.Acquire]; len(of) > 1 {
		delete(of, queue{from.Entity, from.Reason})
	} else {
		delete(o.acquires, from.Acquire)
	}
}

// span starts a span in the trace of the caller.
func (o *observer) span(from event.Origin, name string, start time.Time, links []trace.Link) trace.Span {
	attributes := []attribute.KeyValue{keyReason.String(from.Reason), keyMode.String(from.Mode.String())}
	if !from.Ticket.IsZero() {
		attributes = append(attributes, keyTicket.String(from.Ticket.String()))
	}
	if o.config.spans {
		attributes = append(attributes, keyEntity.String(from.Entity))
	}
	_, span := o.tracer.Start(from.Context, name, trace.WithTimestamp(start), trace.WithLinks(links...), trace.WithAttributes(attributes...))
	return span
}

func fail(span trace.Span, err error) {
	if err != nil {
		span.SetAttributes(keyOutcome.String(outcome(err)))
	}
	if err != nil && !errors.Is(err, queuelock.ErrResult) {
		span.SetStatus(codes.Error, err.Error())
	}
}

// reason returns the attributes of an event about other clients.
func (o *observer) reason(from event.Origin, more ...attribute.KeyValue) metric.MeasurementOption {
	more = append(more, keyReason.String(from.Reason))
	if o.config.metrics {
		more = append(more, keyEntity.String(from.Entity))
	}
	return metric.WithAttributes(more...)
}

func (o *observer) attributes(from event.Origin, more ...attribute.KeyValue) metric.MeasurementOption {
	return o.reason(from, append(more, keyMode.String(from.Mode.String()))...)
}

// failures are errors with each outcome.
var failures = []error{
	queuelock.ErrUnavailable, queuelock.ErrClosed, context.Canceled, queuelock.ErrNotAcquired, queuelock.ErrQueueFull, queuelock.ErrSuperseded,
	errors.New("another"),
}

// outcome classifies the error of a call.
func outcome(err error) string {
	switch {
	case errors.Is(err, queuelock.ErrResult): // of package once: no failure
		return "result"
	case errors.Is(err, queuelock.ErrUnavailable):
		return "unavailable"
	case errors.Is(err, queuelock.ErrClosed):
		return "closed"
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return "cancelled"
	case errors.Is(err, queuelock.ErrQueueFull):
		return "queue_full"
	case errors.Is(err, queuelock.ErrSuperseded):
		return "superseded"
	case errors.Is(err, queuelock.ErrNotAcquired):
		return "not_acquired"
	}
	return "error"
}
