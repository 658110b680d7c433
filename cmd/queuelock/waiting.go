package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/queuelock/queuelock"
)

const (
	// silence is how long run waits before it reports so: most turns are shorter, and a
	// line for each would be of no use.
	silence = 2 * time.Second

	// lineInterval is the least time from one line to the next, however fast
	// the queue moves: the output may be a log.
	lineInterval = 10 * time.Second

	// lineGrace is how long a line may still take when the wait has ended. A
	// terminal that was stopped (Ctrl-S) must not keep a command that has its
	// lock from being run.
	lineGrace = time.Second
)

// bulletin reports the position of a waiter while it waits.
type bulletin struct {
	out  io.Writer
	news chan queuelock.Progress // has the latest that was not read yet
	stop context.CancelFunc
	done chan struct{}
}

// newBulletin starts a bulletin, which ends with end, and is silent once the
// limit is over: what happens then is no waiting.
func newBulletin(ctx context.Context, out io.Writer, limit time.Duration, limited bool) *bulletin {
	b := &bulletin{out: out, news: make(chan queuelock.Progress, 1), done: make(chan struct{})}
	if limited {
		ctx, b.stop = context.WithTimeout(ctx, limit)
	} else {
		ctx, b.stop = context.WithCancel(ctx)
	}
	go b.run(ctx)
	return b
}

// tell is for queuelock.OnProgress. It never waits.
func (b *bulletin) tell(p queuelock.Progress) {
	select {
	case <-b.news: // what was not read is old
	default:
	}
	b.news <- p // there is room: this is the only sender
}

// run writes a line when there is something to say and the silence is over, and
// another when the position has changed, but not soon after the last.
func (b *bulletin) run(ctx context.Context) {
	defer close(b.done)
	var last queuelock.Progress
	told, quiet := 0, true // the position; zero is none
	pause := time.NewTimer(silence)
	defer pause.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case last = <-b.news:
		case <-pause.C:
			quiet = false
		}
		if quiet || last.Position == told || ctx.Err() != nil {
			continue
		}
		_, _ = fmt.Fprintln(b.out, waitingLine(last)) // it is worth no failure
		told, quiet = last.Position, true
		pause.Reset(lineInterval)
	}
}

// end ends the bulletin. When it has returned nothing more is written, but for
// a line that the output does not take.
func (b *bulletin) end() {
	b.stop()
	patience := time.NewTimer(lineGrace)
	defer patience.Stop()
	select {
	case <-b.done:
	case <-patience.C:
	}
}

// waitingLine returns the line with the position of a waiter.
func waitingLine(p queuelock.Progress) string {
	line := fmt.Sprintf("queuelock: waiting for %s: position %d", p.Key, p.Position)
	if p.Serving == nil {
		return line
	}
	line += fmt.Sprintf(", serving %s (ticket %s", named(p.Serving.Owner), p.Serving.Ticket.Short())
	if p.Serving.FailClosed {
		line += ", without a lease" // only an operator can end its turn
	}
	return line + ")"
}
