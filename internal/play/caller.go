package play

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/queuelock/queuelock/internal/machine"
	"github.com/queuelock/queuelock/internal/member"
	"github.com/queuelock/queuelock/internal/notify"
	"github.com/queuelock/queuelock/internal/random"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
)

// Caller is one Acquire, and has the lock afterwards.
type Caller struct {
	p      *player
	id     int32 // of its present wait
	placed bool  // which has a ticket; only player.run uses it
	sources
	log      *notify.Log
	store    *table.Store // of its requests
	wants    *Wants
	lock     *Lock // that it was given; only player.run uses it
	failure  error // guarded by p.mu: of the last request, if the table did not answer
	*acquire       // guarded by p.mu; nil: it has taken its lock
}

// acquire is what a caller needs until it takes its lock. While lock is nil, player.run reads it without the mutex.
type acquire struct {
	Wake   chan struct{} // of capacity 1: its state has changed
	ctx    context.Context
	report func(Progress) // nil: it has no receiver
	since  time.Time      // when it came

	// Guarded by p.mu.
	gaveUp  bool   // that was said
	late    bool   // it gave up as its turn was about to begin
	tried   bool   // a request for the lock was made
	given   *Lock  // to be taken
	err     error  // why it is not granted the lock
	end     func() // how its goroutine ends: by a panic of a request
	orphan  *Orphan
	kept    *Kept
	refused error // that of the last request, which has ended the wait after it had given up
	status  *Status
	shown   *reported     // last
	ticket  ticket.Number // that was reported
}

// sources are contexts with the caller's values and random numbers for requests. They do not end.
type sources struct {
	base context.Context
	rows context.Context // for those of its rows, which may be under way at the same time
}

// values returns a context with the caller's values, which does not end.
func (k *Caller) values() context.Context { return random.Fork(k.base) }

// bounded returns the table for the requests of the wait.
func (k *Caller) bounded() *table.Store {
	if k.wants.Until.IsZero() {
		return k.store
	}
	return k.store.Until(k.wants.Until)
}

// saves lets the caller save the handle of its place.
func (k *Caller) saves(h queue.Handle) {
	if k.wants.Saves == nil {
		return
	}
	p, id, saved, ended := k.p, k.id, k.wants.Saves(h), k.ctx.Done()
	if saved == nil {
		return
	}
	p.c.Background(func() {
		select {
		case <-saved:
			p.happens(member.Saved{Caller: id})
		case <-ended:
		}
	})
}

// signal says that the state has changed. p.mu is held.
func (k *Caller) signal() {
	if k.acquire == nil {
		return
	}
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

// Next returns what the wait has come to: the lock, or why it is not granted. It is not over if it is neither. A lock
// that was granted while ctx ended is returned as well.
func (k *Caller) Next() (over bool, l *Lock, err error) {
	k.p.c.mu.Lock()
	closed := k.p.c.closed
	k.p.c.mu.Unlock()
	k.p.mu.Lock()
	defer k.p.mu.Unlock()
	switch {
	case k.end != nil:
		k.end()
	case k.given != nil:
		l, k.given = k.given, nil
		if !l.begins() {
			k.p.c.unlist(l)
			k.again()
			return false, nil, nil
		}
		k.acquire = nil
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
	p.happened(member.Releases{Caller: k.id, Unused: true})
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
func (k *Caller) Status() Status {
	k.p.mu.Lock()
	defer k.p.mu.Unlock()
	if k.acquire == nil || k.status == nil {
		return Status{Failure: k.failure}
	}
	return *k.status
}

// Tried reports whether a request for the lock was made.
func (k *Caller) Tried() bool {
	k.p.mu.Lock()
	defer k.p.mu.Unlock()
	return k.acquire == nil || k.tried
}

// givesUp lets a caller give up. It keeps what it has seen.
func (p *player) givesUp(e member.GivesUp) {
	if k := p.caller(e.Caller); k != nil && k.lock == nil && !k.late {
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
			case p.dating == nil:
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

// begins reports whether the turn of a caller may be about to begin, once a request is answered. That is awaited for a
// while: a wait that is too short for one request makes one, and a turn does not pass to one that would wait as long.
func (p *player) begins(caller int32) bool {
	k := p.caller(caller)
	if k == nil || k.lock != nil || k.late {
		return false
	}
	for _, r := range p.requests {
		may := r != nil && (r.Purpose == member.Ending || r.Purpose == member.Waiting && r.write)
		if may && r.Caller == caller {
			k.late = true
			time.AfterFunc(answerGrace, func() { p.happens(member.GivesUp{Caller: caller}) })
			p.mu.Lock()
			if k.status == nil {
				k.status, k.tried = &Status{Ticket: r.Ticket}, true
			}
			if r.Purpose == member.Ending {
				k.status.Failure = context.DeadlineExceeded
			}
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
	p.given = append(p.given, k)
}

// hands gives callers the locks of a step, of which all is known then that was reported with it.
func (p *player) hands() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, k := range p.given {
		k.given, k.tried = k.lock, true
		k.signal()
	}
	p.given = p.given[:0]
}

// Refused says why a wait has ended that neither its caller has ended, nor a failure.
type Refused struct {
	Why    machine.Why
	Ticket ticket.Number // that is resumed
	By     ticket.Number // the later one that supersedes it
	Result queue.Result
	Err    error
}

func (e *Refused) Error() string {
	if e.Err != nil {
		return e.Err.Error()
	}
	return "its place was lost, or resumed by another process"
}

func (e *Refused) Unwrap() error { return e.Err }

// Is reports whether the wait has ended like that.
func (e *Refused) Is(err error) bool {
	other, ok := err.(*Refused)
	return ok && e.Why == other.Why
}

// ErrBusy is the error of one that does not wait.
var ErrBusy = &Refused{Why: machine.WhyBusy, Err: errors.New("the lock is busy")}

// why returns the error of a wait that has ended.
func (p *player) why(e member.Refuse) error {
	if e.Why == machine.WhyError {
		return e.Err
	}
	r := &Refused{Why: e.Why, By: e.By, Result: e.Result, Err: e.Err}
	if k := p.caller(e.Caller); k != nil && k.wants.Kind.Resume != nil {
		r.Ticket = k.wants.Kind.Resume.Ticket
	}
	return r
}

// Orphan is a grant that fails closed, and may be in the record without an owner.
type Orphan struct {
	Ticket ticket.Number
	Err    error // why it could not be removed
}

func (o *Orphan) Error() string {
	return fmt.Sprintf("ticket %s may be in the record without an owner: %v", o.Ticket, o.Err)
}

// Orphan returns what the wait may have left that no lease ends; nil if there is nothing.
func (k *Caller) Orphan() *Orphan {
	k.p.mu.Lock()
	defer k.p.mu.Unlock()
	if k.acquire == nil {
		return nil
	}
	return k.orphan
}

// Kept is a place that stays in the queue.
type Kept struct {
	queue.Handle
	Until time.Time // on the local clock, at least; zero: that is not known
}

// Kept returns the place that the caller has kept; nil if it has none.
func (k *Caller) Kept() *Kept {
	k.p.mu.Lock()
	defer k.p.mu.Unlock()
	if k.acquire == nil {
		return nil
	}
	return k.kept
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
	// The first of its block has waited for longer.
	if !e.GaveUp && !k.placed && k.wants.Until.IsZero() && !errors.Is(err, p.c.hung) &&
		table.Unanswered(err) && !p.silent(k) {
		p.mu.Lock()
		p.drop(k.id)
		p.enters(k)
		p.mu.Unlock()
		return
	}
	if k.status == nil && !e.GaveUp {
		s := p.line().ended(p.sights[e.Block], k)
		s.Failure = cmp.Or(k.failure, s.Failure)
		p.mu.Lock()
		k.status, k.tried = &s, true
		p.mu.Unlock()
	}
	p.mu.Lock()
	if e.Kept.ID != "" {
		k.kept = &Kept{e.Kept, e.Until}
	}
	if !e.Orphan.IsZero() {
		k.orphan = &Orphan{e.Orphan, e.Err}
		p.c.Log.Error("queuelock: a fail-closed grant of unknown outcome could not be removed; "+
			"if it is in the record, an operator must evict it",
			"queue", p.queue.String(), "ticket", e.Orphan, "error", e.Err)
	}
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

// Highest returns the highest ticket of a wider counter that a record of the queue has shown.
func (k *Caller) Highest() ticket.Number {
	k.p.mu.Lock()
	defer k.p.mu.Unlock()
	return k.p.highest
}

// highestOf is Highest for a request, and what its caller knows.
func (p *player) highestOf(of int) ticket.Number {
	k := p.caller(p.m.For(of).Caller)
	p.mu.Lock()
	defer p.mu.Unlock()
	if k != nil {
		return latestOf(p.highest, k.wants.Highest)
	}
	return p.highest
}

// Nudge ends a rest of the caller, which may look seldom no longer.
func (k *Caller) Nudge() {
	k.p.mu.Lock()
	defer k.p.mu.Unlock()
	k.p.happened(nudges{caller: k.id})
}

// hurries lets the time of timers come early.
func (p *player) hurries(which func(member.Timed) bool) {
	for _, t := range p.m.Timers() {
		if which(t) {
			p.step(member.Due{Timer: t.Timer})
		}
	}
}

// removesAgain reports whether what follows is a second removal, of a wait that is over.
func (p *player) removesAgain(t member.Timed) bool {
	return t.Kind == member.Pauses && p.m.Block(t.Of).Callers.Living() == 0
}

// Cleared returns once nothing is left of the row of a caller, whose lock was released.
func (k *Caller) Cleared() {
	done := make(chan struct{})
	k.p.happens(clears{caller: k.id, then: func() { close(done) }})
	<-done
}

// Cleaned returns once no request is under way that removes what waits have left, or ctx ends.
func (k *Caller) Cleaned(ctx context.Context) {
	done := make(chan struct{})
	k.p.happens(clears{cleans: true, then: func() { close(done) }})
	select {
	case <-done:
	case <-ctx.Done():
	}
}

// silent reports whether the table has not answered for as long as the caller waits, and for so long that it need not
// wait longer.
func (p *player) silent(k *Caller) bool {
	since := k.since
	if since.Before(p.answered) {
		since = p.answered
	}
	return time.Since(since) >= k.wants.Retry*9/10 // attempts end before a pause that would be too long
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
