package otelqueuelock_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/event"
	"github.com/queuelock/queuelock/heartbeat"
	"github.com/queuelock/queuelock/otelqueuelock"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/ticket"
	"github.com/queuelock/queuelock/waitpolicy"
)

var key = queuelock.Key{Entity: "order-7"}

// telemetry is an SDK with readers in memory.
type telemetry struct {
	reader *sdkmetric.ManualReader
	meters *sdkmetric.MeterProvider
	spans  *tracetest.SpanRecorder
	traces *sdktrace.TracerProvider
}

func newTelemetry(readers ...sdkmetric.Reader) *telemetry {
	s := &telemetry{reader: sdkmetric.NewManualReader(), spans: tracetest.NewSpanRecorder()}
	opts := []sdkmetric.Option{sdkmetric.WithReader(s.reader)}
	for _, r := range readers {
		opts = append(opts, sdkmetric.WithReader(r))
	}
	s.meters = sdkmetric.NewMeterProvider(opts...)
	s.traces = sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(s.spans))
	return s
}

func (s *telemetry) options() []otelqueuelock.Option {
	return []otelqueuelock.Option{otelqueuelock.WithMeterProvider(s.meters), otelqueuelock.WithTracerProvider(s.traces)}
}

// client returns a client that reports to s.
func (s *telemetry) client(t *testing.T, table *queuelocktest.Table, owner string, opts ...otelqueuelock.Option) (*queuelock.Client, *queuelocktest.Client) {
	opts = append(s.options(), opts...)
	db := table.Client(owner, otelqueuelock.Instrument(opts...))
	c, err := queuelock.New(db, table.Name(), queuelock.Config{Owner: owner, Block: 1, Observer: otelqueuelock.New(opts...)})
	ok(t, err)
	t.Cleanup(func() {
		ok(t, c.Close(context.Background()))
	})
	return c, db
}

// points returns what a metric has recorded, as "count sum" of a histogram or the value of a counter, by attributes.
func (s *telemetry) points(t *testing.T, name string) map[string]point {
	t.Helper()
	var all metricdata.ResourceMetrics
	ok(t, s.reader.Collect(t.Context(), &all))
	found := map[string]point{}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			if m.Name == name {
				addPoints(found, m.Data)
			}
		}
	}
	return found
}

// point is a counter's value, or the number and the sum of a histogram's.
type point struct {
	n   uint64
	sum float64
}

func addPoints(found map[string]point, data metricdata.Aggregation) {
	text := func(set attribute.Set) string {
		var all []string
		for _, a := range set.ToSlice() {
			all = append(all, fmt.Sprintf("%s=%s", strings.TrimPrefix(string(a.Key), "queuelock."), a.Value.String()))
		}
		return strings.Join(all, " ")
	}
	switch data := data.(type) {
	case metricdata.Histogram[float64]:
		for _, p := range data.DataPoints {
			found[text(p.Attributes)] = point{p.Count, p.Sum}
		}
	case metricdata.Histogram[int64]:
		for _, p := range data.DataPoints {
			found[text(p.Attributes)] = point{p.Count, float64(p.Sum)}
		}
	case metricdata.Sum[int64]:
		for _, p := range data.DataPoints {
			found[text(p.Attributes)] = point{1, float64(p.Value)}
		}
	case metricdata.Gauge[float64]:
		for _, p := range data.DataPoints {
			found[text(p.Attributes)] = point{1, p.Value}
		}
	case metricdata.Sum[float64]:
		for _, p := range data.DataPoints {
			found[text(p.Attributes)] = point{1, p.Value}
		}
	}
}

// want checks that a metric has one point with those attributes.
func (s *telemetry) want(t *testing.T, name, attributes string, n uint64, least, most float64) {
	t.Helper()
	points, sorted := s.points(t, name), strings.Fields(attributes)
	slices.Sort(sorted)
	attributes = strings.Join(sorted, " ")
	if p, ok := points[attributes]; !ok || p.n != n || p.sum < least || p.sum > most {
		t.Errorf("%s has %v, want %d from %v to %v of {%s}", name, points, n, least, most, attributes)
	}
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func acquire(t *testing.T, ctx context.Context, c *queuelock.Client, opts ...queuelock.AcquireOption) *queuelock.Lock {
	t.Helper()
	lock, err := c.Acquire(ctx, key, waitpolicy.For(time.Hour), opts...)
	ok(t, err)
	return lock
}

func release(t *testing.T, lock *queuelock.Lock) {
	t.Helper()
	if err := lock.Release(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestTurns lets b wait behind a, and compares what is reported of b.
func TestTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t, queuelocktest.WithLatency(2*time.Millisecond))
		a, b := newTelemetry(), newTelemetry()
		first, _ := a.client(t, table, "a")
		second, db := b.client(t, table, "b", otelqueuelock.EntityOnSpans())
		ctx, work := a.traces.Tracer("test").Start(t.Context(), "work of a")
		held := acquire(t, ctx, first, otelqueuelock.WithTrace(ctx))
		time.AfterFunc(10*time.Second, func() { release(t, held) })
		parentCtx, parent := b.traces.Tracer("test").Start(t.Context(), "work of b")
		asked := time.Now()
		lock := acquire(t, parentCtx, second)
		granted := time.Now()
		time.Sleep(70 * time.Second)
		called := time.Now()
		release(t, lock)
		time.Sleep(time.Second) // until the queue is idle
		_, err := second.Acquire(t.Context(), key, waitpolicy.For(time.Second))
		ok(t, err)
		if _, err := first.Acquire(t.Context(), key, waitpolicy.NoWait); err == nil {
			t.Error("the lock is not busy")
		}
		synctest.Wait()

		const mode = "mode=exclusive reason=lock"
		b.want(t, "queuelock.acquire.duration", mode+" outcome=granted", 2, 10, 13)
		a.want(t, "queuelock.acquire.duration", mode+" outcome=not_acquired", 1, .002, 1)
		b.want(t, "queuelock.queue.depth", mode, 2, 0, 0)
		b.want(t, "queuelock.handover.duration", mode, 1, .001, 3)
		b.want(t, "queuelock.hold.duration", mode+" outcome=released", 1, 70, 71)
		b.want(t, "queuelock.lease.margin", mode, 2, 2*27, 2*32)
		b.want(t, "queuelock.heartbeat.lag", mode, 2, 0, .1)
		compareRequests(t, b, db)

		spans := b.spans.Ended()
		names := []string{}
		for _, s := range spans {
			names = append(names, s.Name())
		}
		if got := fmt.Sprint(names); got != "[queuelock acquire queuelock hold queuelock release queuelock acquire]" {
			t.Fatal(got)
		}
		wait, hold, end := spans[0], spans[1], spans[2]
		for i, want := range []struct {
			span        sdktrace.ReadOnlySpan
			begins, end time.Time
		}{{wait, asked, granted}, {hold, granted, called}, {end, called, called.Add(2 * time.Millisecond)}} {
			if !near(want.span.StartTime(), want.begins) || !near(want.span.EndTime(), want.end) {
				t.Errorf("%s from %v to %v, want %v to %v", names[i], want.span.StartTime(), want.span.EndTime(), want.begins, want.end)
			}
			if want.span.Parent().SpanID() != parent.SpanContext().SpanID() {
				t.Errorf("%s is not in the trace of its caller", names[i])
			}
			if !slices.Contains(want.span.Attributes(), attribute.String("queuelock.entity", "order-7")) {
				t.Errorf("%s has no entity", names[i])
			}
		}
		var steps []string
		for _, e := range wait.Events() {
			steps = append(steps, e.Name)
		}
		if got := fmt.Sprint(steps); got != "[ticket queued granted]" {
			t.Error(got)
		}
		if links := wait.Links(); len(links) != 1 || links[0].SpanContext.SpanID() != work.SpanContext().SpanID() || !links[0].SpanContext.IsRemote() {
			t.Errorf("it waited for %v, want one link to the work of a", links)
		}
		for _, s := range a.spans.Ended() {
			for _, attr := range s.Attributes() {
				if attr.Key == "queuelock.entity" {
					t.Errorf("%s has the entity", s.Name())
				}
			}
		}
	})
}

// near compares instants, of which some are on either side of a request.
func near(a, b time.Time) bool { return a.Sub(b).Abs() <= 10*time.Millisecond }

// compareRequests compares the requests and units that were reported with those that the table has counted.
func compareRequests(t *testing.T, s *telemetry, db *queuelocktest.Client) {
	t.Helper()
	sent, units := map[string]float64{}, map[string]float64{}
	for text, p := range s.points(t, "queuelock.requests") {
		operation, _, _ := strings.Cut(strings.TrimPrefix(text, "db.operation.name="), " ")
		sent[operation] += p.sum
	}
	for text, p := range s.points(t, "queuelock.capacity") {
		units[strings.TrimPrefix(text, "db.operation.name=")] += p.sum
	}
	for operation, tally := range db.Counts() {
		if sent[operation] != float64(tally.Sent) {
			t.Errorf("%v requests %s, the table has counted %d", sent[operation], operation, tally.Sent)
		}
		answered := tally.ReadUnits + tally.WriteUnits
		if missing := answered - units[operation]; missing < 0 || missing > float64(tally.FailedConditions) || math.IsNaN(missing) {
			t.Errorf("%v units of %s, the table has counted %v", units[operation], operation, answered)
		}
	}
	if len(sent) == 0 || len(units) == 0 {
		t.Errorf("requests %v, units %v", sent, units)
	}
}

// TestRetries counts each attempt of the SDK, by its outcome and by the limit of a throttle.
func TestRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		s := newTelemetry()
		c, db := s.client(t, table, "a", otelqueuelock.WithoutCapacity())
		release(t, acquire(t, t.Context(), c))
		before := s.points(t, "queuelock.requests")
		db.Inject(queuelocktest.Throttle(event.UnknownLimit).Times(1))
		db.Inject(queuelocktest.Throttle(event.KeyRange).Times(1))
		_, err := c.Viewer().Inspect(t.Context(), key)
		ok(t, err)
		after := s.points(t, "queuelock.requests")
		refused, hot := "db.operation.name=Query error.type=ThrottlingException", "db.operation.name=Query error.type=ThrottlingException limit=key_range"
		if answered := "db.operation.name=Query"; after[refused].sum != 1 || after[hot].sum != 1 || after[answered].sum != before[answered].sum+1 {
			t.Errorf("%v, then %v", before, after)
		}
		if units := s.points(t, "queuelock.capacity"); len(units) != 0 {
			t.Errorf("units without ReturnConsumedCapacity: %v", units)
		}
	})
}

// TestAges reads the ages of the oldest wait and of the oldest hold, which have not ended.
func TestAges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table, s := queuelocktest.NewTable(t), newTelemetry()
		c, _ := s.client(t, table, "a")
		ages := func() string {
			synctest.Wait()
			hold, wait := s.points(t, "queuelock.hold.age"), s.points(t, "queuelock.wait.age")
			return fmt.Sprintf("%v %v", hold, wait)
		}
		want := func(when, hold, wait string) {
			t.Helper()
			of := func(seconds string) string {
				if seconds == "" {
					return "map[]"
				}
				return "map[mode=exclusive reason=lock:{1 " + seconds + "}]"
			}
			if got := ages(); got != of(hold)+" "+of(wait) {
				t.Errorf("%s: %s, want %s and %s", when, got, of(hold), of(wait))
			}
		}
		want("before", "", "")
		held := acquire(t, t.Context(), c)
		time.Sleep(10 * time.Second)
		other, err := c.Acquire(t.Context(), queuelock.Key{Entity: "order-8"}, waitpolicy.NoWait)
		ok(t, err)
		wait, leave := context.WithCancel(t.Context())
		go func() {
			if _, err := c.Acquire(wait, key, waitpolicy.Forever); err == nil {
				t.Error("the lock is not busy")
			}
		}()
		time.Sleep(100 * time.Second)
		want("after 110 s", "110", "100")
		release(t, other)
		want("after a later one was released", "110", "100")
		leave()
		want("after the wait was cancelled", "110", "")
		next := make(chan *queuelock.Lock)
		go func() { next <- acquire(t, t.Context(), c) }()
		time.Sleep(time.Second)
		want("while another waits", "111", "1")
		release(t, held)
		held = <-next
		time.Sleep(time.Second)
		want("after the hand-off", "1", "")
		release(t, held)
		want("in the end", "", "")

		o := otelqueuelock.New(s.options()...)
		from := event.Origin{Time: time.Now(), Context: t.Context(), Acquire: 1, Entity: "e", Reason: "lock"}
		o.Observe(event.Granted{Origin: from})
		from.Acquire = 2
		o.Observe(event.Queued{Origin: from})
		want("of events alone", "0", "0")
		o.Observe(event.Dropped{Origin: event.Origin{Context: t.Context()}, Count: 1})
		want("after events were dropped", "", "")
		from.Acquire = 3
		o.Observe(event.Granted{Origin: from})
		o.Observe(event.Lost{Origin: from, Cause: heartbeat.Expired})
		want("after a loss", "", "")
	})
}

// TestRareEvents reports each event that does not come in a quiet turn.
func TestRareEvents(t *testing.T) {
	s := newTelemetry()
	report(t, otelqueuelock.New(append(s.options(), otelqueuelock.EntityOnMetrics())...))
	const mode = "entity=e mode=semaphore reason=r"
	s.want(t, "queuelock.tickets.renewed", mode, 1, 1, 1)
	s.want(t, "queuelock.losses", "cause=unreachable "+mode, 1, 1, 1)
	s.want(t, "queuelock.hold.duration", mode+" outcome=lost", 1, 5, 5)
	s.want(t, "queuelock.hold.duration", mode+" outcome=unknown", 1, 6, 6)
	s.want(t, "queuelock.evictions", "cause=expiry entity=e reason=r", 1, 3, 3)
	s.want(t, "queuelock.evictions", "cause=operator_force entity=e reason=r", 1, 1, 1)
	s.want(t, "queuelock.revocations", mode, 1, 1, 1)
	s.want(t, "queuelock.sweeps", "entity=e reason=r", 1, 4, 4)
	s.want(t, "queuelock.events.dropped", "", 1, 7, 7)
	for _, outcome := range []string{"cancelled", "unavailable", "closed", "not_acquired", "error"} {
		s.want(t, "queuelock.acquire.duration", mode+" outcome="+outcome, 1, 2, 2)
		s.want(t, "queuelock.acquire.failures", mode+" outcome="+outcome, 1, 1, 1)
	}
	if n := len(s.spans.Ended()); n != 8 { // a loss, a release with its turn, and five calls
		t.Errorf("%d spans", n)
	}
}

// report reports events that are rare.
func report(t *testing.T, o event.Observer) {
	from := event.Origin{
		Time: time.Now(), Context: t.Context(), Acquire: 1, Entity: "e", Reason: "r", Mode: event.Semaphore, Ticket: ticket.FromUint64(7),
	}
	for _, e := range []event.Event{
		event.Ticketed{Origin: from, Again: true},
		event.Lost{Origin: from, Held: 5 * time.Second, Cause: heartbeat.Unreachable},
		event.Released{Origin: from, Held: 6 * time.Second, Err: queuelock.ErrLost},
		event.Evicted{Origin: from, Count: 3},
		event.Evicted{Origin: from, Count: 1, By: event.ByOperatorForce},
		event.Revoked{Origin: from, By: "b", Why: "a hotfix"},
		event.Swept{Origin: from, Expired: 5, Removed: 4},
		event.Dropped{Origin: from, Count: 7},
	} {
		o.Observe(e)
	}
	for _, err := range []error{
		fmt.Errorf("%w: %w", queuelock.ErrNotAcquired, context.Canceled), queuelock.ErrUnavailable, queuelock.ErrClosed,
		queuelock.ErrNotAcquired, queuelock.ErrGone,
	} {
		o.Observe(event.NotAcquired{Origin: from, Waited: 2 * time.Second, Err: err})
	}
}
