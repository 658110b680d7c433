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
	// SlowestNext is the longest delay of the next in line, and of the waiters behind it in the first minute of a turn. So
	// the lock idles no longer between two turns, unless turns of even length suddenly become short: then four times as
	// long. Default 1 s.
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

// Observation is what a waiter knows when it decides when to look again. Unknown durations are zero.
type Observation struct {
	Ahead   int  // the live rows ahead. Zero means that this one is next.
	Serving bool // there is a holder
	// Age is the best guess of how long the present turn has lasted, or the lock has been idle. AtMost is the longest that
	// the turn can have lasted.
	Age, AtMost     time.Duration
	Mean, Deviation time.Duration // of recent turns, from the record
	ClearIn         time.Duration // a lower bound of the time until all that is ahead expires without renewals
	Trip            time.Duration // the round trip of a request
	Bell            bool          // it will probably be rung when its turn comes: looks are for a lost bell
}

// Delay returns the time until the next look. jitter is a random number in [0, 1), by which up to a fifth is taken off,
// so that waiters do not look in step.
func (s Schedule) Delay(o Observation, jitter float64) time.Duration {
	if o.Bell {
		jitter /= 4 // or the look would come before the bell
	}
	delay := s.next(o)
	if o.Ahead > 0 {
		delay = max(delay, s.behind(o))
	}
	if o.ClearIn > 0 {
		delay = min(delay, o.ClearIn)
	}
	return shortened(max(delay, s.Fastest), jitter)
}

func shortened(d time.Duration, jitter float64) time.Duration {
	return d - time.Duration(float64(d)*min(max(jitter, 0), 1)/5)
}

// usual reports whether turns of the length of the present one are usual.
func (o Observation) usual() bool {
	return o.Serving && o.Mean > 0 && o.Age <= 2*o.Mean+4*o.Deviation
}

// sure returns how long a turn lasts at least, if turns are even. Zero: they are not, or the present one is much
// longer, and nothing is known of the next.
func (o Observation) sure() time.Duration {
	if o.Deviation > o.Mean/4 || o.Serving && !o.usual() {
		return 0
	}
	return o.Mean - 2*o.Deviation
}

// rest returns what is left of the sure part of the present turn, which has lasted that long.
func (o Observation) rest(lasted time.Duration) time.Duration {
	if !o.Serving {
		return 0
	}
	return max(0, o.sure()-lasted)
}

// next returns the delay of the next in line. It sleeps through what is sure of an even turn. Then it looks more often
// the nearer the likely end is: each twenty-fifth of a turn far from it, and at most each four hundredth. The deviation
// says how uncertain that end is. A turn that may have any length is likely to last as long again as it has.
func (s Schedule) next(o Observation) time.Duration {
	sure, early := o.sure(), o.rest(o.AtMost+o.Trip)
	switch {
	case o.Bell && sure > 0: // a look that is under way would miss the bell, so one too late is better than one too early
		late := max(min(max(4*o.Deviation, o.Mean/8), o.Mean/4), 4*o.Trip)
		return min(o.rest(o.Age+o.Trip)+late, s.Slowest)
	case o.Bell && o.Serving:
		return min(max(o.Age, min(4*o.Mean, s.SlowestNext)), 4*s.SlowestNext, s.Slowest)
	case early > 0:
		return min(early, max(o.Age, s.SlowestNext), s.Slowest)
	}
	delay := max(o.Age/8, o.Mean/25)
	if o.usual() {
		delay = min((o.Age-o.Mean).Abs()/8+max(o.Deviation/4, o.Mean/400), o.Mean/25, max(o.Age/2, o.Trip))
	} else {
		delay = max(min(delay, o.Age/2), o.Trip)
	}
	return min(delay, s.SlowestNext)
}

// behind returns the least delay of a waiter behind others. Each turn ahead takes a round trip and more. Beyond that
// it sleeps for a quarter of what they take on average, but no longer than the present turn has lasted: it may be
// that all are short now. For an eighth of that it sleeps in any case. Turns of even length are slept through: half
// of them, as waiters ahead may leave, or most of them if little time can be lost. The sleep through a single one
// ends a little earlier, because that look shows when the next turn begins.
func (s Schedule) behind(o Observation) time.Duration {
	n, mean, age, sure := float64(o.Ahead), float64(o.Mean), float64(o.Age), o.sure()
	delay := max(min(n*mean/4, age), age/8) + n*float64(o.Trip)
	delay = min(delay, 3*n*float64(s.SlowestNext), max(float64(s.SlowestNext), age/60))
	switch most := max(4*float64(s.SlowestNext), age/8); {
	case sure > 0:
		present, least := float64(o.rest(o.Age)), n*float64(sure)+float64(o.rest(o.AtMost))
		even := max(least/2, min(least*0.9, float64(s.SlowestNext)/4), present+float64(sure)/20)
		if before := present - mean/32 - float64(o.Trip); o.Ahead == 1 && before > mean/25 {
			even = before
		}
		if o.Bell {
			even, most = max(least*2/3, n*mean/2)+mean/4, math.Inf(1)
		}
		delay = max(delay, min(even, most))
	case o.Bell:
		delay = max(delay, min(4*n*mean, most))
	}
	return time.Duration(min(delay, float64(s.Slowest)))
}
