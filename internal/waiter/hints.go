package waiter

import (
	"context"
	"slices"
	"time"

	"github.com/queuelock/queuelock/internal/random"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/waitpolicy"
)

// tries is how often the next in line looks again after a hint whose turn has not ended. A hint goes out with its
// release, and may be faster.
const tries = 3

// backoff returns the time between two requests after so many hints in vain.
func backoff(s waitpolicy.Schedule, n int) time.Duration { return min(s.Fastest<<(2*n), s.SlowestNext) }

// heed returns when a sleep ends after a hint, at the latest at until. The next in line acts when the release has
// probably been applied, or less often after false hints. Hints reach a waiter behind others once for each turn, and if
// it is near, it looks after two thirds of the turns ahead, because waiters may have left. The next turn has begun then.
func (w *Waiter) heed(ctx context.Context, until time.Time) time.Time {
	w.turn.hints++
	w.turn.hinted = time.Now()
	p, s, trust := &w.progress.pace, w.cfg.Schedule, w.turn.local.Trust()
	at := w.turn.hinted.Add(w.turn.local.Stagger())
	if before := p.before(); before > 0 {
		if 3*w.turn.hints < 2*before || before > soon || trust < 0 {
			return until
		}
		at = at.Add(random.Around(ctx, min(max(w.snapshot.Record.HoldTime.Mean/20, p.trip/2), s.SlowestNext/4)))
	}
	if next := p.last.Add(backoff(s, -min(trust, 0))); at.Before(next) {
		at = next
	}
	if until.Before(at) {
		return until
	}
	w.turn.heeded = w.turn.heeded || w.turn.early == 0
	return at
}

// take takes a hint that has come.
func (t *turn) take() {
	select {
	case <-t.local.Hinted():
		t.hints, t.hinted = 1, time.Now()
	default:
	}
}

// judge compares the hints since the last verdict with what the present snapshot shows: before are the holders of the
// last. A turn that ended in this process says nothing about them. A present turn began after the last true hint.
func (w *Waiter) judge(before, now []queue.Holder) {
	t, p := &w.turn, &w.progress.pace
	if t.local != nil && t.local.Hinted() != nil && !t.woken {
		ended := slices.ContainsFunc(before, func(h queue.Holder) bool {
			return !slices.ContainsFunc(now, func(n queue.Holder) bool { return n.ID == h.ID })
		})
		if t.hints == 0 { // else one that came during the request may be that of the next turn
			t.take()
		}
		if !ended && t.hints > 0 && t.early < tries && t.local.Trust() >= 0 {
			t.early++
			return
		}
		if ended || t.hints > 0 {
			t.local.Judge(ended, t.hints > 0)
		}
		if ended && t.heeded {
			t.local.Staggered(t.early > 0, p.trip)
		}
		if ended && p.still.Before(t.hinted) {
			p.still = t.hinted
		}
	}
	t.hints, t.early, t.heeded, t.woken = 0, 0, false, false
}
