package waiter

import (
	"cmp"
	"math"
	"time"

	"github.com/queuelock/queuelock/heartbeat"
	"github.com/queuelock/queuelock/internal/localqueue"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
	"github.com/queuelock/queuelock/waitpolicy"
)

// Status is what a waiter last saw of its queue, by a look of its own or of another waiter of its client.
type Status struct {
	Ticket  ticket.Number // zero: none was taken
	Ahead   int           // waiters ahead, see localqueue.Waiter.Ahead
	Serving []queue.Holder
	SeenAt  time.Time // on the local clock
	Blocked error     // problem of a row ahead or a holder that cannot be read
	Failure error     // of the last request, CLEAN UP included, if the table did not answer
	Wait    Estimate  // when Status was called
}

// Served returns the first holder, or nil, with its age and its remaining time as they are now.
func (s Status) Served(q table.Queue, observer *heartbeat.Observer) *queue.Holder {
	if len(s.Serving) == 0 {
		return nil
	}
	now := time.Now()
	holder := observer.Holder(q.Items, s.Serving[0], s.SeenAt, q.Clock().Middle(now))
	if !holder.Endless() {
		holder.Remaining -= now.Sub(s.SeenAt)
	}
	return &holder
}

// Estimate is how long the turns before a waiter's own are likely to take.
type Estimate struct {
	Wait  time.Duration // zero: the turn may come at any time
	Known bool
}

// Progress is a waiter's place in its queue and the estimated wait.
type Progress struct {
	Status  Status
	Tickets int // between the floor and the waiter's own
	Wait    Estimate
}

// progress is what a waiter has seen of its queue and reported.
type progress struct {
	status   Status
	pace     pace
	seen     queue.Record   // that status shows
	report   func(Progress) // nil: nothing is reported
	reported reported       // last
}

// reported is the part of a report that must differ from the last one.
type reported struct {
	ticket         ticket.Number
	ahead, tickets int
	serving        string
	data           int64
}

// record keeps what was seen with ticket t, for errors and the schedule.
func (p *progress) record(t ticket.Number, snapshot queue.Snapshot, ahead int) {
	p.status = Status{Ticket: t, Ahead: ahead, Serving: snapshot.Record.Holders, SeenAt: snapshot.ReadAt}
	p.seen = snapshot.Record
	p.pace.see(snapshot, ahead)
}

// update adds what the other waiters of this client have seen.
func (p *progress) update(local *localqueue.Waiter) {
	p.status.Ahead = local.Ahead()
	if rec, at := local.LastSeen(); rec.Follows(p.seen) {
		p.status.Serving, p.status.SeenAt, p.seen = rec.Holders, at, rec
	}
}

// send reports the progress if it differs from the last report.
func (p *progress) send(t ticket.Number, rec queue.Record, wait Estimate) {
	tickets := ticketsAhead(t, rec)
	if p.pace.gaps { // the tickets between are mostly of other queues
		tickets = p.status.Ahead
	}
	now := reported{ticket: t, ahead: p.status.Ahead, tickets: tickets}
	if len(p.status.Serving) > 0 {
		now.serving, now.data = p.status.Serving[0].ID, p.status.Serving[0].DataSet
	}
	if now != p.reported {
		p.reported = now
		p.report(Progress{Status: p.status, Tickets: tickets, Wait: wait})
	}
}

// ticketsAhead returns how many tickets are between the floor and t.
func ticketsAhead(t ticket.Number, rec queue.Record) int {
	return max(0, int(min(t.After(rec.Floor()), 1<<30))-1)
}

// pace measures how fast the queue moves. It turns snapshots into the observations of the schedule.
type pace struct {
	gaps  bool     // a wider counter issues the tickets
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
	ahead  int           // waiters ahead
	passed int           // with gaps, grants since first, at least

	clearIn time.Duration // of the last decision, as turns and joins
	turns   int
	joins   bool
}

// see records a snapshot with so many waiters ahead.
func (p *pace) see(snapshot queue.Snapshot, ahead int) {
	floor, holder := snapshot.Record.Floor(), ""
	if len(snapshot.Record.Holders) > 0 {
		holder = snapshot.Record.Holders[0].ID
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

// grants counts the grants since first, up to a new floor. With gaps it counts the waiters that are
// not ahead any more. Some may have given up, so turns may seem shorter than they were, but never longer.
func (p *pace) grants(floor ticket.Number, ahead int) uint64 {
	if !p.gaps {
		return floor.After(p.first.floor)
	}
	if floor != p.floor {
		p.passed += max(1, p.ahead-ahead)
	}
	return uint64(p.passed)
}

// decided records the decision about the last snapshot.
func (p *pace) decided(d queue.Decision) { p.clearIn, p.turns, p.joins = d.ClearIn, d.Turns, d.Joins }

// joined reports whether the waiter's turn has begun: it shares the lock with all waiters ahead.
func (p *pace) joined() bool { return p.joins && p.turns == 0 }

// before returns how many turns are between the present one and the waiter's own.
func (p *pace) before() int {
	if p.joins && p.turns > 0 {
		return p.turns - 1
	}
	return p.turns
}

// observation returns what is known of the turns before the waiter's own. earliest and middle are the earliest time and
// the best guess of DynamoDB's clock, or zero.
func (p *pace) observation(rec queue.Record, permits int, earliest, middle, now time.Time) waitpolicy.Observation {
	o := waitpolicy.Observation{
		Ahead: p.before(), Serving: len(rec.Holders) > 0, Mean: rec.HoldTime.Mean, Deviation: rec.HoldTime.Deviation,
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

// mayHaveEnded reports whether a CLAIM is worth more than a look, which only shows that it is time for a CLAIM: the
// turns are so short that a round trip matters, and this one may be over. A refused CLAIM costs a write unit, so it
// allows two for each turn.
func (p *pace) mayHaveEnded(rec queue.Record, now time.Time) bool {
	turn := rec.HoldTime
	single := len(rec.Holders) == 1 && !rec.Shared
	if !p.brief(turn) || !single || p.claims == 2 || p.still.IsZero() || now.Sub(p.still)+p.trip < turn.Mean-2*turn.Deviation {
		return false
	}
	p.claims++
	return true
}

// brief reports whether turns are so short that a round trip matters.
func (p *pace) brief(turn queue.HoldTime) bool { return turn.Mean > 0 && turn.Mean <= 40*p.trip }

// timed records the round trip of a request that was sent at that time.
func (p *pace) timed(sent time.Time) {
	if trip := time.Since(sent); p.trip == 0 || trip < p.trip {
		p.trip = trip
	}
}

// handover returns the time from the last snapshot of the turn before a grant, or from its end in this process, to now.
// Zero: it is not known.
func (p *pace) handover(ended, now time.Time) time.Duration {
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
func (p *pace) elapsed(rec queue.Record, earliest, now time.Time) time.Duration {
	elapsed := now.Sub(p.moved)
	if since := rec.Holders[0].Since; !earliest.IsZero() && !since.IsZero() {
		elapsed = max(elapsed, earliest.Sub(since))
	}
	return elapsed
}

// likely returns the best estimate of how long the turn of a holder has lasted. Zero: unknown. One that was granted by
// name has begun when its holder saw the grant.
func (p *pace) likely(h queue.Holder, middle, now time.Time) time.Duration {
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
func (p *pace) slowest(limit time.Duration) time.Duration {
	if p.clearIn > 0 {
		return min(limit, p.clearIn)
	}
	return limit
}

// estimate returns how long the turns before the waiter's own are likely to take, at the rate that the waiter has
// seen or else at that of recent turns.
func (p *pace) estimate(rec queue.Record, permits int, earliest, now time.Time) Estimate {
	mean := cmp.Or(p.mean, rec.HoldTime.Mean)
	switch {
	case p.joined(), p.before() == 0 && len(rec.Holders) == 0:
		return Estimate{Known: true}
	case mean <= 0:
		return Estimate{}
	}
	if permits > 1 && p.mean == 0 {
		mean /= time.Duration(permits)
	}
	left := float64(p.before()) * float64(mean)
	if len(rec.Holders) > 0 {
		left += float64(max(0, mean-p.elapsed(rec, earliest, now)))
	}
	return Estimate{time.Duration(min(left, math.MaxInt64/2)), true}
}
