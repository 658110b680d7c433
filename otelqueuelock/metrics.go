package otelqueuelock

import (
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"
)

// scope is the name of the module, as of its meter and its tracer.
const scope = "github.com/queuelock/queuelock/otelqueuelock"

// The attributes.
const (
	keyReason    = attribute.Key("queuelock.reason")
	keyMode      = attribute.Key("queuelock.mode")
	keyOutcome   = attribute.Key("queuelock.outcome")
	keyCause     = attribute.Key("queuelock.cause")
	keyEntity    = attribute.Key("queuelock.entity")
	keyTicket    = attribute.Key("queuelock.ticket")
	keyAhead     = attribute.Key("queuelock.ahead")
	keyOperation = attribute.Key("db.operation.name")
	keyError     = attribute.Key("error.type")
	keyLimit     = attribute.Key("queuelock.limit")
)

// Option changes what New and Instrument report.
type Option func(*config)

type config struct {
	meters          metric.MeterProvider
	tracers         trace.TracerProvider
	metrics, spans  bool // have the entity
	withoutCapacity bool
}

// WithMeterProvider sets the provider of metrics. The default is the global one.
func WithMeterProvider(p metric.MeterProvider) Option { return func(c *config) { c.meters = p } }

// WithTracerProvider sets the provider of spans. The default is the global one.
func WithTracerProvider(p trace.TracerProvider) Option { return func(c *config) { c.tracers = p } }

// EntityOnSpans adds the attribute queuelock.entity to spans.
func EntityOnSpans() Option { return func(c *config) { c.spans = true } }

// EntityOnMetrics adds the attribute queuelock.entity to the metrics of locks. Each entity is then a time series of its
// own: use it for a small, fixed set of entities.
func EntityOnMetrics() Option { return func(c *config) { c.metrics = true } }

// WithoutCapacity makes Instrument leave ReturnConsumedCapacity as it is. Units are then counted only where the caller
// has asked for them.
func WithoutCapacity() Option { return func(c *config) { c.withoutCapacity = true } }

func newConfig(opts []Option) config {
	c := config{meters: otel.GetMeterProvider(), tracers: otel.GetTracerProvider()}
	for _, opt := range opts {
		opt(&c)
	}
	return c
}

// The bounds of the buckets. Turns and waits last from milliseconds to hours. A margin below zero is a loss.
var (
	seconds = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 1800, 7200}
	margins = []float64{0, .1, .25, .5, 1, 2.5, 5, 10, 15, 20, 25, 30, 60, 300, 1800}
	waiters = []float64{0, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000}
)

// instruments are the metrics of the Observer.
type instruments struct {
	acquire, handover, hold, lag, margin                 metric.Float64Histogram
	depth                                                metric.Int64Histogram
	failures, renewed, losses, evictions, sweeps, missed metric.Int64Counter
	revocations                                          metric.Int64Counter
}

func newInstruments(m metric.Meter) instruments {
	within := func(bounds []float64, name, description string) metric.Float64Histogram {
		return must(m.Float64Histogram(name, metric.WithUnit("s"), metric.WithDescription(description),
			metric.WithExplicitBucketBoundaries(bounds...)))
	}
	histogram := func(name, description string) metric.Float64Histogram { return within(seconds, name, description) }
	counter := func(name, unit, description string) metric.Int64Counter {
		return must(m.Int64Counter(name, metric.WithUnit(unit), metric.WithDescription(description)))
	}
	return instruments{
		acquire:  histogram("queuelock.acquire.duration", "Time from the call of Acquire to its return."),
		handover: histogram("queuelock.handover.duration", "Upper bound of the time for which a lock with waiters was idle before a grant."),
		hold:     histogram("queuelock.hold.duration", "Time for which a lock was held."),
		lag:      histogram("queuelock.heartbeat.lag", "Time by which the renewal of a lease was late."),
		margin:   within(margins, "queuelock.lease.margin", "Time that was left of a lease when it was renewed."),
		depth: must(m.Int64Histogram("queuelock.queue.depth", metric.WithUnit("{waiter}"),
			metric.WithDescription("Waiters ahead on arrival."), metric.WithExplicitBucketBoundaries(waiters...))),
		failures:    counter("queuelock.acquire.failures", "{acquire}", "Acquires that failed."),
		renewed:     counter("queuelock.tickets.renewed", "{ticket}", "Tickets in place of overtaken ones."),
		losses:      counter("queuelock.losses", "{lock}", "Locks lost while they were held."),
		revocations: counter("queuelock.revocations", "{lock}", "Holders of this process that were asked to give way."),
		evictions:   counter("queuelock.evictions", "{holder}", "Holders that this process evicted."),
		sweeps:      counter("queuelock.sweeps", "{row}", "Expired rows of waiters that this process removed."),
		missed:      counter("queuelock.events.dropped", "{event}", "Events that were not reported."),
	}
}

// must reports an error as OpenTelemetry does. The instrument works all the same, as one that records nothing.
func must[I any](i I, err error) I {
	if err != nil {
		otel.Handle(err)
	}
	return i
}
