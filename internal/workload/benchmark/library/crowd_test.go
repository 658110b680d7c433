package library_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/internal/workload/benchmark/scenario"
)

// TestCrowd measures crowds of this library. The processes are clients of one process here.
func TestCrowd(t *testing.T) {
	for _, s := range scenario.All {
		if s.Name != "crowd" {
			continue
		}
		for i, v := range s.Variants(quick) {
			if locktest.UnderRace && i > 0 {
				continue // as long as all others together
			}
			locktest.InBubble(t, v.Name, func(t *testing.T) {
				values := measure(t, v, roundTrip)
				if values["turns"] < 50 {
					t.Errorf("%.0f turns a second", values["turns"])
				}
				if values["write units"] <= 0 || values["write units"] > 5 {
					t.Errorf("a turn costs %.2f write units", values["write units"])
				}
			})
		}
	}
}

// mutex is a lock that fails after some turns.
type mutex struct {
	free  chan struct{}
	turns int // guarded by free
	fails int
}

var errBroken = errors.New("broken")

func (m *mutex) Acquire(ctx context.Context, _ string) (scenario.Release, error) {
	select {
	case <-m.free:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return func(context.Context) error {
		defer func() { m.free <- struct{}{} }()
		if m.turns++; m.turns == m.fails {
			return errBroken
		}
		return nil
	}, nil
}

func (m *mutex) Try(context.Context, string) (scenario.Release, error) { return nil, errBroken }

// TestCrowdCounts counts the turns of the measurement alone, and reports a lock that fails.
func TestCrowdCounts(t *testing.T) {
	for name, fails := range map[string]int{"Works": 0, "FailsBefore": 1, "FailsWithin": 60} {
		locktest.InBubble(t, name, func(t *testing.T) {
			m := &mutex{free: make(chan struct{}, 1), fails: fails}
			m.free <- struct{}{}
			begun := time.Now()
			done, err := scenario.Crowd{Goroutines: 4, Hold: 0.01, Before: 0.5, Seconds: 1}.Do(t.Context(), m)
			if fails > 0 != errors.Is(err, errBroken) {
				t.Errorf("the error is %v", err)
			}
			if fails == 0 && (done.Cycles < 99 || done.Cycles > 101 || done.Seconds != 1) {
				t.Errorf("%d turns of 10 ms in %v s", done.Cycles, done.Seconds)
			}
			if took := time.Since(begun); took > 1600*time.Millisecond {
				t.Errorf("it took %v", took)
			}
		})
	}
}
