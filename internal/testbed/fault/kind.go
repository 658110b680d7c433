package fault

import (
	"math/rand/v2"
	"time"
)

// Kind is a fault by its name.
type Kind int

// The kinds of faults. None is none of them.
const (
	None            Kind = iota
	LoseRequest          // the connection fails before the request is applied
	LoseResponse         // the request is applied, and then the connection fails
	DelayRequest         // the request is applied later
	DelayResponse        // the request is applied, and answered later
	SwallowRequest       // no answer until the caller gives up; not applied
	SwallowResponse      // applied; no answer until the caller gives up
	Duplicate            // applied and answered, and later applied once more
	Late                 // the connection fails at once, and the request is applied later
	Stray                // no answer until the caller gives up, and applied later
	Refuse               // answered with an error of DynamoDB; not applied
	Down                 // the engine does not answer; it happens, and is not chosen

	kinds int = iota
)

var kindNames = [kinds]string{
	"none", "lose request", "lose response", "delay request", "delay response", "swallow request", "swallow response",
	"duplicate", "late", "stray", "refuse", "down",
}

func (k Kind) String() string { return kindNames[k] }

// Kinds lists all kinds.
func Kinds() []Kind {
	all := make([]Kind, kinds)
	for i := range all {
		all[i] = Kind(i)
	}
	return all
}

// Add makes a fault of that kind part of the fate. d is the delay of kinds that
// have one. A refusal is a throttle unless the caller replaces it. Add returns the
// leg that begins when the request meets the fault.
func (f *Fate) Add(k Kind, d time.Duration) *Leg {
	f.Name = k.String()
	switch k {
	case LoseRequest:
		f.There.Lost = true
	case LoseResponse:
		f.Back.Lost = true
		return &f.Back
	case DelayRequest:
		f.There.Delay += d
	case DelayResponse:
		f.Back.Delay += d
		return &f.Back
	case SwallowRequest:
		f.There.Swallowed = true
	case SwallowResponse:
		f.Back.Swallowed = true
		return &f.Back
	case Duplicate:
		f.Copy = &Leg{Delay: d}
		return f.Copy
	case Late:
		f.There.Lost, f.Copy = true, &Leg{Delay: d}
	case Stray:
		f.There.Swallowed, f.Copy = true, &Leg{Delay: d}
	case Refuse:
		f.Refusal = &Refusal{Code: "ProvisionedThroughputExceededException", Message: "the test network refuses this request"}
	}
	return &f.There
}

// Mix says how often each kind of fault occurs. The rest of the requests meet
// none.
type Mix []struct {
	Kind Kind
	Of   float64 // the share of requests that meet it, between 0 and 1
}

// Pick returns the kind that a number in [0, 1) stands for.
func (m Mix) Pick(dice float64) Kind {
	for _, s := range m {
		if dice -= s.Of; dice < 0 {
			return s.Kind
		}
	}
	return None
}

// At returns the kind that the n-th request of a seed meets. It is a pure function:
// the fates of other requests do not matter.
func (m Mix) At(seed, n uint64) Kind {
	return m.Pick(rand.New(rand.NewPCG(seed, n)).Float64())
}
