package demo

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/queuelock/queuelock/cmd/queuelock/internal/display"
	"github.com/queuelock/queuelock/internal/workload/turns"
)

// outcome describes a turn that has ended.
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

// Print writes the timeline and the summary, as text.
func (r *Result) Print(w io.Writer, unicode bool) error {
	var b strings.Builder
	b.WriteString("\n" + r.Chart().Text(unicode) + "\n")
	r.summary(&b)
	_, err := io.WriteString(w, b.String())
	return err
}

func (r *Result) summary(b *strings.Builder) {
	report, v := r.Report(), r.Verdict
	line := func(name, format string, args ...any) {
		fmt.Fprintf(b, "%-18s %s\n", name, fmt.Sprintf(format, args...))
	}
	line("grants", "%d: %d workers × %s, in %.1f s", report.Grants, report.Workers, display.Count(report.Rounds, "round"), report.WallSeconds)
	line("overlaps", "%d", report.Overlaps)
	line("FIFO inversions", "%d", report.FIFOInversions)
	line("token regressions", "%d", report.TokenRegressions)
	if v.Lost > 0 {
		line("lost locks", "%d: a worker was paused or partitioned, and stopped", v.Lost)
	}
	line("crashes", "%d", report.Crashes)
	if len(v.Recoveries) > 0 && v.Recoveries[0].Took >= 0 {
		line("recovery", "%s after the kill; the lease is %v", seconds(v.Recoveries[0].Took), Lease)
	}
	if h := report.HandOff; h.P50 != nil {
		line("hand-over", "p50 %.1f ms, p99 %.1f ms, from the end of a turn to the next", *h.P50, *h.P99)
	}
	line("per cycle", "%.1f requests, %.1f write units, %.1f read units; %.1f waiting on average",
		report.RequestsPerCycle, report.WCUPerCycle, report.RCUPerCycle, r.waiting())
	problems := r.Problems()
	if len(problems) == 0 {
		b.WriteString("\nOK: one at a time, in order, and a dead holder did not stop the queue.\n")
		return
	}
	for _, p := range problems {
		fmt.Fprintf(b, "\nFAILED: %s", p)
	}
	b.WriteString("\n")
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
