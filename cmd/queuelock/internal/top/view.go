package top

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/queuelock/queuelock/cmd/queuelock/internal/display"
)

// frame is the number of lines around the rows of the list: a title, a line of messages, a
// heading and the footer.
const frame = 4

func (m Model) size() (width, height int) {
	if m.width < 20 || m.height < frame+1 {
		return 80, 24
	}
	return m.width, m.height
}

// rows returns how many queues fit.
func (m Model) rows() int {
	_, height := m.size()
	return height - frame
}

// View returns the lines of the screen, as many as fit and as long as fit, and the index of
// the line that is selected, or -1.
func (m Model) View() (lines []string, selected int) {
	width, height := m.size()
	title, body, selected := m.list(width)
	if m.inspecting {
		title, body, selected = m.detail(width)
	}
	lines = append([]string{title, m.notice()}, body...)
	for len(lines) < height-1 {
		lines = append(lines, "")
	}
	lines = append(lines[:height-1], m.footer(width))
	if selected += 2; selected < 2 || selected >= height-1 {
		selected = -1
	}
	for i, line := range lines {
		lines[i] = display.Cut(line, width)
	}
	return lines, selected
}

// notice is the line of messages: a question, the result of a key, or a failure.
func (m Model) notice() string {
	switch {
	case m.confirm != nil && m.confirm.FailClosed:
		return fmt.Sprintf("evict ticket %s? It has no lease: its process must have ended (y/N)", m.confirm.Ticket.Short())
	case m.confirm != nil && m.confirm.Expired():
		return fmt.Sprintf("evict ticket %s? Its lease is over (y/N)", m.confirm.Ticket.Short())
	case m.confirm != nil:
		return fmt.Sprintf("evict ticket %s? It may run: it works on until its next heartbeat (y/N)", m.confirm.Ticket.Short())
	case m.message != "":
		return m.message
	case m.failure != "":
		return "! " + m.failure
	case m.scanned.IsZero() && !m.inspecting:
		return "the first scan is under way"
	}
	return ""
}

// list returns the list of queues.
func (m Model) list(width int) (title string, body []string, selected int) {
	title = fmt.Sprintf("queuelock top: table %q, %d of %d queues busy", m.Table, m.busy, m.total)
	list, rows := m.shown(), m.rows()
	if hidden := m.busy - len(list); hidden > 0 && !m.all {
		title += fmt.Sprintf(", %d not shown", hidden)
	}
	// The names have what the other columns leave.
	rest := max(20, width-2-7-7-samples-4-7-samples-7)
	name, owner := rest*9/16, rest-rest*9/16
	row := func(mark, entity, mode, holder, held, trend, waiting, longest, waits string) string {
		return fmt.Sprintf("%s %s %s %s %7s %s %4s %7s %s", mark, pad(entity, name), pad(mode, 7), pad(holder, owner), held, pad(trend, samples), waiting, longest, waits)
	}
	body = []string{row(" ", "QUEUE", "MODE", "HOLDER", "HELD", "", "WAIT", "LONGEST", "")}
	at := m.cursor(list)
	from := max(0, min(at-rows/2, len(list)-rows))
	selected = -1
	for i := from; i < min(from+rows, len(list)); i++ {
		e, mark := list[i], " "
		if i == at {
			mark, selected = ">", len(body)
		}
		mode, holder, held, waiting, longest := e.Cells(owner)
		if mode == "exclusive" {
			mode = "lock"
		}
		entity := e.Name(name)
		if e.Reason != "lock" && e.Mode != "item" {
			entity = e.Name(max(8, name-len(e.Reason)-3)) + " (" + display.Owner(e.Reason) + ")"
		}
		waits := m.spark(e.waits)
		if e.ExpiredWaiting > 0 { // which says more than a chart
			waits = display.Cut(fmt.Sprintf("%d over", e.ExpiredWaiting), samples)
		}
		body = append(body, row(mark, entity, mode, holder, held, m.spark(e.held), waiting, longest, waits))
	}
	return title, body, selected
}

// detail returns one queue: its holders and its waiters.
func (m Model) detail(width int) (title string, body []string, selected int) {
	title, selected = m.subject.String(), -1
	if m.state == nil {
		return title + ": …", nil, selected
	}
	s := m.state
	title += fmt.Sprintf(": %d served, %d waiting", len(s.Serving), len(s.Waiting))
	if s.Permits > 0 {
		title += fmt.Sprintf(", %d permits", s.Permits)
	}
	if s.HoldTime.Mean > 0 {
		title += fmt.Sprintf("; held for about %v each", display.Duration(s.HoldTime.Mean))
	}
	owner := max(10, width-2-7-9-8-24-5)
	row := func(mark, place, number, name, age, left string) string {
		return fmt.Sprintf("%s %s %s %s %8s  %s", mark, pad(place, 7), pad(number, 9), pad(name, owner), age, left)
	}
	body = []string{row(" ", "", "TICKET", "OWNER", "FOR", "LEASE LEFT")}
	for i, h := range s.Serving {
		mark, age := " ", "?"
		if i == m.holder {
			mark, selected = ">", len(body)
		}
		if !h.Since.IsZero() {
			age = display.Age(h.Age)
		}
		body = append(body, row(mark, "served", h.Ticket.Short(), display.Owner(h.Owner), age, display.LeaseLeft(h)))
	}
	up := "^"
	if m.Unicode {
		up = "↑"
	}
	for _, w := range s.Waiting {
		place := fmt.Sprint(w.Position)
		if n := m.moved[w.ID]; n > 0 {
			place += fmt.Sprintf(" %s%d", up, n)
		}
		name, age := "?", "?"
		if w.Problem == nil {
			name, age = display.Owner(w.Owner), display.Age(w.Age)
		}
		body = append(body, row(" ", place, w.Ticket.Short(), name, age, display.WaiterLeft(w)))
	}
	_, height := m.size()
	if room := height - 3; len(body) > room {
		hidden := len(body) - room + 1
		body = append(body[:room-1], fmt.Sprintf("  and %d more waiters", hidden))
	}
	return title, body, selected
}

// footer has the keys at the left and the capacity at the right.
func (m Model) footer(width int) string {
	keys := "enter inspect  e evict  a all  q quit"
	switch {
	case m.inspecting && m.state != nil && len(m.state.Serving) > 1:
		keys = "up/down holder  e evict  esc back  q quit"
	case m.inspecting:
		keys = "e evict  esc back  q quit"
	case m.all:
		keys = "enter inspect  e evict  a busy only  q quit"
	}
	usage := units(m.used) + " RCU/s"
	if m.Rate > 0 {
		usage = fmt.Sprintf("%s of %s RCU/s", units(m.used), units(m.Rate))
	}
	switch {
	case m.scanned.IsZero() && m.progress.Of > 0:
		usage = fmt.Sprintf("scan: %.0f of %.0f units", m.progress.Units, m.progress.Of)
	case !m.scanned.IsZero():
		usage += ", scan " + display.Age(max(0, m.now.Sub(m.scanned))) + " ago"
	}
	gap := width - utf8.RuneCountInString(keys) - utf8.RuneCountInString(usage)
	return keys + strings.Repeat(" ", max(2, gap)) + usage
}

// units prints a rate, with three digits.
func units(rate float64) string {
	if rate >= 100 {
		return fmt.Sprintf("%.0f", rate)
	}
	return fmt.Sprintf("%.3g", rate)
}

// spark draws the last samples, by their share of the largest.
func (m Model) spark(list []time.Duration) string {
	levels := []rune(".:-=+*%#")
	if m.Unicode {
		levels = []rune("▁▂▃▄▅▆▇█")
	}
	if len(list) == 0 || slices.Max(list) <= 0 {
		return ""
	}
	most := slices.Max(list)
	var b strings.Builder
	for _, d := range list {
		b.WriteRune(levels[int(d*time.Duration(len(levels)-1)/most)])
	}
	return b.String()
}

// pad cuts or fills a text to so many columns.
func pad(text string, width int) string {
	text = display.Cut(text, width)
	return text + strings.Repeat(" ", max(0, width-utf8.RuneCountInString(text)))
}
