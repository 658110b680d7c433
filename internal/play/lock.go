package play

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/queuelock/queuelock/clause"
	"github.com/queuelock/queuelock/heartbeat"
	"github.com/queuelock/queuelock/internal/machine"
	"github.com/queuelock/queuelock/internal/member"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
)

// Lock is one turn, from its grant to its end. Its methods are safe for concurrent use.
type Lock struct {
	p         *player
	k         *Caller
	id        string // of the entry
	ticket    ticket.Number
	start     time.Time     // of the turn
	idle      time.Duration // how long the lock was idle before
	ctx       lockContext
	granted   *granted // as it was
	unsettled bool
	slot      *int  // number of the permit; nil: none
	caller    int32 // the number that its caller had: a caller that wants the lock again has another

	mu sync.Mutex // guards the fields below
	state
	lease
	warnings *warnings // nil: there are none
	calls    *calls    // see called; nil: there were none
}

// state is what a lock has come to.
type state struct {
	phase    machine.Phase
	followed bool                 // a later turn has it
	shared   bool                 // it is known to be in shared mode
	gone     bool                 // its lease has ended, and it was not released
	beating  bool                 // a renewal is under way
	since    time.Time            // of the phase
	reason   error                // why it is not held; nil while it is
	loss     *heartbeat.LossError // how it was lost; nil if it was not
}

// lease is that of a lock.
type lease struct {
	ends    time.Time
	failure error // of the last renewal since the last success
}

// calls are what calls have come to that use a lock, renew it, or release it. Most locks that are held have had none.
type calls struct {
	ending
	uses
	revoked
	extends []chan error // whose renewal is to be sent
	sent    []chan error // whose renewal is under way
	update  *update      // under way; nil: none is
}

// called returns the calls. l.mu is held.
func (l *Lock) called() *calls {
	if l.calls == nil {
		l.calls = &calls{}
	}
	return l.calls
}

// ending is what calls have come to that release a lock.
type ending struct {
	busy    chan struct{}   // closed with the call that releases the lock; nil: none is under way
	end     chan ended      // of that call
	release context.Context // of the present or last call; nil: there was none
	raised  bool            // it has ended by a panic of its request
	hidden  bool            // it has left an entry that no lease ends
	undone  *member.Report  // it has not released the lock
	unknown error           // of the phase Unknown
	// of the last request that has failed; one that the deadline has cut short says less than that before
	cause error
}

// uses are the calls that use a lock.
type uses struct {
	using []*use
	count int32
	last  *use          // transaction that was sent, and has ended
	fence *clause.Write // the last
}

// ended is what has become of a call that releases the lock.
type ended struct {
	r   member.Report
	end func() // a panic
}

// lockContext is a context that ends with a lock. Its Err reads the clock, as a process that was paused may call it
// before its timers fire.
type lockContext struct {
	context.Context
	lock   *Lock
	cancel context.CancelCauseFunc
}

func (c lockContext) Err() error {
	if err := c.lock.Err(); err != nil {
		c.cancel(err)
	}
	return c.Context.Err()
}

// lock makes the lock of a turn.
func (p *player) lock(k *Caller, e member.Give) *Lock {
	now := time.Now()
	l := &Lock{
		p: p, k: k, caller: e.Caller, id: e.ID, ticket: e.Ticket, unsettled: e.Unsettled, slot: e.Slot, start: e.Sent,
		granted: alike, state: state{since: now}, lease: lease{ends: e.Ends},
	}
	inner, cancel := context.WithCancelCause(k.values())
	l.ctx = lockContext{inner, l, cancel}
	for b := range p.m.Blocks() {
		if b.ID != e.ID {
			continue
		}
		if s := p.sights[b.N]; s != nil {
			l.idle, l.granted = s.handover, cmp.Or(s.granted, alike)
			l.shared = l.granted.mode.Shared
			if s.rang { // by a release, or by who asks it to give way: it was granted on the table before
				l.called().revoked.rung = true
			}
		}
		if b.Ticket != e.Ticket && !p.ended.IsZero() && p.ended.After(e.Sent) { // in memory, after another turn
			l.idle, l.start = max(1, now.Sub(p.ended)), now
		}
	}
	return l
}

func (l *Lock) name() fmt.Stringer { return l.p.c.Name(l.p.queue) }

// begins reports whether the turn may begin: its lease has not ended.
func (l *Lock) begins() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ends.IsZero() || time.Now().Before(l.ends)
}

// Queue returns the queue of the lock.
func (l *Lock) Queue() table.Queue { return l.p.queue }

// Ticket returns the fencing token.
func (l *Lock) Ticket() ticket.Number { return l.ticket }

// Slot returns the number of its permit; nil: it has none.
func (l *Lock) Slot() *int { return l.slot }

// Mode returns how it was acquired.
func (l *Lock) Mode() queue.Mode { return l.granted.mode }

// AtLeast returns for how long the queue stays closed after the grant.
func (l *Lock) AtLeast() time.Duration { return l.granted.atLeast }

// Item returns the user's item that the record is kept on, as the grant has left it.
func (l *Lock) Item() clause.Item { return l.granted.item }

// Result returns the result that the record had as it was granted.
func (l *Lock) Result() queue.Result { return l.granted.result }

// terms are those of its lease.
func (l *Lock) terms() heartbeat.Terms { return terms(&l.k.wants.Kind) }

// Handover returns for how long the lock was idle before the turn. Zero: that is not known.
func (l *Lock) Handover() time.Duration { return l.idle }

// Unsettled reports whether a fenced transaction of an earlier turn may become visible while this lock is held.
func (l *Lock) Unsettled() bool { return l.unsettled }

// Context returns a context that is cancelled when the lock is lost or released, with the reason as its cause.
func (l *Lock) Context() context.Context { return l.ctx }

// Within derives a context from ctx that also ends with the lock.
func (l *Lock) Within(ctx context.Context) (context.Context, func()) {
	inner, cancel := context.WithCancelCause(ctx)
	unhook := context.AfterFunc(l.ctx, func() { cancel(context.Cause(l.ctx)) })
	return lockContext{inner, l, cancel}, func() { unhook(); cancel(nil) }
}

// current returns the phase without reading the clock.
func (l *Lock) current() machine.Phase {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.phase
}

// Final reports whether nothing of the lock is left, so far as is known.
func (l *Lock) Final() bool { return l.current().Final() }

// reported takes a report of the member.
func (l *Lock) reported(r member.Report) {
	switch r.News {
	case member.Renewed:
		l.keeper().renewed(r)
	case member.Asked:
		l.asked(r.Mark)
	case member.Done, member.Failed, member.Unsure:
		l.user().used(r)
	case member.Lost:
		l.keeper().lost(r.Err)
	case member.Declined:
		l.ender().declined(r)
	default:
		l.over(r)
	}
}

// lockOf returns the lock of the present turn of a block; nil: it has none.
func (p *player) lockOf(block int32) *Lock {
	if b := p.m.Block(block); b.Turn >= 0 {
		if k := p.caller(b.Callers.At(b.Turn)); k != nil {
			return k.lock
		}
	}
	return nil
}

// raise lets a call that waits end like that. It reports whether one does.
func (l *Lock) raise(end func()) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.called()
	if c.end != nil && c.release != nil && !l.phase.Final() && !c.raised {
		c.raised = true
		c.end <- ended{end: end}
		return true
	}
	if len(c.using) == 0 {
		return false
	}
	if u := c.using[0]; !u.raised { // else its caller has left by the first one
		u.raised = true
		u.done <- used{end: end}
	}
	return true
}

// Handle returns the handle by which another process resumes the lock: that of no lock, if a later turn of the block
// has it.
func (l *Lock) Handle() queue.Handle {
	h := queue.Handle{ID: l.id[:strings.LastIndexByte(l.id, '-')], Ticket: l.ticket, Held: true}
	l.user().call(context.WithoutCancel(l.ctx.Context), member.Uses{Use: member.Reveals})
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.followed {
		h.ID = strings.Repeat("0", len(h.ID))
	}
	return h
}

// ender is what calls need that release a lock, user is what its other calls need, and keeper is what keeps its lease.
type (
	ender  struct{ *Lock }
	user   struct{ *Lock }
	keeper struct{ *Lock }
)

func (l *Lock) ender() ender { return ender{l} }

func (l *Lock) user() user { return user{l} }

func (l *Lock) keeper() keeper { return keeper{l} }
