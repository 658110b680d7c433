package faultnet

import (
	"fmt"
	"strings"
	"time"
)

// line is one request in the log. Its Network's mutex guards what follows sent.
type line struct {
	request Request
	fault   string
	copy    bool // a copy, or what an abandoned request became
	sent    time.Duration

	applied time.Duration
	result  string // of the engine, empty while it has not been applied
	end     string // what the caller saw instead of the result
	done    bool
}

func (l *line) String() string {
	var b strings.Builder
	name := l.request.Operation
	switch {
	case l.copy:
		name += " (copy)"
	case l.request.Attempt > 1:
		name += fmt.Sprintf(" (attempt %d)", l.request.Attempt)
	}
	fmt.Fprintf(&b, "%10s  %-8s  %-10s  %s", stamp(l.sent), l.request.Client, name, l.request.Describe())
	if l.fault != "" {
		fmt.Fprintf(&b, "  [%s]", l.fault)
	}
	if l.result != "" {
		fmt.Fprintf(&b, "  → %s", l.result)
		if l.applied != l.sent {
			fmt.Fprintf(&b, " at %s", stamp(l.applied))
		}
	}
	if l.end != "" {
		fmt.Fprintf(&b, "  → %s", l.end)
	}
	if !l.done {
		b.WriteString("  … under way")
	}
	return b.String()
}

func stamp(d time.Duration) string { return fmt.Sprintf("%.3fs", d.Seconds()) }

// record has the latest lines.
type record struct {
	lines   []*line
	dropped int
}

func (r *record) add(l *line, limit int) {
	r.lines = append(r.lines, l)
	if over := len(r.lines) - limit; over > 0 {
		r.lines = r.lines[over:]
		r.dropped += over
	}
}

func (r *record) String() string {
	var b strings.Builder
	if r.dropped > 0 {
		fmt.Fprintf(&b, "(%d earlier requests left out)\n", r.dropped)
	}
	for _, l := range r.lines {
		fmt.Fprintln(&b, l)
	}
	return b.String()
}
