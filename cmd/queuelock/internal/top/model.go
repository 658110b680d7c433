// Package top is the live view of a table's queues.
//
// Model is the state of the view, and a tea.Model: Update and View are functions of it, and requests are sent by the commands
// that Update returns. Run connects it to a terminal, scans without a pause beyond the interval, and keeps to a rate of read
// units: nine tenths are for scans, one tenth for the queue that is inspected.
package top

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/cmd/queuelock/internal/display"
	"github.com/queuelock/queuelock/queue"
)

// The messages that Update takes, beside those of the terminal.
type (
	// Tick is the time.
	Tick time.Time
	// Progress is what the scan under way has used of about Of units.
	Progress struct{ Units, Of float64 }
	// Scanned is the result of a scan.
	Scanned struct {
		At     time.Time
		Lines  []display.Line // up to maxQueues
		Total  int            // number of queues, also of those that are not in Lines
		Busy   int            // of them, with a holder or a waiter
		Units  float64        // used since the scan before, for all purposes
		Passed time.Duration  // since the scan before
		Err    error
	}
	// Inspected is a look at one queue.
	Inspected struct {
		Key   queuelock.Key
		State *queue.State
		Err   error
	}
	// Evicted is the result of an eviction.
	Evicted struct {
		Holder queue.Holder
		Err    error
	}
)

// Evict is a request to evict a holder that was shown.
// If it is Present, it is the one that holds the lock when the request is made.
type Evict struct {
	Key     queuelock.Key
	Holder  queue.Holder
	Present bool
}

const (
	// maxQueues bounds the list.
	maxQueues = 1000
	// samples is the length of a sparkline.
	samples = 7
)

type entry struct {
	display.Line
	held, waits []time.Duration // of the last scans
}

func (e entry) key() queuelock.Key { return queuelock.Key{Entity: e.Entity, Reason: e.Reason} }

// Model is the state of the view.
type Model struct {
	Config
	ctx   context.Context
	meter *meter

	width, height int
	now           time.Time
	heard         time.Time // when the last page of a scan came
	failure       string    // of the last scan or look
	help          bool
	message       string // the result of a key

	queues
	inspection
}

type queues struct {
	entries     []entry // those that were scanned last, by name
	total, busy int
	all         bool // the list has idle queues too
	order       order
	filter      string // a part of an entity, a reason, an owner or data
	typing      bool   // the filter
	selected    queuelock.Key
	scanned     time.Time
	used        float64 // units in a second
	progress    Progress
}

type inspection struct {
	inspecting bool
	looking    bool // a look is under way
	subject    queuelock.Key
	state      *queue.State
	moved      map[string]int // places that waiters have moved up, by id
	holder     int            // the holder that is chosen
	evicting   bool           // once the look is there
	confirm    *Evict         // the eviction about which the user is asked
}

// Init implements tea.Model, as do Update and View.
func (m Model) Init() tea.Cmd { return nil }

func (m Model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	cmd := m.update(msg)
	return m, cmd
}

// update takes a message, and returns what is to be done.
func (m *Model) update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case Config: // with a connection
		m.Config = msg
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
	case Progress:
		m.progress, m.heard = msg, m.now
	case Scanned:
		m.take(msg)
	case Inspected:
		m.inspected(msg)
	case Evicted:
		m.message = fmt.Sprintf("ticket %s is evicted", msg.Holder.Turn().Short())
		if msg.Err != nil {
			m.message = msg.Err.Error()
		}
		return m.look()
	case Tick:
		m.now = time.Time(msg)
		return m.look()
	case tea.KeyPressMsg:
		return m.press(msg.String())
	}
	return nil
}

func (m *Model) take(s Scanned) {
	m.progress = Progress{}
	if m.failure = ""; s.Err != nil {
		m.failure = s.Err.Error()
		return
	}
	before := map[queuelock.Key]entry{}
	for _, e := range m.entries {
		before[e.key()] = e
	}
	m.entries = nil
	for _, line := range s.Lines {
		e := entry{Line: line}
		old := before[e.key()]
		held, longest := line.Times()
		e.held, e.waits = push(old.held, held), push(old.waits, longest)
		m.entries = append(m.entries, e)
	}
	m.sort()
	m.total, m.busy, m.scanned, m.now, m.heard = s.Total, s.Busy, s.At, s.At, s.At
	if s.Passed > 0 {
		m.used = s.Units / s.Passed.Seconds()
	}
}

func push(list []time.Duration, d time.Duration) []time.Duration {
	if len(list) == samples {
		list = list[1:]
	}
	return append(slices.Clone(list), d)
}

type order int

const (
	byWait order = iota
	byHold
	byName
	orders
)

func (o order) String() string { return [orders]string{"wait", "hold", "name"}[o] }

func (m *Model) sort() {
	m.entries = slices.Clone(m.entries)
	slices.SortFunc(m.entries, func(a, b entry) int {
		held, wait := a.Times()
		heldB, waitB := b.Times()
		byTime := cmp.Or(cmp.Compare(waitB, wait), cmp.Compare(b.Waiting, a.Waiting), cmp.Compare(b.Holders, a.Holders))
		switch m.order {
		case byHold:
			byTime = cmp.Compare(heldB, held)
		case byName:
			byTime = 0
		}
		return cmp.Or(byTime, a.Compare(b.Line))
	})
}

func (m Model) shown() []entry {
	if m.all && m.filter == "" {
		return m.entries
	}
	return slices.DeleteFunc(slices.Clone(m.entries), func(e entry) bool {
		return !m.all && e.State == display.Idle || !e.has(strings.ToLower(m.filter))
	})
}

func (e entry) has(filter string) bool {
	texts := e.Entity + "\n" + e.Reason + "\n" + e.Data()
	if e.Holder != nil {
		texts += "\n" + *e.Holder
	}
	return strings.Contains(strings.ToLower(texts), filter)
}

// cursor returns the place of the selected queue; 0 if it has left the list.
func (m Model) cursor(list []entry) int {
	return max(0, slices.IndexFunc(list, func(e entry) bool { return e.key() == m.selected }))
}

// look asks for a look at the queue that is inspected, unless one is under way.
func (m *Model) look() tea.Cmd {
	if !m.inspecting || m.looking {
		return nil
	}
	m.looking = true
	ctx, c, meter, key := m.ctx, m.Config, m.meter, m.subject
	return func() tea.Msg {
		state, err := c.Inspect(ctx, key)
		if err == nil {
			meter.add(float64(1 + len(state.Waiting)/12)) // a row has about 300 bytes
		}
		return Inspected{key, state, c.described(err)}
	}
}

func (m *Model) inspected(s Inspected) {
	m.looking = false
	if !m.inspecting || s.Key != m.subject {
		return
	}
	if m.failure = ""; s.Err != nil {
		m.failure = s.Err.Error()
		return
	}
	places := map[string]int{}
	if m.state != nil {
		for _, w := range m.state.Waiting {
			places[w.ID] = w.Position
		}
	}
	moved := map[string]int{}
	for _, w := range s.State.Waiting {
		if was, ok := places[w.ID]; ok {
			moved[w.ID] = was - w.Position + max(0, m.moved[w.ID])
		}
	}
	m.state, m.moved = s.State, moved
	m.holder = min(m.holder, max(0, len(s.State.Serving)-1))
	if m.evicting {
		m.evicting = false
		m.ask()
	}
}

func (m *Model) ask() {
	switch {
	case m.subject.Reason == queuelock.ItemReason:
		m.message = "the holder is in the item: evict it with 'queuelock evict --item'"
	case m.state == nil:
		m.evicting = true
	case len(m.state.Serving) == 0:
		m.message = "there is no holder to evict"
	default:
		m.confirm = &Evict{Key: m.subject, Holder: m.state.Serving[m.holder]}
	}
}
