package waiter

import (
	"context"
	"slices"
	"time"

	"github.com/queuelock/queuelock/internal/random"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/waitpolicy"
)

// hints returns what the waiter knows of hints.
func (s *sight) hints() waitpolicy.Hints {
	h := waitpolicy.Hints{Came: s.turn.hints, Early: s.turn.early, Last: s.turn.hinted}
	if s.turn.local != nil {
		h.Trust = s.turn.local.Trust()
	}
	return h
}

// heed returns when a sleep ends after a hint, at the latest at until.
func (s *sight) heed(ctx context.Context, until time.Time) time.Time {
	s.turn.hints++
	s.turn.hinted = time.Now()
	h := s.hints()
	h.Stagger = s.turn.local.Stagger()
	at, heeded := s.pace.Heed(s.cfg.Schedule, h, s.wait.Snapshot.Record.HoldTime.Mean, until,
		func() float64 { return random.Float64(ctx) })
	s.turn.heeded = s.turn.heeded || heeded && s.turn.early == 0
	return at
}

// take takes a hint that has come.
func (t *sightOfTurn) take() {
	select {
	case <-t.local.Hinted():
		t.hints, t.hinted = 1, time.Now()
	default:
	}
}

// judge compares the hints since the last verdict with what the present snapshot shows: before are the holders of the
// last. A turn that ended in this process says nothing about them. A present turn began after the last true hint.
func (s *sight) judge(before, now []queue.Holder) {
	t, p := &s.turn, &s.pace
	if t.local != nil && t.local.Hinted() != nil && !t.woken {
		ended := slices.ContainsFunc(before, func(h queue.Holder) bool {
			return !slices.ContainsFunc(now, func(n queue.Holder) bool { return n.ID == h.ID })
		})
		if t.hints == 0 { // else one that came during the request may be that of the next turn
			t.take()
		}
		if !ended && t.hints > 0 && t.early < waitpolicy.MaxEarly && t.local.Trust() >= 0 {
			t.early++
			return
		}
		if ended || t.hints > 0 {
			t.local.Judge(ended, t.hints > 0)
		}
		if ended && t.heeded {
			t.local.Staggered(t.early > 0, p.Trip())
		}
		if ended {
			p.EndedBy(t.hinted)
		}
	}
	t.hints, t.early, t.heeded, t.woken = 0, 0, false, false
}
