package waitpolicy

import (
	"testing"
	"time"

	"github.com/queuelock/queuelock/queue"
)

func TestReadsNext(t *testing.T) {
	const ms, ttl = time.Millisecond, 16 * time.Second
	p := &Pace{trip: 10 * ms}
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
		if got, ok := p.ReadsNext(test.mean, ttl, test.bells); ok != (test.want > 0) || ok && got != test.want {
			t.Errorf("%s: %v, %v", name, got, ok)
		}
	}
	if _, ok := p.ReadsNext(5*time.Second, time.Minute, false); ok {
		t.Error("the row would be too old to be named")
	}
}

// TestAwake checks until when a waiter that is next sleeps for at most a third of its row's lease: as long as it may be named.
func TestAwake(t *testing.T) {
	const second, row = time.Second, 16 * time.Second
	moved := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	p := NewPace(false, time.Time{})
	p.Saw(queue.Snapshot{ReadAt: moved}, 0)
	for after, limited := range map[time.Duration]bool{second: true, second/2 + NamedWithin: true, second/2 + NamedWithin + 1: false} {
		view := View{Row: row, Now: moved.Add(after)}
		view.Record.HoldTime.Mean = second
		if d := p.awake(view, time.Hour); (d == row/3) != limited {
			t.Errorf("%v into a turn it sleeps for %v", after, d)
		}
	}
}
