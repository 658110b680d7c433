package waitpolicy

import (
	"testing"
	"time"
)

func TestReadsNext(t *testing.T) {
	const ms = time.Millisecond
	p := &Pace{trip: 10 * ms}
	for name, test := range map[string]struct {
		mean  time.Duration
		bells bool
		want  time.Duration // zero: it does not
	}{
		"NoTurnYet":            {0, true, 0},
		"TooShort":             {39 * ms, true, 0},
		"Short":                {40 * ms, false, 20 * ms},
		"Long":                 {4 * time.Second, false, 2 * time.Second},
		"TooLongForName":       {4*time.Second + 2, false, 0}, // the row would be too old
		"TooLongForNameByBell": {time.Minute, true, 30 * time.Second},
	} {
		if got, ok := p.ReadsNext(test.mean, test.bells); ok != (test.want > 0) || ok && got != test.want {
			t.Errorf("%s: %v, %v", name, got, ok)
		}
	}
}

// TestHeed checks that a waiter acts on its bell when its release has probably been applied, and seldom after many in vain.
func TestHeed(t *testing.T) {
	const ms = time.Millisecond
	now := time.Now()
	for name, test := range map[string]struct {
		last, until time.Duration
		rung        Rung
		heeded      bool
		want        time.Duration
	}{
		"AtOnce":             {-time.Second, time.Minute, Rung{Times: 1}, true, 0},
		"WhenItIsApplied":    {-time.Second, time.Minute, Rung{Times: 1, Stagger: ms}, true, ms},
		"NotRightAfterALook": {0, time.Minute, Rung{Times: 1}, true, ms},
		"AfterOneInVain":     {0, time.Minute, Rung{Times: 1, Trust: -1}, true, 4 * ms},
		"Flooded":            {0, time.Minute, Rung{Times: 9, Trust: -5}, true, time.Second},
		"NoLaterThanALook":   {0, 100 * ms, Rung{Times: 9, Trust: -5}, false, 100 * ms},
	} {
		t.Run(name, func(t *testing.T) {
			p := Pace{turns: 3, last: now.Add(test.last)}
			test.rung.Last = now
			at, heeded := p.Heed(Default, test.rung, now.Add(test.until))
			if heeded != test.heeded || at.Sub(now) != test.want {
				t.Errorf("acts after %v, %v; want %v, %v", at.Sub(now), heeded, test.want, test.heeded)
			}
		})
	}
}
