package library_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/queuelock/queuelock/internal/testbed/engines"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/internal/workload/benchmark/capacity"
	"github.com/queuelock/queuelock/internal/workload/benchmark/library"
	"github.com/queuelock/queuelock/internal/workload/benchmark/scenario"
	"github.com/queuelock/queuelock/queuelocktest"
)

func TestMain(m *testing.M) { os.Exit(engines.Main(m).Run()) }

// roundTrip is the time of a request.
const roundTrip = 4600 * time.Microsecond

var (
	quick = scenario.Size{Quick: true}
	full  = scenario.Size{}
)

// TestCosts pins the requests and units of a cycle in each scenario where they are exact,
// and bounds them where they vary with time. It also checks that the announced bound
// holds, that all requests are counted, and that no item is left.
func TestCosts(t *testing.T) {
	tested := map[string]bool{}
	for _, test := range []struct {
		scenario, variant string
		size              scenario.Size
		roundTrip         time.Duration
		exact             *capacity.Count // of a cycle
		atMost            *capacity.Count
	}{
		{scenario: "idle", exact: cycle(2, 2, 0)},
		{scenario: "first-of-process", exact: cycle(3, 2, 0.5)},
		{scenario: "first-of-key", exact: cycle(2, 2, 0)},
		{scenario: "nowait", exact: cycle(1, 1, 0)},
		// So many requests need time: a tenth of them is enough.
		{scenario: "many-keys", exact: cycle(2, 2, 0), roundTrip: 10 * roundTrip},
		{scenario: "goroutines", atMost: cycle(9, 6, 3)},
		{scenario: "contended", size: quick, variant: "5 ms, 8 contenders", atMost: cycle(20, 7, 14)},
		{scenario: "contended", size: quick, variant: "20 ms, each tenth 400 ms, 8 contenders", atMost: cycle(40, 8, 30)},
		{scenario: "contended", size: full, variant: "0 ms, 2 contenders", atMost: cycle(10, 6, 4)},
		{scenario: "contended", size: full, variant: "1000 ms, 32 contenders", atMost: cycle(100, 12, 100)},
		{scenario: "crash"}, // as a whole
		{scenario: "drain", atMost: cycle(20, 7, 16)},
	} {
		if locktest.UnderRace && test.variant == "1000 ms, 32 contenders" {
			continue // as long as all others together
		}
		tested[test.scenario] = true
		size := quick
		if test.variant != "" {
			size = test.size
		}
		v := variant(t, test.scenario, test.variant, size)
		locktest.InBubble(t, test.scenario+"/"+v.Name, func(t *testing.T) {
			values := measure(t, v, max(roundTrip, test.roundTrip))
			got := values.Cost()
			switch {
			case test.exact != nil && got != *test.exact:
				t.Errorf("a cycle costs %+v, want %+v", got, *test.exact)
			case test.atMost != nil && !got.Within(*test.atMost):
				t.Errorf("a cycle costs %+v, want at most %+v", got, *test.atMost)
			}
			for _, name := range []string{"overlaps", "overtook"} {
				if values[name] != 0 {
					t.Errorf("%s: %v", name, values[name])
				}
			}
			if test.scenario == "crash" && (values["median"] < 2.5 || values["max"] > 3.5) {
				t.Errorf("with a lease of 3 s: %v", values)
			}
		})
	}
	for _, s := range scenario.ForLibrary() {
		if !tested[s.Name] {
			t.Errorf("the scenario %q is not tested", s.Name)
		}
	}
}

// cycle is what a cycle costs, rounded up to whole requests.
func cycle(requests int, write, read float64) *capacity.Count {
	return &capacity.Count{Requests: requests, WriteUnits: write, ReadUnits: read}
}

// variant returns the variant of that name, or the only one.
func variant(t *testing.T, name, variant string, size scenario.Size) scenario.Variant {
	t.Helper()
	for _, s := range scenario.ForLibrary() {
		if s.Name != name {
			continue
		}
		all := s.Variants(size)
		if i := slices.IndexFunc(all, func(v scenario.Variant) bool { return v.Name == variant }); i >= 0 {
			return all[i]
		}
		if variant == "" && len(all) == 1 {
			return all[0]
		}
	}
	t.Fatalf("no variant %q of %q", variant, name)
	return scenario.Variant{}
}

// measure measures once, and checks the bound, the count and the end.
func measure(t *testing.T, v scenario.Variant, roundTrip time.Duration) scenario.Values {
	t.Helper()
	db := queuelocktest.NewTable(t, queuelocktest.WithLatency(roundTrip))
	clients := 0
	table := &library.Table{
		Name: db.Name(), Prefix: "bench",
		Connect: func(opts ...func(*dynamodb.Options)) (*dynamodb.Client, func()) {
			clients++
			return db.Client(fmt.Sprint(clients), opts...).Client, func() {}
		},
	}
	bare := locktest.Must(table.Bare(t.Context(), 10))
	if want := roundTrip.Seconds() * 1000; bare.Mean < want*0.99 || bare.Mean > want*1.01 {
		t.Errorf("a bare request takes %v ms, want %v", bare.Mean, want)
	}
	before := table.Meter.Count()
	values := locktest.Must(table.Try(t.Context(), v, 0, bare))
	spent := table.Meter.Count().Sub(before)
	t.Logf("in all %+v, of at most %+v: %v", spent, v.Most, values)
	if v.Most != (capacity.Count{}) && !spent.Within(v.Most) {
		t.Errorf("%+v was spent, more than %+v", spent, v.Most)
	}
	// The table counts the units of a cancelled request only if it was processed.
	counted, sent := table.Meter.Count(), db.Counts().Total()
	if unsure := 2 * float64(sent.Sent-sent.Applied+2*clients); counted.Requests != sent.Sent ||
		abs(counted.WriteUnits-sent.WriteUnits) > unsure || abs(counted.ReadUnits-sent.ReadUnits) > unsure {
		t.Errorf("counted %+v, and the table %+v", counted, sent)
	}
	if left := db.Items(); len(left) > 0 || table.Left() > 0 {
		t.Errorf("%d items and %d keys are left: %v", len(left), table.Left(), left)
	}
	return values
}

func abs(v float64) float64 { return max(v, -v) }

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
