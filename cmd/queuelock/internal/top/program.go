package top

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/cmd/queuelock/internal/display"
	"github.com/queuelock/queuelock/queue"
)

// Source is the table.
type Source struct {
	// Scan lists the queues at that rate, and reports the units of each page.
	Scan     func(ctx context.Context, rate float64, onPage func(units float64)) iter.Seq2[*queue.State, error]
	Inspect  func(context.Context, queuelock.Key) (*queue.State, error)
	Evict    func(context.Context, Evict) (queue.Holder, error) // the holder that was evicted
	Describe func(error) string                                 // in one line, for a person
}

// Config says what to show, and how often.
type Config struct {
	Source
	// Open connects to the table, and completes the Config. Run calls it, and shows the view meanwhile, so that its keys work.
	Open     func(context.Context, *Config) error
	Table    string
	Rate     float64       // read units in a second; zero: no bound
	Interval time.Duration // from one scan to the next, at least
	Expected float64       // units of a scan; zero: not known
	Unicode  bool
	Plain    bool // no reverse video
}

// scanRate and lookInterval share the rate.
func (c Config) scanRate() float64 { return c.Rate * 0.9 }

func (c Config) lookInterval() time.Duration {
	if c.Rate <= 0 {
		return time.Second
	}
	return max(time.Second, time.Duration(10/c.Rate*float64(time.Second)))
}

// silence is how long no page may come: a scan at a low rate waits between two pages of 1 MB.
func (c Config) silence() time.Duration {
	silence := max(10*time.Second, 3*c.Interval)
	if c.Rate > 0 {
		silence = max(silence, time.Duration(2*256/c.scanRate()*float64(time.Second)))
	}
	return silence
}

func (c Config) described(err error) error {
	if err == nil {
		return nil
	}
	return errors.New(c.Describe(err))
}

type meter struct {
	units atomic.Int64 // in tenths
	began time.Time    // of the scan before
}

func (m *meter) add(units float64) { m.units.Add(int64(units*10 + 0.5)) }

func (c Config) scans(ctx context.Context, m *meter, progress func(Progress)) iter.Seq[Scanned] {
	return func(yield func(Scanned) bool) {
		m.began = time.Now()
		for ctx.Err() == nil {
			begun := time.Now()
			s := c.scan(ctx, m, progress)
			length := c.Interval
			if c.Rate > 0 { // a scan does not wait for its last pages
				length = max(length, time.Duration(s.Units/c.scanRate()*float64(time.Second)))
			}
			s.At, s.Passed = time.Now(), max(s.Passed, length)
			if ctx.Err() != nil || !yield(s) {
				return
			}
			select {
			case <-time.After(time.Until(begun.Add(length))):
			case <-ctx.Done():
			}
		}
	}
}

// scan makes one scan. Of idle queues it keeps only as many as there is room for.
func (c Config) scan(ctx context.Context, m *meter, progress func(Progress)) Scanned {
	var s Scanned
	var idle []display.Line
	var units float64
	onPage := func(u float64) {
		m.add(u)
		units += u
		progress(Progress{units, c.Expected})
	}
	for state, err := range c.Scan(ctx, c.scanRate(), onPage) {
		if state == nil {
			s.Err = c.described(err)
			break
		}
		line := display.NewLine(state, err)
		s.Total++
		switch {
		case line.State != display.Idle:
			if s.Busy++; len(s.Lines) < maxQueues {
				s.Lines = append(s.Lines, line)
			}
		case len(idle) < maxQueues:
			idle = append(idle, line)
		}
	}
	s.Lines = append(s.Lines, idle[:min(len(idle), maxQueues-len(s.Lines))]...)
	now := time.Now()
	s.Units, s.Passed = float64(m.units.Swap(0))/10, now.Sub(m.began)
	m.began = now
	return s
}

// Lines prints the busy queues whenever they have changed, until ctx ends: top without a
// terminal.
func Lines(ctx context.Context, out io.Writer, c Config) error {
	shown, first := "", true
	for s := range c.scans(ctx, new(meter), func(Progress) {}) {
		text, essence := describe(s)
		if essence == shown && !first {
			continue
		}
		shown, first = essence, false
		if _, err := fmt.Fprintf(out, "%s %s", display.At(s.At), text); err != nil {
			return err
		}
	}
	return nil
}

// Once prints the view after one scan, 80 columns wide and as long as the list, without empty lines and the keys.
func Once(ctx context.Context, out io.Writer, c Config) error {
	m := Model{Config: c}
	for s := range c.scans(ctx, new(meter), func(Progress) {}) {
		m.take(s)
		break
	}
	if m.failure != "" {
		return errors.New(m.failure)
	}
	m.width, m.height = 80, frame+max(1, len(m.shown()))
	lines := m.lines()
	var b strings.Builder
	for _, l := range lines[:len(lines)-1] {
		if l.text != "" {
			b.WriteString(strings.TrimRight(l.text, " ") + "\n")
		}
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// describe prints a scan, and what of it does not change by itself.
func describe(s Scanned) (text, essence string) {
	var m Model
	m.take(s)
	if s.Err != nil {
		return m.failure + "\n", m.failure
	}
	var busy []display.Line
	for _, e := range m.shown() {
		busy = append(busy, e.Line)
		essence += fmt.Sprintf("%q %s %d %d %t %d\n", e.key(), e.State, e.Holders, e.Waiting, e.Expired, e.ExpiredWaiting)
		if e.Ticket != nil {
			essence += *e.Ticket
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d of %d queues busy, %s RCU/s\n", s.Busy, s.Total, units(m.used))
	if len(busy) > 0 {
		_ = display.Lines(&b, busy, false, false) // to a Builder, which takes all
	}
	return b.String(), essence
}

// Run shows the view until the user or ctx ends it.
func Run(ctx context.Context, in io.Reader, out io.Writer, c Config) error {
	ctx, cancel := context.WithCancel(ctx)
	var scanning sync.WaitGroup
	defer func() { cancel(); scanning.Wait() }()
	m := Model{Config: c, ctx: ctx, meter: new(meter), now: time.Now()}
	p := tea.NewProgram(m, tea.WithInput(in), tea.WithOutput(out), tea.WithoutSignalHandler(), tea.WithEnvironment(os.Environ()))
	ticks := time.NewTicker(c.lookInterval())
	defer ticks.Stop()
	scanning.Go(func() {
		for {
			select {
			case now := <-ticks.C:
				p.Send(Tick(now))
			case <-ctx.Done():
				return
			}
		}
	})
	failed := make(chan error, 1) // to connect
	scanning.Go(func() {
		if err := c.Open(ctx, &c); err != nil {
			failed <- err
			p.Quit()
			return
		}
		p.Send(c)
		for s := range c.scans(ctx, m.meter, func(pr Progress) { p.Send(pr) }) {
			p.Send(s)
		}
	})
	unhook := context.AfterFunc(ctx, p.Quit)
	defer unhook()
	_, err := p.Run()
	if ctx.Err() != nil {
		return nil
	}
	select {
	case err = <-failed:
	default: // the user has quit
	}
	return err
}

// View draws the state.
func (m Model) View() tea.View {
	width, _ := m.size()
	var texts []string
	for _, l := range m.lines() {
		switch {
		case m.Plain:
		case l.selected:
			l.text = "\x1b[7m" + string(l.tone) + display.Fit(l.text, width) + "\x1b[m"
		case l.tone != calm:
			l.text = string(l.tone) + l.text + "\x1b[m"
		}
		texts = append(texts, l.text)
	}
	view := tea.NewView(strings.Join(texts, "\n"))
	view.AltScreen = true
	return view
}
