package waitpolicy

import (
	"fmt"
	"time"
)

// Wait is a record wait: for how long a caller waits to be served. Values are
// comparable. The zero Wait is NoWait.
type Wait struct {
	limit   time.Duration
	forever bool
}

var (
	// NoWait is one quick answer: a busy lock is refused with one request, and
	// no ticket is burnt.
	NoWait = Wait{}
	// Forever waits until the lock is served or the context ends.
	Forever = Wait{forever: true}
)

// For waits for at most d. For(0) is NoWait. A negative d is refused by
// Validate.
func For(d time.Duration) Wait { return Wait{limit: d} }

// Parse reads "forever", "0", or a duration as time.ParseDuration has it.
func Parse(s string) (Wait, error) {
	if s == "forever" {
		return Forever, nil
	}
	d, err := time.ParseDuration(s)
	if err != nil {
		return Wait{}, fmt.Errorf(`record wait %q: need "forever", "0" or a duration such as "60s"`, s)
	}
	w := For(d)
	return w, w.Validate()
}

// Validate says what is wrong with the wait, if anything.
func (w Wait) Validate() error {
	if w.limit < 0 {
		return fmt.Errorf("record wait %v is negative: need zero or more", w.limit)
	}
	return nil
}

// Limit is for how long to wait at the most, or false if for ever.
func (w Wait) Limit() (time.Duration, bool) { return w.limit, !w.forever }

// IsNoWait reports whether the wait is NoWait.
func (w Wait) IsNoWait() bool { return w == NoWait }

// String prints the wait in the form that Parse reads.
func (w Wait) String() string {
	switch {
	case w.forever:
		return "forever"
	case w.limit == 0:
		return "0"
	}
	return w.limit.String()
}
