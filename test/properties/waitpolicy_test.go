package properties_test

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/queuelock/queuelock/waitpolicy"
)

const week = 7 * 24 * time.Hour

func duration(t *rapid.T, label string, most time.Duration) time.Duration {
	return time.Duration(rapid.OneOf(
		rapid.Just(int64(0)), rapid.Int64Range(0, int64(most)), rapid.Int64Range(0, int64(2*time.Second)),
	).Draw(t, label))
}

func drawObservation(t *rapid.T) waitpolicy.Observation {
	o := waitpolicy.Observation{
		Ahead:     rapid.OneOf(rapid.IntRange(0, 3), rapid.IntRange(0, 1_000_000)).Draw(t, "ahead"),
		Serving:   rapid.Bool().Draw(t, "serving"),
		Age:       duration(t, "age", week),
		Mean:      duration(t, "mean", week),
		Deviation: duration(t, "deviation", week),
		ClearIn:   duration(t, "clear in", week),
		Trip:      duration(t, "trip", time.Second),
	}
	if o.AtMost = o.Age + duration(t, "at most", week); rapid.Bool().Draw(t, "even") {
		o.Deviation = o.Mean / 10
	}
	return o
}

func drawSchedule(t *rapid.T) waitpolicy.Schedule {
	s := waitpolicy.Schedule{Fastest: time.Millisecond + duration(t, "fastest", time.Second)}
	s.SlowestNext = s.Fastest + duration(t, "slowest next", 10*time.Second)
	s.Slowest = s.SlowestNext + duration(t, "slowest", time.Minute)
	return s
}

func drawJitter(t *rapid.T) float64 { return rapid.Float64Range(0, 0.999999).Draw(t, "jitter") }

func TestDelayBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, o, jitter := drawSchedule(t), drawObservation(t), drawJitter(t)
		o.Bell = rapid.Bool().Draw(t, "bell")
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
	rapid.Check(t, func(t *rapid.T) {
		s, o, jitter := drawSchedule(t), drawObservation(t), drawJitter(t)
		full, got := s.Delay(o, 0), s.Delay(o, jitter)
		if got > full || got < full*4/5 {
			t.Fatalf("jitter of %v made %v of %v", jitter, got, full)
		}
		if out := s.Delay(o, rapid.Float64Range(-10, 10).Draw(t, "no jitter at all")); out > full || out < full*4/5 {
			t.Fatalf("jitter out of range made %v of %v", out, full)
		}
	})
}

// TestDelayByPosition checks that a waiter further back looks no earlier.
func TestDelayByPosition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, o, jitter := drawSchedule(t), drawObservation(t), drawJitter(t)
		nearer := o
		nearer.Ahead = rapid.IntRange(0, o.Ahead).Draw(t, "nearer")
		if near, far := s.Delay(nearer, jitter), s.Delay(o, jitter); near > far {
			t.Fatalf("with %d ahead %v, with %d ahead %v", nearer.Ahead, near, o.Ahead, far)
		}
	})
}

// TestDelayOfNext checks that the next waiter in line never sleeps long past the time until which an even turn lasts for sure. The lock
// may idle from the end of a turn to its next look.
func TestDelayOfNext(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
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
	rapid.Check(t, func(t *rapid.T) {
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
	rapid.Check(t, func(t *rapid.T) {
		s, o, jitter := drawSchedule(t), drawObservation(t), drawJitter(t)
		o.Bell = true
		got := s.Delay(o, jitter)
		if uneven := o.Deviation > o.Mean/4; uneven && got > max(4*s.SlowestNext, o.Age/8) {
			t.Fatalf("in uneven turns it sleeps for %v", got)
		}
		usual := o.Serving && o.Mean > 0 && o.Age < 2*o.Mean && o.Deviation <= o.Mean/4
		if rest := max(0, o.Mean-o.Age); usual && o.Ahead == 0 && got > max(rest+max(o.Mean/4, 4*o.Trip), s.Fastest) {
			t.Fatalf("the next in line sleeps for %v, %v of them for the turn", got, rest)
		}
	})
}

func TestWaitRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := waitpolicy.For(time.Duration(rapid.Int64Range(0, math.MaxInt64).Draw(t, "wait")))
		again, err := waitpolicy.Parse(w.String())
		if err != nil || again != w {
			t.Fatalf("Parse(%q) = %v, %v, want %v", w, again, err, w)
		}
		limit, limited := w.Limit()
		if !limited || waitpolicy.For(limit) != w || w.Validate() != nil || w.IsNoWait() != (limit == 0) {
			t.Fatalf("%v has limit %v, %v, is valid: %v, NoWait: %v", w, limit, limited, w.Validate(), w.IsNoWait())
		}
	})
}

func TestAttemptsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, math.MaxInt).Draw(t, "attempts")
		every := time.Duration(rapid.Int64Range(int64(time.Millisecond), math.MaxInt64).Draw(t, "every"))
		w := waitpolicy.Attempts(n, every)
		again, err := waitpolicy.Parse(w.String())
		if err != nil || again != w || w.Validate() != nil {
			t.Fatalf("Parse(%q) = %v, %v, want %v, which is valid: %v", w, again, err, w, w.Validate())
		}
		if tries, longest := w.Tries(); tries != n || longest != every || w.IsNoWait() {
			t.Fatalf("%v tries %d times, every %v; is NoWait: %v", w, tries, longest, w.IsNoWait())
		}
		if limit, limited := w.Limit(); limited {
			t.Fatalf("%v is limited to %v: pauses and requests take their time", w, limit)
		}
		if pause := w.Pause(drawJitter(t)); pause < every/5*4 || pause > every {
			t.Fatalf("a pause of %v, want at least four fifths of %v", pause, every)
		}
	})
	for w, want := range map[waitpolicy.Wait]int{waitpolicy.NoWait: 1, waitpolicy.Attempts(1, time.Hour): 1, waitpolicy.For(time.Second): 0, waitpolicy.Forever: 0} {
		if n, _ := w.Tries(); n != want {
			t.Errorf("%v tries %d times without a place, want %d", w, n, want)
		}
	}
}
