package waiter

import (
	"context"
	"slices"
	"time"

	"github.com/queuelock/queuelock/internal/random"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/waitpolicy"
)

// mayHaveEnded reports whether the turn in the way may have ended unseen, for all that is known of turns.
func (s *sight) mayHaveEnded() bool {
	return !s.heldByOwn() && s.pace.MayHaveEnded(s.wait.Snapshot.Record, time.Now())
}

// mean returns the mean of recent turns.
func (s *sight) mean() time.Duration { return s.wait.Snapshot.Record.HoldTime.Mean }

// delay returns how long to sleep before the next look. With slots, a slot ends the sleep.
func (s *sight) delay(ctx context.Context, slot bool) (d time.Duration, slots chan<- struct{}) {
	p, schedule, draw := &s.pace, s.cfg.Schedule, func() float64 { return random.Float64(ctx) }
	d = p.Delay(schedule, s.view(), draw)
	if slot || s.cfg.Several.Slots == nil {
		return d, nil
	}
	return p.Lazily(schedule, d, draw), s.cfg.Several.Slots
}

// view returns what the waiter knows for its pace.
func (s *sight) view() waitpolicy.View {
	now, clock := time.Now(), s.cfg.Queue.Clock()
	earliest, _, _ := clock.At(now)
	v := waitpolicy.View{
		Record: s.wait.Snapshot.Record, Permits: s.wait.Config.Mode.Permits, Ahead: s.status.Ahead, Own: s.heldByOwn(),
		Now: now, Earliest: earliest, Middle: clock.Middle(now),
	}
	if s.turn.byName {
		v.Row = s.cfg.Row.TTL
	}
	if s.turn.local != nil {
		v.Hints = s.turn.local.Hints()
	}
	return v
}

// heldByOwn reports whether this client holds the lock, and the waiter is next.
func (s *sight) heldByOwn() bool {
	holders := s.wait.Snapshot.Record.Holders
	return s.wait.Next() && len(holders) == 1 && s.turn.local.Own(holders[0].ID)
}

// expected reports whether the present holder has probably read the waiter's row, and will name it: the row was there
// before its turn. A CLAIM would be refused.
func (s *sight) expected() bool {
	return s.turn.foreseen && s.wait.Next() && len(s.wait.Snapshot.Record.Holders) == 1 &&
		time.Since(s.pace.Moved()) < waitpolicy.NamedWithin
}

// report reports the progress of a waiter that continues to wait.
//
//go:noinline // what it needs of the stack, a resting waiter does not occupy
func (s *sight) report() {
	rec := s.wait.Snapshot.Record
	if s.turn.local == nil {
		return
	}
	s.update()
	s.noteOwn()
	if s.cfg.Progress != nil {
		s.send(s.wait.Ticket, rec, s.estimate())
	}
}

// noteOwn logs once that the waiter's own client has the lock: the caller may be waiting for itself.
func (s *sight) noteOwn() {
	holders := s.status.Serving
	i := slices.IndexFunc(holders, func(h queue.Holder) bool { return s.turn.local.Own(h.ID) })
	switch {
	case s.own.logged:
	case i < 0:
		s.own.id = ""
	case s.own.id != holders[i].ID:
		s.own.id, s.own.since = holders[i].ID, time.Now()
	case time.Since(s.own.since) >= ownLimit:
		s.own.logged = true
		s.cfg.Log.Info("queuelock: waits for a lock that this client itself holds: locks are not reentrant",
			"queue", s.cfg.Queue.String(), "ticket", s.wait.Ticket, "own", holders[i].Ticket)
	}
}

// estimate returns how long the turns before the waiter's own are likely to take, from what it has seen.
func (s *sight) estimate() waitpolicy.Estimate {
	if s.wait.Snapshot.ReadAt.IsZero() {
		return waitpolicy.Estimate{}
	}
	now := time.Now()
	earliest, _, _ := s.cfg.Queue.Clock().At(now)
	return s.pace.Estimate(s.wait.Snapshot.Record, s.wait.Config.Mode.Permits, earliest, now)
}

// ownLimit is how long a holder of the waiter's own client may be in the way before that is logged.
const ownLimit = 10 * time.Second

// ownHolder is a holder of the waiter's own client.
type ownHolder struct {
	id     string
	since  time.Time // when it was first seen
	logged bool      // one was, see noteOwn
}
