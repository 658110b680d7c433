// Package waitpolicy says how long to wait for a lock, and how often to poll meanwhile. Users of locks need [NoWait],
// [For], [Forever] and [Attempts]. It decides nothing about fairness or exclusion, makes no request and reads no clock:
// internal/play looks, rests and claims when a [Pace] says so. Pace is of the protocol, and may change in any version.
//
// A [Wait] bounds a whole Acquire. A [Schedule] bounds the time between two looks at the queue. A sleep past the end of
// a turn leaves the lock idle, while an early look costs one read unit. Turns of even length are slept through. Others
// may end at any time, so each sleep is a part of what the present turn has lasted: then the lock idles for no longer
// than that part, whatever the lengths of turns are, and looks grow with the logarithm of a turn's length. Turns are
// even if their deviation is at most a quarter of their mean, and the present one is not unusually long.
//
//	distance  turns                         look again after
//	next      even, before the mean less    what is left of that, at most the age of the turn, or SlowestNext
//	          two deviations
//	next      near the mean                 an eighth of the time to or since the likely end, and a quarter of the
//	                                        deviation; up to a twenty-fifth of the mean, half of the age, and SlowestNext
//	next      unknown, or long past         an eighth of the age, up to SlowestNext
//	second    even, long before its end     shortly before the present turn is likely to end
//	nth       even                          half of what the turns ahead take at least, up to 4 times SlowestNext
//	nth       other                         n round trips, and n quarters of the mean, up to the age; or an eighth of the
//	                                        age; up to SlowestNext, or a sixtieth of the age
//	any       –                             never later than all ahead may have expired
package waitpolicy

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Wait says for how long, or how often, Acquire tries. Values are comparable. The zero Wait is [NoWait].
//
//	| wait              | a busy lock                              | in order |
//	|-------------------|------------------------------------------|----------|
//	| NoWait            | is refused at once                       | –        |
//	| For(d), Forever   | is waited for in the queue               | yes      |
//	| Attempts(n, every)| is tried n times, without a place in it  | no       |
type Wait struct {
	limit    time.Duration
	forever  bool
	repeated bool // made by Attempts
	attempts int
	every    time.Duration
}

var (
	// NoWait refuses a busy lock with one request, and takes no ticket. A reader needs two while only a writer waits,
	// and so does a client that sees a lease without an end for the first time. A wider scope takes one more, and a
	// ticket. At a table that does not answer it ends after 3 s.
	NoWait = Wait{}
	// Forever waits until the lock is served or the context ends.
	Forever = Wait{forever: true}
)

// For waits for at most d. For(0) is [NoWait]. If d is too short for a request, one
// attempt is made, as with NoWait. Validate refuses a negative d.
func For(d time.Duration) Wait { return Wait{limit: d} }

// Attempts tries n times with [NoWait], and pauses between two attempts for every, shortened at random by up to a
// fifth. Clients that wait in the queue go first, so in a busy queue all attempts may fail. At a table that does not
// answer each attempt ends after 3 s. Attempts(1, every) is NoWait. Validate refuses n below 1 and every below 1 ms.
func Attempts(n int, every time.Duration) Wait {
	if n == 1 && every >= 0 {
		return NoWait
	}
	return Wait{repeated: true, attempts: n, every: every}
}

// Parse reads "forever", "0", a duration in the form of time.ParseDuration, or attempts, such as "5x2s".
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

// Validate returns an error if the wait is invalid.
func (w Wait) Validate() error {
	switch {
	case w.limit < 0:
		return fmt.Errorf("wait %v is negative: need zero or more", w.limit)
	case w.repeated && w.attempts < 1:
		return fmt.Errorf("wait %v: need one attempt or more", w)
	case w.repeated && w.every < time.Millisecond:
		return fmt.Errorf("wait %v: need a pause of at least 1ms between attempts", w)
	}
	return nil
}

// Limit returns the longest wait, or false for [Forever] and Attempts, which have none.
func (w Wait) Limit() (time.Duration, bool) { return w.limit, !w.forever && !w.repeated }

// Tries returns how often to try without a place in the queue, and the longest pause
// between two tries. It is 1 for [NoWait], and 0 for a wait in the queue.
func (w Wait) Tries() (n int, every time.Duration) {
	if w.IsNoWait() {
		return 1, 0
	}
	return w.attempts, w.every
}

// Pause returns the pause before the next try. jitter is a random number in [0, 1), by
// which up to a fifth is taken off.
func (w Wait) Pause(jitter float64) time.Duration { return shortened(w.every, jitter) }

// IsNoWait reports whether the wait is [NoWait].
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
