package session

import (
	"context"
	"fmt"
	"time"

	"github.com/queuelock/queuelock/heartbeat"
	"github.com/queuelock/queuelock/internal/notify"
	"github.com/queuelock/queuelock/internal/random"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/internal/waiter"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
)

// Config describes a lock. Warnings and Log are optional.
type Config struct {
	Name     fmt.Stringer // of the lock, in errors
	Queue    table.Queue
	Terms    heartbeat.Terms
	Mode     queue.Mode      // as it was acquired
	Passing  waiter.Passing  // the same
	Warnings []time.Duration // margins of the lease; see Deliver
	Log      *notify.Log     // receives the events of the lock; nil: nothing does
}

// Session is one lock, from its grant to its end. Its methods are safe for concurrent use.
type Session struct {
	*life
	releases  turnstile // one call at a time releases the lock
	transacts *transactions
	next      next
}

// Hold returns the session of a grant, which must be released, and starts its heartbeat.
func (c *Client) Hold(ctx context.Context, config Config, grant *waiter.Grant) *Session {
	ctx = random.Fork(context.WithoutCancel(ctx))
	l := &life{client: c, config: config, grant: grant, delivery: delivery{decided: make(chan struct{})}}
	s := &Session{life: l, releases: newTurnstile(), transacts: &transactions{life: l, turnstile: newTurnstile()}}
	grant.Held = time.Now()
	s.config.Terms.Delay = max(config.Terms.Delay, grant.Lease.Delay) // of a lock that was resumed
	terms := s.config.Terms
	s.hold = queue.NewHold(queue.Grant{
		ID: grant.ID, Ticket: grant.Ticket, Mode: config.Mode, Sent: grant.Sent,
		Claimed: grant.Claimed, Resumed: grant.Resumed, Named: grant.Leave != nil, FailClosed: terms.FailClosed,
		TTL: terms.TTL, Margin: terms.Margin, Delay: terms.Delay,
		AtLeast: terms.AtLeast, NotBefore: grant.Lease.NotBefore,
		Forget: config.Queue.Forget, Home: config.Queue.Home != nil, Patience: c.Timeout,
	}, grant.Record)
	inner, cancel := context.WithCancelCause(ctx)
	s.ctx = sessionContext{inner, l, cancel}
	s.keep(ctx)
	s.foresee()
	s.look(grant.Record) // a lock that was resumed may have been asked to give way
	c.listHeld(s)        // complete: Close may use it at once
	return s
}

// turnstile is a mutex that may be held during a request. Waiting for it ends with a context.
type turnstile chan struct{}

func newTurnstile() turnstile { return make(turnstile, 1) }

// Lock waits for the turnstile, or returns ctx's error. A free one it locks in any case.
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

// Queue returns the queue of the lock.
func (s *life) Queue() table.Queue { return s.config.Queue }

// Ticket returns the lock's ticket.
func (s *life) Ticket() ticket.Number { return s.grant.Ticket }

// Mode returns how the lock was acquired.
func (s *life) Mode() queue.Mode { return s.config.Mode }

// Handle returns the handle by which another process resumes the lock.
func (s *life) Handle() queue.Handle { return s.grant.Handle() }

// AtLeast returns for how long the queue stays closed after the grant.
func (s *life) AtLeast() time.Duration { return s.config.Terms.AtLeast }

// Final reports whether nothing of the lock is left, so far as is known.
func (s *life) Final() bool { return s.current().Phase.Final() }
