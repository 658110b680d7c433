package top

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/queuelock/queuelock/cmd/queuelock/internal/display"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
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

// tone is how urgent a line is.
type tone int

const (
	calm tone = iota
	long      // a wait is longer than longWait
	over      // a lease is over
)

// longWait is a wait that is shown in a colour.
const longWait = time.Minute

// page is a title and what is below it, with the index of the row that is selected, or -1.
type page struct {
	title    string
	body     []string
	tones    map[int]tone // by index of body
	selected int
}

// View returns the lines of the screen, as many as fit and as long as fit, the tones of
// those that are not calm, and the index of the line that is selected, or -1.
func (m Model) View() (lines []string, tones map[int]tone, selected int) {
	width, height := m.size()
	var s page
	switch {
	case m.help:
		s = m.helpText()
	case m.inspecting:
		s = m.detail(width)
	default:
		s = m.list(width)
	}
	title, body, selected := s.title, s.body, s.selected
	tones = map[int]tone{}
	for i, t := range s.tones {
		if t != calm && i+2 < height-1 {
			tones[i+2] = t
		}
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
	return lines, tones, selected
}

// notice is the line of messages: a question, the result of a key, or a failure.
func (m Model) notice() string {
	switch {
	case m.confirm != nil:
		return m.confirm.question()
	case m.typing:
		return "/" + display.Owner(m.filter) + "_   enter keeps the filter, esc drops it"
	case m.message != "":
		return m.message
	case m.failure != "" && !m.scanned.IsZero() && !m.inspecting:
		return fmt.Sprintf("! outage: what is shown is %s old: %s", display.Age(m.now.Sub(m.scanned)), m.failure)
	case m.failure != "":
		return "! " + m.failure
	case !m.scanned.IsZero() && m.Silence > 0 && m.now.Sub(m.heard) > m.Silence:
		return fmt.Sprintf("! no answer for %s: what is shown is %s old", display.Age(m.now.Sub(m.heard)), display.Age(m.now.Sub(m.scanned)))
	case m.scanned.IsZero() && !m.inspecting:
		return "the first scan is under way"
	case m.filter != "" && !m.inspecting:
		return "filter: " + display.Owner(m.filter) + " (esc drops it)"
	}
	return ""
}

// question asks whether to evict.
func (e Evict) question() string {
	number := e.Holder.Turn().Short()
	switch {
	case e.Present:
		return "evict the holder of the moment, not only ticket " + number + "? It may run (y/N)"
	case e.Holder.Endless():
		return fmt.Sprintf("evict ticket %s? It has no lease: its process must have ended (y/N)", number)
	case e.Holder.Expired():
		return fmt.Sprintf("evict ticket %s? Its lease is over (y/N)", number)
	}
	return fmt.Sprintf("evict ticket %s? It may run: it works on until its next heartbeat (y/N)", number)
}

// helpText lists the keys.
func (m Model) helpText() page {
	return page{title: "queuelock top: keys", selected: -1, body: []string{
		"up down, pgup pgdn   choose a queue, or a holder of the inspected one",
		"home end             the first, the last",
		"enter                inspect: holders, waiters, data",
		"esc                  back to the list; there, drop the filter",
		"/                    only queues with this text in name, owner or data",
		"o                    order by wait, by hold, by name",
		"a                    show idle queues too",
		"e                    evict the chosen holder, after a question",
		"E                    while inspecting: evict the holder of the moment",
		"q, ctrl+c            quit",
		"",
		"over: the lease of a holder, or of so many waiters, has ended (red)",
		"yellow: a wait of more than a minute",
		"any key: back",
	}}
}

// layout is the width of the columns that a list has room for; 0: none.
type layout struct {
	name, owner, chart, data int
	mode, held, waiting      bool // that they are shown
}

// narrow is the room for names below which other columns give way: a queue that cannot be named cannot be found.
const narrow = 24

// layoutOf shares the width: names have what the other columns leave, charts and data need room.
func layoutOf(width int) layout {
	l := layout{mode: true, held: true, waiting: true}
	rest := width - 2 - 1 - 7 - 1 - 1 - 7 - 1 - 7 - 2 - 7 // mark, mode, held, waiting, longest, and gaps
	for _, column := range []*bool{&l.mode, &l.held, &l.waiting} {
		if rest < narrow {
			*column = false
			rest += 8
		}
	}
	if rest >= 20+2*(samples+1) {
		l.chart = samples
		rest -= 2 * (samples + 1)
	}
	if rest >= 72 {
		l.data = rest / 3
		rest -= l.data + 1
	}
	rest = max(8, rest)
	l.name = rest * 9 / 16
	l.owner = rest - l.name
	return l
}

// row returns a line of the list.
func (l layout) row(mark, entity, mode, holder, held, trend, waiting, longest, waits, data string) string {
	line := mark + " " + pad(entity, l.name)
	if l.mode {
		line += " " + pad(mode, 7)
	}
	line += " " + pad(holder, l.owner)
	if l.held {
		line += fmt.Sprintf(" %7s", held)
	}
	if l.chart > 0 {
		line += " " + pad(trend, l.chart)
	}
	if l.waiting {
		line += fmt.Sprintf(" %7s", waiting)
	}
	line += fmt.Sprintf("  %7s", longest)
	if l.chart > 0 {
		line += " " + pad(waits, l.chart)
	}
	if l.data > 0 {
		line += " " + pad(data, l.data)
	}
	return line
}

// list returns the list of queues.
func (m Model) list(width int) page {
	s := page{tones: map[int]tone{}, selected: -1}
	s.title = fmt.Sprintf("queuelock top: table %q, %d of %d queues busy, by %v", m.Table, m.busy, m.total, m.order)
	list, rows := m.shown(), m.rows()
	if hidden := m.busy - len(list); hidden > 0 && !m.all {
		s.title += fmt.Sprintf(", %d not shown", hidden)
	}
	l := layoutOf(width)
	s.body = []string{l.row(" ", "QUEUE", "MODE", "HOLDER", "HELD", "", "WAITING", "LONGEST", "", "DATA")}
	at := m.cursor(list)
	from := max(0, min(at-rows/2, len(list)-rows))
	to := min(from+rows, len(list))
	if to < len(list) && rows > 2 {
		to-- // for how many are below
	}
	for i := from; i < to; i++ {
		mark := " "
		if i == at {
			mark, s.selected = ">", len(s.body)
		}
		s.tones[len(s.body)] = list[i].tone()
		s.body = append(s.body, m.entryRow(l, mark, list[i]))
	}
	if below := len(list) - to; below > 0 && rows > 2 {
		s.body = append(s.body, fmt.Sprintf("  … %d more", below))
	}
	return s
}

// tone returns how urgent a queue is.
func (e entry) tone() tone {
	_, longest := e.Times()
	switch {
	case e.Expired || e.ExpiredWaiting > 0:
		return over
	case longest > longWait:
		return long
	}
	return calm
}

// entryRow returns the line of a queue. That a lease is over says more than a chart.
func (m Model) entryRow(l layout, mark string, e entry) string {
	line := e.Line
	line.Expired = false // so that the owner keeps its room
	mode, holder, held, waiting, longest := line.Cells(l.owner)
	if mode == "exclusive" {
		mode = "lock"
	}
	entity := e.Name(l.name)
	if e.Reason != "lock" && e.Mode != "item" {
		entity = e.Name(max(8, l.name-len(e.Reason)-3)) + " (" + display.Owner(e.Reason) + ")"
	}
	trend, waits := m.spark(e.held), m.spark(e.waits)
	switch {
	case e.Expired && l.chart > 0:
		trend = "over"
	case e.Expired && !l.held:
		holder = display.Cut(holder, max(1, l.owner-len(" over"))) + " over"
	case e.Expired:
		held = "over"
	}
	switch {
	case e.ExpiredWaiting > 0 && l.chart > 0:
		waits = display.Cut(fmt.Sprintf("%d over", e.ExpiredWaiting), samples)
	case e.ExpiredWaiting > 0:
		longest = display.Cut(fmt.Sprintf("%d over", e.ExpiredWaiting), samples)
	}
	return l.row(mark, entity, mode, holder, held, trend, waiting, longest, waits, e.Data())
}

// detail returns one queue: its holders and its waiters.
func (m Model) detail(width int) page {
	title, selected := display.Owner(m.subject.String()), -1
	tones := map[int]tone{}
	if m.state == nil {
		return page{title: title + ": …", selected: selected}
	}
	s := m.state
	title += fmt.Sprintf(": %d served, %d waiting", len(queue.Turns(s.Serving)), s.Waiters()) + display.Full(s)
	if at, closed := display.ClosedUntil(s); closed {
		title += ", closed until " + display.At(at)
	}
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
	body := []string{row(" ", "", "TICKET", "OWNER", "FOR", "LEASE LEFT")}
	var data []string // and other lines about holders
	for _, line := range display.Policies(s) {
		data = append(data, "  "+line)
	}
	if text := display.Lost(s); text != "" {
		data = append(data, "  "+text)
	}
	for i, h := range s.Serving {
		mark, age := " ", "?"
		if i == m.holder {
			mark, selected = ">", len(body)
		}
		if !h.Since.IsZero() {
			age = display.Age(h.Age)
		}
		if h.Expired() {
			tones[len(body)] = over
		}
		if text := display.AlsoWaits(s, h); text != "" {
			data = append(data, "  "+text)
		}
		if text, as := display.Data(h.Data); text != "" {
			data = append(data, fmt.Sprintf("  data of %s%s: %s", h.Turn().Short(), as, text))
		}
		body = append(body, row(mark, map[bool]string{false: "served", true: "closed"}[h.Closed], display.HolderTickets(h, ticket.Number.Short), display.HolderOwner(h.Owner), age, display.LeaseLeft(h)))
	}
	up := "^"
	if m.Unicode {
		up = "↑"
	}
	for _, w := range s.Waiting {
		if text := display.Superseded(s, w); text != "" {
			data = append(data, "  "+text)
		}
		place := fmt.Sprint(w.Position)
		if n := m.moved[w.ID]; n > 0 {
			place += fmt.Sprintf(" %s%d", up, n)
		}
		name, age := "?", "?"
		if w.Problem == nil {
			name, age = display.Owner(w.Owner), display.Age(w.Age)
			tones[len(body)] = waiterTone(w)
		}
		body = append(body, row(" ", place, display.WaiterTickets(w, ticket.Number.Short), name, age, display.WaiterLeft(w)))
	}
	_, height := m.size()
	room := height - 3
	data = data[:min(len(data), room/3)] // the rest is for the list
	if room -= len(data); len(body) > room {
		hidden := len(body) - room + 1
		after := queue.State{Waiting: s.Waiting[max(0, len(s.Waiting)-hidden):]}
		body = append(body[:room-1], fmt.Sprintf("  and %d more waiters", after.Waiters()))
	}
	return page{title, append(body, data...), tones, selected}
}

// waiterTone returns how urgent a waiter is.
func waiterTone(w queue.Waiter) tone {
	switch {
	case w.Expired():
		return over
	case w.Age > longWait:
		return long
	}
	return calm
}

// footer has the keys at the left and the capacity at the right.
func (m Model) footer(width int) string {
	keys := "enter inspect  / filter  o order  ? help  q quit"
	switch {
	case m.help:
		keys = "any key: back"
	case m.inspecting && m.state != nil && len(m.state.Serving) > 1:
		keys = "up/down holder  e evict  esc back  ? help  q quit"
	case m.inspecting:
		keys = "e evict  esc back  ? help  q quit"
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
