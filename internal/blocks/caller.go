package blocks

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/queuelock/queuelock/internal/notify"
	"github.com/queuelock/queuelock/internal/session"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/internal/waiter"
)

// Caller is one Acquire.
type Caller struct {
	Wake   chan struct{} // capacity 1: its state has changed
	blocks *Blocks
	ctx    context.Context // of its wait
	member Member
	report func(waiter.Progress) // nil: it has no receiver

	// Guarded by blocks.mu.
	since  time.Time // when it has gathered
	block  *block    // nil: it gathers
	index  int       // of its turn
	alone  *block    // in which it is to wait alone
	chosen bool      // its turn is about to begin: it does not leave any more
	left   bool
	tried  bool // a request for the lock was made
	grant  *waiter.Grant
	err    error
	end    func()         // how its goroutine ends, by a panic of the one of its block
	status *waiter.Status // after it has left
}

// Member is a call of a client that may wait in a block.
type Member interface {
	Queue() *table.Queue
	// Config makes the configuration of a waiter, without Progress.
	Config() *waiter.Config
	// Progress makes what receives the changes of the wait. Nil: there is no receiver.
	Progress() func(waiter.Progress)
	Log() *notify.Log
	// Bind returns the context of the caller's requests, which ends with the client, too. Blocks calls it for a caller that waits
	// alone.
	Bind() context.Context
	// Expired reports whether the lease of a turn that is about to begin has ended.
	Expired(*waiter.Grant) bool
	// Advance begins a turn after one that may have writes under way. It returns session.ErrAdvanced if the lock is lost. After any
	// other error that turn must not begin.
	Advance(*waiter.Grant) error
	// GiveBack releases a grant that no caller takes.
	GiveBack(context.Context, *waiter.Grant)
}

// Waited says what a wait has come to that was not granted.
type Waited interface {
	Status() waiter.Status
	Tried() bool
	Orphan() *waiter.OrphanError
	Wait()
}

// Enter adds a caller to its line. It calls Next when Wake has a value, and once when ctx has ended.
//
//go:noinline // what it needs of the stack, a resting caller does not occupy
func (b *Blocks) Enter(ctx context.Context, m Member) *Caller {
	c := &Caller{Wake: make(chan struct{}, 1), blocks: b, ctx: ctx, member: m, report: m.Progress(), since: time.Now()}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.line(m.Queue()).gather(b, false, c)
	if b.closed {
		c.signal()
	}
	return c
}

// Next returns what the wait has come to, or nil: it goes on. A lock that was granted while ctx ended is returned as well.
//
//go:noinline // what it needs of the stack, a resting caller does not occupy
func (c *Caller) Next() (Waited, *waiter.Grant, error) {
	for {
		alone, grant, err := c.state()
		switch {
		case alone != nil:
			return alone.acquireAlone()
		case err != nil:
			return c, nil, err
		case grant == nil:
			return nil, nil, nil
		case grant.Stale:
			err = c.advance(grant)
		}
		switch {
		case err == nil && !c.member.Expired(grant):
			return c, grant, nil
		case err == nil, errors.Is(err, session.ErrAdvanced): // the process was paused, or the lock is lost
			if grant.Leave != nil {
				grant.Leave()
			}
			c.again()
		default:
			c.member.GiveBack(c.ctx, grant) // to the next turn
			c.gaveBack(grant)
			return c, nil, err
		}
	}
}

// advance begins the turn of a grant after one that may have writes under way.
func (c *Caller) advance(grant *waiter.Grant) error {
	returned := false
	defer func() {
		if !returned { // the DynamoDB client has panicked
			grant.Block.Over(false)
		}
	}()
	err := c.member.Advance(grant)
	returned = true
	return err
}

// state says whether the caller is to acquire alone, is granted the lock, or cannot be. If its ctx has ended, it leaves.
func (c *Caller) state() (alone *block, grant *waiter.Grant, err error) {
	c.blocks.mu.Lock()
	defer c.blocks.mu.Unlock()
	switch {
	case c.end != nil:
		c.end()
	case c.grant != nil:
		grant, c.grant, c.chosen = c.grant, nil, false
	case c.err != nil:
		err = c.err
	case c.alone != nil:
		alone, c.alone = c.alone, nil
	case !c.chosen:
		if err = c.over(); err != nil {
			c.leave()
		}
	}
	return alone, grant, err
}

// over returns why the caller is to wait no longer, or nil. blocks.mu is held.
func (c *Caller) over() error {
	if c.blocks.closed {
		return context.Canceled
	}
	return c.ctx.Err()
}

// leave takes the caller out of its line. blocks.mu is held.
func (c *Caller) leave() {
	c.left = true
	k := c.block
	if k == nil {
		l := c.blocks.line(c.member.Queue())
		if l.taking != nil { // else the wait is over before the first request
			failure := l.taking.failure()
			c.status, c.tried = &waiter.Status{Failure: failure}, failure != nil
		}
		l.gathered = slices.DeleteFunc(l.gathered, func(o *Caller) bool { return o == c })
		l.goOn(c.blocks)
		return
	}
	c.status, c.tried = k.statusOf(c), true
	if k.cancel != nil && k.next(0) == nil {
		k.cancel() // a block that holds has a caller
	}
}

// gaveBack notes that the caller's turn has not begun: it was next.
func (c *Caller) gaveBack(grant *waiter.Grant) {
	c.blocks.mu.Lock()
	defer c.blocks.mu.Unlock()
	c.status, c.tried = &waiter.Status{Ticket: grant.Ticket, Looked: true}, true
}

// again lets a caller take a new ticket whose block was lost before its turn began.
func (c *Caller) again() {
	c.blocks.mu.Lock()
	defer c.blocks.mu.Unlock()
	c.block.over(true, c)
}

// signal says that the state has changed. blocks.mu is held.
func (c *Caller) signal() {
	select {
	case c.Wake <- struct{}{}:
	default:
	}
}

// Status returns what the caller last saw of its queue.
func (c *Caller) Status() waiter.Status {
	c.blocks.mu.Lock()
	defer c.blocks.mu.Unlock()
	if c.status == nil {
		return waiter.Status{}
	}
	return *c.status
}

// Tried reports whether a request for the lock was made.
func (c *Caller) Tried() bool {
	c.blocks.mu.Lock()
	defer c.blocks.mu.Unlock()
	return c.tried
}

// Orphan returns nil: only a caller whose lock fails closed may leave one, which waits alone.
func (c *Caller) Orphan() *waiter.OrphanError { return nil }

// Wait returns at once: the requests for a row are those of its block.
func (c *Caller) Wait() {}
