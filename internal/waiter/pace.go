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

// pace is how fast the queue was seen to move. It turns snapshots into the
// observations by which the schedule decides. It reads no clock.
type pace struct {
	begun      time.Time // first snapshot
	beginFloor ticket.Number
	floor      ticket.Number
	moved      time.Time     // the last snapshot that showed a change
	holder     string        // the first holder then
	mean       time.Duration // between two grants, as seen
	gaps       bool          // tickets of the queue do not follow each other: a wider counter issues them
	ahead      int           // then, how many were ahead
	passed     int           // then, how many at least were granted since the first snapshot

	// As decided last.
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
	p.floor, p.holder, p.ahead, p.turns = floor, holder, ahead, ahead
}

// grants counts the grants since the first snapshot, up to a new floor. Where numbers
// have gaps, the waiters that are not ahead any more are counted. Some may have given
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

// decided takes in what was decided by the snapshot that was seen last.
func (p *pace) decided(d rows.Decision) { p.clearIn, p.turns, p.joins = d.ClearIn, d.Turns, d.Joins }

// joined reports whether the waiter's turn has begun, and each of those ahead joins
// it with a request.
func (p *pace) joined() bool { return p.joins && p.turns == 0 }

// observation returns what is known of the turns that come before the waiter's own.
// earliest is the earliest that DynamoDB's clock may show; zero if it is not known.
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
		// Turns end that much more often, and any may be the next.
		o.Mean, o.Deviation, o.Serving = o.Mean/permits, o.Deviation/permits, false
	}
	if o.Serving {
		o.Elapsed = p.elapsed(rec, earliest, now)
	}
	return o
}

// slowest returns the longest delay of a waiter without hurry, at most limit: as
// late as is possible without missing that all that is in the way has expired.
func (p *pace) slowest(limit time.Duration) time.Duration {
	if p.clearIn > 0 {
		return min(limit, p.clearIn)
	}
	return limit
}

// before is how many turns come between the present one and the waiter's own.
func (p *pace) before() int {
	if p.joins && p.turns > 0 {
		return p.turns - 1
	}
	return p.turns
}

// elapsed is how long the present turn has lasted at least: since the time that the
// holder's entry names, on DynamoDB's clock, or else since this waiter first saw it.
func (p *pace) elapsed(rec serving.Record, earliest, now time.Time) time.Duration {
	elapsed := now.Sub(p.moved)
	since := rec.Holders[0].Since
	if !earliest.IsZero() && !since.IsZero() {
		elapsed = max(elapsed, earliest.Sub(since))
	}
	return elapsed
}

// estimate is how long the turns before the waiter's own are likely to take, at
// the rate that it has seen itself, or else at that of recent turns. It is zero if
// neither is known.
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
