// Package timeline draws which clients waited for a lock and held it, and when: as text for
// a terminal, as SVG, and as one HTML page without references to others.
//
// All texts may come from other programs. They are escaped in SVG and HTML. What Text draws
// must be printable.
package timeline

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/queuelock/queuelock/cmd/queuelock/internal/display"
)

// Kind is what a Bar shows. Later kinds are drawn over earlier ones.
type Kind int

// The kinds.
const (
	Waiting Kind = iota
	Holding
	Lapsing // the lease of a holder that does not renew it any more, until another client may end it
	Expired // the lease is over, and no client has removed the holder yet
	Killed  // an instant
	kinds
)

// Bar is a time of one row, since the beginning of the chart.
type Bar struct {
	Kind     Kind
	From, To time.Duration
	Label    string // shown when pointed at
}

// Row is a client.
type Row struct {
	Name string
	Note string // shown below the name in a picture
	Bars []Bar
}

// Fact is a line of the summary. Without a Value, Name is a sentence.
type Fact struct{ Name, Value string }

// Facts are a summary.
type Facts []Fact

// Add adds a fact.
func (f *Facts) Add(name, format string, args ...any) {
	*f = append(*f, Fact{name, fmt.Sprintf(format, args...)})
}

// Chart is what is drawn.
type Chart struct {
	Title  string
	Rows   []Row
	Began  time.Time // shown on the axis of a picture; zero: it shows the time since the beginning alone
	Length time.Duration
	Facts  Facts
	// Columns and Table are a table below the picture of a page.
	Columns []string
	Table   [][]string
}

const (
	// columns is the width of the text, so that a line stays below 100.
	columns = 84
	// nameColumns are the least and the most columns of a name.
	minName, maxName = 9, 24
)

var names = [kinds]string{"waiting", "holding", "lease of a lost holder", "lease over, not removed yet", "killed while holding"}

var legend = []Kind{Holding, Waiting, Lapsing, Expired, Killed}

// marks are what a column shows of each kind, and the border.
type marks struct {
	kinds  [kinds]rune
	border rune
}

var (
	unicodeMarks = marks{[kinds]rune{'·', '█', '░', '▒', '✗'}, '│'}
	asciiMarks   = marks{[kinds]rune{'.', '#', '-', 'x', 'X'}, '|'}
)

// Print writes the text, and the facts below it.
func (c Chart) Print(w io.Writer, unicode bool) error {
	b := strings.Builder{}
	fmt.Fprintf(&b, "\n%s\n", c.Text(unicode))
	for _, fact := range c.Facts {
		if fact.Value == "" {
			fmt.Fprintf(&b, "\n%s\n", fact.Name)
		} else {
			fmt.Fprintf(&b, "%-18s %s\n", fact.Name, fact.Value)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Text returns a row for each client; nothing for a chart without a length.
func (c Chart) Text(unicode bool) string {
	if c.Length <= 0 {
		return ""
	}
	m := asciiMarks
	if unicode {
		m = unicodeMarks
	}
	var b strings.Builder
	step := c.Length/columns + 1
	used, gap := c.used(func(Bar) bool { return true }), ""
	for _, kind := range legend {
		if used[kind] || kind == Holding || kind == Waiting {
			fmt.Fprintf(&b, "%s%c %s", gap, m.kinds[kind], names[kind])
			gap = "  "
		}
	}
	b.WriteString("\n\n")
	width := minName
	for _, row := range c.Rows {
		width = max(width, min(maxName, ansi.StringWidth(row.Name)))
	}
	for _, row := range c.Rows {
		fmt.Fprintf(&b, "%s %c%s%c\n", display.Fit(row.Name, width), m.border, string(row.paint(step, m)), m.border)
	}
	note := fmt.Sprintf("one column is %d ms; turns within one share it", step.Round(time.Millisecond).Milliseconds())
	end := fmt.Sprintf("%.1f s", c.Length.Seconds())
	left := (columns + len(note)) / 2
	fmt.Fprintf(&b, "%*s%-3s%*s%*s\n", width+2, "", "0 s", left-len("0 s"), note, columns-left, end)
	return b.String()
}

// paint draws the bars. Positions are rounded, so that a turn does not share the last
// column of the turn before it. A short turn has one column.
func (r Row) paint(step time.Duration, m marks) []rune {
	row := []rune(strings.Repeat(" ", columns))
	for kind := range kinds {
		for _, bar := range r.Bars {
			if bar.Kind != kind {
				continue
			}
			begin, end := int(bar.From.Round(step)/step), int(bar.To.Round(step)/step)
			for c := begin; c < max(end, begin+1); c++ {
				row[min(c, columns-1)] = m.kinds[kind]
			}
		}
	}
	return row
}

// used returns which kinds the chart has, by the bars that are shown.
func (c Chart) used(shown func(Bar) bool) (used [kinds]bool) {
	for _, row := range c.Rows {
		for _, bar := range row.Bars {
			used[bar.Kind] = used[bar.Kind] || shown(bar)
		}
	}
	return used
}
