package chaos

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/queuelock/queuelock/internal/testbed/fault"
)

// Result is what a run has shown.
type Result struct {
	Report
	History *History
}

// Report is the figures of a run, for machines.
type Report struct {
	Seed            uint64         `json:"seed"`
	Seconds         float64        `json:"seconds"`
	Workers         int            `json:"workers"`
	Entities        int            `json:"entities"`
	LeaseSeconds    float64        `json:"lease_seconds"`
	Processes       int            `json:"processes"` // workers started, replacements included
	Turns           int            `json:"turns"`
	TurnsPerEntity  map[string]int `json:"turns_per_entity"`
	LedgerTurns     int            `json:"ledger_turns"`
	Blocks          int            `json:"blocks"` // of two turns or more
	Followed        int            `json:"turns_begun_in_memory"`
	LongestBlock    int            `json:"longest_block"`
	Requests        int            `json:"requests"`
	Strikes         map[string]int `json:"strikes"`        // on processes and many requests
	RequestFaults   map[string]int `json:"request_faults"` // requests that met each fate
	HoldersKilled   int            `json:"holders_killed"` // whose recovery was judged
	RecoveryMedian  float64        `json:"recovery_median_seconds"`
	RecoveryLongest float64        `json:"recovery_longest_seconds"`
	LongestDrought  float64        `json:"longest_wait_without_a_grant_seconds"`
	Verdict
}

// newResult judges a run that is over.
func newResult(r *run) *Result {
	h := r.History
	v := Judge(&h)
	report := Report{
		Seed: r.Seed, Seconds: h.Ended.Sub(h.Began).Seconds(), Workers: r.Workers, Entities: r.Config.Entities,
		LeaseSeconds: h.TTL.Seconds(), Processes: len(r.crew.Processes), TurnsPerEntity: map[string]int{},
		Strikes: map[string]int{}, RequestFaults: map[string]int{}, HoldersKilled: len(v.Recoveries),
		LongestDrought: v.Drought.Seconds(), Verdict: v,
	}
	if n := len(v.Recoveries); n > 0 {
		report.RecoveryMedian, report.RecoveryLongest = v.Recoveries[n/2].Seconds(), v.Recoveries[n-1].Seconds()
	}
	for _, entity := range h.Entities {
		report.TurnsPerEntity[entity] = 0
		report.LedgerTurns += h.Ledgers[entity].Head.N
	}
	for _, t := range h.Turns {
		if t.Granted != 0 {
			report.Turns++
			report.TurnsPerEntity[t.Entity]++
		}
	}
	report.Blocks, report.Followed, report.LongestBlock = blocks(h.Turns)
	for kind, n := range r.count {
		report.Strikes[kind.String()] = n
	}
	counts, _ := r.proxy.met()
	for fate, n := range counts {
		if report.Requests += n; fate != fault.None {
			report.RequestFaults[fate.String()] = n
		}
	}
	report.Problems = append(report.Problems, r.untried(v)...)
	return &Result{report, &h}
}

// untried says what a run of that length should have tried, and did not: one
// that tries nothing shows nothing.
func (r *run) untried(v Verdict) (missing []string) {
	for kind := range kindNames {
		// What is due at the very end may not find its victim any more.
		planned := slices.ContainsFunc(Plan(r.Seed, r.Duration-10*time.Second, r.History.TTL, r.Workers, r.Config.Entities),
			func(s Strike) bool { return s.Kind == Kind(kind) })
		if planned && r.count[Kind(kind)] == 0 {
			missing = append(missing, fmt.Sprintf("nothing was tried: no %v", Kind(kind)))
		}
	}
	if r.Duration < 30*time.Second {
		return missing
	}
	for what, n := range map[string]int{
		"holder was stopped for longer than its lease": v.Stops, "stale write was refused": v.StaleRefused,
		"undisturbed recovery was measured": len(v.Recoveries), "late write was refused": v.LateRefused,
	} {
		if n == 0 && r.Mistake == "" {
			missing = append(missing, "nothing was tried: no "+what)
		}
	}
	if n, _, _ := blocks(r.Turns); n == 0 {
		missing = append(missing, "nothing was tried: no block")
	}
	for _, entity := range r.History.Entities {
		if r.Ledgers[entity].Head.N == 0 {
			missing = append(missing, "nothing was tried: no turn was written for "+entity)
		}
	}
	return missing
}

// JSON writes the report as one JSON object.
func (r Report) JSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

// shown is how many problems are printed of each run.
const shown = 20

// Print writes the report for people.
func (r Report) Print(w io.Writer) error {
	var err error
	line := func(name, format string, args ...any) {
		if err == nil {
			_, err = fmt.Fprintf(w, "%-22s %s\n", name, fmt.Sprintf(format, args...))
		}
	}
	line("seed", "%d", r.Seed)
	line("duration", "%.0f s, %d workers (%d processes in all), %d entities, lease %g s", r.Seconds, r.Workers, r.Processes, r.Entities, r.LeaseSeconds)
	line("turns", "%d, of which %d wrote into the ledger", r.Turns, r.LedgerTurns)
	for _, entity := range slices.Sorted(maps.Keys(r.TurnsPerEntity)) {
		line("  "+entity, "%d", r.TurnsPerEntity[entity])
	}
	line("blocks", "%d, in which %d turns followed in memory; the longest is of %d", r.Blocks, r.Followed, r.LongestBlock)
	line("faults", "")
	for _, name := range slices.Sorted(maps.Keys(r.Strikes)) {
		line("  "+name, "%d", r.Strikes[name])
	}
	line("requests", "%d, of which", r.Requests)
	for _, name := range slices.Sorted(maps.Keys(r.RequestFaults)) {
		line("  "+name, "%d", r.RequestFaults[name])
	}
	line("recovery", "median %.2f s, longest %.2f s, of %d kills of a holder; others were disturbed:",
		r.RecoveryMedian, r.RecoveryLongest, r.HoldersKilled)
	for _, by := range slices.Sorted(maps.Keys(r.Disturbed)) {
		line("  "+by, "%d", r.Disturbed[by])
	}
	line("longest drought", "%.2f s in which a worker waited and none was served", r.LongestDrought)
	line("stopped holders", "%d for longer than the lease; each knew when it asked", r.Stops)
	line("stale writes", "%d after a loss and %d after a release refused by the fence; %d made, as no worker had been served since",
		r.StaleRefused, r.LateRefused, r.StaleAlone)
	if r.Repeated > 0 {
		line("repeated", "%d transactions by an engine that had forgotten their tokens in a restart", r.Repeated)
	}
	for _, what := range violations {
		line(what, "%d", r.Violations[what])
	}
	for _, p := range r.Problems[:min(len(r.Problems), shown)] {
		line("FAILED", "%s", p)
	}
	if more := len(r.Problems) - shown; more > 0 {
		line("FAILED", "... and %d more", more)
	}
	if len(r.Problems) == 0 && err == nil {
		_, err = fmt.Fprint(w, "\nOK: one at a time, nothing lost, and nothing left.\n")
	}
	return err
}
