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
