package waitpolicy

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
)

// Estimate is how long the turns before a waiter's own are likely to take.
type Estimate struct {
	Wait  time.Duration // zero: the turn may come at any time
	Known bool
}

// Pace is what one waiter has seen of how fast its queue moves, and when it acts next. Snapshots, hints and times go in, and
// the length of a sleep comes out. It makes no request and reads no clock; random numbers are given to it.
type Pace struct {
	gaps  bool     // not each ticket is a turn: a wider counter issues them, or blocks have several
	first struct { // snapshot from which grants are counted
		at      time.Time
		floor   ticket.Number
		granted bool // a grant was seen then
	}
	floor  ticket.Number
	moved  time.Time     // the last snapshot that showed a change
	still  time.Time     // the last one before moved, or when a turn ended in this process; zero: there is none
	last   time.Time     // the last one
	claims int           // in place of looks, since moved
	trip   time.Duration // the shortest round trip of a request
	holder string        // the first holder
	mean   time.Duration // between two grants, as seen
	ahead  int           // rows ahead
	passed int           // with gaps, grants since first, at least

	once    bool          // the waiter leaves with the end of the present turn
	clearIn time.Duration // of the last decision, as turns and joins
	turns   int
	joins   bool
}

// Saw records a snapshot with so many rows ahead.
func (p *Pace) Saw(snapshot queue.Snapshot, ahead int) {
	floor, holder := snapshot.Record.Floor(), ""
	if len(snapshot.Record.Holders) > 0 {
		holder = snapshot.Record.Holders[0].ID
	}
	if !p.gaps && hasBlock(snapshot) {
		p.gaps, p.first.granted, p.passed, p.ahead = true, false, 0, ahead
		if !p.first.at.IsZero() {
			p.first.at = snapshot.ReadAt
		}
	}
	if p.first.at.IsZero() {
		p.first.at, p.moved, p.still = snapshot.ReadAt, snapshot.ReadAt, p.last
		p.first.floor, p.floor, p.holder = floor, floor, holder
	}
	if floor != p.floor || holder != p.holder {
		p.moved, p.still, p.claims = snapshot.ReadAt, p.last, 0
	}
	p.last = snapshot.ReadAt
	switch grants := p.grants(floor, ahead); {
	case floor == p.floor || grants == 0:
	case grants == 1 && !p.first.granted: // the time until then is only the rest of a turn
		p.first.at, p.first.floor, p.first.granted, p.passed = snapshot.ReadAt, floor, true, 0
	default:
		p.mean = snapshot.ReadAt.Sub(p.first.at) / time.Duration(min(grants, 1<<31))
	}
	p.floor, p.holder, p.ahead, p.turns = floor, holder, ahead, ahead
}

func hasBlock(s queue.Snapshot) bool {
	return slices.ContainsFunc(s.Record.Holders, func(h queue.Holder) bool { return h.Turns > 1 }) ||
		slices.ContainsFunc(s.Rows, func(w queue.Waiter) bool { return w.Turns > 1 })
}

// grants counts the grants since first, up to a new floor. With gaps it counts the rows that are
// not ahead any more. Some may have given up, so turns may seem shorter than they were, but never longer.
func (p *Pace) grants(floor ticket.Number, ahead int) uint64 {
	if !p.gaps {
		return floor.After(p.first.floor)
	}
	if floor != p.floor {
		p.passed += max(1, p.ahead-ahead)
	}
	return uint64(p.passed)
}

// Decided records the decision about the last snapshot.
func (p *Pace) Decided(d queue.Decision) { p.clearIn, p.turns, p.joins = d.ClearIn, d.Turns, d.Joins }

// joined reports whether the waiter's turn has begun: it shares the lock with all waiters ahead.
func (p *Pace) joined() bool { return p.joins && p.turns == 0 }

// Before returns how many turns are between the present one and the waiter's own.
func (p *Pace) Before() int {
	if p.once {
		return 0
	}
	if p.joins && p.turns > 0 {
		return p.turns - 1
	}
	return p.turns
}

// observation returns what is known of the turns before the waiter's own. earliest and middle are the earliest time and
// the best guess of DynamoDB's clock, or zero.
func (p *Pace) observation(rec queue.Record, permits int, earliest, middle, now time.Time) Observation {
	o := Observation{
		Ahead: p.Before(), Serving: len(rec.Holders) > 0, Mean: rec.HoldTime.Mean, Deviation: rec.HoldTime.Deviation,
		Pace: p.mean, Still: now.Sub(p.moved), ClearIn: p.clearIn, Trip: p.trip,
	}
	if permits := time.Duration(permits); permits > 1 {
		// Turns end that much more often, and any may end next.
		o.Mean, o.Deviation, o.Serving = o.Mean/permits, o.Deviation/permits, false
	}
	if o.Serving {
		o.Elapsed, o.Likely = p.elapsed(rec, earliest, now), p.likely(rec.Holders[0], middle, now)
		if !p.still.IsZero() { // clocks may differ by more than is allowed for; this is seen
			o.AtMost = now.Sub(p.still)
			o.Elapsed, o.Likely = min(o.Elapsed, o.AtMost), min(o.Likely, o.AtMost)
		}
	}
	return o
}

// MayHaveEnded reports whether a CLAIM is worth more than a look, which only shows that it is time for a CLAIM: the
// turns are so short that a round trip matters, and this one may be over. A refused CLAIM costs a write unit, so it
// allows two for each turn.
func (p *Pace) MayHaveEnded(rec queue.Record, now time.Time) bool {
	turn := rec.HoldTime
	single := len(rec.Holders) == 1 && !rec.Shared
	if !p.brief(turn) || !single || p.claims == 2 || p.still.IsZero() || now.Sub(p.still)+p.trip < turn.Mean-2*turn.Deviation {
		return false
	}
	p.claims++
	return true
}

// brief reports whether turns are so short that a round trip matters.
func (p *Pace) brief(turn queue.HoldTime) bool { return turn.Mean > 0 && turn.Mean <= 40*p.trip }

// Timed records the round trip of a request that was sent then, and answered now.
func (p *Pace) Timed(sent, now time.Time) {
	if trip := now.Sub(sent); p.trip == 0 || trip < p.trip {
		p.trip = trip
	}
}

// Handover returns the time from the last snapshot of the turn before a grant, or from its end in this process, to now.
// Zero: it is not known.
func (p *Pace) Handover(ended, now time.Time) time.Duration {
	since := p.still
	if p.holder != "" {
		since = p.last
	}
	if since.Before(ended) {
		since = ended
	}
	if since.IsZero() {
		return 0
	}
	return now.Sub(since)
}

// elapsed returns how long the present turn has lasted at least: since the time in the holder's entry, on
// DynamoDB's clock, or since this waiter first saw it.
func (p *Pace) elapsed(rec queue.Record, earliest, now time.Time) time.Duration {
	elapsed := now.Sub(p.moved)
	if since := rec.Holders[0].Since; !earliest.IsZero() && !since.IsZero() {
		elapsed = max(elapsed, earliest.Sub(since))
	}
	return elapsed
}

// likely returns the best estimate of how long the turn of a holder has lasted. Zero: unknown. One that was granted by
// name has begun when its holder saw the grant.
func (p *Pace) likely(h queue.Holder, middle, now time.Time) time.Duration {
	if middle.IsZero() || h.Since.IsZero() {
		return 0
	}
	likely := middle.Sub(h.Since)
	if h.Named {
		likely -= p.trip
	}
	return max(likely, now.Sub(p.moved))
}

// slowest returns the longest delay, at most limit, of a waiter that must only notice when all that is in the way
// has expired.
func (p *Pace) slowest(limit time.Duration) time.Duration {
	if p.clearIn > 0 {
		return min(limit, p.clearIn)
	}
	return limit
}

// Estimate returns how long the turns before the waiter's own are likely to take, at the rate that the waiter has
// seen or else at that of recent turns.
func (p *Pace) Estimate(rec queue.Record, permits int, earliest, now time.Time) Estimate {
	mean := cmp.Or(p.mean, rec.HoldTime.Mean)
	switch {
	case p.joined(), p.Before() == 0 && len(rec.Holders) == 0:
		return Estimate{Known: true}
	case p.Before() == 0 && rec.Holders[0].Closed:
		return Estimate{opens(rec, permits, earliest), true}
	case mean <= 0:
		return Estimate{}
	}
	if permits > 1 && p.mean == 0 {
		mean /= time.Duration(permits)
	}
	left := float64(p.Before()) * float64(mean)
	if len(rec.Holders) > 0 {
		left += float64(max(mean-p.elapsed(rec, earliest, now), opens(rec, permits, earliest)))
	}
	return Estimate{time.Duration(min(left, math.MaxInt64/2)), true}
}

// opens returns how long the queue stays closed at least, whatever its holder does. Zero: it may open at any time.
func opens(rec queue.Record, permits int, earliest time.Time) time.Duration {
	if len(rec.Holders) == 0 || permits > 1 || earliest.IsZero() {
		return 0
	}
	return max(0, rec.Holders[0].NotBefore.Sub(earliest))
}

// NewPace returns the pace of a waiter that has seen nothing. With gaps, a wider counter issues the tickets. The last turn in
// this process ended at a time; zero: none is known.
func NewPace(gaps bool, ended time.Time) Pace { return Pace{gaps: gaps, last: ended} }

// Behind records how many rows are ahead, for all that is known without a look.
func (p *Pace) Behind(rows int) { p.turns = rows }

// Once records whether the waiter waits for the result of the present turn, and not for its own.
func (p *Pace) Once(waits bool) { p.once = waits }

// crowded returns the shortest delay of a waiter for the result of the present turn. All such waiters are next, so they must not
// look as often as one alone would: a quarter of the turn may pass between two looks, and more time the more waiters there are.
func (p *Pace) crowded(s Schedule, ahead int, still time.Duration) time.Duration {
	if !p.once {
		return 0
	}
	return min(still/4, s.SlowestNext+s.SlowestNext/4*time.Duration(ahead), s.Slowest)
}

// EndedBy records that the turn in the way has ended by that time.
func (p *Pace) EndedBy(at time.Time) {
	if p.still.Before(at) {
		p.still = at
	}
}

// Trip returns the shortest round trip of a request.
func (p *Pace) Trip() time.Duration { return p.trip }

const (
	// MaxEarly is how often the next in line looks again after a hint whose turn has not ended. A hint goes out with its
	// release, and may be faster.
	MaxEarly = 3
	// soon is how many turns ahead may be so short that the waiter is next after one sleep.
	soon = 8
)

// View is what a waiter knows, beside its pace, when it decides how long to sleep.
type View struct {
	Record  queue.Record
	Permits int
	Ahead   int  // rows ahead
	Own     bool // this client holds the lock, and the waiter is next
	Hints   Hints

	Now              time.Time
	Earliest, Middle time.Time // DynamoDB's time: the earliest it can be, and the best guess; zero if unknown
}

// Hints are what is known of hints that turns have ended.
type Hints struct {
	Came    int           // since the last look that showed a change
	Early   int           // looks since then that showed none
	Last    time.Time     // when the last one came
	Rung    bool          // one of them was for this waiter alone, as its turn has come
	Trust   int           // above zero: true ones come; below: so many in vain
	Stagger time.Duration // from a hint to the request that finds its release applied
}

// Delay returns how long to sleep before the next look. draw returns random numbers in [0, 1).
func (p *Pace) Delay(s Schedule, v View, draw func() float64) time.Duration {
	closed := opens(v.Record, v.Permits, v.Earliest)
	if p.once && closed > 0 && !v.Record.Holders[0].Closed {
		closed = 0 // its release leaves the result
	}
	switch {
	case closed > 0: // unless an operator opens the queue
		return min(closed, around(s.Slowest*2/3, draw))
	case p.joined():
		return min(time.Duration(v.Ahead+1)*s.Fastest, s.SlowestNext)
	case v.Own:
		return around(p.slowest(s.SlowestNext)*2/3, draw) // its release passes the lock, or wakes
	}
	o := p.observation(v.Record, v.Permits, v.Earliest, v.Middle, v.Now)
	o.Hinted = o.Mean > 0 && v.Hints.Trust > 0
	d := max(s.Delay(o, draw()), p.crowded(s, v.Ahead, o.Still))
	if v.Hints.Early > 0 && p.Before() == 0 {
		d = min(d, s.backoff(v.Hints.Early-1))
	}
	return d
}

// Lazily returns how long a waiter sleeps that looks only when one of a few slots is free, or so late that not all look at
// once.
func (p *Pace) Lazily(s Schedule, d time.Duration, draw func() float64) time.Duration {
	return max(d, around(p.slowest(s.Slowest)*2/3, draw))
}

// around returns d, shortened or lengthened by up to a half.
func around(d time.Duration, draw func() float64) time.Duration {
	return time.Duration(float64(d) * (0.5 + draw()))
}

// backoff returns the time between two requests after so many hints in vain.
func (s Schedule) backoff(n int) time.Duration { return min(s.Fastest<<(2*n), s.SlowestNext) }

// Heed returns when a sleep ends after a hint, at the latest at until, and whether the hint is why. The next in line acts
// when the release has probably been applied, or less often after false hints. Hints reach a waiter behind others once for
// each turn, and if it is near, it looks after two thirds of the turns ahead, because waiters may have left. The next turn
// has begun then. A waiter that is rung is next, whatever it has seen.
func (p *Pace) Heed(s Schedule, h Hints, mean time.Duration, until time.Time, draw func() float64) (at time.Time, heeded bool) {
	at = h.Last.Add(h.Stagger)
	if before := p.Before(); before > 0 && !h.Rung {
		if 3*h.Came < 2*before || before > soon || h.Trust < 0 {
			return until, false
		}
		at = at.Add(around(min(max(mean/20, p.trip/2), s.SlowestNext/4), draw))
	}
	if next := p.last.Add(s.backoff(-min(h.Trust, 0))); at.Before(next) {
		at = next
	}
	if until.Before(at) {
		return until, false
	}
	return at, true
}
