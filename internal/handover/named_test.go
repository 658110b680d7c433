package handover

import (
	"testing"
	"time"
)

func TestReadsNext(t *testing.T) {
	const ms, ttl = time.Millisecond, 16 * time.Second
	for name, test := range map[string]struct {
		mean  time.Duration
		bells bool
		want  time.Duration // zero: it does not
	}{
		"NoTurnYet":            {0, true, 0},
		"TooShort":             {39 * ms, true, 0},
		"Short":                {40 * ms, false, 20 * ms},
		"Long":                 {2 * time.Second, false, time.Second},
		"TooLongForName":       {2*time.Second + 1, false, 0},
		"TooLongForNameByBell": {time.Minute, true, 30 * time.Second},
	} {
		if got, ok := ReadsNext(test.mean, 10*ms, ttl, test.bells); ok != (test.want > 0) || ok && got != test.want {
			t.Errorf("%s: %v, %v", name, got, ok)
		}
	}
	if _, ok := ReadsNext(5*time.Second, 10*ms, time.Minute, false); ok {
		t.Error("the row would be too old to be named")
	}
}
