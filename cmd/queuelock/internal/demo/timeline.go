package demo

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/queuelock/queuelock/cmd/queuelock/internal/demo/timeline"
	"github.com/queuelock/queuelock/internal/workload/turns"
)

// Chart returns one row for each worker over the time of the demo.
func (r *Result) Chart() timeline.Chart {
	chart := timeline.Chart{
		Title:   fmt.Sprintf("%d workers take turns at one lock, and one is killed", r.Config.Workers),
		Columns: []string{"ticket", "worker", "from", "waited", "held", "end"},
	}
	first, last := span(r.Turns)
	if last <= first {
		return chart
	}
	chart.Length = last.Sub(first)
	for worker := 1; worker <= r.Config.Workers; worker++ {
		row := timeline.Row{Name: nameOf(worker)}
		for _, t := range of(nameOf(worker), r.Turns) {
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
	var summary strings.Builder
	r.summary(&summary)
	for line := range strings.Lines(summary.String()) {
		if line = strings.TrimSpace(line); line != "" {
			name, value, _ := strings.Cut(line, "  ")
			chart.Facts = append(chart.Facts, timeline.Fact{Name: name, Value: strings.TrimSpace(value)})
		}
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

// span is the time that turns cover.
func span(all []turns.Turn) (first, last turns.Instant) {
	first = turns.Never
	for _, t := range all {
		first = min(first, t.Asked)
		last = max(last, t.Asked, t.Granted, t.Ended, t.Gone)
	}
	return first, last
}

func of(worker string, all []turns.Turn) []turns.Turn {
	return slices.DeleteFunc(slices.Clone(all), func(t turns.Turn) bool { return t.Worker != worker })
}
