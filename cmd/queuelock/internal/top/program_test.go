package top

import (
	"context"
	"errors"
	"iter"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/queuelock/queuelock/queue"
)

// TestLines checks that changes are printed once, and that the rate is shared.
func TestLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		scans := 0
		var out strings.Builder
		err := Lines(ctx, &out, Config{Rate: 100, Interval: 2 * time.Second, Source: Source{
			Describe: func(err error) string { return "described " + err.Error() },
			Scan: func(_ context.Context, rate float64, onPage func(float64)) iter.Seq2[*queue.State, error] {
				return func(yield func(*queue.State, error) bool) {
					if rate != 90 {
						t.Errorf("rate %v", rate)
					}
					onPage(20)
					switch scans++; scans {
					case 1, 2:
						yield(idle("a"), nil)
					case 3, 4:
						yield(held("a", 1), nil)
					case 5, 6:
						yield(nil, errors.New("no answer"))
					case 7:
						yield(held("a", 1), nil)
					default:
						cancel()
					}
				}
			},
		}})
		want := `2000-01-01T00:00:00Z 0 of 1 queues busy, 10 RCU/s
2000-01-01T00:00:04Z 1 of 1 queues busy, 10 RCU/s
ENTITY  REASON  MODE       HOLDER  HELD FOR  WAITING  LONGEST WAIT
a       lock    exclusive  vm:1    <1s       0        -
2000-01-01T00:00:08Z described no answer
2000-01-01T00:00:12Z 1 of 1 queues busy, 10 RCU/s
ENTITY  REASON  MODE       HOLDER  HELD FOR  WAITING  LONGEST WAIT
a       lock    exclusive  vm:1    <1s       0        -
`
		if diff := cmp.Diff(want, out.String()); err != nil || diff != "" {
			t.Errorf("%v (-want +got)\n%s", err, diff)
		}
	})
}

// TestRate checks that scans of a small table keep to the rate, whatever the interval.
func TestRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Second)
		defer cancel()
		used := 0.0
		err := Lines(ctx, new(strings.Builder), Config{Rate: 10, Interval: 100 * time.Millisecond, Source: Source{
			Scan: func(_ context.Context, _ float64, onPage func(float64)) iter.Seq2[*queue.State, error] {
				used += 4
				onPage(4)
				return func(func(*queue.State, error) bool) {}
			},
		}})
		if err != nil || used < 800 || used > 910 {
			t.Errorf("%v units in 100 s, want 9 a second; %v", used, err)
		}
	})
}
