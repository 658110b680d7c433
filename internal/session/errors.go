package session

import (
	"errors"
	"fmt"

	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/ticket"
)

// UnreleasedError reports that a lock without a lease may still be in the table.
type UnreleasedError struct {
	Queue  table.Queue
	Ticket ticket.Number
	Err    error
	Loss   error // the Client's error if the lock was lost; else nil
}

func (e *UnreleasedError) Error() string {
	return fmt.Sprintf("ticket %s may still be in the table: %v", e.Ticket, e.Err)
}

// Unwrap returns Err, and Loss if there is one.
func (e *UnreleasedError) Unwrap() []error {
	if e.Loss != nil {
		return []error{e.Loss, e.Err}
	}
	return []error{e.Err}
}

// ConditionError reports that the condition of an UpdateAndRelease was false. Nothing was
// written.
type ConditionError struct {
	Current table.Item // without the lock's attributes
}

func (e *ConditionError) Error() string { return "the update's condition was false" }

// ReleaseError reports that the writes of a ReleaseWith were made, and the release failed.
type ReleaseError struct {
	Err error // of Release
}

func (e *ReleaseError) Error() string {
	return fmt.Sprintf("the writes were made, but the release failed: %v", e.Err)
}

// unknown returns Client.Unknown's error. ended is the error of the caller's context, and
// end the reason why the lock is not held any more.
func (s *Session) unknown(err, ended, end error) error {
	return s.client.Unknown(s.config.Queue, err, ended, end)
}

// errOverwritten reports that the marks of a record prove nothing about the lock.
var errOverwritten = errors.New("the lock is not in its record, and the mark that says how it ended was replaced, or is gone with the record")
