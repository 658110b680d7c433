package queuelocktest

import (
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/queuelock/queuelock/internal/testbed/fault"
)

// Injection is a [Fault] that is in effect.
type Injection struct {
	fault Fault
	gate  *fault.Gate
	rules *rules

	mu    sync.Mutex // guards the fields below
	rng   *rand.Rand // nil: every request
	seen  int
	fired int
}

// Reached returns a channel that is closed when the first request meets the fault: when
// it waits at the gate, when its delay begins, or when its response is about to be
// lost.
func (i *Injection) Reached() <-chan struct{} { return i.gate.Reached() }

// Release lets go all requests that [HoldRequest], [HoldResponse] or [HoldDuplicate]
// stopped, and holds no more. It has no effect on other faults, or a second time.
func (i *Injection) Release() { i.gate.Open() }

// Remove ends the fault for later requests. Held requests stay held until Release.
func (i *Injection) Remove() { i.rules.remove(i) }

// Fired returns the number of requests that met the fault.
func (i *Injection) Fired() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.fired
}

// meets reports whether the request meets the fault, and how many have met it.
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

// fate returns that of the first injection that meets the request.
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
