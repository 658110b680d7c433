package play

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/queuelock/queuelock/internal/member"
	"github.com/queuelock/queuelock/internal/notify"
	"github.com/queuelock/queuelock/internal/random"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/internal/waiter"
	"github.com/queuelock/queuelock/ticket"
)

// Caller is one Acquire, and has the lock afterwards.
type Caller struct {
	Wake chan struct{} // of capacity 1: its state has changed

	p      *player
	id     int32 // of its present wait
	placed bool  // which has a ticket; only player.run uses it
	ctx    context.Context
	base   context.Context // with the values of ctx, and random numbers for requests; it does not end
	log    *notify.Log
	store  *table.Store          // of its requests
	report func(waiter.Progress) // nil: it has no receiver
	since  time.Time             // when it came
	lock   *Lock                 // that it was given; only player.run uses it

	// Guarded by p.mu.
	gaveUp  bool   // that was said
	late    bool   // it gave up as its turn was about to begin
	given   *Lock  // to be taken
	err     error  // why it is not granted the lock
	end     func() // how its goroutine ends: by a panic of a request
	tried   bool   // a request for the lock was made
	failure error  // of the last request, if the table did not answer
	refused error  // that of the last request, which has ended the wait after it had given up
	status  *waiter.Status
	shown   *reported     // last
	ticket  ticket.Number // that was reported
}

// values returns a context with the caller's values, which does not end.
func (k *Caller) values() context.Context { return random.Fork(k.base) }

// signal says that the state has changed.
func (k *Caller) signal() {
	select {
	case k.Wake <- struct{}{}:
	default:
	}
}

// raise lets the caller's goroutine end like that. It reports whether the caller is there.
func (k *Caller) raise(end func()) bool {
	k.p.mu.Lock()
	defer k.p.mu.Unlock()
	if l := k.lock; l != nil {
		return l.raise(end)
	}
	k.end = end
	k.signal()
	return true
}

func (k *Caller) failed(err error) {
	k.p.mu.Lock()
	defer k.p.mu.Unlock()
	k.failure, k.tried = err, true
}

// Next returns what the wait has come to: the lock, or why it is not granted. It is not over if it is neither. A lock that was granted
// while ctx ended is returned as well.
//
//go:noinline // what it needs of the stack, a resting caller does not occupy
func (k *Caller) Next() (over bool, l *Lock, err error) {
	k.p.c.mu.Lock()
	closed := k.p.c.closed
	k.p.c.mu.Unlock()
	var late *Lock
	defer func() {
		if late != nil {
			k.p.c.unlist(late)
		}
	}()
	k.p.mu.Lock()
	defer k.p.mu.Unlock()
	switch {
	case k.end != nil:
		k.end()
	case k.given != nil:
		l, k.given = k.given, nil
		if !l.begins() {
			late = l
			k.again()
			return false, nil, nil
		}
		k.Wake, k.ctx, k.report, k.status, k.shown = nil, nil, nil, nil, nil // as long as it has the lock, little is kept
		return true, l, nil
	case k.err != nil:
		return true, nil, k.err
	case !k.gaveUp && (closed || k.ctx.Err() != nil):
		k.gaveUp = true
		k.p.happened(member.GivesUp{Caller: k.id})
	}
	return false, nil, nil
}

// again lets a caller want the lock again whose turn was over before it began: the process was paused. p.mu is held.
func (k *Caller) again() {
	p := k.p
	p.happened(member.Releases{Caller: k.id})
	p.drop(k.id)
	k.lock, k.gaveUp, k.placed, k.late = nil, false, false, false
	p.enters(k)
	k.signal() // its ctx may have ended
}

// over returns why the caller waits no longer.
func (k *Caller) over() error {
	if err := k.ctx.Err(); err != nil {
		return err
	}
	return context.Canceled // the client is closed
}

// Status returns what the caller last saw of its queue.
func (k *Caller) Status() waiter.Status {
	k.p.mu.Lock()
	defer k.p.mu.Unlock()
	if k.status == nil {
		return waiter.Status{Failure: k.failure}
	}
	return *k.status
}

// Tried reports whether a request for the lock was made.
func (k *Caller) Tried() bool {
	k.p.mu.Lock()
	defer k.p.mu.Unlock()
	return k.tried
}

// givesUp lets a caller give up. It keeps what it has seen.
func (p *player) givesUp(e member.GivesUp) {
	if k := p.caller(e.Caller); k != nil && !k.late {
		if s, tried := p.line().status(k); tried {
			p.mu.Lock()
			k.status, k.tried = &s, true
			p.mu.Unlock()
		}
	}
	if p.begins(e.Caller) {
		return
	}
	for i, id := range p.waits { // the time is not known yet
		if id == e.Caller {
			k := p.caller(id)
			switch {
			case !p.dating:
			case !k.late: // what is asked may fail
				k.late = true
				time.AfterFunc(answerGrace, func() { p.happens(e) })
				return
			default:
				k.failed(context.DeadlineExceeded)
			}
			p.waits = append(p.waits[:i:i], p.waits[i+1:]...)
			p.refuses(member.Refuse{Caller: id, GaveUp: true}, nil)
			return
		}
	}
	p.step(e)
}

// begins reports whether the turn of a caller is about to begin, once a request is answered. That is awaited for a while, so that the
// turn does not pass to one that would wait as long.
func (p *player) begins(caller int32) bool {
	k := p.caller(caller)
	if k == nil || k.late {
		return false
	}
	for _, r := range p.requests {
		if r != nil && r.Purpose == member.Ending && r.Caller == caller && k.lock == nil {
			k.late = true
			time.AfterFunc(answerGrace, func() { p.happens(member.GivesUp{Caller: caller}) })
			p.mu.Lock()
			if k.status == nil {
				k.status, k.tried = &waiter.Status{Ticket: r.Ticket}, true
			}
			k.status.Failure = context.DeadlineExceeded
			p.mu.Unlock()
			return true
		}
	}
	return false
}

// numbered reports the ticket of a caller, once.
func (k *Caller) numbered(t ticket.Number) {
	if k.ticket != t {
		k.ticket = t
		k.log.Ticket(t)
	}
}

// gives gives the lock to a caller.
func (p *player) gives(e member.Give) {
	k := p.caller(e.Caller)
	for b := range p.m.Blocks() {
		if b.ID != e.ID {
			continue
		}
		for i := range b.Callers {
			if other := p.caller(b.Callers.At(i)); other != nil {
				other.numbered(b.Ticket.Plus(uint64(i)))
			}
		}
	}
	l := p.lock(k, e)
	p.c.list(l)
	k.lock = l
	p.mu.Lock()
	defer p.mu.Unlock()
	k.given, k.tried = l, true
	k.signal()
}

// refuses ends the wait of a caller.
func (p *player) refuses(e member.Refuse, err error) {
	k := p.caller(e.Caller)
	if k == nil {
		return
	}
	if e.GaveUp {
		err = cmp.Or(k.err, k.over()) // else the table is silent
		if k.refused != nil {
			err = k.refused
		}
	}
	if !e.GaveUp && !k.placed && !errors.Is(err, p.c.hung) && table.Unanswered(err) && !p.silent(k) { // the first of its block has waited for longer
		p.mu.Lock()
		p.drop(k.id)
		p.enters(k)
		p.mu.Unlock()
		return
	}
	if k.status == nil && !e.GaveUp {
		s, _ := p.line().status(k)
		s.Failure = cmp.Or(k.failure, s.Failure)
		p.mu.Lock()
		k.status, k.tried = &s, true
		p.mu.Unlock()
	}
	p.mu.Lock()
	p.drop(e.Caller)
	p.mu.Unlock()
	p.clearing = append(p.clearing, clears{caller: e.Caller, then: func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		k.err = err
		k.signal()
	}})
	if !e.GaveUp && table.Unanswered(err) {
		p.silence(err)
	}
}

// Cleared returns once nothing is left of the row of a caller, whose lock was released.
func (k *Caller) Cleared() {
	done := make(chan struct{})
	k.p.happens(clears{caller: k.id, then: func() { close(done) }})
	<-done
}

// silent reports whether the table has not answered for as long as the caller waits, and for so long that it need not wait longer.
func (p *player) silent(k *Caller) bool {
	since := k.since
	if since.Before(p.answered) {
		since = p.answered
	}
	return time.Since(since) >= p.c.Retry*9/10 // attempts end before a pause that would be too long
}

// silence refuses those that have no ticket yet, and for which the table is silent.
func (p *player) silence(err error) {
	late := p.m.Gathered()
	for b := range p.m.Blocks() {
		for i := range b.Callers {
			if b.Ticket.IsZero() {
				late = append(late, b.Callers.At(i))
			}
		}
	}
	for _, id := range late {
		if k := p.caller(id); k != nil && k.err == nil && p.silent(k) {
			k.err = err
			p.step(member.GivesUp{Caller: id})
		}
	}
}
