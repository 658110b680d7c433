package queue

import (
	"fmt"

	"github.com/queuelock/queuelock/clause"
)

// MalformedError says that an item in the queue was not written by this library. Such
// an item is never taken for a lock, and nothing of it is overwritten but the ticket number of a record.
// A malformed row is waited for and swept like that of a crashed waiter.
type MalformedError = clause.MalformedError

// TableError says that the table is missing or has other keys than queues need.
type TableError struct {
	Table string
	Found string // what is there
	Need  string // what is needed
	Err   error  // DynamoDB's own words, or nil
}

// Error is at most 160 letters long.
func (e *TableError) Error() string {
	const longest, longestName = 160, 40
	return clip(fmt.Sprintf("table %q: found %s, need %s", clip(e.Table, longestName), e.Found, e.Need), longest)
}

func clip(s string, most int) string {
	if letters := []rune(s); len(letters) > most {
		return string(letters[:most-1]) + "…"
	}
	return s
}

func (e *TableError) Unwrap() error { return e.Err }

// MismatchError says that the queue is of another kind than the caller asked for. A queue keeps its kind for life: ask
// for that kind, or use another Reason.
type MismatchError struct {
	Entity, Reason string
	Is, Wanted     string // such as "a lock", "a semaphore of 3" and "a queue of ScopeTable"
	Remedy         string // "pass Permits(3)"
}

func (e *MismatchError) Error() string {
	return fmt.Sprintf("%q (%s) is %s, and %s is asked for: a queue keeps its kind for life: %s, or use another Reason",
		e.Entity, e.Reason, e.Is, e.Wanted, e.Remedy)
}
