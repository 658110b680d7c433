package waitpolicy_test

import (
	"testing"
	"time"

	"github.com/queuelock/queuelock/internal/testbed/property"
	"github.com/queuelock/queuelock/waitpolicy"
)

func duration(t *property.T, label string, most time.Duration) time.Duration {
	return time.Duration(property.OneOf(
		property.Just(int64(0)), property.Int64Range(0, int64(most)), property.Int64Range(0, int64(2*time.Second)),
	).Draw(t, label))
}

const week = 7 * 24 * time.Hour

func drawObservation(t *property.T) waitpolicy.Observation {
	return waitpolicy.Observation{
		Ahead:     property.OneOf(property.IntRange(0, 3), property.IntRange(0, 1_000_000)).Draw(t, "ahead"),
		Serving:   property.Bool().Draw(t, "serving"),
		Elapsed:   duration(t, "elapsed", week),
		AtMost:    duration(t, "at most", week),
		Likely:    duration(t, "likely", week),
		Mean:      duration(t, "mean", week),
		Deviation: duration(t, "deviation", week),
		Pace:      duration(t, "pace", week),
		Still:     duration(t, "still", week),
		ClearIn:   duration(t, "clear in", week),
	}
}

func drawSchedule(t *property.T) waitpolicy.Schedule {
	s := waitpolicy.Schedule{Fastest: time.Millisecond + duration(t, "fastest", time.Second)}
	s.SlowestNext = s.Fastest + duration(t, "slowest next", 10*time.Second)
	s.Slowest = s.SlowestNext + duration(t, "slowest", time.Minute)
	return s
}

func drawJitter(t *property.T) float64 { return property.Float64Range(0, 0.999999).Draw(t, "jitter") }

// TestDelayIsPure checks that Delay is a pure function.
func TestDelayIsPure(t *testing.T) {
	property.Check(t, func(t *property.T) {
		s, o, jitter := drawSchedule(t), drawObservation(t), drawJitter(t)
		if a, b := s.Delay(o, jitter), s.Delay(o, jitter); a != b {
			t.Fatalf("two answers to one question: %v and %v", a, b)
		}
	})
}

// TestDelayBounds checks that a delay stays within its bounds.
func TestDelayBounds(t *testing.T) {
	property.Check(t, func(t *property.T) {
		s, o, jitter := drawSchedule(t), drawObservation(t), drawJitter(t)
		got := s.Delay(o, jitter)
		if got < s.Fastest*4/5 || got > s.Slowest {
			t.Fatalf("delay of %v, want between four fifths of %v and %v", got, s.Fastest, s.Slowest)
		}
		if o.ClearIn >= s.Fastest && got > o.ClearIn {
			t.Fatalf("delay of %v, although all ahead may have expired in %v", got, o.ClearIn)
		}
	})
}

// TestJitter checks that jitter only shortens a delay.
func TestJitter(t *testing.T) {
	property.Check(t, func(t *property.T) {
		s, o, jitter := drawSchedule(t), drawObservation(t), drawJitter(t)
		full, got := s.Delay(o, 0), s.Delay(o, jitter)
		if got > full || got < full*4/5 {
			t.Fatalf("jitter of %v made %v of %v", jitter, got, full)
		}
		if out := s.Delay(o, property.Float64Range(-10, 10).Draw(t, "no jitter at all")); out > full || out < full*4/5 {
			t.Fatalf("jitter out of range made %v of %v", out, full)
		}
	})
}

// TestDelayByPosition checks that a waiter further back looks no earlier.
func TestDelayByPosition(t *testing.T) {
	property.Check(t, func(t *property.T) {
		s, o, jitter := drawSchedule(t), drawObservation(t), drawJitter(t)
		nearer := o
		nearer.Ahead = property.IntRange(0, o.Ahead).Draw(t, "nearer")
		if near, far := s.Delay(nearer, jitter), s.Delay(o, jitter); near > far {
			t.Fatalf("with %d ahead %v, with %d ahead %v", nearer.Ahead, near, o.Ahead, far)
		}
	})
}

// TestDelayOfNext checks that the next waiter in line never sleeps long past the lower
// bound. The lock may idle from the end of a turn to the next look of the first in line.
// A turn cannot be expected to end before its lower bound; after that, the first in line
// sleeps for SlowestNext at the most.
func TestDelayOfNext(t *testing.T) {
	property.Check(t, func(t *property.T) {
		s, o, jitter := drawSchedule(t), drawObservation(t), drawJitter(t)
		o.Ahead = 0
		bound := time.Duration(0)
		if o.Serving {
			// No more than the mean, and nothing if it has passed.
			bound = max(0, max(o.Mean, o.Pace)-o.Elapsed)
		}
		if got := s.Delay(o, jitter); got > max(bound, s.SlowestNext) {
			t.Fatalf("the next in line sleeps for %v, %v of them for the turn", got, bound)
		}
		if !o.Serving && s.Delay(o, jitter) > s.SlowestNext {
			t.Fatal("the next in line sleeps although there is no holder")
		}
	})
}

// TestHintedDelay checks that a waiter that expects a hint notices a crash as others do, and that the next in line
// looks a quarter of a turn after the end of a usual turn.
func TestHintedDelay(t *testing.T) {
	property.Check(t, func(t *property.T) {
		s, o, jitter := drawSchedule(t), drawObservation(t), drawJitter(t)
		o.Hinted = true
		got := s.Delay(o, jitter)
		if got < s.Fastest*4/5 || got > 4*s.Slowest {
			t.Fatalf("delay of %v, want between four fifths of %v and four times %v", got, s.Fastest, s.Slowest)
		}
		if o.ClearIn >= s.Fastest && got > o.ClearIn {
			t.Fatalf("delay of %v, although all ahead may have expired in %v", got, o.ClearIn)
		}
		usual := o.Serving && o.Mean > 0 && o.Elapsed < 2*o.Mean
		if rest := max(0, o.Mean-o.Elapsed); usual && o.Ahead == 0 && got > max(rest+o.Mean/4, s.Fastest) {
			t.Fatalf("the next in line sleeps for %v, %v of them for the turn", got, rest)
		}
	})
}

// TestManyLongTurns checks that the delay does not overflow when many long turns are
// ahead.
func TestManyLongTurns(t *testing.T) {
	o := waitpolicy.Observation{Ahead: 1_000_000, Mean: week, Pace: week}
	for range 20 {
		if got := waitpolicy.Default.Delay(o, 0); got != waitpolicy.Default.Slowest {
			t.Errorf("with %d turns ahead the delay is %v, want the slowest", o.Ahead, got)
		}
		o.Ahead /= 2
		o.Ahead++
	}
}

// TestDelayWithoutMeasure checks that without a measure of turns delays grow with the
// time since the last change.
func TestDelayWithoutMeasure(t *testing.T) {
	s := waitpolicy.Default
	for _, test := range []struct{ still, want time.Duration }{
		{0, 5 * time.Millisecond},
		{16 * time.Millisecond, 5 * time.Millisecond},
		{160 * time.Millisecond, 20 * time.Millisecond},
		{800 * time.Millisecond, 100 * time.Millisecond},
		{4 * time.Second, 500 * time.Millisecond},
		{time.Hour, time.Second},
	} {
		o := waitpolicy.Observation{Serving: true, Elapsed: test.still, Still: test.still}
		if got := s.Delay(o, 0); got != test.want {
			t.Errorf("still for %v: %v, want %v", test.still, got, test.want)
		}
	}
}

func TestDelaysOfTypicalObservations(t *testing.T) {
	const ms = time.Millisecond
	for name, test := range map[string]struct {
		o    waitpolicy.Observation
		want time.Duration
	}{
		"next, the turn has just begun":         {waitpolicy.Observation{Serving: true, Mean: time.Second, Deviation: 100 * ms}, 800 * ms},
		"next, halfway":                         {waitpolicy.Observation{Serving: true, Elapsed: 500 * ms, AtMost: 510 * ms, Mean: time.Second, Deviation: 100 * ms}, 290 * ms},
		"next, past the lower bound":            {waitpolicy.Observation{Serving: true, Elapsed: 900 * ms, AtMost: 910 * ms, Mean: time.Second, Deviation: 50 * ms}, 24375 * time.Microsecond},
		"next, long before the likely end":      {waitpolicy.Observation{Serving: true, Elapsed: 500 * ms, AtMost: 1200 * ms, Likely: 600 * ms, Mean: time.Second}, 40 * ms},
		"next, shortly before the likely end":   {waitpolicy.Observation{Serving: true, Elapsed: 840 * ms, AtMost: 1200 * ms, Likely: 940 * ms, Mean: time.Second}, 10 * ms},
		"next, at the likely end":               {waitpolicy.Observation{Serving: true, Elapsed: 900 * ms, AtMost: 1200 * ms, Likely: time.Second, Mean: time.Second}, 2500 * time.Microsecond},
		"next, the likely end is uncertain":     {waitpolicy.Observation{Serving: true, Elapsed: 900 * ms, AtMost: 1200 * ms, Likely: time.Second, Mean: time.Second, Deviation: 50 * ms}, 12500 * time.Microsecond},
		"next, overdue":                         {waitpolicy.Observation{Serving: true, Elapsed: time.Second, AtMost: 1200 * ms, Likely: 1100 * ms, Mean: time.Second}, 15 * ms},
		"next, only a bound says it may end":    {waitpolicy.Observation{Serving: true, Elapsed: 500 * ms, AtMost: 800 * ms, Likely: 1500 * ms, Mean: time.Second}, 200 * ms},
		"next, bounds around the likely end":    {waitpolicy.Observation{Serving: true, Elapsed: 900 * ms, AtMost: 1100 * ms, Mean: time.Second}, 2500 * time.Microsecond},
		"second, before the present turn ends":  {waitpolicy.Observation{Ahead: 1, Serving: true, Elapsed: 300 * ms, AtMost: 700 * ms, Likely: 400 * ms, Trip: 5 * ms, Mean: time.Second}, 563750 * time.Microsecond},
		"second, just before it ends":           {waitpolicy.Observation{Ahead: 1, Serving: true, Elapsed: 940 * ms, AtMost: 980 * ms, Likely: 960 * ms, Mean: time.Second}, 510 * ms},
		"second, turns of any length":           {waitpolicy.Observation{Ahead: 1, Serving: true, Likely: 100 * ms, Mean: time.Second, Deviation: time.Second}, time.Second / 6},
		"next, no holder":                       {waitpolicy.Observation{Mean: time.Second, Deviation: 100 * ms}, 40 * ms},
		"next, turns of any length":             {waitpolicy.Observation{Serving: true, Mean: time.Second, Deviation: time.Second}, 40 * ms},
		"four ahead":                            {waitpolicy.Observation{Ahead: 4, Serving: true, Mean: time.Second, Deviation: 100 * ms}, 2150 * ms},
		"a hundred ahead":                       {waitpolicy.Observation{Ahead: 100, Serving: true, Mean: time.Second}, 15 * time.Second},
		"turns were seen to be quicker":         {waitpolicy.Observation{Ahead: 10, Mean: time.Second, Pace: 200 * ms}, time.Second},
		"an expired waiter ahead":               {waitpolicy.Observation{Ahead: 100, Serving: true, Mean: time.Second, ClearIn: 700 * ms}, 700 * ms},
		"the holder's lease ends":               {waitpolicy.Observation{Serving: true, Elapsed: time.Hour, Mean: time.Minute, Still: time.Hour, ClearIn: 30 * ms}, 30 * ms},
		"the holder's lease ends in an instant": {waitpolicy.Observation{Serving: true, Elapsed: time.Hour, Still: time.Hour, ClearIn: 1}, 1 * ms},
		"nothing known":                         {waitpolicy.Observation{}, 5 * ms},
	} {
		if got := waitpolicy.Default.Delay(test.o, 0); got != test.want {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}

func TestScheduleValidate(t *testing.T) {
	for name, test := range map[string]struct {
		schedule waitpolicy.Schedule
		valid    bool
	}{
		"Defaults":       {waitpolicy.Schedule{}.WithDefaults(), true},
		"DefaultsOfRest": {waitpolicy.Schedule{Slowest: time.Minute}.WithDefaults(), true},
		"Zero":           {waitpolicy.Schedule{}, false},
		"UpsideDown":     {waitpolicy.Schedule{Fastest: time.Minute}.WithDefaults(), false},
	} {
		if err := test.schedule.Validate(); (err == nil) != test.valid {
			t.Errorf("%s: %+v: %v", name, test.schedule, err)
		}
	}
	if got := (waitpolicy.Schedule{}).WithDefaults(); got != waitpolicy.Default {
		t.Errorf("the defaults are %+v", got)
	}
}
