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

// hintPause is the least time between two reads of the record after hints, which anybody may send.
const hintPause = time.Second

// Revoked returns a channel that is closed once the record has shown a request to give way. From the first call on, a
// hint makes the session read the record.
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
	if awaits && s.client.Local.Hinted() {
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

// await reads the record when a hint says that the holder was asked: one read at a time, and no more than one in a
// hintPause. One that fails is repeated. It ends with the turn, or once the holder was asked.
func (s *Session) await(asked <-chan struct{}) {
	hints := make(chan struct{}, 1)
	forget := s.client.Local.AwaitRevoked(s.config.Queue, hints)
	s.client.Background(func() {
		defer forget()
		for {
			select {
			case <-hints:
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
			case <-time.After(hintPause):
			case <-asked: // a hint that came meanwhile shows nothing more
				return
			case <-s.ctx.Done():
				return
			}
			if err != nil {
				select {
				case hints <- struct{}{}:
				default: // another one has come
				}
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
