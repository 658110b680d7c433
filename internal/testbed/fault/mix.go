package fault

import "math/rand/v2"

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
