package top

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/queuelock/queuelock/cmd/queuelock/internal/display"
	"github.com/queuelock/queuelock/queue"
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

func (m Model) rows() int {
	_, height := m.size()
	return height - frame
}

// tone is how urgent a line is: what a terminal is sent before it.
type tone string

const (
	calm tone = ""
	long tone = "\x1b[33m" // a wait is longer than longWait
	over tone = "\x1b[31m" // a lease is over
)

const longWait = time.Minute

type line struct {
	text     string
	tone     tone
	selected bool
}

// lines returns the lines of the screen, as many as fit and as long as fit.
func (m Model) lines() []line {
	width, height := m.size()
	title, body := "queuelock top: keys", helpText
	switch {
	case m.help:
	case m.inspecting:
		title, body = m.detail(width)
	default:
		title, body = m.list(width)
	}
	all := append([]line{{text: title}, {text: m.notice()}}, body...)
	all = append(all, make([]line, height)...)
	all = append(all[:height-1], line{text: m.footer(width)})
	for i := range all {
		all[i].text = ansi.Truncate(all[i].text, width, "…")
	}
	return all
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
	case !m.scanned.IsZero() && m.now.Sub(m.heard) > m.silence():
		return fmt.Sprintf("! no answer for %s: what is shown is %s old", display.Age(m.now.Sub(m.heard)), display.Age(m.now.Sub(m.scanned)))
	case m.scanned.IsZero() && !m.inspecting:
		return "the first scan is under way"
	case m.filter != "" && !m.inspecting:
		return "filter: " + display.Owner(m.filter) + " (esc drops it)"
	}
	return ""
}

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

var helpText = texts(
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
)

func texts(all ...string) (lines []line) {
	for _, text := range all {
		lines = append(lines, line{text: text})
	}
	return lines
}

// columns are those of the list. The narrowest keeps names, as a queue that cannot be named cannot be found.
var columns = []display.Column{
	{Heading: " "}, {Heading: "QUEUE", Floor: 15}, {Heading: "MODE   ", Drop: 2}, {Heading: "HOLDER", Floor: 13},
	{Heading: "   HELD", Right: true, Drop: 3}, {Heading: strings.Repeat(" ", samples)},
	{Heading: "WAITING", Right: true, Drop: 4}, {Heading: " LONGEST", Right: true}, {Heading: strings.Repeat(" ", samples)},
	{Heading: "DATA", Floor: 24, Drop: 1},
}

// chartsFrom and dataFrom are the least widths of a screen with charts and with data, so that these leave room for names.
const chartsFrom, dataFrom = 80, 120

func (m Model) list(width int) (title string, body []line) {
	title = fmt.Sprintf("queuelock top: table %q, %d of %d queues busy, by %v", m.Table, m.busy, m.total, m.order)
	list, rows := m.shown(), m.rows()
	if hidden := m.busy - len(list); hidden > 0 && !m.all {
		title += fmt.Sprintf(", %d not shown", hidden)
	}
	at := m.cursor(list)
	var cells [][]string
	for i, e := range list {
		mark := " "
		if i == at {
			mark = ">"
		}
		cells = append(cells, m.row(mark, e, width))
	}
	all := texts(display.Draw(1, width, columns, cells)...)
	for i, e := range list {
		_, longest := e.Times()
		all[1+i].tone, all[1+i].selected = toneOf(e.Expired || e.ExpiredWaiting > 0, longest), i == at
	}
	from := max(0, min(at-rows/2, len(list)-rows))
	to := min(from+rows, len(list))
	if to == len(list) || rows <= 2 {
		return title, append(all[:1:1], all[1+from:1+to]...)
	}
	body = append(all[:1:1], all[1+from:to]...)
	return title, append(body, line{text: fmt.Sprintf("  … %d more", len(list)-to+1)})
}

// toneOf returns the tone of what has expired, or waits for so long.
func toneOf(expired bool, wait time.Duration) tone {
	switch {
	case expired:
		return over
	case wait > longWait:
		return long
	}
	return calm
}

// row returns the cells of a queue. That a lease is over says more than a chart.
func (m Model) row(mark string, e entry, width int) []string {
	mode, holder, held, waiting, longest := e.Cells(true)
	name, trend, waits, data, charts := e.Name(), "", "", "", width >= chartsFrom
	if e.Reason != "lock" && e.Mode != "item" {
		name += "\t (" + display.Owner(e.Reason) + ")"
	}
	if charts {
		trend, waits = m.spark(e.held), m.spark(e.waits)
	}
	if width >= dataFrom {
		data = e.Data()
	}
	switch {
	case e.Expired && charts:
		trend = "over"
	case e.Expired:
		holder += " over"
	}
	switch over := ansi.Truncate(fmt.Sprintf("%d over", e.ExpiredWaiting), samples, "…"); {
	case e.ExpiredWaiting > 0 && charts:
		waits = over
	case e.ExpiredWaiting > 0:
		longest = over
	}
	return []string{mark, name, mode, holder, held, trend, waiting, longest, waits, data}
}

func (m Model) detail(width int) (title string, body []line) {
	title, s := display.Owner(m.subject.String())+": ", m.state
	if s == nil {
		return title + "…", nil
	}
	body = texts(display.Entries(s, s.Serving, false, width, m.place)...)
	for i, h := range s.Serving {
		body[1+i].tone, body[1+i].selected = toneOf(h.Expired(), 0), i == m.holder
	}
	for i, w := range s.Waiting {
		body[1+len(s.Serving)+i].tone = toneOf(w.Expired() && w.Problem == nil, w.Age)
	}
	_, height := m.size()
	room := height - 3
	notes := append(display.Facts(s), display.Notes(s, nil)...)
	notes = notes[:min(len(notes), room/3)] // the rest is for the list
	if room -= len(notes); len(body) > room {
		hidden := len(body) - room + 1
		after := queue.State{Waiting: s.Waiting[max(0, len(s.Waiting)-hidden):]}
		body = append(body[:room-1], line{text: fmt.Sprintf("  and %d more waiters", after.Waiters())})
	}
	for _, text := range notes {
		body = append(body, line{text: "  " + text})
	}
	return title + display.Headline(s, "no such queue"), body
}

// place marks the holder that is chosen, and says how many places a waiter has moved up.
func (m Model) place(i int, text string) string {
	up, waiter := "^", i-len(m.state.Serving)
	if m.Unicode {
		up = "↑"
	}
	if i == m.holder && waiter < 0 {
		return "> " + text
	}
	if waiter >= 0 && m.moved[m.state.Waiting[waiter].ID] > 0 {
		text += fmt.Sprintf(" %s%d", up, m.moved[m.state.Waiting[waiter].ID])
	}
	return "  " + text
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
	gap := width - ansi.StringWidth(keys) - ansi.StringWidth(usage)
	return keys + strings.Repeat(" ", max(2, gap)) + usage
}

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
