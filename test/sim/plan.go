package sim

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/embedded"
	"github.com/queuelock/queuelock/ticket"
	"github.com/queuelock/queuelock/waitpolicy"
)

// Plan is one run. All of it is drawn from the seed.
type Plan struct {
	Seed   uint64
	Length time.Duration // of simulated time, before the weather clears

	Nodes   int // processes
	Workers int // that take turns, in each process
	Waiters int // instead of Workers in the first process, if not zero
	Queues  int
	Kinds   []Kind // of each queue
	Scope   ticket.Scope

	TTL     time.Duration
	Observe bool // Config.ObserveExpiry

	Dateless bool          // the engine sends no Date
	Drift    float64       // by how much the engine's clock is faster than the hosts'
	Skew     time.Duration // by how much dates of the engine's hosts differ, either way

	Latency     time.Duration // mean of one way
	Think, Hold time.Duration // means: between turns, and of one
	Lengths     Lengths       // of turns
	Disturbed   bool          // DynamoDB refuses credentials, rights and clocks as well

	Chances Chances
	Means   Means
	// Split makes the items of transactions visible one after the other.
	Split embedded.Splitting
	// EarlyTTL lets the table's TTL remove rows before their time.
	EarlyTTL bool
	// Forget is the time after which the table's TTL may delete idle records, long before the
	// day that Config.Forget asks for. It exceeds the longest delay of a request. Zero: never.
	Forget time.Duration
	// Several is the chance of a turn to take several locks, of which there are
	// five then. Zero: the usual one in twelve, of two locks at most.
	Several float64
	// Jobs is how many of the hosts run jobs: processes that try one lock and end. Some
	// crash right after a request, often their first.
	Jobs int
	// Crowded says that queues are long, and that most waiters stay.
	Crowded bool
	// Contest says that many processes want one lock for short turns: most grants are by name.
	Contest bool
	// Bells lets processes ring each other, and an attacker rings falsely.
	Bells bool
	// Blocks lets workers of a process wait together.
	Blocks bool
	// Policies is the chance of a turn to have a limit of waiters, or to be superseded by later ones. Zero: none has.
	Policies float64
	// AnyWrites leaves unjudged whether a write of package queue describes each change.
	AnyWrites bool
	// Closes lets turns keep their queue closed, and operators ask holders to give way.
	Closes bool
	// Cancels lets most waiters be superseded by later ones, of which some ask the holder to give way, as operators do.
	Cancels bool
	// Once is the chance of a turn at an exclusive lock to want a result of package once instead. Zero: none does. Keep is the
	// mean life of a result.
	Once float64
	Keep time.Duration
}

// workers is how many take turns in the process of that host.
func (p Plan) workers(host int) int {
	if host == 0 && p.Waiters > 0 {
		return p.Waiters
	}
	return p.Workers
}

// echo is a third of the longest delay after which a request arrives late.
func (p Plan) echo() time.Duration {
	if p.Chances.Stall > 0 {
		return max(p.TTL, 5*time.Second) // many short leases later
	}
	return p.TTL
}

// Kind is what a queue is used for. The zero Kind is an exclusive lock.
type Kind struct {
	Readers float64 // chance of a turn to share
	Permits int     // of a semaphore
	Closed  float64 // chance of a turn to fail closed
}

func newKind(r *rand.Rand) Kind {
	switch r.IntN(7) {
	case 3:
		return Kind{Closed: 0.3 + 0.7*r.Float64()}
	case 0, 1:
		return Kind{Readers: 0.3 + 0.5*r.Float64()}
	case 2:
		return Kind{Permits: 2 + r.IntN(2)}
	}
	return Kind{}
}

// Chances are of each request, in [0, 1).
type Chances struct {
	LoseRequest, LoseResponse       float64 // the connection breaks
	Brownout                        float64 // of a lost answer: that all requests of the process are throttled for a second or so
	Slow                            float64 // delayed by up to three seconds
	Anyway                          float64 // of a slow one: lands although its caller has gone
	Duplicate                       float64 // arrives again, up to three leases later
	Late                            float64 // the connection breaks, and it arrives later
	Refuse                          float64 // throttled, conflict, or an internal error
	SwallowRequest, SwallowResponse float64 // no answer until the caller gives up
	Stale                           float64 // of a turn: a write with its fence after its end
	Stubborn                        float64 // of a process: its HTTP client sends requests again on its own
	Undated                         float64 // of a process: a proxy removes the dates of its answers
	Overtake                        float64 // of an update: its answer is slow, and those to later requests overtake it
	Stall                           float64 // its goroutine alone pauses before or after it, for up to three leases
}

// Means are the mean times between two events in the cluster; zero is never.
type Means struct {
	Freeze, Cut, Kill, Retire, Throttle, Outage, TTL, Suspend, Stick time.Duration
}

// rarer lets what harms happen a third as often.
func (m *Means) rarer() {
	for _, mean := range []*time.Duration{&m.Freeze, &m.Cut, &m.Kill, &m.Outage, &m.Throttle, &m.Suspend, &m.Stick} {
		*mean *= 3
	}
}

// NewPlan draws a plan.
func NewPlan(seed uint64, length time.Duration) Plan {
	r := rand.New(rand.NewPCG(seed, 0))
	pick := func(list ...time.Duration) time.Duration { return list[r.IntN(len(list))] }
	p := Plan{
		Seed: seed, Length: length,
		Nodes: 2 + r.IntN(4), Workers: 1 + r.IntN(2), Queues: 1 + r.IntN(2),
		TTL:      pick(2*time.Second, 4*time.Second, 10*time.Second, 30*time.Second, time.Minute),
		Observe:  r.IntN(6) == 0,
		Dateless: r.IntN(6) == 0,
		Skew:     time.Duration(r.IntN(90)) * time.Millisecond,
		Drift:    (r.Float64()*2 - 1) * 400e-6,
		Latency:  pick(2*time.Millisecond, 10*time.Millisecond, 60*time.Millisecond),
		Think:    pick(8*time.Second, 25*time.Second, time.Minute),
		Hold:     pick(200*time.Millisecond, time.Second, 3*time.Second),
	}
	// Each kind of fault is there in half of the runs, and in every fifth run
	// there is none: what is not disturbed must cost what is promised.
	severity := []float64{0, 0.3, 1, 1, 2}[r.IntN(5)]
	chance := func(most float64) float64 {
		if r.IntN(2) == 0 {
			return 0
		}
		return r.Float64() * most * severity
	}
	p.Chances = Chances{
		LoseRequest: chance(0.08), LoseResponse: chance(0.12), Brownout: 0.5 * r.Float64(),
		Slow: chance(0.15), Anyway: r.Float64(),
		Duplicate: chance(0.08), Late: chance(0.05), Refuse: chance(0.1),
		SwallowRequest: chance(0.03), SwallowResponse: chance(0.04),
		Stale: 0.3 * r.Float64(),
	}
	every := func(most time.Duration) time.Duration {
		if r.IntN(2) == 0 || severity == 0 {
			return 0
		}
		return time.Duration(float64(most) * (0.3 + r.Float64()) / severity)
	}
	p.Means = Means{
		Freeze: every(30*time.Second + p.TTL), Cut: every(30*time.Second + p.TTL), Kill: every(90 * time.Second), Retire: every(3 * time.Minute),
		Throttle: every(2 * time.Minute), Outage: every(2 * time.Minute), TTL: every(time.Minute),
	}
	p.EarlyTTL = p.Means.TTL > 0 && r.IntN(2) == 0
	for range p.Queues {
		p.Kinds = append(p.Kinds, newKind(r))
	}
	switch r.IntN(5) {
	case 0:
		p.Scope = ticket.ScopeEntity
	case 1:
		p.Scope = ticket.ScopeTable
	}
	if slices.ContainsFunc(p.Kinds, func(k Kind) bool { return k != Kind{} }) {
		p.Think, p.Hold = p.Think/2, 2*p.Hold // or few would ever hold together
	}
	if r.IntN(2) == 0 {
		p.Split = embedded.Splitting{Window: pick(5*time.Millisecond, 50*time.Millisecond, 500*time.Millisecond), Late: 0.5 * math.Pow(r.Float64(), 2)}
	}
	if severity > 0 && r.IntN(2) == 0 {
		p.Chances.Stubborn = r.Float64()
	}
	p.Means.Stick = every(2 * time.Minute)
	if !p.Observe && !p.Dateless {
		p.Means.Suspend = every(30*time.Second + p.TTL)
	}
	p.vary(p.stream(variation), severity)
	p.varyProcesses(p.stream(variation+1), severity)
	if p.stream(forgetting).IntN(8) == 0 {
		p.forget()
	}
	if r := p.stream(crowding); r.IntN(3) == 0 {
		p.crowd(r)
	}
	p.Bells = p.stream(ringing).IntN(4) == 0
	if r := p.stream(contesting); r.IntN(3) == 0 {
		p.contest(r)
	}
	p.police(p.stream(policing))
	if p.stream(closing).IntN(5) == 0 {
		p.close()
	}
	p.supersede(p.stream(cancelling))
	p.compute(p.stream(computing))
	return p
}

// The streams of some choices. Each is one in which the seeds of older mutants are as they were, so that they still find
// their mistakes.
const (
	blocking   = 26
	uneven     = 35
	variation  = 268 // and the next one
	forgetting = 281
	ringing    = 1047
	closing    = 1256
	policing   = 27026
	cancelling = 27084
	computing  = 28533
	crowding   = 55426
	contesting = 146991
)

func (p *Plan) stream(of uint64) *rand.Rand { return rand.New(rand.NewPCG(p.Seed, of)) }

// varyProcesses draws what only some processes are, from a source of its own as well.
func (p *Plan) varyProcesses(r *rand.Rand, severity float64) {
	if jobs := r.IntN(3) == 0; jobs {
		p.Jobs = 1 + r.IntN(p.Nodes)
	}
	if undated := r.IntN(3) == 0; undated && severity > 0 && !p.Dateless && !p.Observe {
		p.Chances.Undated = r.Float64()
	}
}

// contest makes most grants hand-overs by name: many processes want one lock all the time, for turns that are short
// beside leases. Some waiters leave, also when they are named. Contests are shorter than other runs: they have more turns.
func (p *Plan) contest(r *rand.Rand) {
	p.Contest, p.Crowded, p.Several, p.Forget = true, true, 0, 0
	p.Scope, p.Queues, p.Kinds, p.Jobs, p.Observe, p.Dateless = ticket.ScopeQueue, 1, make([]Kind, 1), 0, false, false
	p.Nodes, p.Workers, p.Hold, p.Think = 6+r.IntN(3), 1, 100*time.Millisecond, 10*time.Millisecond
	p.TTL, p.Latency = 10*time.Second, min(p.Latency, 10*time.Millisecond)
	p.Chances.Stall, p.Chances.Undated, p.Split = p.Chances.Stall/8, 0, embedded.Splitting{}
	p.Chances.Stale /= 16 // its worker does not queue for a lease
	if r.IntN(4) == 0 {   // several waiters of one process meet in a short queue: one takes a ticket while another's CLAIM is answered
		p.Nodes, p.Waiters, p.Chances.Overtake = 3, 5, 0.4
		p.Hold, p.Think = 300*time.Millisecond, 2*time.Second
	}
	p.Length /= 8
	p.Means.rarer()
}

// crowd makes queues long, so that holders see who comes next and hand over by name.
func (p *Plan) crowd(r *rand.Rand) {
	if p.Scope != ticket.ScopeQueue || p.Several > 0 || p.Forget > 0 {
		return
	}
	p.Crowded = true
	p.Nodes, p.Workers = 6+r.IntN(3), 1
	// Rows are named only if turns are short beside leases.
	p.TTL, p.Hold, p.Latency = max(p.TTL, 10*time.Second), 100*time.Millisecond, min(p.Latency, 10*time.Millisecond)
	p.Think = p.Hold * time.Duration(1+r.IntN(4))
	p.Queues, p.Kinds = 1, make([]Kind, 1)
	p.Jobs, p.Chances.Stall = 0, p.Chances.Stall/8
	p.Means.rarer()
}

// forget lets the table delete idle records. Leases are short and turns rare, so that
// queues are idle for longer than any request is late. A suspended process would begin a
// record at a time that is behind by more than that.
func (p *Plan) forget() {
	if p.Scope != ticket.ScopeQueue || p.Several > 0 {
		return
	}
	p.TTL, p.Think, p.Workers = 2*time.Second, 2*time.Minute, 1
	p.Means.TTL, p.Means.Suspend = 10*time.Second, 0
	p.Forget = 12*p.TTL + 30*time.Second
}

// vary draws what only some runs have, from a source of its own, so that the seeds
// of the other runs keep their meaning.
func (p *Plan) vary(r *rand.Rand, severity float64) {
	if stalls := r.IntN(8) == 0; stalls && severity > 0 {
		p.Chances.Stall = 0.03 * r.Float64()
	}
	if several := r.IntN(8) == 0; several {
		p.Several = 0.3 + 0.6*r.Float64()
		p.Queues, p.Kinds = 5, make([]Kind, 5)
		p.Scope = []ticket.Scope{ticket.ScopeTable, ticket.ScopeTable, ticket.ScopeQueue}[r.IntN(3)]
	}
}

// Lengths says how the lengths of turns are distributed, about their mean, which is Plan.Hold.
type Lengths string

// Of the others most processes have some kind.
const (
	Exponential Lengths = ""
	Bimodal     Lengths = "one turn of ten lasts 20 times as long as the others"
	LogNormal   Lengths = "log-normal"
	Crowds      Lengths = "one turn of forty lasts 200 times as long as the others" // while most wait
)

// Uneven lets turns be of lengths that the ones before do not show.
func (p *Plan) Uneven() {
	p.Lengths = []Lengths{Exponential, Bimodal, LogNormal, Crowds}[p.stream(uneven).IntN(4)]
}

// schedule returns how often waiters look. Looks are most of a run's work, so it is less often than by default.
func (p Plan) schedule() waitpolicy.Schedule {
	s := waitpolicy.Schedule{Fastest: 400 * time.Millisecond, SlowestNext: time.Second}
	if p.Lengths != Exponential {
		s.Fastest = 10 * time.Millisecond
	}
	return s.WithDefaults()
}

// longest is the longest turn that is drawn, but for few that outlast their lease.
func (p Plan) longest() time.Duration {
	return map[Lengths]time.Duration{
		Exponential: 6 * p.Hold, Bimodal: 7 * p.Hold, LogNormal: 12 * p.Hold, Crowds: min(40*p.Hold, 40*time.Second),
	}[p.Lengths]
}

// lasts draws the length of a turn.
func (p Plan) lasts(r *rand.Rand) time.Duration {
	switch {
	case p.Lengths == LogNormal:
		return min(time.Duration(float64(p.Hold)*math.Exp(r.NormFloat64()-0.5)), p.longest())
	case p.Lengths == Bimodal && r.IntN(10) > 0:
		return p.longest() / 20
	case p.Lengths == Crowds && r.IntN(40) > 0:
		return p.longest() / 200
	case p.Lengths == Exponential:
		return exp(r, p.Hold)
	}
	return p.longest()
}

// Block lets several workers of each process want the same lock at the same time, most of them without options, so that they
// wait in blocks of tickets.
func (p *Plan) Block() {
	r := p.stream(blocking)
	if !p.Contest { // else it is
		p.Length /= 8 // they have more turns than others
	}
	p.Blocks, p.Contest, p.Crowded = true, false, true // most wait until they have the lock
	p.Scope, p.Queues, p.Kinds, p.Jobs, p.Several, p.Forget = ticket.ScopeQueue, 1, make([]Kind, 1), 0, 0, 0
	p.Nodes, p.Workers, p.Waiters = 2+r.IntN(2), 3+r.IntN(4), 0
	p.Hold, p.Think = min(p.Hold, 100*time.Millisecond), time.Duration(r.IntN(3))*20*time.Millisecond
	for _, mean := range []*time.Duration{&p.Means.Freeze, &p.Means.Cut, &p.Means.Kill, &p.Means.Retire, &p.Means.Outage, &p.Means.Throttle, &p.Means.Suspend, &p.Means.Stick} {
		*mean /= 4
	}
}

// turnAsOthers is one Acquire without options, and what follows it.
func (n *node) turnAsOthers(r *rand.Rand, a *attempt, key queuelock.Key) {
	a.plain, a.ttl = true, n.plan.TTL
	n.add(n.name, "%s: Acquire %s, %v", a.owner, key, a)
	n.attempt(r, a, key, false, nil, func(ctx context.Context, opts []queuelock.AcquireOption) (*queuelock.Lock, error) {
		return n.client.Acquire(ctx, key, a.wait, opts...)
	})
}

// inTable is the owner of the attempt's entry.
func (a *attempt) inTable() string {
	if a.plain {
		return a.name
	}
	return a.owner
}
