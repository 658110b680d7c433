package session

import (
	"context"
	"time"

	"github.com/queuelock/queuelock/internal/handover"
	"github.com/queuelock/queuelock/internal/random"
	"github.com/queuelock/queuelock/internal/rows"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
)

// next is what a session knows of the row with the ticket after its own. The look before the grant may have shown it. Else a
// session that was granted after a wait reads it once during its turn: the client that had the lock before, for one, has often
// come back meanwhile.
type next struct {
	row   handover.Row  // guarded by the session's mutex
	asked chan struct{} // guarded by the session's mutex; closed when the read has ended; nil: it has not begun
	timer *time.Timer   // of the read; nil: there is none
}

// foresee lets the session read the next row during its turn, so that the release can grant the lock by name and ring.
func (s *Session) foresee() {
	g := s.grant
	s.next.row = g.Next
	t, ok := s.nextTicket()
	if g.ReadNext.IsZero() || !ok || !s.config.Passing.Reads {
		return
	}
	ctx := random.Fork(context.WithoutCancel(s.ctx))
	s.next.timer = time.AfterFunc(time.Until(g.ReadNext), func() {
		others := s.client.Local.Others(s.config.Queue, t)
		s.mu.Lock()
		defer s.mu.Unlock()
		if !others || s.state.Phase != queue.PhaseHeld {
			return
		}
		asked := make(chan struct{})
		s.next.asked = asked
		s.client.Background(func() {
			defer close(asked)
			s.readNext(ctx, t)
		})
	})
}

// nextTicket returns the ticket after the session's. Other locks have no next waiter, or its row is elsewhere.
func (s *Session) nextTicket() (t ticket.Number, ok bool) {
	t, err := s.grant.Ticket.Next()
	return t, err == nil && s.config.Passing.Rings
}

// readNext reads the next row. If that fails, or there is none, nothing is known of it.
func (s *Session) readNext(ctx context.Context, t ticket.Number) {
	if row, _ := rows.Get(ctx, s.config.Queue, t); row != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.next.row = handover.Row{Row: row, ReadAt: time.Now()}
	}
}

// nextRow returns the next row, if it is known.
func (s *Session) nextRow() handover.Row {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.next.row
}

// awaitNext waits for the read that is under way.
func (s *Session) awaitNext() {
	s.mu.Lock()
	asked := s.next.asked
	s.mu.Unlock()
	if asked != nil {
		<-asked
	}
}
