package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/queuelock/queuelock/event"
	"github.com/queuelock/queuelock/heartbeat"
	"github.com/queuelock/queuelock/internal/notify"
	"github.com/queuelock/queuelock/internal/waiter"
	"github.com/queuelock/queuelock/queue"
)

// life is the life of a session: the machine of the lock, and what its phases mean in this process. All parts of a session
// share it.
type life struct {
	client *Client
	config Config
	grant  *waiter.Grant
	ctx    sessionContext
	keeper *heartbeat.Keeper

	mu       sync.Mutex
	hold     *queue.Hold // guarded by mu
	state    State       // guarded by mu; that of hold
	delivery delivery    // guarded by mu
	revoked  revoked     // guarded by mu
}

// Grant returns the grant with which the session began.
func (s *life) Grant() *waiter.Grant { return s.grant }

// Context returns a context that is cancelled when the lock is lost or released, with the
// reason as its cause. Its Err reads the clock.
func (s *life) Context() context.Context { return s.ctx }

// sessionContext is a context that ends with a session. Its Err reads the clock, as a process
// that was paused may call it before its timers fire.
type sessionContext struct {
	context.Context
	session *life
	cancel  context.CancelCauseFunc
}

func (c sessionContext) Err() error {
	if err := c.session.Err(); err != nil {
		c.cancel(err)
	}
	return c.Context.Err()
}

// Within derives a context from ctx that also ends with the session.
func (s *life) Within(ctx context.Context) (context.Context, func()) {
	inner, cancel := context.WithCancelCause(ctx)
	unhook := context.AfterFunc(s.ctx, func() { cancel(context.Cause(s.ctx)) })
	return sessionContext{inner, s, cancel}, func() { unhook(); cancel(nil) }
}

// State is a phase of the hold, and its reason.
type State struct {
	Phase   queue.Phase
	Reason  error                // the Client's, of the loss or the release; nil while the lock is held
	Loss    *heartbeat.LossError // how the lock was lost; nil if it was not
	unknown error                // the Client's, of the phase Unknown; else nil
	since   time.Time            // of the phase
}

// result returns the result of Release in a final state.
func (st State) result() error {
	if st.Loss != nil {
		return st.Reason
	}
	return st.unknown
}

// step plays what has happened. A session that is not held any more ends its context with the reason. No other function
// changes the state.
func (s *life) step(e queue.HoldEvent) queue.HoldDo {
	now := s.now()
	s.mu.Lock()
	from := s.state
	do := s.hold.Step(now, e)
	to := s.hold.Phase()
	if to == from.Phase {
		asked := s.noteRevoked()
		s.mu.Unlock()
		s.sendRevoked(asked)
		return do
	}
	s.state = s.become(from, to, e, do)
	s.state.since = now.Local
	if from.Phase.Held() && !to.Held() {
		s.ctx.cancel(s.state.Reason)
		if to != queue.PhaseReleasing { // Release stops the heartbeat itself
			s.client.Background(s.keeper.Stop)
		}
	}
	if to == queue.PhaseReleased {
		s.delivery.decide(&s.delivery.returned)
	}
	state, asked := s.state, s.noteRevoked()
	s.mu.Unlock()
	s.sendRevoked(asked)
	if !from.Phase.Lost() {
		s.report(from, state)
	}
	if to == queue.PhaseLost || to.Final() {
		s.client.unlist(s.grant.ID)
		s.leave()
		s.grant.Bell.Stop()
	}
	return do
}

// now returns the time for the hold.
func (s *life) now() queue.HoldTimes {
	clock, now := s.config.Queue.Clock(), queue.HoldTimes{Local: time.Now()}
	now.Earliest, now.Latest, _ = clock.At(now.Local)
	_, now.Began, _ = clock.At(s.grant.Held)
	return now
}

// become returns the state in a new phase.
func (s *life) become(from State, to queue.Phase, e queue.HoldEvent, do queue.HoldDo) State {
	st := State{Phase: to, Reason: s.client.Released}
	switch loss, ended := e.Err.(*heartbeat.LossError); {
	case to.Held():
		st.Reason = nil
	case to == queue.PhaseUnknown:
		st.unknown = s.unknown(errOverwritten, nil, nil)
	case !to.Lost():
	case from.Phase.Lost():
		st.Reason, st.Loss = from.Reason, from.Loss
	default:
		if !ended {
			loss = &heartbeat.LossError{Cause: heartbeat.Evicted, Err: do.Err}
		}
		if do.Result == queue.HoldUnreachable {
			loss.Cause = heartbeat.Unreachable
		}
		st.Reason, st.Loss = s.client.Lost(s.config.Queue, s.grant.Ticket, loss), loss
	}
	return st
}

// report reports the end of the lock.
func (s *life) report(from, to State) {
	o, begun := s.config.Log.Origin(s.grant.Ticket), to.since
	if from.Phase != queue.PhaseHeld {
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
func (s *life) State() State {
	_ = s.keeper.Check() // see OnLoss
	return s.current()
}

// current returns the state without reading the clock.
func (s *life) current() State {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state
}

// Err returns nil while the lock is held, and then the reason why it is not. It reads the clock.
func (s *life) Err() error { return s.State().Reason }

// reason returns why the lock is not held, after a record has shown that.
func (s *life) reason() error { return cmp.Or(s.current().Reason, s.client.Released) }

// failed returns the error of a call of the holder that failed with err. ctx is the caller's.
func (s *life) failed(ctx context.Context, what string, err error) error {
	return fmt.Errorf("queuelock: %s: %s: %w", s.config.Name, what, errors.Join(err, ctx.Err(), s.Err()))
}

func (s *life) unknown(err, ended, end error) error {
	return s.client.Unknown(s.config.Queue, err, ended, end)
}

// lose ends a session that is still held, because its lease is lost.
func (s *life) lose(loss *heartbeat.LossError) {
	s.step(queue.HoldEvent{Kind: queue.HoldEnded, Err: loss})
}

// fenced ends a session whose record has refused a protected write, and returns the reason.
func (s *life) fenced(rec queue.Record) error {
	s.step(queue.HoldEvent{Kind: queue.HoldChanged, Reply: queue.ReplyLost, Record: rec})
	return s.reason()
}

// leave deletes the row of a grant by name, which has been accepted, or has ended.
func (s *life) leave() {
	if s.grant.Leave != nil {
		s.grant.Leave()
	}
}

// of returns what f returns for the hold.
func of[T any](s *life, f func(*queue.Hold) T) T {
	s.mu.Lock()
	defer s.mu.Unlock()
	return f(s.hold)
}

// delivery is what has become of the lock in this process. The session's mutex guards it.
type delivery struct {
	delivered bool             // to the caller that asked for it
	returned  bool             // by the caller, or by the library before it was delivered
	decided   chan struct{}    // closed when either is true
	warn      func(margin int) // of the caller; see Deliver
}

// decide makes one of the two true.
func (d *delivery) decide(what *bool) {
	if !d.delivered && !d.returned {
		close(d.decided)
	}
	*what = true
}

// Deliver gives the lock to the caller that asked for it. warn is called with the index of
// each of Config.Warnings whose margin is reached from then on, or is reached already. It is
// called in a goroutine of its own, and not after Release.
func (s *life) Deliver(warn func(margin int)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.delivery.warn = warn
	s.delivery.decide(&s.delivery.delivered)
}

// wasDelivered reports whether the lock was delivered to the caller.
func (s *life) wasDelivered() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.delivery.delivered
}
