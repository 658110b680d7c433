package session

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/queuelock/queuelock/event"
	"github.com/queuelock/queuelock/heartbeat"
	"github.com/queuelock/queuelock/internal/notify"
	"github.com/queuelock/queuelock/internal/random"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/internal/waiter"
	"github.com/queuelock/queuelock/queue"
)

// Config describes a lock. Warnings and Log are optional.
type Config struct {
	Name     fmt.Stringer // of the lock, in errors
	Queue    table.Queue
	Terms    heartbeat.Terms
	Mode     queue.Mode      // as it was acquired
	Warnings []time.Duration // margins of the lease; see Deliver
	Log      *notify.Log     // receives the events of the lock; nil: nothing does
}

// Session is one lock, from its grant to its end. Its methods are safe for concurrent use.
type Session struct {
	client *Client
	config Config
	grant  *waiter.Grant
	ctx    sessionContext
	keeper *heartbeat.Keeper

	releases   turnstile // one call at a time releases the lock, and guards unreadable
	unreadable error     // why a Release had to remove the entry, which cannot be read, and failed
	transacts  turnstile // lets one transaction at a time through, and guards last
	last       lastTransaction

	mu       sync.Mutex
	state    State        // guarded by mu; move changes it
	handover handover     // guarded by mu
	seen     queue.Record // guarded by mu; the record as last seen, without its item
	sharing  sharing      // guarded by mu
	calls    int64        // guarded by mu; number of the last release call
	dataSet  int64        // guarded by mu; number of the last SetData
}

// Hold returns the session of a grant, which must be released, and starts its heartbeat.
func (c *Client) Hold(ctx context.Context, config Config, grant *waiter.Grant) *Session {
	ctx = random.Fork(context.WithoutCancel(ctx))
	s := &Session{
		client: c, config: config, grant: grant, seen: grant.Record, sharing: sharingOf(config.Mode),
		releases: newTurnstile(), transacts: newTurnstile(), handover: handover{decided: make(chan struct{})},
	}
	grant.Held = time.Now()
	s.config.Terms.Delay = max(config.Terms.Delay, grant.Lease.Delay) // of a lock that was resumed
	s.seen.Item = nil
	if me, ok := grant.Record.Mine(grant.ID); ok {
		s.dataSet = me.DataSet
	}
	inner, cancel := context.WithCancelCause(ctx)
	s.ctx = sessionContext{inner, s, cancel}
	s.keep(ctx)
	c.listHeld(s) // complete: Close may use it at once
	return s
}

// Grant returns the grant with which the session began.
func (s *Session) Grant() *waiter.Grant { return s.grant }

// Config returns the Config with which the session began.
func (s *Session) Config() Config { return s.config }

// Context returns a context that is cancelled when the lock is lost or released, with the
// reason as its cause. Its Err reads the clock.
func (s *Session) Context() context.Context { return s.ctx }

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

// latest returns the latest time that a local instant can be on DynamoDB's clock. The host's clock
// says nothing about that, so it is Someday if the time is not known.
func (s *Session) latest(local time.Time) time.Time {
	if _, latest, known := s.config.Queue.Clock().At(local); known {
		return latest
	}
	return queue.Someday(s.grant.ID)
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

// Phase is a phase of a session.
type Phase int

// The phases.
const (
	Held      Phase = iota // the lease runs
	Updating               // held, and an UpdateAndRelease is under way, which a heartbeat may meet
	Releasing              // Release was called, and the table has not confirmed it
	Released               // the table shows that a call of the session released the lock
	Lost                   // the lease is over, or the record does not hold the lock; an entry may be left
	Cleared                // lost, and Release has removed what it may have left
	Unknown                // not in the table, and the marks of its end were replaced
)

// moves lists the changes that are possible. Released, Cleared and Unknown are final.
var moves = map[Phase][]Phase{
	Held:      {Updating, Releasing, Released, Lost},
	Updating:  {Held, Released, Lost},
	Releasing: {Released, Cleared, Unknown},
	Lost:      {Released, Cleared},
}

// State is a phase and its reason.
type State struct {
	Phase   Phase
	Reason  error                // the Client's, of the loss or the release; nil while the lock is held
	Loss    *heartbeat.LossError // how the lock was lost; nil if it was not
	unknown error                // the Client's, of the phase Unknown; else nil
	since   time.Time            // of the phase; see move
}

// result returns the result of Release in a final state.
func (st State) result() error {
	if st.Loss != nil {
		return st.Reason
	}
	return st.unknown
}

// held reports whether the lock is held, as far as the session knows.
func (p Phase) held() bool { return p == Held || p == Updating }

// Lost reports whether the lock was lost.
func (p Phase) Lost() bool { return p == Lost || p == Cleared }

// Final reports whether the lock has ended and nothing of it has to be removed.
func (p Phase) Final() bool { return len(moves[p]) == 0 }

// move changes the state if that is possible, and reports whether it was. A session that is
// not held any more ends its context with the reason. No other function changes the state.
func (s *Session) move(to State) bool {
	to.since = time.Now()
	s.mu.Lock()
	from := s.state
	possible := slices.Contains(moves[from.Phase], to.Phase)
	if possible {
		s.state = to
		if from.Phase.held() && !to.Phase.held() {
			s.ctx.cancel(to.Reason)
			if to.Phase != Releasing { // Release stops the heartbeat itself
				s.client.Background(s.keeper.Stop)
			}
		}
		if to.Phase == Released {
			s.handover.decide(&s.handover.returned)
		}
	}
	s.mu.Unlock()
	if possible && (to.Phase == Lost || to.Phase.Final()) {
		s.leave()
		s.client.unlist(s)
	}
	if possible && !from.Phase.Lost() {
		s.report(from, to)
	}
	return possible
}

// report reports the end of the lock.
func (s *Session) report(from, to State) {
	o, begun := s.config.Log.Origin(s.grant.Ticket), to.since
	if from.Phase != Held {
		begun = from.since // of the call that released it
	}
	switch {
	case to.Phase.Lost():
		notify.Send(s.config.Log, event.Lost{Origin: o, Held: to.since.Sub(s.grant.Sent), Cause: to.Loss.Cause, Err: to.Loss.Err})
	case to.Phase.Final():
		notify.Send(s.config.Log, event.Released{
			Origin: o, Held: begun.Sub(s.grant.Sent), Took: to.since.Sub(begun), Err: to.unknown,
		})
	}
}

// State returns the state. It reads the clock first.
func (s *Session) State() State {
	_ = s.keeper.Check() // see OnLoss
	return s.current()
}

// current returns the state without reading the clock.
func (s *Session) current() State {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state
}

// Err returns nil while the lock is held, and then the reason why it is not. It reads the clock.
func (s *Session) Err() error { return s.State().Reason }

// handover is what has become of the lock in this process. The session's mutex guards it.
type handover struct {
	delivered bool             // to the caller that asked for it
	returned  bool             // by the caller, or by the library before it was delivered
	decided   chan struct{}    // closed when either is true
	warn      func(margin int) // of the caller; see Deliver
}

// decide makes one of the two true.
func (h *handover) decide(what *bool) {
	if !h.delivered && !h.returned {
		close(h.decided)
	}
	*what = true
}

// Deliver gives the lock to the caller that asked for it. warn is called with the index of
// each of Config.Warnings whose margin is reached from then on, or is reached already. It is
// called in a goroutine of its own, and not after Release.
func (s *Session) Deliver(warn func(margin int)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handover.warn = warn
	s.handover.decide(&s.handover.delivered)
}

// wasDelivered reports whether the lock was delivered to the caller.
func (s *Session) wasDelivered() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.handover.delivered
}
