package session

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/queuelock/queuelock/heartbeat"
	"github.com/queuelock/queuelock/internal/lease"
	"github.com/queuelock/queuelock/internal/random"
	"github.com/queuelock/queuelock/internal/serving"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/internal/waiter"
	"github.com/queuelock/queuelock/ticket"
)

// Config describes a lock. Warnings are optional.
type Config struct {
	Name     fmt.Stringer // of the lock, in errors
	Queue    table.Queue
	Terms    lease.Terms
	Mode     serving.Mode    // as it was acquired
	Warnings []time.Duration // margins of the lease; see Deliver
}

// Session is one lock, from its grant to its end. Its methods are safe for concurrent use.
type Session struct {
	client *Client
	config Config
	grant  waiter.Grant
	ctx    sessionContext
	keeper *heartbeat.Keeper

	releases  turnstile // one call at a time releases the lock
	transacts turnstile // lets one transaction at a time through, and guards last
	last      lastTransaction

	mu       sync.Mutex
	state    State          // guarded by mu; move changes it
	handover handover       // guarded by mu
	seen     serving.Record // guarded by mu; the record as last seen, without its item
	sharing  sharing        // guarded by mu
	calls    int64          // guarded by mu; number of the last release call
	dataSet  int64          // guarded by mu; number of the last SetData
}

// Hold returns the session of a grant, and starts its heartbeat. It makes no request. The
// session must be released.
func (c *Client) Hold(ctx context.Context, config Config, grant waiter.Grant) *Session {
	ctx = random.Fork(context.WithoutCancel(ctx))
	s := &Session{
		client: c, config: config, grant: grant, seen: grant.Record, sharing: sharingOf(config.Mode),
		releases: newTurnstile(), transacts: newTurnstile(), handover: handover{decided: make(chan struct{})},
	}
	s.config.Terms.Delay = max(config.Terms.Delay, grant.Lease.Delay) // of a lock that was resumed
	s.seen.Item = nil
	if me, ok := grant.Record.Mine(grant.ID); ok {
		s.dataSet = me.DataSet
	}
	inner, cancel := context.WithCancelCause(ctx)
	s.ctx = sessionContext{inner, s, cancel}
	s.keep(ctx)
	c.sessions.Store(s, nil)
	c.Background(s.watch)
	return s
}

// ID returns the id of the grant. It is in the record while the lock is held.
func (s *Session) ID() string { return s.grant.ID }

// Queue returns the queue of the lock.
func (s *Session) Queue() table.Queue { return s.config.Queue }

// Ticket returns the ticket of the lock, its fencing token.
func (s *Session) Ticket() ticket.Number { return s.grant.Ticket }

// Mode returns how the lock was acquired. See Shared for how it is held.
func (s *Session) Mode() serving.Mode { return s.config.Mode }

// Granted returns the record that the request which was granted has returned.
func (s *Session) Granted() serving.Record { return s.grant.Record }

// Context returns a context that is cancelled when the lock is lost or released, with the
// reason as its cause. Its Err reads the clock.
func (s *Session) Context() context.Context { return s.ctx }

// Done is closed when the lock is lost or released.
func (s *Session) Done() <-chan struct{} { return s.ctx.Done() }

// sessionContext is a context that ends with a session. Its Err reads the clock, as a process
// that was paused may call it before its timers fire.
type sessionContext struct {
	context.Context
	session *Session
	cancel  context.CancelCauseFunc
}

func (c sessionContext) Err() error {
	if err := c.session.Err(); err != nil {
		c.cancel(err)
	}
	return c.Context.Err()
}

// Within derives a context from ctx that also ends with the session.
func (s *Session) Within(ctx context.Context) (context.Context, func()) {
	inner, cancel := context.WithCancelCause(ctx)
	unhook := context.AfterFunc(s.ctx, func() { cancel(context.Cause(s.ctx)) })
	return sessionContext{inner, s, cancel}, func() { unhook(); cancel(nil) }
}

// tableTime returns a local instant on DynamoDB's clock, or on the host's if that is not known.
func (s *Session) tableTime(local time.Time) time.Time {
	if t := lease.Middle(s.config.Queue.Clock(), local); !t.IsZero() {
		return t
	}
	return local
}

// turnstile is a mutex that may be held during a request. Waiting for it ends with a context.
type turnstile chan struct{}

func newTurnstile() turnstile { return make(turnstile, 1) }

// Lock waits for the turnstile, or returns ctx's error. It locks a free one even if ctx has
// ended.
func (t turnstile) Lock(ctx context.Context) error {
	select {
	case t <- struct{}{}:
		return nil
	default:
	}
	select {
	case t <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (t turnstile) Unlock() { <-t }
