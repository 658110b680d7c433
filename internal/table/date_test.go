package table_test

import (
	"context"
	"testing"
	"time"

	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
)

// TestFindingOutTheTime checks when the time is read, and how often.
func TestFindingOutTheTime(t *testing.T) {
	ahead := time.Duration(0)
	clock := func() time.Time { return time.Now().Add(ahead) }
	for name, test := range map[string]struct {
		options []queuelocktest.Option
		idle    time.Duration // after the first
		jump    time.Duration // of DynamoDB's clock meanwhile
		want    []int         // requests of the first Date, of one after the idle time, and of the next
		undated bool
	}{
		"known":            {idle: time.Minute, want: []int{1, 0, 0}},
		"idle":             {idle: 15 * time.Minute, want: []int{1, 1, 0}},
		"contradicted":     {idle: 15 * time.Minute, jump: time.Hour, want: []int{1, 2, 0}},
		"without dates":    {options: []queuelocktest.Option{queuelocktest.WithoutDate()}, idle: 14 * time.Minute, want: []int{1, 0, 0}, undated: true},
		"and idle, as one": {options: []queuelocktest.Option{queuelocktest.WithoutDate()}, idle: 15 * time.Minute, want: []int{1, 1, 0}, undated: true},
	} {
		ahead = 0
		locktest.InTable(t, name, func(t *testing.T, tb *queuelocktest.Table) {
			q := queueOn(tb.Client("c"))
			for i, want := range test.want {
				before := tb.Counts()
				locktest.Check(t, q.Date(t.Context()))
				if spent := tb.Counts().Sub(before).Total(); spent.Sent != want || spent.ReadUnits != 0.5*float64(want) {
					t.Errorf("call %d: %+v, want %d reads of half a unit", i, spent, want)
				}
				earliest, latest, known := q.Clock().At(time.Now())
				if known == test.undated || known && (clock().Before(earliest) || clock().After(latest) || latest.Sub(earliest) > 3*time.Second) {
					t.Errorf("call %d: the time is %v to %v, %v, want %v", i, earliest, latest, known, clock())
				}
				if i == 0 {
					time.Sleep(test.idle)
					ahead = test.jump
				}
			}
		}, append(test.options, queuelocktest.WithClock(clock))...)
	}
}

// TestFindingOutTheTimeTogether checks that calls at the same time share a read, that none waits for one that is never answered for
// longer than a time-out, and that each ends with its own context.
func TestFindingOutTheTimeTogether(t *testing.T) {
	many := func(q table.Queue, ctx context.Context) (failed int, took time.Duration) {
		begun, results := time.Now(), make(chan error)
		for range 10 {
			go func() { results <- q.Date(ctx) }()
		}
		for range 10 {
			if err := <-results; err != nil {
				failed++
			}
		}
		return failed, time.Since(begun)
	}
	locktest.InTable(t, "answered", func(t *testing.T, tb *queuelocktest.Table) {
		failed, took := many(queueOn(tb.Client("c")), t.Context())
		if sent := tb.Counts().Total().Sent; failed != 0 || took > 2*time.Second || sent != 1 {
			t.Errorf("%d failed, after %v and %d requests", failed, took, sent)
		}
	}, queuelocktest.WithLatency(time.Second))
	locktest.InTable(t, "not answered", func(t *testing.T, tb *queuelocktest.Table) {
		tb.Inject(queuelocktest.SwallowRequest())
		q := queueOn(tb.Client("c"))
		q.Store = q.Within(2 * time.Second)
		if failed, took := many(q, t.Context()); failed != 10 || took > 4*time.Second {
			t.Errorf("%d failed, after %v", failed, took)
		}
		q.Store = q.Until(time.Now().Add(time.Second))
		if failed, took := many(q, t.Context()); failed != 10 || took > time.Second {
			t.Errorf("%d failed, after %v, want 1 s", failed, took)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second/2)
		defer cancel()
		if failed, took := many(q, ctx); failed != 10 || took > time.Second/2 {
			t.Errorf("%d failed, after %v, want 0.5 s", failed, took)
		}
	})
}
