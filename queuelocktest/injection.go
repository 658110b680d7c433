package queuelocktest

import (
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/queuelock/queuelock/internal/testbed/fault"
)

// Injection is a [Fault] at work.
type Injection struct {
	fault Fault
	gate  *fault.Gate
	rules *rules

	mu    sync.Mutex // guards the fields below
	rng   *rand.Rand // nil: every request
	seen  int
	fired int
}

// Reached is closed when the first request meets the fault: when it waits at
// the gate, when its response is about to be lost after the write, or when its delay
// begins. A test waits for it to know how far a client has come.
func (i *Injection) Reached() <-chan struct{} { return i.gate.Reached() }

// Release lets go all requests that [HoldRequest], [HoldResponse] or
// [HoldDuplicate] stopped, and holds no more. On other faults it does nothing.
// Releasing again does nothing.
func (i *Injection) Release() { i.gate.Open() }

// Remove ends the fault for requests that are still to come. Those under way go
// on to meet it; held ones stay held until Release.
func (i *Injection) Remove() { i.rules.remove(i) }

// Fired is the number of requests for which the fault has been chosen.
func (i *Injection) Fired() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.fired
}

// meets decides whether the fault happens to this request, and returns how many
// requests have met it.
func (i *Injection) meets(r Request) (fired int, ok bool) {
	if i.fault.holds && i.gate.IsOpen() {
		return 0, false
	}
	for _, match := range i.fault.where { // outside the mutex: it is the caller's code
		if !match(r) {
			return 0, false
		}
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.rng != nil && i.rng.Float64() >= i.fault.chance.p {
		return 0, false
	}
	i.seen++
	if i.seen <= i.fault.skip || i.fault.times > 0 && i.fired == i.fault.times {
		return 0, false
	}
	i.fired++
	return i.fired, true
}

// rules are injections in their order. The zero value has none.
type rules struct {
	mu   sync.Mutex   // guards list
	list []*Injection // replaced, never written into: readers keep what they have
}

func (rs *rules) add(f Fault) *Injection {
	i := &Injection{fault: f, gate: fault.NewGate(), rules: rs}
	if f.chance != nil {
		i.rng = rand.New(rand.NewPCG(f.chance.seed, 0))
	}
	rs.mu.Lock()
	defer rs.mu.Unlock()
	rs.list = append(slices.Clip(rs.list), i)
	return i
}

func (rs *rules) remove(i *Injection) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	rs.list = slices.DeleteFunc(slices.Clone(rs.list), func(other *Injection) bool { return other == i })
}

// fate is that of the first injection which meets the request.
func (rs *rules) fate(r Request) (fault.Fate, bool) {
	rs.mu.Lock()
	list := rs.list
	rs.mu.Unlock()
	for _, i := range list {
		fired, ok := i.meets(r)
		if !ok {
			continue
		}
		fate := i.fault.shape(i.gate)
		fate.Name, fate.Anyway = i.fault.name, i.fault.anyway
		if i.fault.split != nil {
			fate.Split = i.fault.split(fired, len(r.wire.Items()))
		}
		return fate, true
	}
	return fault.Fate{}, false
}
