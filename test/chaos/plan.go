package chaos

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/queuelock/queuelock/internal/testbed/fault"
)

// Kind is what a Strike does.
type Kind int

// The kinds of strikes.
const (
	KillWorker    Kind = iota // SIGKILL of a worker; a new one takes its place
	StopWorker                // SIGSTOP of a worker for longer than the lease, then SIGCONT
	ThrottleBurst             // most requests are refused for a while
	ResetBurst                // many connections are reset for a while, after the request was forwarded
	HoleBurst                 // many connections are black-holed for a while
	KillEngine                // SIGKILL of the engine, and a new one on its database file
)

var kindNames = []string{"worker killed", "worker stopped", "throttling burst", "burst of resets", "burst of black holes", "engine killed"}

func (k Kind) String() string { return kindNames[k] }

// Strike is a fault that a run does to a process, or to many requests.
type Strike struct {
	At   time.Duration // since the start
	Kind Kind
	// Holder selects the next holder at Entity, Delay after its grant. Otherwise the
	// strike is for worker number Worker.
	Holder bool
	// Follows selects a holder whose turn has followed another one of its block in memory.
	Follows bool
	// Alone spares the requests for the lock from faults until another worker is served,
	// so that the recovery can be measured.
	Alone          bool
	Entity, Worker int
	Delay          time.Duration
	Length         time.Duration // until the stop, the burst or the outage ends
}

// calm is what is done to requests while there is no burst: so much to a
// thousand of them.
var calm = fault.Mix{
	{Kind: fault.Refuse, Of: 0.003}, {Kind: fault.LoseRequest, Of: 0.002}, {Kind: fault.LoseResponse, Of: 0.005},
	{Kind: fault.SwallowRequest, Of: 0.002}, {Kind: fault.SwallowResponse, Of: 0.002}, {Kind: fault.Duplicate, Of: 0.012}, {Kind: fault.Stray, Of: 0.004},
}

// bursts are what is done to them in one.
var bursts = map[Kind]fault.Mix{
	ThrottleBurst: {{Kind: fault.Refuse, Of: 0.8}},
	ResetBurst:    {{Kind: fault.LoseRequest, Of: 0.05}, {Kind: fault.LoseResponse, Of: 0.3}, {Kind: fault.Duplicate, Of: 0.05}},
	HoleBurst:     {{Kind: fault.SwallowRequest, Of: 0.15}, {Kind: fault.SwallowResponse, Of: 0.15}, {Kind: fault.Stray, Of: 0.1}},
}

// rhythm is how long it is from one strike of a kind to the next on average,
// and how long its effect lasts.
type rhythm struct{ every, shortest, longest time.Duration }

func rhythms(ttl time.Duration) []rhythm {
	return []rhythm{
		KillWorker:    {every: 4 * time.Second},
		StopWorker:    {4 * time.Second, ttl + ttl/4, 2*ttl + ttl/4},
		ThrottleBurst: {15 * time.Second, 300 * time.Millisecond, 1500 * time.Millisecond},
		ResetBurst:    {17 * time.Second, 300 * time.Millisecond, 1500 * time.Millisecond},
		HoleBurst:     {19 * time.Second, 300 * time.Millisecond, time.Second},
		KillEngine:    {23 * time.Second, 0, 1500 * time.Millisecond},
	}
}

// Plan is the strikes of a run, in order. It is a pure function of its
// arguments. Whom a strike hits depends on who is served when, which no seed
// decides.
func Plan(seed uint64, duration, ttl time.Duration, workers, entities int) []Strike {
	var plan []Strike
	for kind, r := range rhythms(ttl) {
		// Each kind has a source of its own, so that a longer run begins like
		// a shorter one.
		random := rand.New(rand.NewPCG(seed, uint64(kind)))
		between := func(least, most time.Duration) time.Duration {
			return least + time.Duration(random.Int64N(int64(most-least)+1))
		}
		for at := between(r.every/5, r.every*3/5); at < duration; at += between(r.every/2, r.every*3/2) {
			s := Strike{
				At: at, Kind: Kind(kind), Entity: random.IntN(entities), Worker: random.IntN(workers),
				Delay: between(0, 60*time.Millisecond), Length: between(r.shortest, r.longest),
			}
			s.Holder = random.IntN(10) < 7 && (s.Kind == KillWorker || s.Kind == StopWorker)
			s.Alone = random.IntN(5) > 0 && s.Holder && s.Kind == KillWorker
			s.Follows = s.Holder && random.IntN(4) > 0
			plan = append(plan, s)
		}
	}
	slices.SortStableFunc(plan, func(a, b Strike) int { return cmp.Compare(a.At, b.At) })
	return plan
}
