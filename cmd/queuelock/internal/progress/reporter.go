package progress

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/cmd/queuelock/internal/display"
	"github.com/queuelock/queuelock/cmd/queuelock/internal/screen"
)

// Style is the form in which a Reporter writes.
type Style int

// The styles.
const (
	None Style = iota
	Plain
	JSON
	Screen
)

const (
	// plainInterval is the least time from one line to the next, however fast the queue
	// moves: the output may be a log. jsonInterval is that of the objects.
	plainInterval = 10 * time.Second
	jsonInterval  = time.Second

	// repeatInterval is how often a line is repeated without a change, so that a log shows
	// that the command still waits.
	repeatInterval = time.Minute

	// drawInterval is how often the ages on a screen are updated. drawLimit is the least
	// time between two changes on it.
	drawInterval = time.Second
	drawLimit    = 100 * time.Millisecond

	// endGrace is how long a write may still take when the wait has ended. A terminal that
	// was stopped (Ctrl-S) must not keep a command that has its lock from being run.
	endGrace = time.Second
)

// Config says what a Reporter writes, and where.
type Config struct {
	Out      io.Writer
	Style    Style
	Deadline time.Time // when the wait is given up; zero: never
	// Screen is drawn on in its style, if Visible says that this process may: one in the background may not.
	Screen  *screen.Screen
	Visible func() bool
}

// Reporter reports the place of one waiting command. End ends it.
type Reporter struct {
	cfg   Config
	news  chan View // has the latest that was not read yet
	notes chan outage
	stop  context.CancelFunc
	done  chan struct{}
}

// Start starts a Reporter. It is silent once the deadline is over: what happens then is no
// waiting.
func Start(ctx context.Context, cfg Config) *Reporter {
	r := &Reporter{cfg: cfg, news: make(chan View, 1), notes: make(chan outage, 2), done: make(chan struct{})}
	if cfg.Deadline.IsZero() {
		ctx, r.stop = context.WithCancel(ctx)
	} else {
		ctx, r.stop = context.WithDeadline(ctx, cfg.Deadline)
	}
	go r.run(ctx)
	return r
}

// Report takes news of the wait. It is for queuelock.OnProgress, and never waits.
func (r *Reporter) Report(p queuelock.Progress) {
	select {
	case <-r.news: // what was not read is old
	default:
	}
	r.news <- View{Progress: p, Seen: time.Now(), Deadline: r.cfg.Deadline} // there is room: this is the only sender
}

// Outage reports that requests fail, or that this is over. It never waits.
func (r *Reporter) Outage(text string, over bool) {
	o := outage{"unavailable", time.Now().UTC(), text}
	if over {
		o.Event = "available"
	}
	select {
	case r.notes <- o:
	default: // the output is not read
	}
}

// End ends the reports, and erases what is on the screen. When it has returned nothing
// more is written, but for what the output does not take.
func (r *Reporter) End() {
	r.stop()
	patience := time.NewTimer(endGrace)
	defer patience.Stop()
	select {
	case <-r.done:
	case <-patience.C:
	}
}

// run writes a report at the first news, at each change and in intervals.
func (r *Reporter) run(ctx context.Context) {
	defer close(r.done)
	defer r.draw("")
	least, most := plainInterval, repeatInterval // between two reports
	switch r.cfg.Style {
	case Screen:
		least, most = drawLimit, drawInterval
	case JSON:
		least = jsonInterval
	}
	var latest, last View
	var written time.Time // zero: nothing was
	next := time.NewTimer(0)
	next.Stop()
	defer next.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case latest = <-r.news:
		case n := <-r.notes:
			r.tell(n)
			if r.cfg.Style != Screen || written.IsZero() {
				continue
			}
			written = time.Time{} // what is below the line is drawn again
		case <-next.C:
		}
		if ctx.Err() != nil {
			return
		}
		now := time.Now()
		due := most
		if written.IsZero() || latest.changed(last) || r.cfg.Style == Screen && latest.Seen != last.Seen {
			due = least
		}
		if wait := due - now.Sub(written); !written.IsZero() && wait > 0 {
			next.Reset(wait)
			continue
		}
		r.write(latest, now)
		last, written = latest, now
		next.Reset(most)
	}
}

// write writes a report. A failure of it is worth no failure of the wait.
func (r *Reporter) write(v View, now time.Time) {
	switch r.cfg.Style {
	case Plain:
		_, _ = fmt.Fprintln(r.cfg.Out, v.Line(now))
	case JSON:
		_, _ = fmt.Fprintln(r.cfg.Out, v.JSON(now))
	case Screen:
		r.draw(v.Screen(now))
	}
}

// tell reports an outage at once. On a screen it stays above what is drawn.
func (r *Reporter) tell(o outage) {
	switch r.cfg.Style {
	case JSON:
		_, _ = fmt.Fprintln(r.cfg.Out, encode(o))
	case Screen, Plain:
		r.draw("")
		_, _ = fmt.Fprintln(r.cfg.Out, display.Escape("queuelock: "+o.Message))
	}
}

// draw draws a text in place of the last, an empty one to erase that. In the background nothing is: the shell writes there.
func (r *Reporter) draw(text string) {
	switch {
	case r.cfg.Screen == nil:
	case r.cfg.Visible():
		_ = r.cfg.Screen.Draw(text)
	default:
		r.cfg.Screen.Leave()
	}
}
