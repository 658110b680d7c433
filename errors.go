package queuelock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/queuelock/queuelock/heartbeat"
	"github.com/queuelock/queuelock/internal/serving"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/internal/waiter"
	"github.com/queuelock/queuelock/ticket"
)

var (
	// ErrNotAcquired reports that the lock was not acquired in the time given,
	// and that the table answered: the lock was busy (NoWait, Attempts), the wait
	// was over, or the context ended. Use errors.As with *NotAcquiredError to
	// learn who is being served.
	ErrNotAcquired = errors.New("queuelock: lock not acquired")

	// ErrUnavailable reports that the lock was not acquired because the table did
	// not answer, throttled, or failed: the last request of the attempt had no
	// usable answer when the wait, the context, or the library's patience ended.
	// It says nothing about the lock, and never matches ErrNotAcquired. The error
	// also matches the context's error, if that ended the wait. Under Attempts
	// the last attempt counts. Try again later.
	ErrUnavailable = errors.New("queuelock: the table is unavailable")

	// ErrLost says that a lock that was held is held no more, without having
	// been released: stop what it protects. Use errors.As with *LostError to
	// learn how. It is the cause of the lock's context, and what Release
	// returns then, which may be the first to find out.
	ErrLost = errors.New("queuelock: lock lost")

	// ErrReleased is the cause of the context of a lock that was released, and
	// its Err. Nothing is wrong.
	ErrReleased = errors.New("queuelock: lock released")

	// ErrClosed says that the client was closed, before the call or while it
	// waited.
	ErrClosed = errors.New("queuelock: the client is closed")
)

// NotAcquiredError says what stood in the way. It matches ErrNotAcquired.
type NotAcquiredError struct {
	Key Key
	// Waited is for how long Acquire tried.
	Waited time.Duration
	// Position is the caller's place among the waiters when its wait ended: 1 was
	// next. 0 if it did not queue. See OnProgress for what is counted.
	Position int
	// Serving is the holder, as last seen by a waiter of this client, of several the
	// one with the lowest ticket; nil if there was none. Its Age and Remaining are
	// of the time when the error was made.
	Serving *Holder
	// Err is the context's error, if that ended the wait; else nil.
	Err error
	// Blocked is a *MalformedError about a row ahead or a holder's entry, if there
	// was one that cannot be read. Such a row is swept like a dead waiter's; such
	// an entry is left alone.
	Blocked error
}

func (e *NotAcquiredError) Error() string {
	s := fmt.Sprintf("%v: %s after %v", ErrNotAcquired, e.Key, e.Waited.Round(time.Millisecond))
	if e.Position > 0 {
		s += fmt.Sprintf(", position %d", e.Position)
	}
	if e.Serving != nil {
		// Of an owner that some other program wrote, no more than one may have.
		s += fmt.Sprintf(", serving %.*s (ticket %s", maxOwner, e.Serving.Owner, e.Serving.Ticket)
		if !e.Serving.Since.IsZero() {
			s += " since " + e.Serving.Since.UTC().Format(time.RFC3339)
		}
		if e.Serving.FailClosed {
			s += ", without a lease"
		}
		s += ")"
	}
	if e.Blocked != nil {
		s += ", behind a " + e.Blocked.Error()
	}
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap lists ErrNotAcquired and what there is of Err and Blocked.
func (e *NotAcquiredError) Unwrap() []error {
	errs := []error{ErrNotAcquired}
	for _, err := range []error{e.Err, e.Blocked} {
		if err != nil {
			errs = append(errs, err)
		}
	}
	return errs
}

// Cause says how a lock was lost.
type Cause = heartbeat.Cause

// The causes of a loss.
const (
	// Evicted: the table says that the lock was taken away, after its lease
	// had ended, or by an operator.
	Evicted = heartbeat.Evicted
	// Expired: the lease ran out on the process's own clock although no
	// renewal had failed: the process stood still.
	Expired = heartbeat.Expired
	// Unreachable: the lease ran out because renewals failed or hung.
	Unreachable = heartbeat.Unreachable
)

// LostError says how a lock was lost. It matches ErrLost.
type LostError struct {
	Key    Key
	Ticket ticket.Number
	Cause  Cause
	Err    error // the last renewal's error, if one failed
}

func (e *LostError) Error() string {
	s := fmt.Sprintf("%v: %s ticket %s: %s", ErrLost, e.Key, e.Ticket, e.Cause)
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap lists ErrLost and, if there is one, the last renewal's error.
func (e *LostError) Unwrap() []error {
	if e.Err == nil {
		return []error{ErrLost}
	}
	return []error{ErrLost, e.Err}
}

// UnreleasedError says that a lock that fails closed may still stand in the
// table: no lease ends it. If Release returned it, call Release again. Otherwise,
// or if the process is to end, an operator must look (Client.Inspect, "queuelock
// status") and evict it (Client.Evict, "queuelock evict").
type UnreleasedError struct {
	Key    Key
	Ticket ticket.Number
	Err    error // why it was not released
}

func (e *UnreleasedError) Error() string {
	return fmt.Sprintf("queuelock: %s ticket %s may still stand, without a lease that would end it: release it again, or evict it: %v", e.Key, e.Ticket, e.Err)
}

// Unwrap returns Err.
func (e *UnreleasedError) Unwrap() error { return e.Err }

// TableError says that the table is missing, or has other keys than are
// needed; it names what was found and what is needed.
type TableError = table.SchemaError

// MalformedError says that an item in the table's queue was not written by
// this library. It names the item and the attribute. A serving record is left
// alone, except that its ticketNumber may be raised where a number is not whole
// or a holder's entry is malformed: no condition of a write can ask for those.
// Acquire returns the error once no other holder is in the way. A queue row is
// waited for, and swept, like that of a dead waiter.
type MalformedError = table.MalformedError

// acquireError makes the error of an Acquire that ended with err, in a context
// that may have ended first. served is who was being served, if anybody.
func acquireError(ctx context.Context, key Key, err error, served *Holder, last waiter.Standing, waited time.Duration) error {
	cause := context.Cause(ctx)
	if errors.Is(cause, ErrClosed) {
		return ErrClosed
	}
	if gone, ok := errors.AsType[*waiter.GoneError](err); ok {
		return &goneError{key, gone}
	}
	if mismatch, ok := errors.AsType[*serving.MismatchError](err); ok {
		return &MismatchError{Key: key.normal(), Is: mismatch.Is, Wanted: mismatch.Wanted, remedy: mismatch.Remedy}
	}
	var ended error // the caller's context, if that has ended
	if cause != nil && cause != errWaitOver {
		ended = ctx.Err()
		if !errors.Is(cause, ended) {
			ended = fmt.Errorf("%w: %w", ended, cause)
		}
	}
	switch {
	case errors.Is(err, waiter.ErrBusy):
	case err == context.Canceled || err == context.DeadlineExceeded: // the wait's own end
		if last.Failure != nil {
			return &unavailableError{key.normal(), waited, ended, last.Failure}
		}
	case table.Unanswered(err):
		return &unavailableError{key.normal(), waited, ended, cmp.Or(last.Failure, err)}
	case ended != nil:
		return fmt.Errorf("queuelock: acquire %s: %w; meanwhile %w", key, ended, err)
	default:
		return fmt.Errorf("queuelock: acquire %s: %w", key, err)
	}
	e := &NotAcquiredError{Key: key.normal(), Waited: waited, Serving: served, Blocked: last.Blocked, Err: ended}
	if !last.Ticket.IsZero() {
		e.Position = last.Ahead + 1
	}
	return e
}

// unavailableError matches ErrUnavailable, and names the request that failed.
type unavailableError struct {
	key     Key
	waited  time.Duration
	ended   error // the caller's context's, if that ended the wait
	failure error // the last request's
}

func (e *unavailableError) Error() string {
	s := fmt.Sprintf("%v: acquire %s: after %v: ", ErrUnavailable, e.key, e.waited.Round(time.Millisecond))
	if e.ended != nil {
		s += e.ended.Error() + "; meanwhile "
	}
	return s + e.failure.Error()
}

// Unwrap hides the context error of a request that the library gave up: only
// the caller's own context is reported as ended.
func (e *unavailableError) Unwrap() error {
	if errors.Is(e.failure, context.Canceled) || errors.Is(e.failure, context.DeadlineExceeded) {
		return errors.Join(ErrUnavailable, e.ended)
	}
	return errors.Join(ErrUnavailable, e.ended, e.failure)
}
