package waiter

import (
	"context"
	"slices"
	"time"

	"github.com/queuelock/queuelock/internal/random"
	"github.com/queuelock/queuelock/internal/serving"
)

// heed returns when a sleep ends after a hint, at the latest at until. The next in line acts at once, at most once
// in Schedule.Fastest, or less often after false hints. Hints reach a waiter behind others once for each turn, and
// it looks after two thirds of the turns ahead, because waiters may have left. The next turn has begun then.
func (w *Waiter) heed(ctx context.Context, until time.Time) time.Time {
	w.turn.hints++
	w.turn.hinted = time.Now()
	p, s := &w.progress.pace, w.cfg.Schedule
	rest := s.Fastest
	if trust := w.turn.local.Trust(); trust < 0 {
		rest = min(s.Fastest<<(-2*trust), s.SlowestNext)
	}
	at := p.last.Add(rest)
	if before := p.before(); before > 0 {
		turn := w.snapshot.Record.Turn
		if 3*w.turn.hints < 2*before || p.brief(turn) {
			return until
		}
		begun := time.Now().Add(random.Around(ctx, min(max(turn.Mean/20, 2*p.trip), s.SlowestNext/4)))
		if at.Before(begun) {
			at = begun
		}
	}
	if until.Before(at) {
		return until
	}
	return at
}

// judge compares the hints since the last snapshot with what the present one shows: before are the holders of the
// last. A turn that ended in this process says nothing about them. A present turn began after the last true hint.
func (w *Waiter) judge(before, now []serving.Holder) {
	t := &w.turn
	if t.local != nil && t.local.Hinted() != nil && !t.woken {
		ended := slices.ContainsFunc(before, func(h serving.Holder) bool {
			return !slices.ContainsFunc(now, func(n serving.Holder) bool { return n.ID == h.ID })
		})
		select {
		case <-t.local.Hinted(): // during the request
			t.hints, t.hinted = t.hints+1, time.Now()
		default:
		}
		if ended || t.hints > 0 {
			t.local.Judge(ended, t.hints > 0)
		}
		if p := &w.progress.pace; ended && p.still.Before(t.hinted) {
			p.still = t.hinted
		}
	}
	t.hints, t.woken = 0, false
}
