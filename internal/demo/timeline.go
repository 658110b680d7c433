package demo

import (
	"fmt"
	"strings"
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
	first, last := span(r.Attempts)
	if last <= first {
		return
	}
	step := last.Sub(first)/columns + 1
	fmt.Fprintf(b, "%c holding  %c waiting  %c killed while holding   (one column is %s; turns within one share it)\n\n",
		m.holding, m.waiting, m.killed, ms(step))
	for worker := 1; worker <= r.Config.Workers; worker++ {
		row := []rune(strings.Repeat(string(m.idle), columns))
		paint := func(from, to Instant, mark rune) {
			// Rounded, so that one who follows another does not share its last
			// column; but nothing is too short to be seen.
			begin, end := int(from.Sub(first).Round(step)/step), int(to.Sub(first).Round(step)/step)
			for c := begin; c < max(end, begin+1); c++ {
				row[min(c, columns-1)] = mark
			}
		}
		attempts := of(worker, r.Attempts)
		for _, a := range attempts {
			paint(a.Asked, firstOf(a.Granted, a.Gone, last), m.waiting)
		}
		for _, a := range attempts {
			if a.Granted != 0 {
				paint(a.Granted, firstOf(a.Ended, last), m.holding)
			}
		}
		for _, a := range attempts {
			if a.KilledAt != 0 {
				paint(a.KilledAt, a.KilledAt, m.killed)
			}
		}
		fmt.Fprintf(b, "worker %-2d %c%s%c\n", worker, m.border, string(row), m.border)
	}
	end := fmt.Sprintf("%.1f s", last.Sub(first).Seconds())
	fmt.Fprintf(b, "%11s%s%*s\n", "", "0 s", columns-len("0 s"), end)
}

// span is the time that attempts cover.
func span(attempts []Attempt) (first, last Instant) {
	first = never
	for _, a := range attempts {
		first = min(first, a.Asked)
		last = max(last, a.Asked, a.Granted, a.Ended, a.Gone)
	}
	return first, last
}

func of(worker int, attempts []Attempt) []Attempt {
	var own []Attempt
	for _, a := range attempts {
		if a.Worker == worker {
			own = append(own, a)
		}
	}
	return own
}

// firstOf is the first instant that is known.
func firstOf(instants ...Instant) Instant {
	for _, i := range instants {
		if i != 0 {
			return i
		}
	}
	return 0
}
