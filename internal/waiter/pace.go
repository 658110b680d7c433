package waiter

import (
	"cmp"
	"context"
	"math"
	"time"

	"github.com/queuelock/queuelock/internal/random"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/serving"
	"github.com/queuelock/queuelock/ticket"
	"github.com/queuelock/queuelock/waitpolicy"
)

// pace is how fast the queue was seen to move. It turns sights into the
// observations by which the schedule decides.
type pace struct {
	begun      time.Time // first sight
	beginFloor ticket.Number
	floor      ticket.Number
	moved      time.Time     // the last sight that showed a change
	holder     string        // who was being served then
	mean       time.Duration // between two grants, as seen
	// As judged last.
	clearIn time.Duration
	turns   int
	joins   bool
}

// see takes a sight in.
func (p *pace) see(sight queue.Sight) {
	floor := sight.Record.Floor()
	holder := ""
	if len(sight.Record.Holders) > 0 {
		holder = sight.Record.Holders[0].ID
	}
	if p.begun.IsZero() {
		p.begun, p.beginFloor, p.moved = sight.ReadAt, floor, sight.ReadAt
	}
	if floor != p.floor || holder != p.holder {
		p.moved = sight.ReadAt
	}
	if grants := floor.After(p.beginFloor); floor != p.floor && grants > 0 {
		p.mean = sight.ReadAt.Sub(p.begun) / time.Duration(min(grants, 1<<31))
	}
	p.floor, p.holder = floor, holder
}

func (p *pace) judged(j queue.Judgement) { p.clearIn, p.turns, p.joins = j.ClearIn, j.Turns, j.Joins }

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
