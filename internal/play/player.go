package play

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/queuelock/queuelock/internal/handover"
	"github.com/queuelock/queuelock/internal/machine"
	"github.com/queuelock/queuelock/internal/member"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/ticket"
)

// player is a member that is played.
type player struct {
	c     *Client
	queue table.Queue
	ctx   context.Context // with the values of the first caller; it does not end

	mu      sync.Mutex
	callers []*Caller      // guarded by mu: that wait, or have a lock, by their numbers
	events  []member.Event // guarded by mu: they are to come
	highest ticket.Number  // guarded by mu: that a record has shown of a wider counter
	ids     int32          // guarded by mu
	runs    bool           // guarded by mu: run is under way, which alone uses the rest

	dating *time.Time // when DynamoDB's time was asked for; nil: it is not
	untidy bool       // a wait or a turn has ended: see tidy

	m        member.Member
	timer    *time.Timer
	at       time.Time                 // at which it fires; zero: it does not
	requests []*request                // by their numbers
	sights   map[int32]*sight          // by block
	failing  map[member.Timer]*failing // series of failures
	waits    []int32                   // that want the lock once DynamoDB's time is known
	given    []*Caller                 // that get the lock of their turns at the end of a step
	clearing []clears

	counted
	answered time.Time                // when a request was answered last
	ended    time.Time                // when a turn of the client ended last
	bells    map[int32]*handover.Bell // by block
}

// Events of the driver's own.
type (
	due   struct{ member.Rung }
	rings struct {
		member.Rung
		block int32
	}
	dates struct{ member.Rung }
	dated struct {
		member.Rung
		of     *time.Time
		err    error
		caller int32  // that it was asked for
		end    func() // how the request has ended its goroutine, if it has
	}
	cut struct {
		member.Rung
		l *Lock
	}
	closes struct{ member.Rung }
	nudges struct {
		member.Rung
		caller int32
	}
	clears struct {
		member.Rung
		caller int32
		cleans bool // it waits for what removes ids, too
		then   func()
	}
	answer struct {
		member.Rung
		a member.Answer
		r *request
	}
	overdue struct {
		member.Rung
		of int
		r  *request
	}
	panics struct {
		member.Rung
		of    int
		r     *request
		value any
	}
)

// enters adds a caller. p.mu is held.
func (p *player) enters(k *Caller) {
	p.ids++
	k.id = p.ids
	p.callers = append(p.callers, k)
	if n := len(p.events); n > 0 {
		// those that come during a step come together
		if last, ok := p.events[n-1].(*member.Wants); ok && last.Kind == &k.wants.Kind {
			last.Callers = append(last.Callers, k.id)
			return
		}
	}
	p.happened(&member.Wants{Callers: []int32{k.id}, Kind: &k.wants.Kind})
}

func (p *player) happens(e member.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.happened(e)
}

// happened lets the member take an event, soon: it is not the caller's stack that grows. p.mu is held.
func (p *player) happened(e member.Event) {
	if p.events = append(p.events, e); !p.runs {
		p.runs = true
		p.c.Background(p.run) // Close waits for what follows from an answer, too
	}
}

// run steps the member until nothing has happened.
func (p *player) run() {
	for {
		runtime.Gosched() // callers that come at the same time come together
		p.mu.Lock()
		events := p.events
		if p.events = nil; len(events) == 0 {
			p.runs = false
			idle := p.m.Idle() && len(p.callers) == 0 && len(p.waits) == 0 && p.dating == nil
			p.mu.Unlock()
			if idle {
				p.c.forget(p)
			}
			return
		}
		p.mu.Unlock()
		for _, e := range events {
			p.take(e)
		}
		p.wire().abandon()
		p.wire().cleared()
		p.show()
		p.arm()
	}
}

// take takes an event.
func (p *player) take(e member.Event) {
	switch e := e.(type) {
	case *member.Wants:
		p.wants(e.Callers)
	case due:
		p.fires()
	case rings:
		p.rings(e.block)
	case dates:
		p.dating = nil
		p.wants(nil)
	case dated:
		if e.end != nil {
			e.raise(p)
		}
		if e.of == p.dating { // else it hung
			p.dated(e.err)
		}
	case cut:
		p.cuts(e.l)
	case closes: // what is to be removed once more is removed at once
		p.hurries(p.removesAgain)
	case nudges:
		p.hurries(func(t member.Timed) bool {
			return t.Kind == member.Rests && p.m.Block(t.Of).Callers.Turn(e.caller) >= 0
		})
	case clears:
		p.clearing = append(p.clearing, e)
	case overdue:
		p.wire().hung(e.of, e.r)
	case panics:
		p.wire().panicked(e)
	case member.GivesUp:
		p.untidy = true
		p.givesUp(e)
	case answer:
		if p.wire().isUnderWay(e.a.Of, e.r) { // else it hung
			p.wire().answers(e.a)
		}
	case member.Rung: // a lock that is none of these has ended
		p.woken()
		p.step(e)
	default:
		p.step(e)
	}
}

// wants lets callers want the lock, once DynamoDB's time is known: the lease that begins next has an end then.
func (p *player) wants(callers []int32) {
	callers = slices.DeleteFunc(callers, p.tooLate)
	if len(callers) > 0 {
		if k := &p.caller(callers[0]).wants.Kind; k.Resume != nil { // a look comes first
			p.step(member.Wants{Callers: callers, Kind: k})
			return
		}
	}
	if p.waits = append(p.waits, callers...); p.dating != nil || len(p.waits) == 0 {
		return
	}
	if !p.queue.Clock().Needed(time.Now()) {
		p.dated(nil)
		return
	}
	asked := time.Now()
	p.dating = &asked
	first := p.caller(p.waits[0])
	ctx, q := first.values(), p.queue
	q.Store = first.bounded()
	hangs := time.AfterFunc(p.c.Attention, func() { p.happens(dated{of: &asked, err: p.c.hung}) })
	p.c.Background(func() {
		e := dated{of: &asked, caller: first.id, err: errPanicked}
		returned := false
		defer func() {
			if hangs.Stop(); !returned {
				e.end = endOf(recover())
			}
			p.happens(e)
		}()
		e.err = q.Date(ctx)
		returned = true
	})
}

// raise raises the panic of a request for the time in the goroutine of the caller for which it was sent. The others go
// on.
func (e dated) raise(p *player) {
	k := p.caller(e.caller)
	if k == nil {
		go e.end()
		return
	}
	k.raise(e.end)
	p.waits = slices.DeleteFunc(p.waits, func(id int32) bool { return id == e.caller })
	p.mu.Lock()
	p.drop(e.caller)
	p.mu.Unlock()
}

// tooLate refuses a caller whose wait is over before its first request.
func (p *player) tooLate(caller int32) bool {
	k := p.caller(caller)
	if k == nil || k.ctx.Err() == nil {
		return false
	}
	p.refuses(member.Refuse{Caller: caller, GaveUp: true}, nil)
	return true
}

// dated goes on once DynamoDB's time is known, or cannot be found out now.
func (p *player) dated(err error) {
	p.dating = nil
	waits := p.waits
	p.waits = nil
	if err != nil {
		p.undated(waits, err)
		return
	}
	waits = slices.DeleteFunc(waits, func(id int32) bool {
		k := p.caller(id)
		if k.late {
			p.refuses(member.Refuse{Caller: id, GaveUp: true}, nil)
		}
		return k.late
	})
	for first := true; len(waits) > 0; first = false { // which takes its ticket alone, as if the time had been known
		n, kind := 1, &p.caller(waits[0]).wants.Kind
		for !first && n < len(waits) && &p.caller(waits[n]).wants.Kind == kind {
			n++
		}
		p.step(member.Wants{Callers: waits[:n], Kind: kind})
		waits = waits[n:]
	}
}

// undated tries again to find out the time, except for those that have waited for too long.
func (p *player) undated(waits []int32, err error) {
	t := member.Timer{Kind: member.Gathers}
	until, more := p.pause(t, err, func(err error) bool { return table.Retryable.Retryable(err) || panicked(err) }, 0)
	for _, id := range waits {
		k := p.caller(id)
		k.failed(err)
		if k.late || !more || p.silent(k) || k.wants.over(until) {
			p.refuses(member.Refuse{Caller: id, GaveUp: k.late, Why: machine.WhyError, Err: err}, err)
			continue
		}
		p.waits = append(p.waits, id)
	}
	if len(p.waits) > 0 {
		p.dating = new(time.Time) // soon
		time.AfterFunc(time.Until(until), func() { p.happens(dates{}) })
	}
}

// step steps the member, and does what it says: requests first, so that they are under way when a caller hears of what
// they follow.
func (p *player) step(e member.Event) {
	effects := p.m.Step(clock{p, time.Now()}, e)
	for _, e := range effects {
		p.sends(e)
	}
	for _, e := range effects {
		p.do(e)
	}
	p.hands()
}

// sends does what an effect says that is a request.
func (p *player) sends(e member.Effect) {
	switch e := e.(type) {
	case member.Send:
		p.wire().request(e.Of, &e, func(ctx context.Context, q table.Queue, r *request) member.Answer {
			return p.wire().send(ctx, q, r, e)
		})
	case member.Look:
		p.wire().request(e.Of, nil, func(ctx context.Context, q table.Queue, _ *request) member.Answer {
			return look(ctx, q, e)
		})
		p.requests[e.Of].record = e.Record
	case member.Number:
		highest := p.highestOf(e.Of)
		p.wire().request(e.Of, nil, func(ctx context.Context, q table.Queue, r *request) member.Answer {
			return p.wire().number(ctx, q, r, highest)
		})
	case member.Ring:
		p.ring(e)
	}
}

func (p *player) do(e member.Effect) {
	switch e := e.(type) {
	case member.Placed:
		if k := p.caller(e.Caller); k != nil {
			k.placed = true
			k.numbered(e.Ticket)
			k.saves(e.Handle)
		}
	case member.Give:
		p.untidy = true
		p.gives(e)
	case member.Refuse:
		p.untidy = true
		p.refuses(e, p.why(e))
	case member.Report:
		p.untidy = p.untidy || e.News != member.Renewed
		if k := p.caller(e.Caller); k != nil && k.lock != nil {
			k.lock.reported(e)
		}
	}
}

func (p *player) caller(id int32) *Caller {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.called(id)
}

// called is caller with p.mu held.
func (p *player) called(id int32) *Caller {
	if i, ok := p.index(id); ok {
		return p.callers[i]
	}
	return nil
}

func (p *player) index(id int32) (int, bool) {
	return slices.BinarySearchFunc(p.callers, id, func(k *Caller, id int32) int { return int(k.id - id) })
}

// drop forgets a caller. p.mu is held.
func (p *player) drop(id int32) {
	if i, ok := p.index(id); ok {
		p.callers = slices.Delete(p.callers, i, i+1)
	}
}

// arm lets the timer fire when the first of the member's is due.
func (p *player) arm() {
	var first time.Time
	for _, t := range p.m.Timers() {
		if at := p.dueAt(t); first.IsZero() || at.Before(first) {
			first = at
		}
	}
	for _, r := range p.requests {
		if r == nil {
			continue
		}
		if at := p.wire().hangsAt(r); !at.IsZero() && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	if first.Equal(p.at) {
		return
	}
	switch p.at = first; {
	case first.IsZero():
		p.timer.Stop()
	case p.timer == nil:
		p.timer = time.AfterFunc(time.Until(first), func() { p.happens(due{}) })
	default:
		p.timer.Reset(time.Until(first))
	}
}

// dueAt returns when a timer is due: a bell lets a waiter look earlier.
func (p *player) dueAt(t member.Timed) time.Time {
	if s := p.sights[t.Of]; t.Kind == member.Rests && s != nil && !s.heeds.IsZero() && s.heeds.Before(t.At) {
		return s.heeds
	}
	return t.At
}

// fires lets the member take the timers whose time has come.
func (p *player) fires() {
	p.at = time.Time{}
	now := time.Now()
	for _, t := range p.m.Timers() {
		if !p.dueAt(t).After(now) {
			p.step(member.Due{Timer: t.Timer})
		}
	}
	for of, r := range p.requests {
		if r == nil {
			continue
		}
		if at := p.wire().hangsAt(r); !at.IsZero() && !at.After(now) {
			p.wire().hung(of, r)
		}
	}
}

// hung lets a request that hangs count as one without an answer, if it is still under way.
func (p wire) hung(of int, r *request) {
	if p.isUnderWay(of, r) {
		p.leaves(r, p.c.hung)
		p.answers(member.Answer{Of: of, Reply: machine.ReplyUnknown, Err: p.c.hung})
	}
}

// isUnderWay reports whether a request is under way with that number.
func (p wire) isUnderWay(of int, r *request) bool {
	return of < len(p.requests) && p.requests[of] == r
}

// panicked raises a panic of a request, or its runtime.Goexit, in the goroutine of a caller that waits for it, if there
// is one: whether it was applied is not known.
func (p wire) panicked(e panics) {
	r, end := e.r, endOf(e.value)
	p.mu.Lock()
	k := p.called(r.Caller)
	p.mu.Unlock()
	if k != nil && k.raise(end) {
		if k.lock == nil {
			p.step(member.GivesUp{Caller: r.Caller})
		}
	} else {
		go end() // there is none: it ends the process, as in any goroutine
	}
	if p.isUnderWay(e.of, r) {
		p.answers(member.Answer{Of: e.of, Reply: machine.ReplyUnknown, Err: errPanicked})
	}
}

// endOf returns how a request has ended its goroutine: by a panic with a value, or by runtime.Goexit.
func endOf(value any) func() {
	if value == nil {
		return runtime.Goexit
	}
	return func() { panic(value) }
}

var errPanicked = errors.New("the DynamoDB client has panicked")
