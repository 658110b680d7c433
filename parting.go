package queuelock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/queuelock/queuelock/serving"
)

// partingState is what is known of a write of the caller's that also releases
// the lock: whoever finds the lock gone from its record asks here whether that
// is a loss.
type partingState int

const (
	partingNone    partingState = iota
	partingSent                 // it is under way, and its caller will find out
	partingUnknown              // it was given up without an answer
	partingMade                 // it had no answer, and the record has shown since that it was made
)

// errParted is what a heartbeat returns while its refusal may come from a write
// that has released the lock.
var errParted = errors.New("the lock is not in the serving record: a write that releases it is under way")

// parted reports whether a lock that its record does not hold any more was, for
// all that is known, released by a write of its own. Nobody else can have
// removed it yet, but an operator: its deadline has not passed. rec is the
// record, if it was shown.
func (l *Lock) parted(rec *serving.Record) bool {
	by := rec != nil && l.byOthers(*rec)
	l.mu.Lock()
	state := l.parting
	if state == partingUnknown && l.end == nil && !by {
		l.parting = partingMade
	}
	l.mu.Unlock()
	switch state {
	case partingSent, partingMade:
		return true
	case partingUnknown:
		if !by && l.finish(ErrReleased) {
			l.client.forget(l)
			return true
		}
	}
	return false
}

// byOthers reports whether a record that does not hold the lock any more shows
// that it was no write of its own which released it: the record was made anew, or
// another process has resumed the lock.
func (l *Lock) byOthers(rec serving.Record) bool {
	return rec.TicketNumber.Less(l.ticket) ||
		slices.ContainsFunc(rec.Holders, func(h serving.Holder) bool { return h.Ticket == l.ticket })
}

// parting is such a write, under way. The lock is held, and kept by its
// heartbeat, until the write is known to have been made.
type parting struct {
	*Lock
	caller context.Context
	held   context.Context // ends with caller, with the lock and with Close
	before partingState
	open   bool // an attempt had no answer: it may have been made, or may yet be
	end    func()
}

// part begins a write that releases the lock as well. end must be called in the
// end. It keeps the gate: no Release comes in between.
func (l *Lock) part(ctx context.Context, what string) (*parting, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("queuelock: %s: %s: nothing was sent: %w", l.key, what, err)
	}
	select {
	case l.gate <- struct{}{}:
	case <-ctx.Done():
		return nil, fmt.Errorf("queuelock: %s: %s: another release is still under way: %w", l.key, what, ctx.Err())
	}
	err := l.Err()
	if err == nil {
		err = context.Cause(l.client.ctx)
	}
	if err != nil {
		<-l.gate
		return nil, err
	}
	held, cancel := l.within(ctx)
	unhook := context.AfterFunc(l.client.ctx, cancel)
	l.mu.Lock()
	p := &parting{Lock: l, caller: ctx, held: held, before: l.parting}
	l.parting = partingSent
	l.mu.Unlock()
	p.end = func() {
		l.mu.Lock()
		l.parting = p.before
		if p.open {
			l.parting = partingUnknown
		}
		l.mu.Unlock()
		unhook()
		cancel()
		<-l.gate
	}
	return p, nil
}

// made ends the turn: the write was made, and the lock with it released. quiet
// says that nobody is known to be left in the queue, and that it is not on the
// short path.
func (p *parting) made(quiet bool) {
	p.open, p.before = false, partingNone
	p.finish(ErrReleased)
	p.settled, p.result = true, nil
	p.client.forget(p.Lock)
	p.client.lines.Wake(p.queue)
	p.keeper.Stop()
	if quiet {
		p.client.background.run(p.quieten)
	}
}

// gone is the error of a write that was refused because the lock is not in its
// record, which is rec, and that is known not to have been made.
func (p *parting) gone(rec serving.Record) error {
	p.open = false
	if p.before == partingUnknown && !p.byOthers(rec) && (p.terms.FailClosed || time.Now().Before(p.keeper.Deadline())) && p.finish(ErrReleased) {
		// An earlier call's, which was given up without an answer.
		p.before = partingMade
		p.client.forget(p.Lock)
		return ErrReleased
	}
	return p.evicted()
}

// failed is the error of a write that ends with err.
func (p *parting) failed(what string, err error) error {
	if p.open {
		return &UnknownOutcomeError{Key: p.key, Err: err, Ctx: p.caller.Err(), End: p.Err()}
	}
	return fmt.Errorf("queuelock: %s: %s: %w", p.key, what, errors.Join(err, p.caller.Err(), p.Err()))
}
