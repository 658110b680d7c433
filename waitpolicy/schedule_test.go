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
	o := waitpolicy.Observation{
		Ahead:     property.OneOf(property.IntRange(0, 3), property.IntRange(0, 1_000_000)).Draw(t, "ahead"),
		Serving:   property.Bool().Draw(t, "serving"),
		Age:       duration(t, "age", week),
		Mean:      duration(t, "mean", week),
		Deviation: duration(t, "deviation", week),
		ClearIn:   duration(t, "clear in", week),
		Trip:      duration(t, "trip", time.Second),
	}
	if o.AtMost = o.Age + duration(t, "at most", week); property.Bool().Draw(t, "even") {
		o.Deviation = o.Mean / 10
	}
	return o
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

// TestDelayOfNext checks that the next waiter in line never sleeps long past the time until which an even turn lasts for sure. The lock
// may idle from the end of a turn to its next look.
func TestDelayOfNext(t *testing.T) {
	property.Check(t, func(t *property.T) {
		s, o, jitter := drawSchedule(t), drawObservation(t), drawJitter(t)
		o.Ahead = 0
		rest := time.Duration(0)
		if o.Serving {
			// Until the mean at most, and no longer than it has lasted.
			rest = min(max(0, o.Mean-o.Age), o.Age)
		}
		if got := s.Delay(o, jitter); got > max(rest, s.SlowestNext) {
			t.Fatalf("the next in line sleeps for %v, %v of them for the turn", got, rest)
		}
	})
}

// TestDelayOfAnyTurn checks what holds whatever the lengths of turns are. Once a turn may end, the next in line looks again before half
// of what the turn has lasted has passed again, or a round trip. In even turns a waiter looks before as much time has passed again, or
// four times SlowestNext. In uneven ones it looks before as much time has passed again, and a round trip for each turn ahead, and after
// SlowestNext at the latest, or after a sixtieth of a longer turn.
func TestDelayOfAnyTurn(t *testing.T) {
	property.Check(t, func(t *property.T) {
		s, o, jitter := drawSchedule(t), drawObservation(t), drawJitter(t)
		got := s.Delay(o, jitter)
		if sure := o.Mean - 2*o.Deviation; o.Ahead == 0 && (sure < o.AtMost || !o.Serving) && got > max(o.Age/2, o.Trip, s.Fastest) {
			t.Fatalf("the next in line sleeps for %v", got)
		}
		if got > max(4*s.SlowestNext, o.Age) {
			t.Fatalf("it sleeps for %v", got)
		}
		o.Deviation = o.Mean // turns are uneven
		trips := time.Duration(min(float64(o.Ahead)*float64(o.Trip), float64(s.Slowest)))
		if got := s.Delay(o, jitter); got > max(o.Age+trips, o.Trip, s.Fastest) || got > max(s.SlowestNext, o.Age/60) {
			t.Fatalf("in uneven turns it sleeps for %v", got)
		}
	})
}

// TestDelayWithBell checks that a waiter that expects to be rung notices a crash as others do. If its bell is lost, the next in line
// looks a quarter of a turn after the end of an even turn, or after as long again as a turn of any length has lasted.
func TestDelayWithBell(t *testing.T) {
	property.Check(t, func(t *property.T) {
		s, o, jitter := drawSchedule(t), drawObservation(t), drawJitter(t)
		o.Bell = true
		got := s.Delay(o, jitter)
		if got < s.Fastest*4/5 || got > s.Slowest {
			t.Fatalf("delay of %v, want between four fifths of %v and %v", got, s.Fastest, s.Slowest)
		}
		if o.ClearIn >= s.Fastest && got > o.ClearIn {
			t.Fatalf("delay of %v, although all ahead may have expired in %v", got, o.ClearIn)
		}
		if uneven := o.Deviation > o.Mean/4; uneven && got > max(4*s.SlowestNext, o.Age/8) {
			t.Fatalf("in uneven turns it sleeps for %v", got)
		}
		usual := o.Serving && o.Mean > 0 && o.Age < 2*o.Mean && o.Deviation <= o.Mean/4
		if rest := max(0, o.Mean-o.Age); usual && o.Ahead == 0 && got > max(rest+max(o.Mean/4, 4*o.Trip), s.Fastest) {
			t.Fatalf("the next in line sleeps for %v, %v of them for the turn", got, rest)
		}
	})
}

// TestManyLongTurns checks that the delay does not overflow when many long turns are
// ahead.
func TestManyLongTurns(t *testing.T) {
	o := waitpolicy.Observation{Ahead: 1_000_000, Mean: week, Age: week}
	for range 20 {
		if got := waitpolicy.Default.Delay(o, 0); got != waitpolicy.Default.Slowest {
			t.Errorf("with %d turns ahead the delay is %v, want the slowest", o.Ahead, got)
		}
		o.Ahead /= 2
		o.Ahead++
	}
}

// TestDelayInUnevenTurns checks how delays grow with the age of a turn of which nothing can be expected: with a round trip of 5 ms, of the
// next in line, and of waiters with 2 and 20 ahead.
func TestDelayInUnevenTurns(t *testing.T) {
	const ms = time.Millisecond
	for _, test := range []struct{ age, next, third, last time.Duration }{
		{0, 5 * ms, 10 * ms, 100 * ms},
		{16 * ms, 5 * ms, 12 * ms, 102 * ms},
		{160 * ms, 20 * ms, 30 * ms, 120 * ms},
		{800 * ms, 100 * ms, 110 * ms, 200 * ms},
		{4 * time.Second, 500 * ms, 510 * ms, 600 * ms},
		{2 * time.Minute, time.Second, 2 * time.Second, 2 * time.Second},
		{time.Hour, time.Second, 6 * time.Second, 15 * time.Second},
	} {
		o := waitpolicy.Observation{Serving: true, Age: test.age, AtMost: test.age, Trip: 5 * ms}
		for ahead, want := range map[int]time.Duration{0: test.next, 2: test.third, 20: test.last} {
			if o.Ahead = ahead; waitpolicy.Default.Delay(o, 0) != want {
				t.Errorf("after %v, %d ahead: %v, want %v", test.age, ahead, waitpolicy.Default.Delay(o, 0), want)
			}
		}
	}
}

func TestDelaysOfTypicalObservations(t *testing.T) {
	const ms, second = time.Millisecond, time.Second
	even := waitpolicy.Observation{Serving: true, Mean: second, Deviation: 100 * ms, Trip: 5 * ms}
	for name, test := range map[string]struct {
		ahead      int
		age, most  time.Duration
		mean, dev  time.Duration // zero: those of even
		idle, bell bool
		clearIn    time.Duration
		want       time.Duration
	}{
		"next, the turn has just begun":          {want: 795 * ms},
		"next, a long turn has just begun":       {mean: time.Minute, dev: ms, want: second},
		"next, halfway":                          {age: 500 * ms, most: 510 * ms, want: 285 * ms},
		"next, past what is sure":                {age: 900 * ms, most: 910 * ms, want: 37500 * time.Microsecond},
		"next, long before the likely end":       {age: 600 * ms, most: 1200 * ms, want: 40 * ms},
		"next, near the likely end":              {age: 940 * ms, most: 1200 * ms, dev: 8 * ms, want: 10 * ms},
		"next, at the likely end":                {age: second, most: 1200 * ms, dev: ms, want: 2500 * time.Microsecond},
		"next, long overdue":                     {age: 4 * second, most: 4 * second, want: 500 * ms},
		"next, turns of any length":              {age: 500 * ms, most: 500 * ms, dev: second, want: 40 * ms},
		"next, turns of any length, at first":    {age: 20 * ms, most: 20 * ms, dev: second, want: 10 * ms},
		"next, no holder":                        {age: second, idle: true, want: 125 * ms},
		"next, to be rung":                       {age: 500 * ms, most: 510 * ms, bell: true, want: 545 * ms},
		"next, to be rung, a long turn":          {age: 500 * ms, most: 510 * ms, mean: time.Minute, dev: second, bell: true, want: 15 * second},
		"next, to be rung, turns of any length":  {age: 500 * ms, most: 510 * ms, dev: second, bell: true, want: second},
		"second, before the present turn ends":   {ahead: 1, age: 400 * ms, most: 700 * ms, want: 363750 * time.Microsecond},
		"second, just before it ends":            {ahead: 1, age: 960 * ms, most: 980 * ms, want: 400 * ms},
		"second, turns of any length":            {ahead: 1, age: second, most: second, dev: second, want: 255 * ms},
		"second, a turn of any length has begun": {ahead: 1, age: 50 * ms, most: 50 * ms, dev: second, want: 55 * ms},
		"four ahead":                             {ahead: 4, want: 2 * second},
		"a hundred ahead":                        {ahead: 100, want: 4 * second},
		"a hundred ahead, to be rung":            {ahead: 100, bell: true, want: 15 * second},
		"after a turn of 5 s, ten ahead":         {ahead: 10, age: 20 * ms, most: 25 * ms, mean: 5 * second, dev: 2500 * ms, want: 70 * ms},
		"one turn of ten is long, five ahead":    {ahead: 5, age: 400 * ms, most: 400 * ms, mean: 58 * ms, dev: 70 * ms, want: 97500 * time.Microsecond},
		"an expired waiter ahead":                {ahead: 100, clearIn: 700 * ms, want: 700 * ms},
		"the holder's lease ends":                {age: time.Hour, most: time.Hour, clearIn: 30 * ms, want: 30 * ms},
		"it ends in an instant":                  {age: time.Hour, most: time.Hour, clearIn: 1, want: ms},
	} {
		o := even
		o.Ahead, o.Age, o.AtMost, o.Serving, o.Bell, o.ClearIn = test.ahead, test.age, test.most, !test.idle, test.bell, test.clearIn
		if test.mean > 0 {
			o.Mean = test.mean
		}
		if test.dev > 0 {
			o.Deviation = test.dev
		}
		if got := waitpolicy.Default.Delay(o, 0); got != test.want {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
	if got := waitpolicy.Default.Delay(waitpolicy.Observation{}, 0); got != waitpolicy.Default.Fastest {
		t.Errorf("nothing known: %v", got)
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
