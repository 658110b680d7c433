package demo

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/queuelock/queuelock/cmd/queuelock/internal/demo/timeline"
	"github.com/queuelock/queuelock/cmd/queuelock/internal/display"
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

func outcome(t turns.Turn) string {
	line := fmt.Sprintf("ticket %7s  waited %7s  held %6s", t.Ticket.Short(), ms(t.Granted.Sub(t.Asked)), ms(cmp.Or(t.Ended, t.KilledAt).Sub(t.Granted)))
	if t.Lost() {
		line += "  its lock was lost"
	}
	return line
}

func ms(d time.Duration) string {
	return fmt.Sprintf("%d ms", d.Round(time.Millisecond).Milliseconds())
}

// facts summarizes the result.
func (r *Result) facts() (facts timeline.Facts) {
	report, v := r.Report(), r.Verdict
	facts.Add("grants", "%d: %d workers × %s, in %.1f s", report.Grants, report.Workers, display.Count(report.Rounds, "round"), report.WallSeconds)
	facts.Add("overlaps", "%d", report.Overlaps)
	facts.Add("FIFO inversions", "%d", report.FIFOInversions)
	facts.Add("token regressions", "%d", report.TokenRegressions)
	if v.Lost > 0 {
		facts.Add("lost locks", "%d: a worker was paused or partitioned, and stopped", v.Lost)
	}
	facts.Add("crashes", "%d", report.Crashes)
	if len(v.Recoveries) > 0 && v.Recoveries[0].Took >= 0 {
		facts.Add("recovery", "%s after the kill; the lease is %v", seconds(v.Recoveries[0].Took), Lease)
	}
	if h := report.HandOff; h.P50 != nil {
		facts.Add("hand-over", "p50 %.1f ms, p99 %.1f ms, from the end of a turn to the next", *h.P50, *h.P99)
	}
	facts.Add("per cycle", "%.1f requests, %.1f write units, %.1f read units; %.1f waiting on average",
		report.RequestsPerCycle, report.WCUPerCycle, report.RCUPerCycle, r.waiting())
	problems := r.Problems()
	for _, p := range problems {
		facts.Add("FAILED: "+p, "")
	}
	if len(problems) == 0 {
		facts.Add("OK: one at a time, in order, and a dead holder did not stop the queue.", "")
	}
	return facts
}

// waiting is how many workers waited at a time, on average. Looks and heartbeats
// of waits are most of the requests.
func (r *Result) waiting() float64 {
	var sum time.Duration
	for _, t := range r.Turns {
		if t.Granted != 0 {
			sum += t.Granted.Sub(t.Asked)
		}
	}
	return float64(sum) / float64(max(r.Wall, 1))
}

// Chart returns one row for each worker over the time of the demo.
func (r *Result) Chart() timeline.Chart {
	chart := timeline.Chart{
		Title:   fmt.Sprintf("%d workers take turns at one lock, and one is killed", r.Config.Workers),
		Columns: []string{"ticket", "worker", "from", "waited", "held", "end"}, Facts: r.facts(),
	}
	first, last := span(r.Turns)
	if last <= first {
		return chart
	}
	chart.Length = last.Sub(first)
	for worker := 1; worker <= r.Config.Workers; worker++ {
		row := timeline.Row{Name: nameOf(worker)}
		for _, t := range r.Turns {
			if t.Worker != row.Name {
				continue
			}
			bar := func(kind timeline.Kind, from, to turns.Instant) {
				row.Bars = append(row.Bars, timeline.Bar{Kind: kind, From: from.Sub(first), To: to.Sub(first), Label: "ticket " + t.Ticket.String()})
			}
			bar(timeline.Waiting, t.Asked, cmp.Or(t.Granted, t.Gone, last))
			if t.Granted != 0 {
				bar(timeline.Holding, t.Granted, cmp.Or(t.Ended, t.Gone, last))
			}
			if t.KilledAt != 0 && t.Granted != 0 {
				bar(timeline.Lapsing, t.KilledAt, r.served(t.KilledAt, last))
			}
			if t.KilledAt != 0 {
				bar(timeline.Killed, t.KilledAt, t.KilledAt)
			}
		}
		chart.Rows = append(chart.Rows, row)
	}
	held := slices.DeleteFunc(slices.Clone(r.Turns), func(t turns.Turn) bool { return t.Granted == 0 })
	slices.SortFunc(held, func(a, b turns.Turn) int { return cmp.Compare(a.Granted, b.Granted) })
	for _, t := range held {
		end := "released"
		if t.KilledAt != 0 {
			end = "killed"
		}
		over := cmp.Or(t.Ended, t.Gone, last)
		chart.Table = append(chart.Table, []string{
			t.Ticket.String(), t.Worker, seconds(t.Asked.Sub(first)), ms(t.Granted.Sub(t.Asked)), ms(over.Sub(t.Granted)), end,
		})
	}
	return chart
}

// served returns when the next holder after an instant began; last if there was none.
func (r *Result) served(after, last turns.Instant) turns.Instant {
	for _, t := range r.Turns {
		if t.Granted > after {
			last = min(last, t.Granted)
		}
	}
	return last
}

func span(all []turns.Turn) (first, last turns.Instant) {
	first = turns.Never
	for _, t := range all {
		first = min(first, t.Asked)
		last = max(last, t.Asked, t.Granted, t.Ended, t.Gone)
	}
	return first, last
}
