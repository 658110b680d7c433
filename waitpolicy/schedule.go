package waitpolicy

import (
	"math"
	"time"
)

// Schedule bounds the delay between two looks.
type Schedule struct {
	// Fastest is the shortest delay, of the next in line. Default 20 ms.
	Fastest time.Duration
	// SlowestNext is the longest delay of the next in line once its turn may
	// come at any time. Default 1 s. It bounds how long the lock may idle
	// between two turns.
	SlowestNext time.Duration
	// Slowest is the longest delay of all. Default 15 s.
	Slowest time.Duration
}

// Default is the Schedule that the library uses.
var Default = Schedule{Fastest: 20 * time.Millisecond, SlowestNext: time.Second, Slowest: 15 * time.Second}

// Observation is what a waiter knows when it decides when to look again.
// Unknown durations are zero.
type Observation struct {
	// Ahead is how many live waiters are ahead; zero: this one is next.
	Ahead int
	// Serving says that somebody is being served.
	Serving bool
	// Elapsed is for how long the present turn has lasted at the least.
	Elapsed time.Duration
	// Mean and Deviation are of recent turns, as their holders left them on
	// the record.
	Mean, Deviation time.Duration
	// Pace is the mean time between two grants that this waiter has seen
	// itself, where it has seen any: what Mean leaves out is the time between
	// turns, and what it may exaggerate are turns cut short.
	Pace time.Duration
	// Still is for how long nothing has changed that this waiter can see.
	Still time.Duration
	// ClearIn is in how long, at the least, all that is ahead will have
	// expired should none of it move any more.
	ClearIn time.Duration
}

// Delay returns after how long to look again. jitter is a random number in
// [0, 1): up to a fifth is taken off, so that waiters do not march in step and
// no bound is overshot.
func (s Schedule) Delay(o Observation, jitter float64) time.Duration {
	delay := s.next(o)
	if o.Ahead > 0 {
		// Half of what is left at the least: those ahead may leave, too.
		delay = max(delay, s.turns(o)/2)
	}
	if o.ClearIn > 0 {
		delay = min(delay, o.ClearIn)
	}
	delay = min(max(delay, s.Fastest), s.Slowest)
	return shortened(delay, jitter)
}

// shortened is d with up to a fifth taken off.
func shortened(d time.Duration, jitter float64) time.Duration {
	return d - time.Duration(float64(d)*min(max(jitter, 0), 1)/5)
}

// turns is how long the turns of those ahead take at the least: their mean
// time, less two and a half deviations of the sum, which grow with the root of
// their number. (A mean deviation is four fifths of a standard one, so that is
// two of those.)
func (s Schedule) turns(o Observation) time.Duration {
	mean, deviation := o.Mean, o.Deviation
	if o.Pace > 0 && (mean == 0 || o.Pace < mean) {
		mean = o.Pace
	}
	if o.Mean == 0 {
		deviation = mean / 2
	}
	if mean == 0 {
		// Nothing is known of turns, and one is taken to last for a look:
		// otherwise all that wait for the first turn of a queue would look as
		// often as the next in line.
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

// lowerBound is how long a turn takes at the least, as far as is known: two
// deviations below the mean, and no more than this waiter has seen a turn to
// take. Zero says that turns vary too much to tell.
func (o Observation) lowerBound() time.Duration {
	bound := max(0, o.Mean-2*o.Deviation)
	if o.Pace > 0 && (o.Mean == 0 || o.Pace < bound) {
		bound = o.Pace
	}
	return bound
}

// next is the delay of one whose turn comes with the end of the present one.
func (s Schedule) next(o Observation) time.Duration {
	if turn := o.lowerBound(); o.Serving && o.Elapsed < turn {
		return turn - o.Elapsed
	}
	// It may come at any time. A look each eighth of a turn idles the lock for
	// a sixteenth of its time on average; without a measure of turns, the time
	// that has passed without a change is one.
	scale := o.Mean
	if scale == 0 || o.Still > scale {
		scale = max(scale, o.Still)
	}
	return min(max(scale/8, s.Fastest), s.SlowestNext)
}
