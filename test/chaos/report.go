package chaos

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/queuelock/queuelock/internal/testbed/fault"
	"github.com/queuelock/queuelock/internal/workload/turns"
)

// Result is what a run has shown.
type Result struct {
	Verdict
	History *History
	Turns   int    // that were granted
	Text    string // the figures, for people
}

// shown is how many problems a text has.
const shown = 20

// newResult judges a run that is over.
func newResult(r *run) *Result {
	h := r.History
	v := Judge(&h)
	v.Problems = append(v.Problems, r.untried(v)...)
	result := &Result{Verdict: v, History: &h}
	turns, strikes, faults := map[string]int{}, map[string]int{}, map[string]int{}
	written, requests := 0, 0
	for _, entity := range h.Entities {
		turns[entity] = 0
		written += h.Ledgers[entity].Head.N
	}
	for _, t := range h.Turns {
		if t.Granted != 0 {
			result.Turns++
			turns[t.Entity]++
		}
	}
	for kind, n := range r.count {
		strikes[kind.String()] = n
	}
	counts, _ := r.proxy.met()
	for fate, n := range counts {
		if requests += n; fate != fault.None {
			faults[fate.String()] = n
		}
	}
	var text strings.Builder
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&text, "%-22s %s\n", name, fmt.Sprintf(format, args...))
	}
	each := func(counts map[string]int) {
		for _, name := range slices.Sorted(maps.Keys(counts)) {
			line("  "+name, "%d", counts[name])
		}
	}
	line("seed", "%d", r.Seed)
	line("duration", "%.0f s, %d workers (%d processes in all), %d entities, lease %v",
		h.Ended.Sub(h.Began).Seconds(), r.Workers, len(r.crew.Processes), r.Config.Entities, h.TTL)
	line("turns", "%d, of which %d wrote into the ledger", result.Turns, written)
	each(turns)
	n, followed, longest := blocks(h.Turns)
	line("blocks", "%d, in which %d turns followed in memory; the longest is of %d", n, followed, longest)
	line("faults", "")
	each(strikes)
	line("requests", "%d, of which", requests)
	each(faults)
	var median, most time.Duration
	if n := len(v.Recoveries); n > 0 {
		median, most = v.Recoveries[n/2], v.Recoveries[n-1]
	}
	line("recovery", "median %.2f s, longest %.2f s, of %d kills of a holder; others were disturbed:",
		median.Seconds(), most.Seconds(), len(v.Recoveries))
	each(v.Disturbed)
	line("longest drought", "%.2f s in which a worker waited and none was served", v.Drought.Seconds())
	line("stopped holders", "%d for longer than the lease; each knew when it asked", v.Stops)
	line("stale writes", "%d after a loss and %d after a release refused by the fence; %d made, as no worker had been served since",
		v.StaleRefused, v.LateRefused, v.StaleAlone)
	if v.Repeated > 0 {
		line("repeated", "%d transactions by an engine that had forgotten their tokens in a restart", v.Repeated)
	}
	for _, what := range violations {
		line(what, "%d", v.Violations[what])
	}
	for _, p := range v.Problems[:min(len(v.Problems), shown)] {
		line("FAILED", "%s", p)
	}
	if more := len(v.Problems) - shown; more > 0 {
		line("FAILED", "... and %d more", more)
	}
	if len(v.Problems) == 0 {
		text.WriteString("\nOK: one at a time, nothing lost, and nothing left.\n")
	}
	result.Text = text.String()
	return result
}

// untried says what a run of that length should have tried, and did not: one
// that tries nothing shows nothing.
func (r *run) untried(v Verdict) (missing []string) {
	if r.Restarted {
		if n := r.count[KillEngine]; n != r.Restarts {
			missing = append(missing, fmt.Sprintf("nothing was tried: the engine was killed %d times", n))
		}
		return append(missing, r.unwritten()...)
	}
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
	return append(missing, r.unwritten()...)
}

// unwritten names the locks under which nothing was written.
func (r *run) unwritten() (missing []string) {
	for _, entity := range r.History.Entities {
		if r.Ledgers[entity].Head.N == 0 {
			missing = append(missing, "nothing was tried: no turn was written for "+entity)
		}
	}
	return missing
}

// blocks counts the blocks of two turns or more, the turns in them that followed another in memory, and the turns of the longest.
func blocks(all []turns.Turn) (n, followed, longest int) {
	all = slices.DeleteFunc(slices.Clone(all), func(t turns.Turn) bool { return t.Granted == 0 })
	slices.SortFunc(all, func(a, b turns.Turn) int {
		return cmp.Or(cmp.Compare(a.Entity, b.Entity), cmp.Compare(a.Worker, b.Worker), a.Ticket.Compare(b.Ticket))
	})
	length := 1
	for _, t := range all {
		if !t.Followed {
			length = 1
			continue
		}
		if length == 1 {
			n++
		}
		followed++
		length++
		longest = max(longest, length)
	}
	return n, followed, longest
}
