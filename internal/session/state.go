package session

import (
	"slices"

	"github.com/queuelock/queuelock/heartbeat"
)

// Phase is a phase of a session.
type Phase int

// The phases.
const (
	// Held: the lease runs.
	Held Phase = iota
	// Updating: the lock is held, and an UpdateAndRelease is under way. A heartbeat that
	// does not find the lock may have met that call's release.
	Updating
	// Releasing: Release was called, and the table has not confirmed it.
	Releasing
	// Released: the table shows that a call of the session released the lock.
	Released
	// Lost: the lease is over, or the record does not hold the lock any more. An entry
	// may be left.
	Lost
	// Cleared: lost, and Release has done what was left to do.
	Cleared
	// Unknown: the lock is not in the table, and the marks of its end were replaced.
	Unknown
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
	Phase Phase
	// Reason is the Client's error of the loss or the release; nil while the lock is held.
	Reason error
	// Loss is how the lock was lost; nil if it was not.
	Loss *heartbeat.LossError

	unknown error // the Client's, of the phase Unknown; else nil
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

// move changes the state if that is possible, and reports whether it was. When the session
// is not held any more, it ends the session's context with the state's reason. No other
// function changes the state.
func (s *Session) move(to State) bool {
	s.mu.Lock()
	from := s.state.Phase
	possible := slices.Contains(moves[from], to.Phase)
	if possible {
		s.state = to
		if from.held() && !to.Phase.held() {
			s.ctx.cancel(to.Reason)
		}
		if to.Phase == Released {
			s.handover.giveBack()
		}
	}
	s.mu.Unlock()
	if possible && (to.Phase == Lost || to.Phase.Final()) {
		s.client.forget(s)
	}
	return possible
}

// State returns the state. It reads the clock first, and makes no request.
func (s *Session) State() State {
	if err := s.keeper.Check(); err != nil {
		s.lose(err)
	}
	return s.current()
}

// current returns the state without reading the clock.
func (s *Session) current() State {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state
}

// Err returns nil while the lock is held, and then the reason why it is not. It reads the
// clock, and makes no request.
func (s *Session) Err() error { return s.State().Reason }

// custody is the owner of the lock in this process.
type custody int

const (
	pending   custody = iota // the library: Acquire has not returned it
	delivered                // the caller
	abandoned                // given back before it was delivered
	returned                 // given back by the caller
)

// handover is the custody of a lock. The session's mutex guards it.
type handover struct {
	custody custody
	decided chan struct{}    // closed when the custody is not pending any more
	warn    func(margin int) // of the caller; see Deliver
}

func (h *handover) deliver(warn func(margin int)) {
	h.warn = warn
	switch h.custody {
	case pending:
		h.custody = delivered
		close(h.decided)
	case abandoned:
		h.custody = returned
	}
}

func (h *handover) giveBack() {
	switch h.custody {
	case pending:
		h.custody = abandoned
		close(h.decided)
	case delivered:
		h.custody = returned
	}
}

// Deliver gives the lock to the caller that asked for it. warn is called with the index of
// each of Config.Warnings whose margin is reached from then on, or is reached already. It is
// called in a goroutine of its own, and not after Release.
func (s *Session) Deliver(warn func(margin int)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handover.deliver(warn)
}

// wasDelivered reports whether the lock was delivered to the caller.
func (s *Session) wasDelivered() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.handover.custody == delivered || s.handover.custody == returned
}
