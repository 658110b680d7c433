package waiter

import (
	"cmp"
	"math"
	"time"

	"github.com/queuelock/queuelock/internal/rows"
	"github.com/queuelock/queuelock/internal/serving"
	"github.com/queuelock/queuelock/ticket"
	"github.com/queuelock/queuelock/waitpolicy"
)

// pace measures how fast the queue moves. It turns snapshots into the observations of the
// schedule, and reads no clock.
type pace struct {
	begun      time.Time // first snapshot
	beginFloor ticket.Number
	floor      ticket.Number
	moved      time.Time     // the last snapshot that showed a change
	holder     string        // the first holder
	mean       time.Duration // between two grants, as seen
	gaps       bool          // a wider counter issues the tickets
	ahead      int           // waiters ahead
	passed     int           // with gaps, grants since the first snapshot, at least

	// Of the last decision.
	clearIn time.Duration
	turns   int
	joins   bool
}

// see records a snapshot with so many waiters ahead.
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
	p.floor, p.holder, p.ahead, p.turns = floor, holder, ahead, ahead
}

// grants counts the grants since the first snapshot, up to a new floor. With gaps it counts
// the waiters that are not ahead any more. Some may have given up, so turns may seem
// shorter than they were, but never longer.
func (p *pace) grants(floor ticket.Number, ahead int) uint64 {
	if !p.gaps {
		return floor.After(p.beginFloor)
	}
	if floor != p.floor {
		p.passed += max(1, p.ahead-ahead)
	}
	return uint64(p.passed)
}

// decided records the decision about the last snapshot.
func (p *pace) decided(d rows.Decision) { p.clearIn, p.turns, p.joins = d.ClearIn, d.Turns, d.Joins }

// joined reports whether the waiter's turn has begun: it shares the lock with all waiters
// ahead.
func (p *pace) joined() bool { return p.joins && p.turns == 0 }

// observation returns what is known of the turns before the waiter's own. earliest is the
// earliest time of DynamoDB's clock, or zero.
func (p *pace) observation(rec serving.Record, permits int, earliest, now time.Time) waitpolicy.Observation {
	o := waitpolicy.Observation{
		Ahead:     p.before(),
		Serving:   len(rec.Holders) > 0,
		Mean:      rec.Turn.Mean,
		Deviation: rec.Turn.Deviation,
		Pace:      p.mean,
		Still:     now.Sub(p.moved),
		ClearIn:   p.clearIn,
	}
	if permits := time.Duration(permits); permits > 1 {
		// Turns end that much more often, and any may end next.
		o.Mean, o.Deviation, o.Serving = o.Mean/permits, o.Deviation/permits, false
	}
	if o.Serving {
		o.Elapsed = p.elapsed(rec, earliest, now)
	}
	return o
}

// slowest returns the longest delay, at most limit, of a waiter that must only notice when
// all that is in the way has expired.
func (p *pace) slowest(limit time.Duration) time.Duration {
	if p.clearIn > 0 {
		return min(limit, p.clearIn)
	}
	return limit
}

// before returns how many turns are between the present one and the waiter's own.
func (p *pace) before() int {
	if p.joins && p.turns > 0 {
		return p.turns - 1
	}
	return p.turns
}

// elapsed returns how long the present turn has lasted at least: since the time in the
// holder's entry, on DynamoDB's clock, or since this waiter first saw it.
func (p *pace) elapsed(rec serving.Record, earliest, now time.Time) time.Duration {
	elapsed := now.Sub(p.moved)
	since := rec.Holders[0].Since
	if !earliest.IsZero() && !since.IsZero() {
		elapsed = max(elapsed, earliest.Sub(since))
	}
	return elapsed
}

// estimate returns how long the turns before the waiter's own are likely to take, at the
// rate that the waiter has seen or else at that of recent turns. Zero: unknown.
func (p *pace) estimate(rec serving.Record, permits int, earliest, now time.Time) time.Duration {
	if p.joined() {
		return 0
	}
	mean := cmp.Or(p.mean, rec.Turn.Mean)
	if permits > 1 && p.mean == 0 {
		mean /= time.Duration(permits)
	}
	left := float64(p.before()) * float64(mean)
	if len(rec.Holders) > 0 {
		left += float64(max(0, mean-p.elapsed(rec, earliest, now)))
	}
	return time.Duration(min(left, math.MaxInt64/2))
}
