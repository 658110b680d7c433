// Package history makes the history of one queue from looks at it: which client waited and
// held the lock, and when.
//
// It knows what the looks showed. The time of a beginning comes from the age of the holder
// or the waiter, and lies between two looks. The time of an end is the beginning of the next
// holder, or the middle between two looks. A turn between two looks is not seen; the counter
// of the tickets shows how many there may have been.
package history

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/queuelock/queuelock/cmd/queuelock/internal/demo/timeline"
	"github.com/queuelock/queuelock/cmd/queuelock/internal/display"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
)

// Turn is a ticket that was seen. Times count from the beginning of the history.
type Turn struct {
	Ticket ticket.Number
	Turns  int // how many tickets its block has
	Owner  string
	Shared bool
	// Waited says that the ticket was seen in the queue, from Queued on.
	Waited bool
	Queued time.Duration
	// Held says that the ticket was seen to hold the lock, from Granted on.
	Held    bool
	Granted time.Duration
	// Expired says that its lease was over before its end, from Over on.
	Expired bool
	Over    time.Duration
	// Evicted says that the record names it as evicted, or one that expired together with it.
	Evicted bool
	// Renewed is the last renewal of its lease that was seen; the grant if there was none.
	Renewed time.Duration
	Data    []byte // what it published last
	// Ended says that it was seen to be gone, at about Until. Otherwise Until is the last
	// look.
	Ended bool
	Until time.Duration

	last sight
}

// sight is the last look that showed a ticket.
type sight struct {
	id   string // of the ticket's row or entry, as the first look showed it
	at   time.Duration
	ends time.Duration // the end of its lease
	ttl  time.Duration // of its lease; 0 for a holder without one
}

// Wait returns how long the ticket waited, or false if that is not known.
func (t Turn) Wait() (time.Duration, bool) {
	if !t.Waited {
		return 0, false
	}
	if t.Held {
		return max(0, t.Granted-t.Queued), true
	}
	return t.Until - t.Queued, true
}

// Outcome says how the turn ended.
func (t Turn) Outcome() string {
	switch {
	case !t.Ended && t.Held:
		return "holds"
	case !t.Ended:
		return "waits"
	case t.Evicted:
		return "evicted"
	case !t.Held:
		return "left" // or held between two looks
	}
	return "ended"
}

func (t Turn) spans() (wait, held string) {
	wait, held = "?", "-"
	if d, ok := t.Wait(); ok {
		wait = display.Duration(d)
	}
	if t.Held {
		held = display.Duration(t.Until - t.Granted)
	}
	return wait, held
}

// Line describes the turn, once it has ended.
func (t Turn) Line() string {
	wait, held := t.spans()
	line := fmt.Sprintf("%9.3f s  %s  ticket %7s  waited %7s  held %7s  %s",
		t.Until.Seconds(), display.Fit(display.Owner(t.Owner), 24), t.tickets(ticket.Number.Short), wait, held, t.end())
	if data := t.data(); data != "" {
		line += "  " + data
	}
	return line
}

func (t Turn) tickets(number func(ticket.Number) string) string {
	return display.WaiterTickets(queue.Waiter{Ticket: t.Ticket, Turns: t.Turns}, number)
}

func (t Turn) end() string {
	switch {
	case t.Evicted && t.Expired:
		return "evicted: its lease was over"
	case t.Evicted && t.Held:
		return "evicted by an operator"
	}
	return t.Outcome()
}

// Recorder makes a history. It is not safe for concurrent use.
type Recorder struct {
	began       time.Time
	looks       int
	first, last *queue.State
	at          time.Duration // of the last look
	open        map[string]*Turn
	turns       []*Turn
}

// New returns a Recorder of a history that begins now.
func New(now time.Time) *Recorder { return &Recorder{began: now, open: map[string]*Turn{}} }

// See adds a look that was answered at an instant. It returns the turns that have ended.
func (r *Recorder) See(s *queue.State, now time.Time) []Turn {
	at, before := now.Sub(r.began), r.at
	if r.first == nil {
		r.first, before = s, at-1000*time.Hour // what is there began earlier
	}
	// began returns when something began that has that age and was not there before.
	began := func(age time.Duration) time.Duration { return min(max(at-age, before), at) }
	next := time.Duration(-1) // the first beginning of a holder in this look
	for _, w := range s.Waiting {
		t, isNew := r.turn(w.Ticket, w.ID)
		if isNew {
			t.Owner, t.Shared, t.Waited, t.Queued, t.Turns = w.Owner, w.Shared, true, began(w.Age), w.Turns
		}
		t.last.at = at
	}
	for _, h := range queue.Turns(s.Serving) {
		t, isNew := r.turn(h.Ticket, h.ID)
		if isNew {
			t.Owner, t.Shared, t.Turns = h.Owner, h.Shared, h.Turns
		}
		if !t.Held {
			t.Held, t.Granted = true, at
			if !h.Since.IsZero() {
				t.Granted = began(h.Age)
			}
			if t.Waited {
				t.Granted = max(t.Granted, t.Queued)
			}
			if next < 0 || t.Granted < next {
				next = t.Granted
			}
		}
		t.hold(h, at)
	}
	mark := s.LastEviction
	if r.last != nil && mark.ID == r.last.LastEviction.ID {
		mark = queue.Eviction{}
	}
	r.looks, r.last, r.at = r.looks+1, s, at
	return r.end(at, next, s.Permits == 0, func(t *Turn) { t.evict(mark, at+mark.At.Sub(s.ReadAt), at) })
}

func (t *Turn) hold(h queue.Holder, at time.Duration) {
	t.last.at, t.last.ttl, t.last.ends, t.Data = at, h.TTL, at+min(h.Remaining, maxLease), h.Data
	t.Renewed = max(t.Granted, min(t.last.ends-h.TTL-h.Delay, at))
	// A lease that was renewed after its end is not over.
	if t.Expired = h.Expired(); t.Expired {
		t.Over = max(t.last.ends, t.Granted)
	}
}

// evict notes that the turn is the one that a new mark names, or that its lease ended when
// that one's did. when is the time of the mark on the clock of the history, at that of the look.
func (t *Turn) evict(mark queue.Eviction, when, at time.Duration) {
	if mark.Ticket.IsZero() {
		return
	}
	if mark.At.IsZero() {
		when = t.Until
	}
	when = min(max(when, t.last.at), at)
	over := t.Held && t.last.ttl > 0 && t.last.ends <= when+min(t.last.ttl/4, time.Second) // a live holder renews before
	if t.Evicted = over || mark.ID == t.last.id; !t.Evicted {
		return
	}
	t.Until = when
	if over {
		t.Expired, t.Over = true, min(t.last.ends, when)
	}
}

// maxLease bounds the time left of a holder without a lease.
const maxLease = 1000 * time.Hour

func (r *Recorder) turn(n ticket.Number, id string) (t *Turn, isNew bool) {
	key := n.String()
	if n.IsZero() {
		key = id // of an entry that cannot be read
	}
	if t, ok := r.open[key]; ok {
		return t, false
	}
	t = &Turn{Ticket: n, last: sight{id: id}}
	r.open[key] = t
	r.turns = append(r.turns, t)
	return t, true
}

// end ends the turns that the look did not show. next is when the next holder began, or
// negative, which is the end of the one before if one at a time holds the lock.
func (r *Recorder) end(at, next time.Duration, alone bool, evict func(*Turn)) (ended []Turn) {
	for key, t := range r.open {
		t.Until = at
		if t.last.at == at {
			continue
		}
		t.Ended, t.Until = true, t.last.at+(at-t.last.at)/2
		evict(t)
		if t.Held && alone && !t.Shared && next >= t.last.at {
			t.Until = next
		}
		if t.Expired {
			t.Over = min(t.Over, t.Until)
		}
		delete(r.open, key)
		ended = append(ended, *t)
	}
	slices.SortFunc(ended, compare)
	return ended
}

func compare(a, b Turn) int { return cmp.Or(cmp.Compare(a.Until, b.Until), a.Ticket.Compare(b.Ticket)) }

// Turns returns all turns, in the order of their tickets.
func (r *Recorder) Turns() []Turn {
	var all []Turn
	for _, t := range r.turns {
		all = append(all, *t)
	}
	slices.SortStableFunc(all, func(a, b Turn) int { return a.Ticket.Compare(b.Ticket) })
	return all
}

// Unseen returns how many tickets were issued during the history and not seen, or false if
// other queues use the counter too.
func (r *Recorder) Unseen() (int, bool) {
	if r.first == nil || r.last.Scope != ticket.ScopeQueue || r.first.Issued.IsZero() {
		return 0, false
	}
	seen := 0
	for _, t := range r.turns {
		if r.first.Issued.Less(t.Ticket) {
			seen += max(t.Turns, 1)
		}
	}
	return int(r.last.Issued.After(r.first.Issued)) - seen, true
}

// facts summarizes the history.
func (r *Recorder) facts() (facts timeline.Facts) {
	facts.Add("observed", "%v from %s, by %d looks", display.Duration(r.at), r.began.UTC().Format(time.RFC3339), r.looks)
	var held, longest, wait, busy, until time.Duration
	var holder, waiter string
	turns := 0
	all := r.Turns()
	slices.SortStableFunc(all, func(a, b Turn) int { return cmp.Compare(a.Granted, b.Granted) })
	for _, t := range all {
		if d, ok := t.Wait(); ok && d >= wait {
			wait, waiter = d, t.Owner
		}
		if !t.Held {
			continue
		}
		turns++
		if held = t.Until - t.Granted; held >= longest {
			longest, holder = held, t.Owner
		}
		from := max(t.Granted, until, 0)
		busy += max(0, t.Until-from)
		until = max(until, t.Until)
	}
	facts.Add("turns", "%d seen", turns)
	if turns > 0 {
		facts.Add("held", "%.0f%% of the time; longest %s, by %s", 100*float64(busy)/float64(max(r.at, 1)), display.Duration(longest), display.Owner(holder))
	}
	if waiter != "" {
		facts.Add("longest wait", "%s, by %s", display.Duration(wait), display.Owner(waiter))
	}
	if r.last != nil {
		if text, ok := strings.CutPrefix(display.Lost(r.last), "last loss: "); ok {
			facts.Add("last loss", "%s", text)
		}
	}
	if unseen, ok := r.Unseen(); ok && unseen > 0 {
		facts.Add("not seen", "%d tickets, which came and went between two looks", unseen)
	}
	return facts
}

const maxRows = 60

// Chart draws one row for each owner, in the order in which they came.
func (r *Recorder) Chart(name string) timeline.Chart {
	chart := timeline.Chart{
		Title: "history of " + name, Began: r.began, Length: r.at, Facts: r.facts(),
		Columns: []string{"ticket", "owner", "from", "waited", "held", "end", "data"},
	}
	rows := map[string]int{}
	others := map[string]bool{}
	for _, t := range r.Turns() {
		owner := display.Owner(t.Owner)
		chart.Table = append(chart.Table, r.cells(t, owner))
		i, ok := rows[owner]
		switch {
		case ok:
		case len(rows) == maxRows:
			others[owner] = true
			continue
		default:
			i = len(chart.Rows)
			rows[owner] = i
			chart.Rows = append(chart.Rows, timeline.Row{Name: owner})
		}
		chart.Rows[i].Bars = append(chart.Rows[i].Bars, t.bars()...)
		chart.Rows[i].Note = cmp.Or(t.data(), chart.Rows[i].Note)
	}
	if len(others) > 0 {
		chart.Facts.Add("not drawn", "%d more owners", len(others))
	}
	return chart
}

func (r *Recorder) cells(t Turn, owner string) []string {
	wait, held := t.spans()
	from := t.Queued
	if t.Held && !t.Waited {
		from = t.Granted
	}
	return []string{t.tickets(ticket.Number.String), owner, r.began.Add(from).UTC().Format("15:04:05.0"), wait, held, t.end(), t.data()}
}

func (t Turn) data() string {
	text, as := display.Data(t.Data)
	return text + as
}

func (t Turn) bars() []timeline.Bar {
	label := "ticket " + t.tickets(ticket.Number.String) + ", " + t.end()
	if data := t.data(); data != "" {
		label += ": " + data
	}
	var bars []timeline.Bar
	bar := func(kind timeline.Kind, from, to time.Duration) {
		bars = append(bars, timeline.Bar{Kind: kind, From: max(0, from), To: max(0, to), Label: label})
	}
	waited, held := t.Until, t.Until
	if t.Held {
		waited = t.Granted
	}
	if t.Waited && waited > 0 {
		bar(timeline.Waiting, t.Queued, waited)
	}
	if t.Held && t.Expired { // it was lost at an unknown time after a renewal
		held = min(t.Renewed, t.Over)
		if held < t.Over {
			bar(timeline.Lapsing, held, t.Over)
		}
		if t.Over < t.Until {
			bar(timeline.Expired, t.Over, t.Until)
		}
	}
	if t.Held {
		bar(timeline.Holding, t.Granted, held)
	}
	return bars
}

// Report is a history for machines.
type Report struct {
	Name     string    `json:"name" help:"the lock"`
	Began    time.Time `json:"began" help:"when the observation began"`
	Observed float64   `json:"observed_seconds" help:"how long it lasted"`
	Looks    int       `json:"looks" help:"how many reads it made"`
	Unseen   *int      `json:"unseen_tickets" help:"tickets that were issued and not seen; not known if other queues share the counter"`
	Turns    []Line    `json:"turns" help:"the turns, in order"`
	// Loss is also of a turn that ended before the history.
	Loss *display.Loss `json:"last_eviction" help:"the last turn that its holder lost, also before the observation"`
}

// Line is a turn for machines. Times are seconds since the beginning; what was not seen is
// null.
type Line struct {
	Ticket  string   `json:"ticket" help:"the ticket"`
	Count   int      `json:"turns" help:"how many tickets its block has, from that on"`
	Owner   string   `json:"owner" help:"the name of the process"`
	Shared  bool     `json:"shared" help:"together with other shared holders"`
	Queued  *float64 `json:"queued" help:"when it began to wait, in seconds since began"`
	Granted *float64 `json:"granted" help:"when it was granted the lock, likewise"`
	Renewed *float64 `json:"renewed" help:"the last renewal of its lease that was seen, likewise"`
	Expired *float64 `json:"expired" help:"when its lease ended, likewise"`
	Until   float64  `json:"until" help:"when it ended or was last seen, likewise"`
	Outcome string   `json:"outcome" help:"holds, waits, ended, left or evicted"`
	Data    *string  `json:"data" help:"what the holder published, if that is UTF-8"`
}

// Report returns the history for machines.
func (r *Recorder) Report(name string) Report {
	report := Report{Name: name, Began: r.began.UTC(), Observed: display.Seconds(r.at), Looks: r.looks, Turns: []Line{}}
	if unseen, ok := r.Unseen(); ok {
		report.Unseen = &unseen
	}
	if r.last != nil {
		report.Loss = display.NewLoss(r.last)
	}
	for _, t := range r.Turns() {
		line := Line{Ticket: t.Ticket.String(), Count: max(t.Turns, 1), Owner: t.Owner, Shared: t.Shared, Until: display.Seconds(t.Until), Outcome: t.Outcome()}
		at := func(known bool, d time.Duration) *float64 {
			if !known {
				return nil
			}
			return new(display.Seconds(d))
		}
		line.Queued, line.Granted = at(t.Waited, t.Queued), at(t.Held, t.Granted)
		line.Data, line.Renewed, line.Expired = display.Text(t.Data), at(t.Held && t.last.ttl > 0, t.Renewed), at(t.Expired, t.Over)
		report.Turns = append(report.Turns, line)
	}
	return report
}
