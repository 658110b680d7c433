package waiter

import (
	"cmp"
	"context"
	"math"
	"time"

	"github.com/queuelock/queuelock/internal/random"
	"github.com/queuelock/queuelock/internal/rows"
	"github.com/queuelock/queuelock/internal/serving"
	"github.com/queuelock/queuelock/ticket"
	"github.com/queuelock/queuelock/waitpolicy"
)

// pace is how fast the queue was seen to move. It turns sights into the
// observations by which the schedule decides.
type pace struct {
	begun      time.Time // first snapshot
	beginFloor ticket.Number
	floor      ticket.Number
	moved      time.Time     // the last snapshot that showed a change
	holder     string        // who was being served then
	mean       time.Duration // between two grants, as seen
	gaps       bool          // tickets of the queue do not follow each other: a wider counter issues them
	ahead      int           // then, how many were ahead
	passed     int           // then, how many were granted since the first snapshot, at the least
	// As judged last.
	clearIn time.Duration
	turns   int
	joins   bool
}

// see takes a snapshot in, with so many ahead.
func (p *pace) see(snapshot rows.Snapshot, ahead int) {
	floor := snapshot.Record.Floor()
	holder := ""
	if len(snapshot.Record.Holders) > 0 {
		holder = snapshot.Record.Holders[0].ID
	}
	if p.begun.IsZero() {
		p.begun, p.beginFloor, p.moved = snapshot.ReadAt, floor, snapshot.ReadAt
		p.floor = floor
	}
	if floor != p.floor || holder != p.holder {
		p.moved = snapshot.ReadAt
	}
	if grants := p.grants(floor, ahead); floor != p.floor && grants > 0 {
		p.mean = snapshot.ReadAt.Sub(p.begun) / time.Duration(min(grants, 1<<31))
	}
	p.floor, p.holder, p.ahead = floor, holder, ahead
}

// grants is how many were made since the first snapshot. Where numbers have gaps
// it is told by those who were ahead and are not any more; some may have given
// up, so that turns are taken to be shorter than they were, and never longer.
func (p *pace) grants(floor ticket.Number, ahead int) uint64 {
	if !p.gaps {
		return floor.After(p.beginFloor)
	}
	if floor != p.floor {
		p.passed += max(1, p.ahead-ahead)
	}
	return uint64(p.passed)
}

func (p *pace) judged(j rows.Decision) { p.clearIn, p.turns, p.joins = j.ClearIn, j.Turns, j.Joins }

// delay is after how long to look again.
func (p *pace) delay(ctx context.Context, w *Waiter, rec serving.Record) time.Duration {
	now := time.Now()
	if p.joins && p.turns == 0 {
		// The turn has begun, and each of those ahead joins it with a request.
		return min(time.Duration(w.standing.Ahead+1)*w.Schedule.Fastest, w.Schedule.SlowestNext)
	}
	o := waitpolicy.Observation{
		Ahead:     p.before(),
		Serving:   len(rec.Holders) > 0,
		Mean:      rec.Turn.Mean,
		Deviation: rec.Turn.Deviation,
		Pace:      p.mean,
		Still:     now.Sub(p.moved),
		ClearIn:   p.clearIn,
	}
	if permits := time.Duration(w.Mode.Permits); permits > 1 {
		// Turns end that much more often, and any may be the next.
		o.Mean, o.Deviation, o.Serving = o.Mean/permits, o.Deviation/permits, false
	}
	if o.Serving {
		o.Elapsed = p.elapsed(w, rec, now)
	}
	return w.Schedule.Delay(o, random.Float64(ctx))
}

// slowest is after how long to look again if nobody hurries: as late as is
// possible without missing that all that is in the way has expired.
func (p *pace) slowest(ctx context.Context, w *Waiter) time.Duration {
	d := w.Schedule.Slowest
	if p.clearIn > 0 {
		d = min(d, p.clearIn)
	}
	return random.Around(ctx, d*2/3) // not all at once
}

// before is how many turns come between the present one and the waiter's own.
func (p *pace) before() int {
	if p.joins && p.turns > 0 {
		return p.turns - 1
	}
	return p.turns
}

// elapsed is for how long the present turn has lasted at the least: since the
// holder's own word, on DynamoDB's clock, or else since this waiter first saw
// it.
func (p *pace) elapsed(w *Waiter, rec serving.Record, now time.Time) time.Duration {
	elapsed := now.Sub(p.moved)
	since := rec.Holders[0].Since
	if earliest, _, ok := w.Queue.Clock().At(now); ok && !since.IsZero() {
		elapsed = max(elapsed, earliest.Sub(since))
	}
	return elapsed
}

// estimate is how long the turns before the waiter's own are likely to take, at
// the rate that it has seen itself, or else at that of recent turns; zero if
// neither is known.
func (p *pace) estimate(w *Waiter, rec serving.Record, now time.Time) time.Duration {
	if p.joins && p.turns == 0 {
		return 0
	}
	mean := cmp.Or(p.mean, rec.Turn.Mean)
	if w.Mode.Permits > 1 && p.mean == 0 {
		mean /= time.Duration(w.Mode.Permits)
	}
	left := float64(p.before()) * float64(mean)
	if len(rec.Holders) > 0 {
		left += float64(max(0, mean-p.elapsed(w, rec, now)))
	}
	return time.Duration(min(left, math.MaxInt64/2))
}
