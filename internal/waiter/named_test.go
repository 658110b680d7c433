package waiter

import (
	"testing"
	"time"
)

// TestEnds checks from which request the lease of a row counts whose end a grant by name has.
func TestEnds(t *testing.T) {
	const ttl = 15 * time.Second
	begun := time.Now().Truncate(time.Millisecond)
	at := func(seconds int) time.Time { return begun.Add(time.Duration(seconds) * time.Second) }
	for name, test := range map[string]struct {
		written [][2]int // the end, and when it was sent
		until   int
		sent    int // -1: not known
	}{
		"Known":                 {written: [][2]int{{15, 0}, {22, 7}}, until: 15, sent: 0},
		"Last":                  {written: [][2]int{{15, 0}, {22, 7}}, until: 22, sent: 7},
		"FirstWithThatEnd":      {written: [][2]int{{15, 0}, {15, 7}}, until: 15, sent: 0},
		"NeverWritten":          {written: [][2]int{{15, 0}}, until: 16, sent: -1},
		"KeptWhileItMayLast":    {written: [][2]int{{15, 0}, {30, 15}}, until: 15, sent: 0},
		"ForgottenWhenItIsOver": {written: [][2]int{{15, 0}, {31, 16}}, until: 15, sent: -1},
	} {
		t.Run(name, func(t *testing.T) {
			var e ends
			for _, w := range test.written {
				e.add(at(w[0]), at(w[1]), ttl)
			}
			sent, known := e.sent(at(test.until).Add(300 * time.Microsecond)) // the table keeps milliseconds
			if known != (test.sent >= 0) || known && !sent.Equal(at(test.sent)) {
				t.Errorf("sent %v after the beginning, known: %v", sent.Sub(begun), known)
			}
		})
	}
}
