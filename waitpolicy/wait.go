package waitpolicy

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Wait says for how long, or how often, a caller tries to be served. Values are comparable. The zero Wait is NoWait.
//
//	| wait              | a busy lock                              | requests while busy | in order |
//	|-------------------|------------------------------------------|---------------------|----------|
//	| NoWait            | is refused at once                       | 1                   | –        |
//	| For(d), Forever   | is waited for in the queue               | 4 and the looks     | yes      |
//	| Attempts(n, every)| is tried n times, without a place in it  | n                   | no       |
type Wait struct {
	limit   time.Duration
	forever bool

	repeated bool // made by Attempts
	attempts int
	every    time.Duration
}

var (
	// NoWait is one quick answer: a busy lock is refused with one request, and
	// no ticket is burnt.
	NoWait = Wait{}
	// Forever waits until the lock is served or the context ends.
	Forever = Wait{forever: true}
)

// For waits for at most d. For(0) is NoWait. If d is too short for a request, one
// attempt is made, as with NoWait. A negative d is refused by Validate.
func For(d time.Duration) Wait { return Wait{limit: d} }

// Attempts tries n times with NoWait, and pauses for every between the end of one
// and the next. A lock that is busy all n times costs n requests and write units,
// and no ticket. It is for work that may as well be done later or by somebody
// else: those who wait in the queue go first, so that in a busy one none of the
// attempts may succeed. To wait for one's turn, use For.
//
// Each pause is shortened at random by up to a fifth, so that processes which
// were started together do not try in step; all take at most (n-1)·every besides
// the requests. A table that does not answer is tried for 3 s in each attempt,
// and then it counts as one that failed. Attempts(1, every) is NoWait. Fewer than
// one attempt, and pauses of less than a millisecond, are refused by Validate.
func Attempts(n int, every time.Duration) Wait {
	if n == 1 && every >= 0 {
		return NoWait
	}
	return Wait{repeated: true, attempts: n, every: every}
}

// shortestPause keeps Attempts from being a busy loop.
const shortestPause = time.Millisecond

// Parse reads "forever", "0", a duration as time.ParseDuration has it, or
// attempts, such as "5x2s".
func Parse(s string) (Wait, error) {
	if s == "forever" {
		return Forever, nil
	}
	if n, every, ok := strings.Cut(s, "x"); ok {
		count, countErr := strconv.Atoi(n)
		d, err := time.ParseDuration(every)
		if countErr != nil || err != nil {
			return Wait{}, fmt.Errorf(`wait %q: need a number of attempts and a pause, such as "5x2s"`, s)
		}
		w := Attempts(count, d)
		return w, w.Validate()
	}
	d, err := time.ParseDuration(s)
	if err != nil {
		return Wait{}, fmt.Errorf(`wait %q: need "forever", "0", a duration such as "60s" or attempts such as "5x2s"`, s)
	}
	w := For(d)
	return w, w.Validate()
}

// Validate says what is wrong with the wait, if anything.
func (w Wait) Validate() error {
	switch {
	case w.limit < 0:
		return fmt.Errorf("wait %v is negative: need zero or more", w.limit)
	case w.repeated && w.attempts < 1:
		return fmt.Errorf("wait %v: need one attempt or more", w)
	case w.repeated && w.every < shortestPause:
		return fmt.Errorf("wait %v: need a pause of at least %v between attempts", w, shortestPause)
	}
	return nil
}

// Limit is for how long to wait at the most, or false if no time limits the
// wait: Forever, and Attempts.
func (w Wait) Limit() (time.Duration, bool) { return w.limit, !w.forever && !w.repeated }

// Tries is how often to try without a place in the queue, and the longest pause
// between two tries: 1 for NoWait. It is 0 for a wait in the queue.
func (w Wait) Tries() (n int, every time.Duration) {
	if w.IsNoWait() {
		return 1, 0
	}
	return w.attempts, w.every
}

// Pause is how long to pause before the next try. jitter is a random number in
// [0, 1): up to a fifth is taken off.
func (w Wait) Pause(jitter float64) time.Duration { return shortened(w.every, jitter) }

// IsNoWait reports whether the wait is NoWait.
func (w Wait) IsNoWait() bool { return w == NoWait }

// String prints the wait in the form that Parse reads.
func (w Wait) String() string {
	switch {
	case w.forever:
		return "forever"
	case w.repeated:
		return fmt.Sprintf("%dx%v", w.attempts, w.every)
	case w.limit == 0:
		return "0"
	}
	return w.limit.String()
}
