package demo

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/queuelock/queuelock/internal/testbed/turns"
)

// columns is the width of the timeline, so that a line stays below 100.
const columns = 84

// marks are what a column of the timeline shows, most important first.
type marks struct {
	killed, holding, waiting, idle, border rune
}

var (
	unicodeMarks = marks{killed: '✗', holding: '█', waiting: '·', idle: ' ', border: '│'}
	asciiMarks   = marks{killed: 'X', holding: '#', waiting: '.', idle: ' ', border: '|'}
)

// timeline draws one row for each worker over the time of the demo.
func timeline(b *strings.Builder, r *Result, m marks) {
	first, last := span(r.Turns)
	if last <= first {
		return
	}
	step := last.Sub(first)/columns + 1
	fmt.Fprintf(b, "%c holding  %c waiting  %c killed while holding   (one column is %s; turns within one share it)\n\n",
		m.holding, m.waiting, m.killed, ms(step))
	for worker := 1; worker <= r.Config.Workers; worker++ {
		row := []rune(strings.Repeat(string(m.idle), columns))
		paint := func(from, to turns.Instant, mark rune) {
			// Rounded, so that a turn does not share the last column of the turn
			// before it. A short turn has one column.
			begin, end := int(from.Sub(first).Round(step)/step), int(to.Sub(first).Round(step)/step)
			for c := begin; c < max(end, begin+1); c++ {
				row[min(c, columns-1)] = mark
			}
		}
		own := of(nameOf(worker), r.Turns)
		for _, t := range own {
			paint(t.Asked, cmp.Or(t.Granted, t.Gone, last), m.waiting)
		}
		for _, t := range own {
			if t.Granted != 0 {
				paint(t.Granted, cmp.Or(t.Ended, t.Gone, last), m.holding)
			}
		}
		for _, t := range own {
			if t.KilledAt != 0 {
				paint(t.KilledAt, t.KilledAt, m.killed)
			}
		}
		fmt.Fprintf(b, "%-9s %c%s%c\n", nameOf(worker), m.border, string(row), m.border)
	}
	end := fmt.Sprintf("%.1f s", last.Sub(first).Seconds())
	fmt.Fprintf(b, "%11s%s%*s\n", "", "0 s", columns-len("0 s"), end)
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
