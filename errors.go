package queuelock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/heartbeat"
	"github.com/queuelock/queuelock/internal/group"
	"github.com/queuelock/queuelock/internal/machine"
	"github.com/queuelock/queuelock/internal/play"
	"github.com/queuelock/queuelock/internal/quote"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
)

var (
	// ErrNotAcquired reports that the lock was busy until the wait or the context ended, or until MaxWaiters or
	// Supersede ended the wait. *NotAcquiredError has the details.
	ErrNotAcquired = errors.New("queuelock: lock not acquired")
	// ErrUnavailable reports that the last request of Acquire failed, was throttled, or had no answer. It says
	// nothing about the lock and never matches ErrNotAcquired, unless KeepPlace keeps a place. It also matches the
	// context's error if that ended the wait. Try again later.
	ErrUnavailable = errors.New("queuelock: the table is unavailable")
	// ErrNoItem reports that the item for LockItem is missing, or was deleted during the wait. CreateItem creates it.
	ErrNoItem = errors.New("queuelock: there is no such item")
	// ErrGone reports that the lock or the place of a handle has ended, or another process has resumed it. Call Acquire.
	ErrGone = errors.New("queuelock: the handle can no longer be resumed")
	// ErrLost reports that the lock ended without a release: stop what it protects. It is the cause of the
	// lock's context, as a *LostError.
	ErrLost = errors.New("queuelock: lock lost")
	// ErrReleased reports that the lock was released before. It is the cause of the lock's context then, and
	// not a failure.
	ErrReleased = errors.New("queuelock: lock released")
	// ErrClosed reports that the client was closed before the call or during it.
	ErrClosed = group.ErrClosed
)

// NotAcquiredError says why the lock was not acquired. It matches [ErrNotAcquired], Policy, Err and Blocked.
type NotAcquiredError struct {
	Key    Key
	Waited time.Duration
	// Position is the caller's last place among the waiters. 1 is next; 0: it did not queue, or has not looked yet.
	Position int
	// Serving is the holder with the lowest ticket, as this client last saw it, or nil. Its ages count from
	// when the error was made.
	Serving *queue.Holder
	// Own is the lowest ticket with which this Client itself holds the lock, or zero. Locks are not reentrant: a
	// goroutine that holds a lock and acquires it again waits for itself.
	Own ticket.Number
	// Holders counts the holders seen last: several with Shared and Permits. Permits is that of the option, or zero.
	Holders, Permits int
	// EstimatedWait is how long the wait would have gone on, if Estimated is true, as in Progress.
	EstimatedWait time.Duration
	Estimated     bool
	// Policy is ErrQueueFull or ErrSuperseded if that ended the wait, or nil. MaxWaiters is then the limit, or
	// SupersededBy the later ticket.
	Policy       error
	MaxWaiters   int
	SupersededBy ticket.Number
	// NotBefore is the earliest time, on DynamoDB's clock, at which the queue may open because of HoldAtLeast or Every.
	// Zero: it may open at any time.
	NotBefore time.Time
	// Handle is that of the place that KeepPlace keeps, or nil. It stays until KeptUntil at least, on the clock of this
	// host; zero if that is not known.
	Handle    *Handle
	KeptUntil time.Time
	Err       error // the context's, or ErrClosed, or why the table did not answer, if that ended the wait
	Blocked   error // a *queue.MalformedError about a row ahead or a holder's entry, or nil
}

func (e *NotAcquiredError) Error() string {
	s := fmt.Sprintf("%v: %s after %v", ErrNotAcquired, e.Key, e.Waited.Round(time.Millisecond))
	switch {
	case errors.Is(e.Policy, ErrQueueFull):
		s += fmt.Sprintf(", at most %d may wait", e.MaxWaiters)
	case errors.Is(e.Policy, ErrSuperseded):
		s += fmt.Sprintf(", superseded by ticket %s", e.SupersededBy)
	}
	if e.Position > 0 {
		s += fmt.Sprintf(", position %d", e.Position)
	}
	if e.Permits > 0 && e.Holders > 0 {
		s += fmt.Sprintf(", %d of %d permits in use", e.Holders, e.Permits)
	}
	if h := e.Serving; h != nil && h.Closed {
		opens := e.NotBefore
		if opens.IsZero() { // another holder may let one in earlier
			opens = h.NotBefore
		}
		s += fmt.Sprintf(", closed%s by ticket %s", quote.Until(opens), h.Ticket) + more(e.Holders)
	} else if h != nil {
		s += fmt.Sprintf(", serving %s (ticket %s", quote.Text(h.Owner), h.Turn())
		if n := h.Follow(); n > 0 {
			s += fmt.Sprintf(" and %d that follow", n)
		}
		if !h.Since.IsZero() {
			s += " since " + h.Since.UTC().Format(time.RFC3339)
		}
		if h.Endless() {
			s += ", without a lease"
		}
		s += ")" + more(e.Holders)
		if !e.NotBefore.IsZero() {
			s += ", closed" + quote.Until(e.NotBefore)
		}
	}
	if !e.Own.IsZero() {
		s += fmt.Sprintf(", this client itself holds ticket %s", e.Own)
	}
	if e.Handle != nil {
		s += fmt.Sprintf(", ticket %s keeps its place", e.Handle.Ticket) + quote.Until(e.KeptUntil)
	}
	return s + text(", behind a ", e.Blocked) + text(": ", e.Err)
}

func (e *NotAcquiredError) Unwrap() []error {
	return present(ErrNotAcquired, e.Policy, e.Err, e.Blocked)
}

// more says how many holders there are beside the first.
func more(holders int) string {
	if holders <= 1 {
		return ""
	}
	return fmt.Sprintf(" and %d more", holders-1)
}

// present returns the errors that are not nil.
func present(errs ...error) []error {
	return slices.DeleteFunc(errs, func(err error) bool { return err == nil })
}

// text returns the text of an error after a separator, or nothing for nil.
func text(separator string, err error) string {
	if err == nil {
		return ""
	}
	return separator + err.Error()
}

// LostError says how a lock was lost. It matches [ErrLost] and Err.
type LostError struct {
	Key    Key
	Ticket ticket.Number
	Cause  heartbeat.Cause
	Err    error // the last renewal's error, if one failed
}

func (e *LostError) Error() string {
	return fmt.Sprintf("%v: %s ticket %s: %s%s", ErrLost, e.Key, e.Ticket, e.Cause, text(": ", e.Err))
}

func (e *LostError) Unwrap() []error { return present(ErrLost, e.Err) }

// UnreleasedError says that a lock that fails closed may still be in the table, where no lease ends it. If Release
// returned it, call Release again. Otherwise an operator looks with Viewer.Inspect and removes it with Operator.Evict.
type UnreleasedError struct {
	Key    Key
	Ticket ticket.Number
	Err    error // why it was not released
}

func (e *UnreleasedError) Error() string {
	return fmt.Sprintf("queuelock: %s ticket %s may still be held, without a lease that would end it: "+
		"release it again, or evict it: %v", e.Key, e.Ticket, e.Err)
}

func (e *UnreleasedError) Unwrap() error { return e.Err }

// UnknownOutcomeError says that writes were not answered, and that the table does not show whether they were made. Read
// the items under the next lock. Release returns it if the table does not show whether the lock was released or lost.
type UnknownOutcomeError struct {
	Key Key
	Err error // the last attempt's
	Ctx error // the context's, if that has ended
	End error // why the lock has ended, or nil
}

func (e *UnknownOutcomeError) Error() string {
	return fmt.Sprintf("queuelock: %s: the outcome is not known: %v%s%s",
		e.Key, e.Err, text("; ", e.Ctx), text("; ", e.End))
}

// Unwrap returns Ctx alone, because Err and End may match errors that say that nothing was written.
func (e *UnknownOutcomeError) Unwrap() error { return e.Ctx }

// ConditionError says that a condition of UpdateAndRelease was false. Nothing was written, and the lock is held.
type ConditionError struct {
	Item    ItemKey
	Current map[string]types.AttributeValue // what refused, without the lock's attributes
}

func (e *ConditionError) Error() string {
	return fmt.Sprintf("queuelock: item %s: the update's condition was false: "+
		"nothing was written, and the lock is held", e.Item)
}

// acquireError makes the error of an Acquire that ended with err. ctx may have ended first. last is what the
// waiter saw last.
func (c *Client) acquireError(ctx context.Context, cfg *settings, err error, last play.Status) error {
	key, waited, cause := keyOf(cfg.queue), time.Since(cfg.begun), c.over(ctx)
	if errors.Is(cause, ErrClosed) {
		return ErrClosed
	}
	refused, _ := errors.AsType[*play.Refused](err)
	if refused == nil {
		refused = &play.Refused{}
	}
	switch refused.Why {
	case machine.WhyResult:
		cfg.once.Result = &refused.Result
		return ErrResult
	case machine.WhyGone:
		s := fmt.Sprintf("queuelock: the handle of %s, ticket %s, can no longer be resumed: %v", key, refused.Ticket, refused)
		return &textError{s, ErrGone}
	}
	if mismatch, ok := errors.AsType[*queue.MismatchError](err); ok {
		return fmt.Errorf("queuelock: %w", mismatch)
	}
	var ended error // the caller's context, if that has ended
	if cause != nil {
		ended = ctx.Err()
		if !errors.Is(cause, ended) {
			ended = fmt.Errorf("%w: %w", ended, cause)
		}
	}
	full, latest := refused.Why == machine.WhyFull, refused.Why == machine.WhySuperseded
	switch {
	case refused.Why == machine.WhyBusy:
		full = cfg.refusesWait()
	case full, latest:
	case err == context.Canceled || err == context.DeadlineExceeded: // the wait's own end
		if last.Failure != nil {
			return unavailable(key, waited, ended, last.Failure)
		}
	case table.Unanswered(err):
		return unavailable(key, waited, ended, cmp.Or(last.Failure, err))
	case ended != nil:
		return fmt.Errorf("queuelock: acquire %s: %w; meanwhile %w", key, ended, err)
	default:
		return fmt.Errorf("queuelock: acquire %s: %w", key, err)
	}
	e := &NotAcquiredError{
		Key: key, Waited: waited, Serving: last.Served(cfg.queue, c.observer), Own: c.own(last), Holders: len(last.Serving),
		Permits: max(0, cfg.mode.Permits), EstimatedWait: last.Wait.Wait, Estimated: last.Wait.Known,
		Blocked: last.Blocked, Err: ended, NotBefore: notBefore(last.Serving),
	}
	if !last.Ticket.IsZero() && last.Looked {
		e.Position = last.Ahead + 1
	}
	switch {
	case full:
		e.Policy, e.MaxWaiters = ErrQueueFull, *cfg.maxWaiters
	case latest:
		e.Policy, e.SupersededBy = ErrSuperseded, refused.By
	}
	return e
}

// keeps adds the place that is kept to the error of a wait. What could not be resumed now is as it was.
func (s *settings) keeps(err error, kept *play.Kept) error {
	e, ok := err.(*NotAcquiredError)
	if kept == nil && s.keep != nil && s.resume != nil &&
		(ok && e.Policy == nil || errors.Is(err, ErrUnavailable) || errors.Is(err, ErrClosed)) {
		kept = &play.Kept{Handle: *s.resume}
	}
	if kept == nil {
		return err
	}
	if !ok {
		e = &NotAcquiredError{Key: keyOf(s.queue), Waited: time.Since(s.begun), Err: err}
	}
	h := newHandle(e.Key, s.mode, kept.Handle)
	e.Handle, e.KeptUntil = &h, kept.Until
	return e
}

// textError matches other errors, but has a text of its own.
type textError struct {
	text string
	is   error
}

func (e *textError) Error() string { return e.text }
func (e *textError) Unwrap() error { return e.is }

// unavailable makes an error that names the last request's failure. ended is the error of the caller's context,
// if that ended the wait. The error of a request that the library gave up does not match: only the caller's
// context is reported as ended.
func unavailable(key Key, waited time.Duration, ended, failure error) error {
	s := fmt.Sprintf("%v: acquire %s: after %v: ", ErrUnavailable, key, waited.Round(time.Millisecond))
	if ended != nil {
		s += ended.Error() + "; meanwhile "
	}
	s += failure.Error()
	if errors.Is(failure, context.Canceled) || errors.Is(failure, context.DeadlineExceeded) {
		failure = nil
	}
	return &textError{s, errors.Join(ErrUnavailable, ended, failure)}
}
