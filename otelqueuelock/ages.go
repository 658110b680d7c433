package otelqueuelock

import (
	"maps"
	"sync"
	"time"

	"go.opentelemetry.io/otel/metric"

	"github.com/queuelock/queuelock/event"
)

// ages has when the waits and the turns of this process began that have not ended, for the gauges of the oldest. Its
// mutex is never held during a call of OpenTelemetry: a blocked exporter of spans must not block the metrics.
type ages struct {
	mu           sync.Mutex
	waits, holds map[place]event.Origin // guarded by mu; the events that began them
}

// place is a call in one queue.
type place struct {
	acquire uint64
	queue   queue
}

func (a *ages) update(e event.Event) {
	from := e.From()
	at := place{from.Acquire, queue{from.Entity, from.Reason}}
	a.mu.Lock()
	defer a.mu.Unlock()
	switch e.(type) {
	case event.Ticketed, event.Queued, event.Moved:
		if _, known := a.waits[at]; !known {
			a.waits[at] = from
		}
	case event.Granted:
		delete(a.waits, at)
		a.holds[at] = from
	case event.NotAcquired:
		maps.DeleteFunc(a.waits, func(p place, _ event.Origin) bool { return p.acquire == at.acquire })
	case event.Released, event.Lost:
		delete(a.holds, at)
	case event.Dropped: // ends may be among them
		clear(a.waits)
		clear(a.holds)
	}
}

// oldest observes the age of the oldest of each series.
func (o *observer) oldest(to metric.Observer, gauge metric.Float64Observable, begun map[place]event.Origin) {
	first := map[series]event.Origin{}
	o.ages.mu.Lock()
	for _, from := range begun {
		s := o.series(from)
		if f, ok := first[s]; !ok || from.Time.Before(f.Time) {
			first[s] = from
		}
	}
	o.ages.mu.Unlock()
	for _, from := range first {
		to.ObserveFloat64(gauge, time.Since(from.Time).Seconds(), o.attributes(from))
	}
}
