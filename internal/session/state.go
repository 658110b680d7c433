package session

import (
	"slices"

	"github.com/queuelock/queuelock/heartbeat"
)

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
	s.mu.Lock()
	from := s.state.Phase
	possible := slices.Contains(moves[from], to.Phase)
	if possible {
		s.state = to
		if from.held() && !to.Phase.held() {
			s.ctx.cancel(to.Reason)
		}
		if to.Phase == Released {
			s.handover.decide(&s.handover.returned)
		}
	}
	s.mu.Unlock()
	if possible && (to.Phase == Lost || to.Phase.Final()) {
		s.client.sessions.Delete(s)
	}
	return possible
}

// State returns the state. It reads the clock first, and makes no request.
func (s *Session) State() State {
	if err := s.keeper.Check(); err != nil {
		s.lose(err.(*heartbeat.LossError))
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
