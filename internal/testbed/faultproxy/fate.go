package faultproxy

import "math/rand/v2"

// Fate is what becomes of a request.
type Fate int

// The fates.
const (
	Pass Fate = iota
	Throttle
	ResetBefore
	ResetAfter
	HoleBefore
	HoleAfter
	Duplicate
	Delay
	Down // not chosen: the upstream did not answer

	fates int = iota
)

var fateNames = [fates]string{"pass", "throttle", "reset before", "reset after", "hole before", "hole after", "duplicate", "delay", "down"}

func (f Fate) String() string { return fateNames[f] }

// Fates lists them all.
func Fates() []Fate {
	all := make([]Fate, fates)
	for i := range all {
		all[i] = Fate(i)
	}
	return all
}

// Mix says how many requests in a thousand meet each fate; those that are left
// pass. Pass and Down in it mean nothing.
type Mix map[Fate]int

// Pick is the fate of the n-th request of that seed. It is a pure function: a
// request's fate does not depend on those of others.
func (m Mix) Pick(seed, n uint64) Fate {
	left := rand.New(rand.NewPCG(seed, n)).IntN(1000)
	for f := Throttle; f < Down; f++ {
		if left -= m[f]; left < 0 {
			return f
		}
	}
	return Pass
}
