package play

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/queuelock/queuelock/event"
	"github.com/queuelock/queuelock/heartbeat"
	"github.com/queuelock/queuelock/internal/machine"
	"github.com/queuelock/queuelock/internal/member"
	"github.com/queuelock/queuelock/internal/notify"
	"github.com/queuelock/queuelock/queue"
)

// Err returns nil while the lock is held, and then the reason why it is not. It reads the clock.
func (l *Lock) Err() error {
	l.mu.Lock()
	var send func()
	if now := time.Now(); l.phase.Held() && !l.ends.IsZero() && !now.Before(l.ends) {
		loss := &heartbeat.LossError{Cause: heartbeat.Expired}
		if l.failure != nil || l.beating {
			loss = &heartbeat.LossError{Cause: heartbeat.Unreachable, Err: l.failure}
		}
		send = l.keeper().lose(loss)
	}
	reason := l.reason
	l.mu.Unlock()
	if send != nil {
		send()
	}
	return reason
}

// Remaining returns the time until the lease expires locally if no further renewal succeeds.
func (l *Lock) Remaining() time.Duration {
	if l.Err() != nil {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.keeper().left()
}

// Extend renews the lease now. Calls that wait at the same time share one request.
func (l *Lock) Extend(ctx context.Context) error {
	if err := l.Err(); err != nil {
		return err
	}
	c := make(chan error, 1)
	l.mu.Lock()
	if l.reason != nil {
		defer l.mu.Unlock()
		return l.reason
	}
	calls := l.called()
	calls.extends = append(calls.extends, c)
	l.mu.Unlock()
	l.p.happens(member.Uses{Caller: l.caller, Use: member.Extends})
	var err error
	select {
	case err = <-c:
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err != nil {
		err = fmt.Errorf("queuelock: extend %s: %w", l.name(), err)
	}
	return cmp.Or(l.Err(), err)
}

// lose ends a lock that is lost. What it returns is called without l.mu, which is held. The lock is off the list before
// anyone hears of the loss: Close does not report it once more.
func (l keeper) lose(loss *heartbeat.LossError) func() {
	l.p.c.unlist(l.Lock)
	l.loss, l.phase, l.since = loss, machine.PhaseLost, time.Now()
	l.reason = l.p.c.Lost(l.p.queue, l.ticket, loss)
	l.stops(l.reason)
	held := l.since.Sub(l.start)
	// else only a call of Release removes the entry
	if _, malformed := errors.AsType[*queue.MalformedError](loss); !malformed {
		l.outlives()
	}
	return func() {
		log := l.k.log
		notify.Send(log, event.Lost{Origin: log.Origin(l.ticket), Held: held, Cause: loss.Cause, Err: loss.Err})
	}
}

// stops ends what depends on the lock. l.mu is held.
func (l keeper) stops(reason error) {
	l.ctx.cancel(reason)
	calls := l.called()
	for _, c := range append(calls.extends, calls.sent...) {
		c <- reason
	}
	calls.extends, calls.sent = nil, nil
}

// left is Remaining of a lock that is held. l.mu is held.
func (l keeper) left() time.Duration {
	if l.ends.IsZero() {
		return queue.Forever
	}
	return max(0, time.Until(l.ends))
}

// beats notes that a renewal is sent.
func (l keeper) beats() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.beating = true
	if c := l.calls; c != nil {
		c.sent, c.extends = append(c.sent, c.extends...), nil
	}
}

// beaten notes the answer to a renewal.
func (l keeper) beaten() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.beating = false
}

// renewed takes the present end of the lease.
func (l keeper) renewed(r member.Report) {
	l.mu.Lock()
	var sent []chan error
	if c := l.calls; c != nil {
		sent, c.sent = c.sent, nil
	}
	left := time.Until(l.ends)
	switch {
	case r.Err == nil:
		l.ends, l.failure = r.Ends, nil
		l.warnings.arm(l.Lock)
	// one that the deadline has cut short says less than that before
	case l.failure == nil, l.ends.IsZero(), time.Now().Before(l.ends):
		l.failure = r.Err
	}
	l.mu.Unlock()
	if log, terms := l.k.log, l.terms(); r.Err == nil && log.Observed() {
		e := event.Renewed{Origin: log.Origin(l.ticket)}
		if !terms.FailClosed {
			e.Margin = left
			if terms.Interval > 0 && !r.Accepts {
				e.Lag = max(0, terms.TTL-terms.Margin-e.Margin-terms.Interval)
			}
		}
		notify.Send(log, e)
	}
	for _, c := range sent {
		c <- r.Err
	}
}

// lost takes a loss: by the clock, or by what an answer has shown.
func (l keeper) lost(err error) {
	if l.Err() != nil {
		return
	}
	l.mu.Lock()
	if err == nil {
		err = fmt.Errorf("%w: it is not in the serving record", heartbeat.ErrEvicted)
	}
	send := l.lose(&heartbeat.LossError{Cause: heartbeat.Evicted, Err: err})
	l.mu.Unlock()
	l.p.ends()
	send()
}

// stays returns for how long after its lease an entry may still be there for others.
func (l keeper) stays() time.Duration {
	t := l.terms()
	return t.Margin + max(t.Delay, l.granted.atLeast)
}

// outlives lets a lock that is left be forgotten once its lease has ended on all clocks, and not before a release that
// is called now has removed it. No lease ends one that fails closed. l.mu is held.
func (l keeper) outlives() {
	if left := !l.phase.Held() && !l.phase.Final() && !l.gone; left && !l.terms().FailClosed {
		time.AfterFunc(max(0, time.Until(l.ends))+l.stays(), l.outlived)
	}
}

// outlived forgets a lock that was not released, or was lost, and whose lease has ended.
func (l keeper) outlived() {
	l.mu.Lock()
	// a call is under way that releases it, after which it is asked again, or must
	if c := l.called(); c.busy != nil || c.hidden {
		l.mu.Unlock()
		return
	}
	l.gone = !l.phase.Final()
	gone := l.gone
	if gone {
		l.p.c.unlist(l.Lock)
		l.user().fails()
	}
	l.mu.Unlock()
	if gone {
		l.p.forgets(l.caller)
		l.p.happens(member.Forgets{Caller: l.caller})
	}
}

// warnings are calls before the lease ends.
type warnings struct {
	margins []time.Duration
	timers  []*time.Timer
	warn    func(margin int)
}

// Warns lets warn be called with the index of each margin that is left of the lease, or is left of it already: in a
// goroutine of its own, once until a renewal succeeds, and not after Release.
func (l *Lock) Warns(margins []time.Duration, warn func(margin int)) {
	if len(margins) == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.warnings = &warnings{margins: margins, warn: warn}
	for i, margin := range margins {
		l.warnings.timers = append(l.warnings.timers, time.AfterFunc(l.keeper().left()-margin, func() {
			l.keeper().warns(i)
		}))
	}
}

// arm lets the warnings be called once more after a renewal. l.mu is held.
func (w *warnings) arm(l *Lock) {
	if w == nil {
		return
	}
	for i, t := range w.timers {
		t.Reset(l.keeper().left() - w.margins[i])
	}
}

// warns calls a warning.
func (l keeper) warns(i int) {
	l.mu.Lock()
	w, due := l.warnings, l.phase.Held() && l.left() <= l.warnings.margins[i]
	l.mu.Unlock()
	if due {
		l.p.c.Background(func() { w.warn(i) })
	}
}
