package waitpolicy

import (
	"cmp"
	"fmt"
	"math"
	"time"
)

// Schedule bounds the delay between two looks.
type Schedule struct {
	Fastest time.Duration // the shortest delay, of the next in line. Default 1 ms.
	// SlowestNext is the longest delay of the next in line once its turn may come at any
	// time, and bounds how long the lock may idle between two turns. The waiter behind it
	// then waits for up to twice as long, and so on. Default 1 s.
	SlowestNext time.Duration
	Slowest     time.Duration // the longest delay of all. Default 15 s.
}

// Default is the [Schedule] that the library uses.
var Default = Schedule{Fastest: time.Millisecond, SlowestNext: time.Second, Slowest: 15 * time.Second}

// WithDefaults returns the Schedule with those of [Default] in place of fields that are zero.
func (s Schedule) WithDefaults() Schedule {
	return Schedule{
		Fastest:     cmp.Or(s.Fastest, Default.Fastest),
		SlowestNext: cmp.Or(s.SlowestNext, Default.SlowestNext),
		Slowest:     cmp.Or(s.Slowest, Default.Slowest),
	}
}

// Validate returns an error if Fastest is less than 1 ms, or the fields do not grow in their order.
func (s Schedule) Validate() error {
	switch {
	case s.Fastest < time.Millisecond:
		return fmt.Errorf("its Fastest is %v: at least 1ms is needed", s.Fastest)
	case s.Fastest > s.SlowestNext || s.SlowestNext > s.Slowest:
		return fmt.Errorf("it must grow from Fastest %v to SlowestNext %v to Slowest %v", s.Fastest, s.SlowestNext, s.Slowest)
	}
	return nil
}

// unknownTurn is the length of turns that waiters assume as long as none has ended.
const unknownTurn = 20 * time.Millisecond

// Observation is what a waiter knows when it decides when to look again. Unknown
// durations are zero.
type Observation struct {
	Ahead   int  // the live waiters ahead. Zero means that this one is next.
	Serving bool // there is a holder
	// Elapsed and AtMost are bounds of the length of the present turn so far. An AtMost
	// below Elapsed is unknown. Likely is the best estimate, which may be wrong.
	Elapsed, AtMost, Likely time.Duration
	Mean, Deviation         time.Duration // of recent turns, from the record
	// Pace is the mean time between two grants that this waiter has seen itself. It
	// includes the time between turns, and turns that ended early.
	Pace    time.Duration
	Still   time.Duration // since the last change that this waiter has seen
	ClearIn time.Duration // a lower bound of the time until all that is ahead expires without renewals
	Trip    time.Duration // the round trip of a request
	// Hinted says that a hint of package wake will probably end the sleep when turns end. Then looks are for
	// hints that are lost, and may be further apart than the Schedule says.
	Hinted bool
}

// Delay returns the time until the next look. jitter is a random number in [0, 1), by
// which up to a fifth is taken off, so that waiters do not look in step.
func (s Schedule) Delay(o Observation, jitter float64) time.Duration {
	if o.Hinted {
		jitter /= 4 // or the look would come before the hint
		o.Pace = 0  // turns that end early are hinted at
		s.SlowestNext, s.Slowest = s.Slowest, 4*min(s.Slowest, math.MaxInt64/4)
	}
	delay := s.next(o)
	if o.Ahead > 0 {
		delay = max(delay, s.deeper(o))
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
		mean = max(s.Fastest, unknownTurn)
	}
	n := float64(o.Ahead)
	least := n*float64(mean) - 2.5*math.Sqrt(n)*float64(min(deviation, mean))
	if o.Serving {
		least += float64(max(0, o.lowerBound()-o.atMost()))
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

// turn returns the expected length of a turn. Zero: unknown.
func (o Observation) turn() time.Duration { return cmp.Or(o.Mean, o.Pace) }

// atMost returns an upper bound of the length of the present turn so far, as far as turns
// of that length are usual.
func (o Observation) atMost() time.Duration {
	if o.AtMost < o.Elapsed {
		return max(o.Elapsed, o.turn())
	}
	return o.AtMost
}

// likely returns the best estimate of the length of the present turn so far.
func (o Observation) likely() time.Duration { return cmp.Or(o.Likely, (o.Elapsed+o.atMost())/2) }

// next returns the delay of the next in line. It sleeps until the turn may end, and then
// looks more often the nearer the likely end is, which is uncertain by the deviation: each
// twenty-fifth of a turn far from it, and at most each four hundredth. If the estimate is
// wrong, the looks are about as far apart as they would be without one.
func (s Schedule) next(o Observation) time.Duration {
	turn := o.turn()
	if !o.Serving || turn == 0 || o.Elapsed > 2*turn+4*o.Deviation {
		// The turn may end at any time. It is likely to last as long again as it has. Of the turns ahead some
		// are likely to take their time, too.
		most := s.Slowest
		if n := time.Duration(o.Ahead + 1); s.SlowestNext < s.Slowest/n {
			most = n * s.SlowestNext
		}
		return min(max(o.Still/8, turn/25, s.Fastest, unknownTurn/4), most)
	}
	if o.Hinted { // a look under way would miss the end, so one too late is better than one too early
		early := o.lowerBound() - o.likely() - o.Trip
		return max(early, 0) + max(min(max(4*o.Deviation, turn/8), turn/4), 4*o.Trip)
	}
	early := o.lowerBound() - o.atMost() - o.Trip
	if early > 0 {
		return early
	}
	off := (o.likely() - turn).Abs()
	return min(max(min(off/8+max(o.Deviation/4, turn/400), turn/25), s.Fastest), s.SlowestNext)
}

// deeper returns the least delay of a waiter behind others: half of the lower bound,
// because waiters ahead may leave, and most of it if little time can be lost. A look
// shortly after the present turn shows the next waiter when its own predecessor began, and
// one shortly before its end shows that it did not begin earlier.
func (s Schedule) deeper(o Observation) time.Duration {
	turns, turn := s.turns(o), o.turn()
	if o.Pace > 0 {
		turn = min(turn, o.Pace)
	}
	if o.Hinted { // a look after the hints of two thirds of the turns comes first
		half := time.Duration(min(float64(o.Ahead)*float64(turn)/2, float64(s.Slowest)))
		return max(turns*2/3, half) + turn/4
	}
	sixth := time.Duration(min(float64(o.Ahead)*float64(turn)/6, float64(s.Slowest)))
	present := max(0, o.lowerBound()-o.likely())
	if before := present - turn/32 - o.Trip; o.Serving && o.Ahead == 1 && before > turn/25 {
		return before
	}
	return max(turns/2, min(turns*9/10, s.SlowestNext/4), sixth, present+turn/20)
}
