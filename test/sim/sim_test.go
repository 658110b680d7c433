package sim_test

import (
	"cmp"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/queuelock/queuelock/clause"
	"github.com/queuelock/queuelock/internal/planted"
	"github.com/queuelock/queuelock/internal/testbed/conditions"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/test/sim"
)

var (
	seeds   = flag.Int("sim.seeds", 0, "how many `runs`, each of another seed; 0: few")
	first   = flag.Uint64("sim.seed", 1, "the first `seed`; the others follow it; 0: a random one")
	replays = flag.Int("sim.replays", 0, "how many seeds are run twice and compared, by their `number`; 0: few")
	kept    = flag.String("sim.histories", os.TempDir(), "the `folder` for the histories of runs that failed")
	left    = flag.String("sim.leave", "", "`conditions` of the library's writes that are left out, as \"CLAIM: room; SWEEP: *\"")
	judged  = flag.Bool("sim.writes", true, "judge whether a write of package queue describes each change")
	blocks  = flag.String("sim.blocks", "half", "in `which` runs workers wait in blocks of tickets: half, all or none")
	lengths = flag.String("sim.uneven", "half", "in `which` runs turns may be of any lengths: half, all or none")
	refused = flag.String("sim.disturbed", "half", "in `which` runs DynamoDB refuses credentials, rights and clocks: half, all or none")
	minutes = flag.Int("sim.minutes", 0, "simulated `minutes` of each run; 0: 10, or 1 under the race detector")
)

// TestSim runs seeds, and prints them.
func TestSim(t *testing.T) {
	from := *first
	if from == 0 {
		from = rand.Uint64() >> 16
	}
	t.Logf("seeds %d to %d", from, from+uint64(*seeds)-1)
	var total sum
	begun := time.Now()
	for i := range uint64(*seeds) {
		if total.add(run(t, from+i)); t.Failed() {
			break
		}
	}
	total.print(t, time.Since(begun))
	if 100*total.tally["unchecked histories"] > total.runs {
		t.Error("too many histories were too wide to be checked")
	}
	if total.runs >= 200 {
		for _, what := range []string{"by name", "to waiters that had left", "full", "superseded", "asked", "kept", "computed"} {
			if total.tally[what] == 0 {
				t.Errorf("in %d runs there was none of %q", total.runs, what)
			}
		}
		if share := total.share(total.contests); share < 40 {
			t.Errorf("%.1f %% of the grants in contests are by name, want 40 %% at least", share)
		}
		if total.tally["answered"] <= total.tally["computed"] {
			t.Error("want more results than computations")
		}
		for _, w := range conditions.Shapes() {
			if *judged && !rare.MatchString(w.Name) && total.changes[w.Name] == 0 {
				t.Errorf("in %d runs there was no %s", total.runs, w.Name)
			}
		}
		for _, kind := range []string{"suspend", "answer overtaken", "request sent again", "split transaction", "stuck read", "late", "TTL removes a record"} {
			if total.faults[kind] == 0 {
				t.Errorf("in %d runs there was no fault of the kind %q", total.runs, kind)
			}
		}
	}
}

// rare are the writes that the table makes in few runs, or never: the engine needs no seed.
var rare = regexp.MustCompile(`^(RAISE|SETTLE|EVICT of a fail-closed holder|.* that seeds)$`)

// run plays a seed, and fails the test if anything is violated.
func run(t *testing.T, seed uint64) sim.Report {
	defer func() {
		if p := recover(); p != nil {
			stacks := make([]byte, 1<<16)
			t.Fatalf("seed %d: %v\n%s", seed, p, stacks[:runtime.Stack(stacks, true)])
		}
	}()
	plan := sim.NewPlan(seed, time.Duration(*minutes)*time.Minute)
	plan.AnyWrites = !*judged
	if *blocks == "all" || *blocks == "half" && seed%2 == 0 {
		plan.Block()
	}
	if *lengths == "all" || *lengths == "half" && seed/2%2 == 0 {
		plan.Uneven()
	}
	plan.Disturbed = *refused == "all" || *refused == "half" && seed/4%2 == 0
	report := sim.Run(t, plan)
	if len(report.Violations) > 0 {
		fail(t, report)
	}
	return report
}

// shown is how many violations a failure shows; the history has them all.
const shown = 5

func fail(t *testing.T, report sim.Report) {
	t.Helper()
	file := filepath.Join(*kept, fmt.Sprintf("queuelock-sim-%d.txt", report.Plan.Seed))
	text := fmt.Sprintf("%+v\n\n%s\n%s\n\nlatest requests:\n%s", report.Plan, report.Story, report.History, report.Network)
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Error(err)
	}
	more := ""
	if n := len(report.Violations); n > shown {
		more = fmt.Sprintf("\n(and %d more)", n-shown)
		report.Violations = report.Violations[:shown]
	}
	list := ""
	for _, v := range report.Violations {
		list += "\n  " + v
	}
	if report.Story != "" {
		list += "\n\n" + report.Story
	}
	t.Errorf("seed %d (again: go test ./test/sim -run 'TestSim$' -sim.seed %d -sim.seeds 1; history: %s):%s%s",
		report.Plan.Seed, report.Plan.Seed, file, list, more)
}

// sum is what many runs have seen.
type sum struct {
	runs, peak                                   int
	idle                                         float64
	simulated                                    time.Duration
	tally, contests, faults, operations, changes map[string]int // contests: the tally of the runs that are
}

func (s *sum) add(r sim.Report) {
	s.runs++
	s.simulated += r.Plan.Length
	s.peak, s.idle = max(s.peak, r.Peak), max(s.idle, r.Idle)
	merge(&s.tally, r.Tally)
	merge(&s.faults, r.Faults)
	merge(&s.operations, r.Operations)
	merge(&s.changes, r.Changes)
	if r.Plan.Contest {
		merge(&s.contests, r.Tally)
	}
}

func merge(into *map[string]int, from map[string]int) {
	if *into == nil {
		*into = map[string]int{}
	}
	for what, n := range from {
		(*into)[what] += n
	}
}

func (s *sum) print(t *testing.T, took time.Duration) {
	t.Logf("%d runs, %.0f simulated hours in %v: %v", s.runs, s.simulated.Hours(), took.Round(time.Second), s.tally)
	t.Logf("grants by name: %.1f %%, in contests %.1f %%", s.share(s.tally), s.share(s.contests))
	t.Logf("the longest time for which a lock was free, without a fault before, was %.0f %% of what is allowed", 100*s.idle)
	t.Logf("requests: %v; of one process within a second at most %d", s.operations, s.peak)
	t.Logf("changes of the items of locks: %v", s.changes)
	t.Logf("faults: %v", s.faults)
}

// share is how many percent of the grants are by name.
func (*sum) share(of map[string]int) float64 {
	return 100 * float64(of["by name"]) / float64(max(1, of["grants"]))
}

// TestReplay checks that one seed always gives the same run, so that a failure can be examined again. Runs that take
// several locks at once are left out: the goroutines of one AcquireAll act at the same instant, in an order that the
// scheduler chooses. So do two of seed 1000, as a lease ends under an UpdateAndRelease whose request is stuck.
func TestReplay(t *testing.T) {
	for seed, left := uint64(1000), *replays; left > 0; seed++ {
		plan := sim.NewPlan(seed, time.Duration(min(3, *minutes))*time.Minute)
		if plan.Several > 0 || seed == 1000 {
			continue
		}
		if left--; left%2 == 0 {
			plan.Block()
		}
		once, again := sim.Run(t, plan), sim.Run(t, plan)
		if diff := difference(once.History, again.History); diff != "" {
			t.Errorf("seed %d: two runs differ:\n%s", plan.Seed, diff)
		}
	}
}

func TestMain(m *testing.M) {
	debug.SetGCPercent(400) // a run makes much garbage and keeps little
	// Two goroutines that become ready at one instant run in an order that a program
	// cannot choose. On one core it is the same each time.
	runtime.GOMAXPROCS(1)
	flag.Parse()
	// "make sim" runs more.
	*seeds, *replays, *minutes = cmp.Or(*seeds, locktest.Scaled(6, 2)), cmp.Or(*replays, locktest.Scaled(4, 1)), cmp.Or(*minutes, locktest.Scaled(10, 1))
	planted.Leave = leaves(*left)
	goleak.VerifyTestMain(m)
}

// leaves returns whether a condition is one of those; nil if there are none.
func leaves(those string) func(w clause.Write, condition string) bool {
	if those == "" {
		return nil
	}
	list := strings.Split(those, "; ")
	return func(w clause.Write, condition string) bool {
		return slices.Contains(list, w.Name+": "+condition) || slices.Contains(list, w.Name+": *")
	}
}

// details are what an error says of its cause. Where a deadline ends a request
// at the instant at which the deadline itself is noticed, it is either.
var details = regexp.MustCompile(`( cause=|: unreachable|: expired|; meanwhile | on table ).*`)

// difference shows where two histories differ; empty if they do not. The events of one instant are in any order.
func difference(a, b string) string {
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	for _, lines := range [][]string{x, y} {
		for i := range lines {
			lines[i] = details.ReplaceAllString(lines[i], "")
		}
		slices.Sort(lines)
	}
	for i := range min(len(x), len(y)) {
		if x[i] != y[i] {
			return strings.Join(x[max(0, i-5):i], "\n") +
				"\n- " + strings.Join(x[i:min(i+5, len(x))], "\n- ") + "\n+ " + strings.Join(y[i:min(i+5, len(y))], "\n+ ")
		}
	}
	if len(x) != len(y) {
		return "one is longer than the other"
	}
	return ""
}
