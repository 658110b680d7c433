package docs_test

import (
	"fmt"
	"math"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/test/chaos"
	"github.com/queuelock/queuelock/test/sim"
	"github.com/queuelock/queuelock/ticket"
)

const testingPage = "docs/testing.md"

// TestTestingTargets compares the targets of the page of tests with the Makefile and with .ci/run.
func TestTestingTargets(t *testing.T) {
	_, table, _ := strings.Cut(read(t, testingPage), "| target | ")
	table, _, _ = strings.Cut(table, "\n\n")
	makefile, ci, inCI := read(t, "Makefile"), read(t, ".ci/run"), map[string]bool{}
	for _, line := range regexp.MustCompile(`(?m)^make ([a-z-]+)`).FindAllStringSubmatch(ci, -1) {
		inCI[line[1]] = true
	}
	for _, row := range strings.Split(table, "\n")[2:] {
		cells := strings.Split(row, "|")
		for _, target := range regexp.MustCompile("`make ([a-z-]+)`").FindAllStringSubmatch(cells[1], -1) {
			if !strings.Contains(makefile, "\n"+target[1]+":") {
				t.Errorf("there is no make %s", target[1])
			}
			if yes := strings.Contains(cells[5], "yes"); yes != inCI[target[1]] {
				t.Errorf("%s says of make %s that it is in .ci/run: %v", testingPage, target[1], yes)
			}
			delete(inCI, target[1])
		}
	}
	for target := range inCI {
		t.Errorf("%s does not have make %s, which .ci/run calls", testingPage, target)
	}
	value := func(pattern string) string { return matched(t, makefile, pattern) }
	says(t, testingPage, "| %s simulated clusters, of new seeds", value(`(?m)^SEEDS\s+\?= (\d+)$`))
	says(t, testingPage, "for `CHAOS=%s`", value(`(?m)^CHAOS\s+\?= (\w+)$`))
	says(t, testingPage, "yes, %s of fixed seeds |", matched(t, ci, `make sim SEED=1 SEEDS=(\d+)`))
	fuzzed := regexp.MustCompile(`(?m)^func Fuzz`).FindAllString(sources(t, ".", "_test.go"), -1)
	says(t, testingPage, "%d fuzz targets, %s s each", len(fuzzed), value(`\$\(or \$\(FUZZTIME\),(\d+)s\)`))
	says(t, testingPage, "`make test` %s times", value(`\$\(or \$\(RUNS\),(\d+)\)`))
	load := read(t, "test/faults/load_test.go")
	held := regexp.MustCompile(`locktest\.Scaled\(([0-9_]+), (\d+)\)`).FindAllStringSubmatch(load, -1)
	whole := func(i int) string { return commas(strings.ReplaceAll(held[i][1], "_", "")) }
	says(t, testingPage, "%s held locks and %s waiters. `make test` has %s and %s", whole(0), whole(1), held[0][2], held[1][2])
}

// TestTestingPlatforms compares the table of platforms with what is built for them, and the versions of the engines.
func TestTestingPlatforms(t *testing.T) {
	_, table, _ := strings.Cut(read(t, testingPage), "| platform | Go | built and vetted | tested |")
	table, _, _ = strings.Cut(table, "\n\n")
	version := matched(t, read(t, "go.mod"), `(?m)^go (\d+\.\d+)`)
	var built []string
	for _, row := range strings.Split(table, "\n") {
		if cells := strings.Split(row, "|"); len(cells) > 3 && strings.TrimSpace(cells[3]) == "yes" {
			built = append(built, strings.Split(strings.TrimSpace(cells[1]), ", ")...)
			if got := strings.TrimSpace(cells[2]); got != version {
				t.Errorf("%q is of Go %s, and go.mod asks for %s", row, got, version)
			}
		}
	}
	says(t, testingPage, "`go.mod` asks for %s", version)
	cross := read(t, "internal/tools/cross.sh")
	var want []string
	for _, system := range strings.Fields(matched(t, cross, `for os in (.*); do`)) {
		for _, arch := range strings.Fields(matched(t, cross, `for arch in (.*); do`)) {
			want = append(want, system+"/"+arch)
		}
	}
	slices.Sort(built)
	slices.Sort(want)
	if !slices.Equal(built, want) {
		t.Errorf("%s says that %v are built, and make cross builds %v", testingPage, built, want)
	}
	install := read(t, "internal/tools/install.sh")
	says(t, testingPage, "an independent implementation on SQLite: %s, from npm", matched(t, install, `\.tools/dynoxide-([0-9.]+)/`))
	says(t, testingPage, "npm package %s, needs a JDK", matched(t, install, `\.tools/dynamodb-local-([0-9.]+)/`))
	for _, engine := range strings.Split(matched(t, read(t, "Makefile"), `(?m)^ENGINES\s+\?= (\S+)$`), ",") {
		says(t, testingPage, "| `%s` |", engine)
	}
}

// TestSimulatorFigures draws plans of the simulator, and compares the page with them.
func TestSimulatorFigures(t *testing.T) {
	const plans, length = 20_000, 10 * time.Minute
	fewest, most, runs := 99, 0, map[string]int{}
	for seed := range uint64(plans) {
		p := sim.NewPlan(seed, length)
		fewest, most = min(fewest, p.Nodes), max(most, p.Nodes)
		c, m := p.Chances, p.Means
		drawn := map[string]bool{
			"lost requests": c.LoseRequest > 0, "lost answers": c.LoseResponse > 0, "swallowed requests": c.SwallowRequest > 0,
			"swallowed answers": c.SwallowResponse > 0, "slow": c.Slow > 0, "late": c.Late > 0, "repeated": c.Duplicate > 0, "refused": c.Refuse > 0,
			"throttles": m.Throttle > 0, "outages": m.Outage > 0, "hanging reads": m.Stick > 0,
			"partitioned": m.Cut > 0, "paused": m.Freeze > 0, "killed": m.Kill > 0, "replaced": m.Retire > 0, "repeating": c.Stubborn > 0,
		}
		none := m.Suspend == 0
		for name, is := range drawn {
			none = none && !is
			if is {
				runs[name]++
			}
		}
		for name, is := range map[string]bool{
			"none": none, "suspended": m.Suspend > 0, "split": p.Split.Window > 0, "TTL": m.TTL > 0, "early TTL": p.EarlyTTL, "stalls": c.Stall > 0,
			"no dates": p.Dateless, "some dates": c.Undated > 0, "jobs": p.Jobs > 0, "contests": p.Contest, "bells": p.Bells,
			"wider": p.Scope != ticket.ScopeQueue, "several": p.Several > 0,
			"policies": p.Policies > 0, "cancels": p.Cancels, "closes": p.Closes, "once": p.Once > 0,
		} {
			if is {
				runs[name]++
			}
		}
		if p.Contest && p.Length != length/8 {
			t.Fatalf("seed %d: a contest takes %v", seed, p.Length)
		}
	}
	percent := func(name string) int { return int(math.Round(100 * float64(runs[name]) / plans)) }
	says(t, testingPage, "runs %d to %d processes", fewest, most)
	minutes := matched(t, read(t, path.Join(dirNamed(t, "sim"), "norace_test.go")), `usualMinutes, .* = \d+, (\d+),`)
	says(t, testingPage, "is of %s simulated minutes, a contest of an eighth of that", minutes)
	for _, name := range []string{
		"lost requests", "lost answers", "swallowed requests", "swallowed answers", "slow", "late", "repeated", "refused", "throttles", "outages", "hanging reads",
	} {
		says(t, testingPage, "reads that hang | %d %% |", percent(name))
	}
	for _, name := range []string{"partitioned", "paused", "killed", "replaced", "repeating"} {
		says(t, testingPage, "its HTTP client repeats requests | %d %% |", percent(name))
	}
	for row, names := range map[string][]string{
		"a host is suspended: its monotonic clock stops, the table's continues":                                {"suspended"},
		"the items of a transaction become visible one after another":                                          {"split"},
		"TTL deletes rows late; also before their time":                                                        {"TTL", "early TTL"},
		"one goroutine pauses at a request, the rest of its process continues":                                 {"stalls"},
		"answers without dates: of all, or of some processes":                                                  {"no dates", "some dates"},
		"processes that take one turn and end, often by a crash":                                               {"jobs"},
		"contests: many processes want one lock for short turns, and are granted it by name":                   {"contests"},
		"bells, lost, late, repeated and forged":                                                               {"bells"},
		"tickets of a wider scope; most turns take several locks":                                              {"wider", "several"},
		"limits of waiters and groups; waiters that ask holders to give way; closed queues; results of `once`": {"policies", "cancels", "closes", "once"},
		"none of the first two rows, and no suspended host":                                                    {"none"},
	} {
		var shares []string
		for _, name := range names {
			shares = append(shares, fmt.Sprintf("%d %%", percent(name)))
		}
		says(t, testingPage, "| %s | %s |", row, strings.Join(shares, "; "))
	}
	says(t, testingPage, "plants %d mistakes into the library", mistakeCounts(t)["mutants"])
	says(t, testingPage, "has %s runs at most", matched(t, sources(t, dirNamed(t, "sim"), "_test.go"), `const mutantSeeds = (\d+)`))
}

// TestChaosFigures draws a long plan of the chaos run, and compares the page with it.
func TestChaosFigures(t *testing.T) {
	const length, lease = 200_000 * time.Second, 2 * time.Second
	var every [6]string
	var shortest, longest [6]time.Duration
	var holders [6]int
	plan := chaos.Plan(1, length, lease, 16, 4)
	for kind := range every {
		n := 0
		shortest[kind] = time.Hour
		for _, s := range plan {
			if int(s.Kind) != kind {
				continue
			}
			n++
			shortest[kind], longest[kind] = min(shortest[kind], s.Length), max(longest[kind], s.Length)
			if s.Holder {
				holders[kind]++
			}
		}
		every[kind] = fmt.Sprintf("%.0f s", length.Seconds()/float64(n))
		holders[kind] = int(math.Round(10*float64(holders[kind])/float64(n))) * 10
	}
	up := func(kind chaos.Kind) string { return fmt.Sprintf("%.2g s", longest[kind].Seconds()) }
	leases := func(d time.Duration) string { return fmt.Sprintf("%.2f", d.Seconds()/lease.Seconds()) }
	kill, stop := chaos.KillWorker, chaos.StopWorker
	says(t, testingPage, "a worker is killed, in %d %% of the cases a holder just after its grant | %s |", holders[kill], every[kill])
	says(t, testingPage, "stopped for %s to %s leases, in %d %% of the cases a holder | %s |", leases(shortest[stop]), leases(longest[stop]), holders[stop], every[stop])
	says(t, testingPage, "throttled, for up to %s | %s |", up(chaos.ThrottleBurst), every[chaos.ThrottleBurst])
	says(t, testingPage, "after the write, for up to %s | %s |", up(chaos.ResetBurst), every[chaos.ResetBurst])
	says(t, testingPage, "no answer, for up to %s; some arrive later | %s |", up(chaos.HoleBurst), every[chaos.HoleBurst])
	says(t, testingPage, "within %s | %s |", up(chaos.KillEngine), every[chaos.KillEngine])
	command := read(t, path.Join(dirNamed(t, "chaos"), "cmd/main.go"))
	says(t, testingPage, "%s worker processes take turns at %s locks", matched(t, command, `Workers: (\d+)`), matched(t, command, `Entities: (\d+)`))
	says(t, testingPage, "Half of them have %s goroutines", matched(t, command, `Callers: (\d+)`))
}

// TestTestingRecovery compares the bound of the page with that of the tests of clocks.
func TestTestingRecovery(t *testing.T) {
	says(t, testingPage, "within the lease and %v s", locktest.TakenOverWithin.Seconds())
}

// matched returns what the first group of a pattern has found.
func matched(t *testing.T, text, pattern string) string {
	t.Helper()
	found := regexp.MustCompile(pattern).FindStringSubmatch(text)
	if found == nil {
		t.Fatalf("no text matches %s", pattern)
	}
	return found[1]
}
