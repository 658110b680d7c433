package sim

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/queuelock/queuelock/waitpolicy"
)

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
