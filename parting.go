package queuelock

import (
	"context"
	"errors"
	"fmt"

	"github.com/queuelock/queuelock/internal/serving"
)

// partingState is what is known of an UpdateAndRelease, which releases the lock
// with a write of the caller's: a heartbeat that does not find the lock asks here
// whether that is a loss.
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

// parted reports whether a lock that is not in its record was, or may have been,
// released by a write of its own, and ends the lock in that case.
func (l *Lock) parted(rec serving.Record) bool {
	l.mu.Lock()
	state, calls := l.parting, l.releases
	l.mu.Unlock()
	switch {
	case calls == 0:
		return false // no release was ever sent
	case state == partingSent, state == partingMade:
		return true
	}
	switch l.outcome(rec, calls) {
	case serving.OutcomeReleased, serving.OutcomeReleasedEarlier, serving.OutcomeReleasedSome:
		l.mu.Lock()
		l.parting = partingMade
		l.mu.Unlock()
		if l.finish(ErrReleased) {
			l.client.forget(l)
		}
		return true
	}
	return false
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
// says that the queue is known to be empty, and that it is not on the short path.
func (p *parting) made(quiet bool) {
	p.open, p.before = false, partingNone
	p.finish(ErrReleased)
	p.settled, p.result = true, nil
	p.client.forget(p.Lock)
	p.client.lines.Wake(p.queue)
	p.keeper.Stop()
	if quiet {
		p.client.background.Run(p.quieten)
	}
}

// earlier ends the turn: an earlier call, which had no answer, was made, and this
// one was not.
func (p *parting) earlier() error {
	p.open, p.before = false, partingMade
	if p.finish(ErrReleased) {
		p.client.forget(p.Lock)
	}
	return ErrReleased
}

// failed is the error of a write that ends with err.
func (p *parting) failed(what string, err error) error {
	if p.open {
		return &UnknownOutcomeError{Key: p.key, Err: err, Ctx: p.caller.Err(), End: p.Err()}
	}
	return fmt.Errorf("queuelock: %s: %s: %w", p.key, what, errors.Join(err, p.caller.Err(), p.Err()))
}
