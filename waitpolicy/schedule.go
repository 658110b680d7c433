package waitpolicy

import (
	"math"
	"time"
)

// Schedule bounds the delay between two looks.
type Schedule struct {
	Fastest time.Duration // the shortest delay, of the next in line. Default 20 ms.
	// SlowestNext is the longest delay of the next in line once its turn may come at any
	// time, and bounds how long the lock may idle between two turns. Default 1 s.
	SlowestNext time.Duration
	Slowest     time.Duration // the longest delay of all. Default 15 s.
}

// Default is the Schedule that the library uses.
var Default = Schedule{Fastest: 20 * time.Millisecond, SlowestNext: time.Second, Slowest: 15 * time.Second}

// Observation is what a waiter knows when it decides when to look again. Unknown
// durations are zero.
type Observation struct {
	Ahead           int           // the live waiters ahead. Zero means that this one is next.
	Serving         bool          // there is a holder
	Elapsed         time.Duration // a lower bound of the length of the present turn so far
	Mean, Deviation time.Duration // of recent turns, from the record
	// Pace is the mean time between two grants that this waiter has seen itself. It
	// includes the time between turns, and turns that ended early.
	Pace    time.Duration
	Still   time.Duration // since the last change that this waiter has seen
	ClearIn time.Duration // a lower bound of the time until all that is ahead expires without renewals
}

// Delay returns the time until the next look. jitter is a random number in [0, 1), by
// which up to a fifth is taken off, so that waiters do not look in step.
func (s Schedule) Delay(o Observation, jitter float64) time.Duration {
	delay := s.next(o)
	if o.Ahead > 0 {
		// Half of the lower bound, because waiters ahead may leave.
		delay = max(delay, s.turns(o)/2)
	}
	if o.ClearIn > 0 {
		delay = min(delay, o.ClearIn)
	}
	return shortened(min(max(delay, s.Fastest), s.Slowest), jitter)
}

func shortened(d time.Duration, jitter float64) time.Duration {
	return d - time.Duration(float64(d)*min(max(jitter, 0), 1)/5)
}

// turns returns a lower bound of the length of the turns ahead: their mean time, less two
// and a half mean deviations (two standard deviations) of the sum, which grow with the
// root of their number.
func (s Schedule) turns(o Observation) time.Duration {
	mean, deviation := o.Mean, o.Deviation
	if o.Pace > 0 && (mean == 0 || o.Pace < mean) {
		mean = o.Pace
	}
	if o.Mean == 0 {
		deviation = mean / 2
	}
	if mean == 0 { // or all waiters for the first turn would look as often as the next in line
		mean = s.Fastest
	}
	n := float64(o.Ahead)
	least := n*float64(mean) - 2.5*math.Sqrt(n)*float64(min(deviation, mean))
	if o.Serving {
		least += float64(max(0, o.lowerBound()-o.Elapsed))
	}
	// More than the longest delay makes no difference, and could overflow.
	return time.Duration(min(max(least, 0), 2*float64(s.Slowest)))
}

// lowerBound returns a lower bound of the length of a turn: two deviations below the
// mean, and at most what this waiter has seen. Zero means that turns vary too much.
func (o Observation) lowerBound() time.Duration {
	bound := max(0, o.Mean-2*o.Deviation)
	if o.Pace > 0 && (o.Mean == 0 || o.Pace < bound) {
		bound = o.Pace
	}
	return bound
}

// next returns the delay of the next in line.
func (s Schedule) next(o Observation) time.Duration {
	if turn := o.lowerBound(); o.Serving && o.Elapsed < turn {
		return turn - o.Elapsed
	}
	// A look each eighth of a turn idles the lock for a sixteenth of its time on average.
	// The time since the last change counts if it is longer.
	return min(max(max(o.Mean, o.Still)/8, s.Fastest), s.SlowestNext)
}
