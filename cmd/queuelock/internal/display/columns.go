package display

import (
	"cmp"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// Column is a column of a table. One whose cells are all empty is left out.
type Column struct {
	Heading string // the least width
	Right   bool   // aligned at the right
	Most    int    // the greatest width; 0: no bound
	Floor   int    // the width for which other columns give way; 0: that of the widest cell
	Drop    int    // the order in which columns give way, from 1; 0: never
}

// Draw returns the heading and the rows of a table of at most that width; 0: no bound. Columns give way until the floors of the
// others fit. Then cells are cut, but for what is behind a tab in them.
func Draw(gap, width int, columns []Column, rows [][]string) (lines []string) {
	type column struct {
		Column
		at, width int
	}
	var shown []*column
	heading := make([]string, len(columns))
	for i, c := range columns {
		heading[i] = c.Heading
		natural, used := ansi.StringWidth(c.Heading), len(rows) == 0
		for _, row := range rows {
			natural, used = max(natural, ansi.StringWidth(row[i])), used || row[i] != ""
		}
		natural = min(natural, cmp.Or(c.Most, natural))
		if c.Floor = min(natural, cmp.Or(c.Floor, natural)); used {
			shown = append(shown, &column{c, i, natural})
		}
	}
	excess := func(of func(*column) int) int {
		all := -gap - width
		for _, c := range shown {
			all += gap + of(c)
		}
		return all
	}
	for drop := 1; width > 0 && drop <= len(columns) && excess(func(c *column) int { return c.Floor }) > 0; drop++ {
		shown = slices.DeleteFunc(shown, func(c *column) bool { return c.Drop == drop })
	}
	for left := excess(func(c *column) int { return c.width }); width > 0 && left > 0; left-- {
		slices.MaxFunc(shown, func(a, b *column) int {
			return cmp.Or(cmp.Compare(max(a.width, a.Floor)-a.Floor, max(b.width, b.Floor)-b.Floor), cmp.Compare(a.width, b.width))
		}).width--
	}
	for _, row := range append([][]string{heading}, rows...) {
		var cells []string
		for _, c := range shown {
			cells = append(cells, fit(row[c.at], c.width, c.Right))
		}
		lines = append(lines, strings.TrimRight(strings.Join(cells, strings.Repeat(" ", gap)), " "))
	}
	return lines
}

// Fit cuts or fills a text to so many columns of a terminal.
func Fit(text string, width int) string { return fit(text, width, false) }

func fit(text string, width int, right bool) string {
	text, kept, _ := strings.Cut(text, "\t")
	text = ansi.Truncate(text, max(1, width-ansi.StringWidth(kept)), "…") + kept
	text = ansi.Truncate(text, width, "…")
	fill := strings.Repeat(" ", max(0, width-ansi.StringWidth(text)))
	if right {
		return fill + text
	}
	return text + fill
}
