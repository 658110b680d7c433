package waitpolicy

import (
	"math"
	"time"

	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
)

// Pace is what one waiter has seen of its queue, and when it acts next. Snapshots, bells and times go in, and the
// length of a sleep comes out. It makes no request and reads no clock; random numbers are given to it.
type Pace struct {
	floor  ticket.Number
	holder string        // the first one
	moved  time.Time     // the last snapshot that showed a change
	still  time.Time     // the last one before moved, or when a turn ended in this process; zero: there is none
	last   time.Time     // the last one
	claims int           // in place of looks, since moved
	trip   time.Duration // the shortest round trip of a request

	once    bool          // the waiter leaves with the end of the present turn
	clearIn time.Duration // of the last decision, as turns and joins
	turns   int
	joins   bool
}

// NewPace returns the pace of a waiter that has seen nothing. The last turn in this process ended at a time; zero:
// unknown.
func NewPace(ended time.Time) Pace { return Pace{last: ended} }

// Saw records a snapshot with so many rows ahead.
func (p *Pace) Saw(snapshot queue.Snapshot, ahead int) {
	floor, holder := snapshot.Record.Floor(), ""
	if len(snapshot.Record.Holders) > 0 {
		holder = snapshot.Record.Holders[0].ID
	}
	if p.moved.IsZero() || floor != p.floor || holder != p.holder {
		p.moved, p.still, p.claims = snapshot.ReadAt, p.last, 0
	}
	p.last, p.floor, p.holder, p.turns = snapshot.ReadAt, floor, holder, ahead
}

// Decided records the decision about the last snapshot.
func (p *Pace) Decided(d queue.Decision) { p.clearIn, p.turns, p.joins = d.ClearIn, d.Turns, d.Joins }

// Timed records the round trip of a request that was sent then, and answered now.
func (p *Pace) Timed(sent, now time.Time) {
	if trip := now.Sub(sent); p.trip == 0 || trip < p.trip {
		p.trip = trip
	}
}

// Trip returns the shortest round trip of a request.
func (p *Pace) Trip() time.Duration { return p.trip }

// Behind records how many rows are ahead, for all that is known without a look.
func (p *Pace) Behind(rows int) { p.turns = rows }

// Once records whether the waiter waits for the result of the present turn, and not for its own.
func (p *Pace) Once(waits bool) { p.once = waits }

// EndedBy records that the turn in the way has ended by that time.
func (p *Pace) EndedBy(at time.Time) {
	if p.still.Before(at) {
		p.still = at
	}
}

// joined reports whether the waiter's turn has begun: it shares the lock with all waiters ahead.
func (p *Pace) joined() bool { return p.joins && p.turns == 0 }

// Before returns how many turns are between the present one and the waiter's own.
func (p *Pace) Before() int {
	switch {
	case p.once:
		return 0
	case p.joins && p.turns > 0:
		return p.turns - 1
	}
	return p.turns
}

// View is what a waiter knows, beside its pace, when it decides how long to sleep.
type View struct {
	Record  queue.Record
	Permits int
	Ahead   int  // rows ahead
	Own     bool // this client holds the lock, and the waiter is next
	Rung    Rung

	Now              time.Time
	Earliest, Middle time.Time // DynamoDB's time: the earliest it can be, and the best guess; zero if unknown
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
	o := p.observation(v)
	d := max(s.Delay(o, draw()), p.crowded(s, v))
	if v.Rung.Early > 0 && p.Before() == 0 {
		d = min(d, s.backoff(v.Rung.Early-1))
	}
	return d
}

// observation returns what is known of the turns before the waiter's own.
func (p *Pace) observation(v View) Observation {
	o := Observation{
		Ahead: p.Before(), Serving: len(v.Record.Holders) > 0, Age: v.Now.Sub(p.moved), ClearIn: p.clearIn, Trip: p.trip,
		Mean: v.Record.HoldTime.Mean, Deviation: v.Record.HoldTime.Deviation,
	}
	o.Bell = o.Mean > 0 && v.Rung.Trust > 0
	if permits := time.Duration(v.Permits); permits > 1 {
		// Turns end that much more often, and any may end next.
		o.Mean, o.Deviation, o.Serving = o.Mean/permits, o.Deviation/permits, false
	}
	if o.Serving {
		o.Age, o.AtMost = p.age(v.Record, v.Middle, v.Now)
	}
	return o
}

// age returns the best guess of how long the present turn has lasted, and the longest that it can have. Clocks may
// differ by more than is allowed for, so looks bound what the holder's entry says.
func (p *Pace) age(rec queue.Record, middle, now time.Time) (age, most time.Duration) {
	lasted, seen := p.Lasted(rec, middle, now), now.Sub(p.moved)
	switch most = now.Sub(p.still); {
	case p.still.IsZero(): // it may have lasted for any time: usually, that of a whole turn at most
		age = max(seen, lasted)
		return age, max(age, rec.HoldTime.Mean)
	case lasted == 0:
		return (seen + most) / 2, most
	}
	return lasted, most
}

// Lasted returns for how long the present turn has probably lasted, by what its holder's entry says. Zero: that is not
// known. middle is the best guess of DynamoDB's clock. A turn that is granted by name begins when its holder sees that.
func (p *Pace) Lasted(rec queue.Record, middle, now time.Time) time.Duration {
	if len(rec.Holders) == 0 || middle.IsZero() || rec.Holders[0].Since.IsZero() {
		return 0
	}
	lasted := middle.Sub(rec.Holders[0].Since)
	if rec.Holders[0].Named {
		lasted -= p.trip
	}
	if lasted = max(lasted, now.Sub(p.moved)); !p.still.IsZero() {
		lasted = min(lasted, now.Sub(p.still))
	}
	return lasted
}

// slowest returns the longest delay, at most limit, of a waiter that must only notice when all in its way has expired.
func (p *Pace) slowest(limit time.Duration) time.Duration {
	if p.clearIn > 0 {
		return min(limit, p.clearIn)
	}
	return limit
}

// crowded returns the shortest delay of a waiter for the result of the present turn. All such waiters are next, so they
// must not look as often as one alone would: a quarter of the turn may pass between two looks, or a sixteenth of a
// usual one, and more time the more waiters there are.
func (p *Pace) crowded(s Schedule, v View) time.Duration {
	if !p.once {
		return 0
	}
	part := max(v.Now.Sub(p.moved)/4, v.Record.HoldTime.Mean/16)
	return min(part, s.SlowestNext+s.SlowestNext/4*time.Duration(v.Ahead), s.Slowest)
}

// Lazily returns how long a waiter sleeps that looks when one of a few slots is free, or so late that few look at once.
func (p *Pace) Lazily(s Schedule, d time.Duration, draw func() float64) time.Duration {
	return max(d, around(p.slowest(s.Slowest)*2/3, draw))
}

// around returns d, shortened or lengthened by up to a half.
func around(d time.Duration, draw func() float64) time.Duration {
	return time.Duration(float64(d) * (0.5 + draw()))
}

// MayHaveEnded reports whether to send a CLAIM without a look before it: turns are so short that the round trip of
// the look matters, and this turn may be over. A refused CLAIM costs a write unit, so two are allowed in each turn.
func (p *Pace) MayHaveEnded(rec queue.Record, now time.Time) bool {
	turn := rec.HoldTime
	single := len(rec.Holders) == 1 && !rec.Shared
	brief := turn.Mean > 0 && turn.Mean <= 40*p.trip
	if !brief || !single || p.claims == 2 || p.still.IsZero() || now.Sub(p.still)+p.trip < turn.Mean-2*turn.Deviation {
		return false
	}
	p.claims++
	return true
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

// Estimate is how long the turns before a waiter's own are likely to take.
type Estimate struct {
	Wait  time.Duration // zero: the turn may come at any time
	Known bool
}

// Estimate returns how long the turns before the waiter's own are likely to take, if they take as long as recent ones.
func (p *Pace) Estimate(v View) Estimate {
	rec, mean := v.Record, v.Record.HoldTime.Mean/time.Duration(max(1, v.Permits))
	switch {
	case p.joined(), p.Before() == 0 && len(rec.Holders) == 0:
		return Estimate{Known: true}
	case p.Before() == 0 && rec.Holders[0].Closed:
		return Estimate{opens(rec, v.Permits, v.Earliest), true}
	case mean <= 0:
		return Estimate{}
	}
	left := float64(p.Before()) * float64(mean)
	if len(rec.Holders) > 0 {
		age, _ := p.age(rec, v.Middle, v.Now)
		left += float64(max(mean-age, opens(rec, v.Permits, v.Earliest)))
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
