package demo

import (
	"fmt"
	"math"
	"time"

	"github.com/queuelock/queuelock/internal/workload/turns"
)

// Report is the summary of a demo, for machines.
type Report struct {
	Workers          int     `json:"workers"`
	Rounds           int     `json:"rounds"`
	Grants           int     `json:"grants"`
	Overlaps         int     `json:"overlaps"`
	FIFOInversions   int     `json:"fifo_inversions"`
	TokenRegressions int     `json:"token_regressions"`
	Crashes          int     `json:"crashes"`
	Recovered        bool    `json:"recovered"`
	RecoverySeconds  float64 `json:"recovery_seconds"`
	HandOff          HandOff `json:"handoff_ms"`
	// A cycle is one turn, from taking a number to the release, with all the
	// looks and heartbeats in between.
	RequestsPerCycle float64 `json:"requests_per_cycle"`
	WCUPerCycle      float64 `json:"wcu_per_cycle"`
	RCUPerCycle      float64 `json:"rcu_per_cycle"`
	WallSeconds      float64 `json:"wall_seconds"`
}

// HandOff is how long the lock was idle between two turns, in milliseconds.
type HandOff struct {
	P50 *float64 `json:"p50"` // nil: there was no hand-over
	P99 *float64 `json:"p99"`
}

func handOff(sorted []time.Duration) HandOff {
	if len(sorted) == 0 {
		return HandOff{}
	}
	p50 := rounded(milliseconds(turns.Percentile(sorted, 50)), 2)
	p99 := rounded(milliseconds(turns.Percentile(sorted, 99)), 2)
	return HandOff{&p50, &p99}
}

// Report summarizes the result.
func (r *Result) Report() Report {
	v := r.Verdict
	cycles := float64(max(1, v.Grants))
	report := Report{
		Workers: r.Config.Workers, Rounds: r.Config.Rounds, Grants: v.Grants,
		Overlaps: v.Overlaps, FIFOInversions: v.Inversions, TokenRegressions: v.Regressions,
		Crashes: r.Crashes, Recovered: r.recovered(),
		HandOff:          handOff(v.HandOffs),
		RequestsPerCycle: rounded(float64(r.Usage.Requests)/cycles, 2),
		WCUPerCycle:      rounded(r.Usage.WriteUnits/cycles, 2),
		RCUPerCycle:      rounded(r.Usage.ReadUnits/cycles, 2),
		WallSeconds:      rounded(r.Wall.Seconds(), 3),
	}
	if len(v.Recoveries) > 0 && v.Recoveries[0].Took >= 0 {
		report.RecoverySeconds = rounded(v.Recoveries[0].Took.Seconds(), 3)
	}
	return report
}

// recovered reports whether the lock was served again after the kill, in time.
func (r *Result) recovered() bool {
	v := r.Verdict
	return len(v.Recoveries) == 1 && v.Recoveries[0].Took >= 0 && v.Recoveries[0].Took <= Lease+tolerance
}

// Problems describes what is wrong. It is empty if the lock kept its promises.
func (r *Result) Problems() []string {
	v := r.Verdict
	var problems []string
	problem := func(wrong bool, format string, args ...any) {
		if wrong {
			problems = append(problems, fmt.Sprintf(format, args...))
		}
	}
	want := r.Config.Workers * r.Config.Rounds
	problem(v.Grants != want, "%d grants instead of %d", v.Grants, want)
	problem(v.Overlaps > 0, "%d pairs of turns overlap", v.Overlaps)
	problem(v.Inversions > 0, "%d newcomers were served before an earlier waiter", v.Inversions)
	problem(v.Regressions > 0, "%d tickets were not greater than the one before", v.Regressions)
	problem(v.Unfinished > 0, "%d turns have no known end", v.Unfinished)
	problem(r.Crashes != 1, "%d workers were killed instead of 1", r.Crashes)
	if !r.recovered() {
		switch {
		case len(v.Recoveries) != 1:
			problem(true, "%d turns ended by a kill instead of 1", len(v.Recoveries))
		case v.Recoveries[0].Took < 0:
			problem(true, "no worker was served after the kill")
		default:
			problem(true, "the lock was served again only %s after the kill: the lease is %v", seconds(v.Recoveries[0].Took), Lease)
		}
	}
	return problems
}

func rounded(x float64, digits int) float64 {
	scale := math.Pow10(digits)
	return math.Round(x*scale) / scale
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func seconds(d time.Duration) string { return fmt.Sprintf("%.2f s", d.Seconds()) }
