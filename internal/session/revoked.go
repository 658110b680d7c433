package session

import (
	"time"

	"github.com/queuelock/queuelock/event"
	"github.com/queuelock/queuelock/internal/notify"
	"github.com/queuelock/queuelock/internal/serving"
	"github.com/queuelock/queuelock/queue"
)

// revoked is what the caller knows of requests to give way. The session's mutex guards it.
type revoked struct {
	asked chan struct{} // closed once there was one; nil before Revoked was called
	seen  bool
}

// readPause is the least time between two reads of the record after bells: any process that reads the table can ring.
const readPause = time.Second

// Revoked returns a channel that is closed once the record has shown a request to give way. From the first call on, the
// bell makes the session read the record.
func (s *Session) Revoked() <-chan struct{} {
	s.mu.Lock()
	r := &s.revoked
	first := r.asked == nil
	if first {
		r.asked = make(chan struct{})
		if r.seen {
			close(r.asked)
		}
	}
	asked, awaits := r.asked, first && !r.seen && s.state.Phase.Held()
	s.mu.Unlock()
	if awaits && s.grant.Bell != nil {
		s.await(asked)
	}
	return asked
}

// Revocation returns the last request to give way that the record has shown.
func (s *life) Revocation() (r queue.Revocation, ok bool) {
	if mark := of(s, (*queue.Hold).Revocation); mark != nil {
		return *mark, true
	}
	return r, false
}

// noteRevoked notes a request to give way, if the hold has seen one. It returns the event to send, or nil. s.mu is held.
func (s *life) noteRevoked() *event.Revoked {
	r, mark := &s.revoked, s.hold.Revocation()
	if mark == nil || r.seen {
		return nil
	}
	r.seen = true
	if r.asked != nil {
		close(r.asked)
	}
	return &event.Revoked{
		Origin: s.config.Log.Origin(s.grant.Ticket), By: mark.By, Why: mark.Why, At: mark.At, Deadline: mark.Deadline,
	}
}

// sendRevoked sends what noteRevoked has returned.
func (s *life) sendRevoked(e *event.Revoked) {
	if e != nil {
		notify.Send(s.config.Log, *e)
	}
}

// await reads the record when the bell says that the holder was asked: one read at a time, and no more than one in a readPause. One
// that fails is repeated. It ends with the turn, or once the holder was asked.
func (s *Session) await(asked <-chan struct{}) {
	rung := make(chan struct{}, 1)
	again := func() {
		select {
		case rung <- struct{}{}:
		default: // it was rung before
		}
	}
	s.grant.Bell.Wakes(again)
	s.client.Background(func() {
		for {
			select {
			case <-rung:
			case <-asked:
				return
			case <-s.ctx.Done():
				return
			}
			rec, err := serving.Get(s.ctx, s.config.Queue)
			if err == nil {
				s.look(rec)
			}
			select {
			case <-time.After(readPause):
			case <-asked: // a bell that came meanwhile shows nothing more
				return
			case <-s.ctx.Done():
				return
			}
			if err != nil {
				again()
			}
		}
	})
}

// look notes what a record shows that was only read.
func (s *life) look(rec queue.Record) {
	s.mu.Lock()
	s.hold.Look(rec)
	e := s.noteRevoked()
	s.mu.Unlock()
	s.sendRevoked(e)
}
