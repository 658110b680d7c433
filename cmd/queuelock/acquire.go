package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/cmd/queuelock/internal/display"
	"github.com/queuelock/queuelock/cmd/queuelock/internal/progress"
	"github.com/queuelock/queuelock/internal/play"
	"github.com/queuelock/queuelock/internal/retry"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/ticket"
	"github.com/queuelock/queuelock/waitpolicy"
)

// contactLimit bounds how long a DynamoDB that has never answered is tried.
// Tests shorten it.
var contactLimit = 10 * time.Second

// tryLimit is how long a caller that will not queue tries a DynamoDB that does not answer.
// Tests shorten it.
var tryLimit = play.TryLimit

// patienceOf returns how long credentials are looked for, before a wait: as long as DynamoDB is tried that has never answered, or
// for all of a longer wait, at most a minute.
func patienceOf(wait waitpolicy.Wait) time.Duration {
	if tries, _ := wait.Tries(); tries > 0 {
		return time.Duration(min(tries, 4)) * tryLimit
	}
	longest, limited := wait.Limit()
	if !limited {
		longest = time.Minute
	}
	return max(credentialsLimit, min(longest, time.Minute))
}

// contact reads the queue once before it takes a number. It is repeated for less
// long than a lock is waited for: a DynamoDB that has never answered is more likely
// a wrong address than a moment's trouble. By its date the lease of the lock has an
// end from the start, however soon the process is killed.
func (f *lockFlags) contact(cmd *cobra.Command, client *queuelock.Client, wait waitpolicy.Wait, signals <-chan os.Signal) error {
	ctx, cancel := context.WithCancel(cmd.Context())
	defer cancel()
	answer := make(chan error, 1)
	go func() { answer <- f.look(ctx, client, wait) }()
	select {
	case err := <-answer:
		if err != nil {
			return unavailable(err)
		}
		return nil
	case sig := <-signals:
		cancel()
		return signalled(sig.(syscall.Signal), "%v: ended before a number for %s was taken", sig, brief(f.keys[0]))
	}
}

// look makes one attempt to read the queue, and more within the wait and contactLimit while
// they fail transiently. The first has the library's own bound, however short the wait, but
// does not outlast the tries of a caller that will not queue.
func (f *lockFlags) look(ctx context.Context, client *queuelock.Client, wait waitpolicy.Wait) error {
	limit := contactLimit
	if longest, limited := wait.Limit(); limited {
		limit = min(limit, longest)
	}
	first := ctx
	if tries, _ := wait.Tries(); tries > 0 {
		most := time.Duration(min(tries, 4)) * tryLimit
		limit = min(limit, most)
		var cancel context.CancelFunc
		first, cancel = context.WithTimeout(ctx, most)
		defer cancel()
	}
	bounded, cancel := context.WithTimeout(first, limit)
	defer cancel()
	_, err := client.Viewer().Inspect(first, f.keys[0])
	for attempts := (retry.Policy{Retryable: table.Transient}).Within(contactLimit); attempts.Again(bounded, err); {
		_, again := client.Viewer().Inspect(bounded, f.keys[0])
		if bounded.Err() != nil && again != nil {
			break // what it was cut short by says less than the failure before
		}
		err = again
	}
	return err
}

func (f *lockFlags) acquire(cmd *cobra.Command, client *queuelock.Client, p plan, signals <-chan os.Signal) (*turn, error) {
	begun, wait, style := time.Now(), p.wait, f.style(cmd.ErrOrStderr())
	if err := f.contact(cmd, client, wait, signals); err != nil {
		return nil, err
	}
	wait = remaining(wait, begun)
	t, err := f.enter(cmd, client, wait, style, signals, p.options)
	if err == nil {
		if style == progress.JSON {
			f.conclude(cmd, t, begun, nil)
		}
		f.report(cmd, "acquired %v after %v", t, time.Since(begun).Round(time.Millisecond))
		return t, nil
	}
	_, unreleased := errors.AsType[*queuelock.UnreleasedError](err)
	_, own := errors.AsType[*exitError](err)
	switch {
	case own:
		return nil, err
	case errors.Is(err, queuelock.ErrGone):
		return nil, failed(f.conflict, "the place of --resume has ended: repeat the command without it")
	case unreleased || !errors.Is(err, queuelock.ErrNotAcquired):
		return nil, unavailable(err)
	}
	code, text := f.conflict, busy
	if errors.Is(err, queuelock.ErrSuperseded) {
		code = f.superseded
	}
	if e, ok := errors.AsType[*queuelock.NotAcquiredError](err); ok && e.Handle != nil {
		code, text = exitKept, func(error) error { return f.keptLine(e) }
	}
	switch {
	case f.quiet:
		return nil, &exitError{code: code}
	case style == progress.JSON:
		f.conclude(cmd, nil, begun, err)
		return nil, &exitError{code: code}
	}
	return nil, &exitError{code, text(err)}
}

// remaining is what is left of a wait that has begun.
func remaining(wait waitpolicy.Wait, begun time.Time) waitpolicy.Wait {
	if limit, limited := wait.Limit(); limited {
		return waitpolicy.For(max(0, limit-time.Since(begun)))
	}
	return wait
}

// enter waits in the queues, or for a signal.
func (f *lockFlags) enter(cmd *cobra.Command, client *queuelock.Client, wait waitpolicy.Wait, style progress.Style, signals <-chan os.Signal, options []queuelock.AcquireOption) (*turn, error) {
	ctx, cancel := context.WithCancel(cmd.Context())
	defer cancel()
	type answer struct {
		turn *turn
		err  error
	}
	answers := make(chan answer, 1)
	begun := time.Now()
	if style != progress.None {
		r := f.reporter(ctx, cmd, style, wait)
		defer r.End()
		defer f.answers.listen(r.Outage)()
		options = append(options, queuelock.OnProgress(r.Report))
	}
	go func() {
		t, err := f.take(ctx, client, wait, options)
		answers <- answer{t, err}
	}()
	select {
	case a := <-answers:
		return a.turn, a.err
	case sig := <-signals:
		cancel()
		return nil, leave(f, sig, begun, answers, signals)
	}
}

func (f *lockFlags) take(ctx context.Context, client *queuelock.Client, wait waitpolicy.Wait, options []queuelock.AcquireOption) (*turn, error) {
	if len(f.keys) > 1 {
		locks, err := client.AcquireAll(ctx, f.keys, wait, options...)
		if err != nil {
			return nil, err
		}
		return &turn{locks, locks.All()}, nil
	}
	lock, err := f.takePlace(ctx, client, wait, options)
	if err != nil {
		return nil, err
	}
	return &turn{lock, []*queuelock.Lock{lock}}, nil
}

// busy is the error of a lock that was not acquired, in one line for people.
func busy(err error) error {
	e, ok := errors.AsType[*queuelock.NotAcquiredError](err)
	if !ok {
		return err
	}
	if e.Serving == nil || !e.Serving.Endless() {
		return errors.New(busyLine(e, brief(e.Key), 40))
	}
	// The next step must be whole: no other client ends this turn. The names give way.
	room := func(next string) int { return maxLine - len("queuelock: ") - utf8.RuneCountInString(next) }
	shortest := queuelock.Key{Entity: clipped(e.Key.Entity, 14), Reason: clipped(e.Key.Reason, 10)}
	line, next := busyLine(e, brief(e.Key), 40), ": see '"+statusCommand(e.Key)+"'"
	if utf8.RuneCountInString(line) > room(next) {
		line, next = busyLine(e, shortest.String(), 14), ": see 'queuelock status'"
	}
	return errors.New(clip(line, room(next)) + next)
}

// busyLine says which lock is busy, by its name, and its holder, by so much of the owner's.
func busyLine(e *queuelock.NotAcquiredError, name string, most int) string {
	text := name + " is busy"
	if h := e.Serving; h != nil {
		text = fmt.Sprintf("%s is held by %s (ticket %s)", name, clipped(display.Owner(h.Owner), most), display.HolderTickets(*h, ticket.Number.Short))
		if h.Endless() {
			text += ", without a lease"
		}
		switch unknown := e.NotBefore.IsZero(); {
		case h.Closed && unknown: // another holder may let one in earlier
			text = name + " is closed until " + display.At(h.NotBefore)
		case h.Closed:
			text = name + " is closed until " + display.At(e.NotBefore)
		case !unknown:
			text += ", closed until " + display.At(e.NotBefore)
		}
	}
	if e.Position > 0 {
		text += fmt.Sprintf("; was waiter %d", e.Position)
	}
	if e.Blocked != nil {
		text += "; behind an entry that cannot be read"
	}
	return fmt.Sprintf("lock not acquired after %v: %s%s", e.Waited.Round(time.Millisecond), policyLine(e), text)
}

// statusCommand is what shows a queue. It has the names only if they need no quotes: the
// command is quoted itself.
func statusCommand(key queuelock.Key) string {
	if command := commandOn("status", key); !strings.Contains(command, "'") {
		return command
	}
	return "queuelock status"
}

// turn is what a command runs under: the lock of one entity, or the locks of run --all.
type turn struct {
	held
	locks []*queuelock.Lock // in the order in which the entities were given
}

// held is a Lock, or Locks.
type held interface {
	Context() context.Context
	Err() error
	Release(context.Context) error
}

// Done is closed when any of the locks is lost or released.
func (t *turn) Done() <-chan struct{} { return t.Context().Done() }

// Remaining returns the time until the first of the leases expires without a renewal.
func (t *turn) Remaining() time.Duration {
	least := time.Duration(math.MaxInt64)
	for _, lock := range t.locks {
		least = min(least, lock.Remaining())
	}
	return least
}

// Revoked is closed once the holder of any of the locks was asked to give way.
func (t *turn) Revoked() <-chan struct{} {
	if len(t.locks) == 1 {
		return t.locks[0].Revoked()
	}
	any := make(chan struct{})
	once := sync.OnceFunc(func() { close(any) })
	for _, lock := range t.locks {
		go func() {
			select {
			case <-lock.Revoked():
				once()
			case <-t.Done():
			}
		}()
	}
	return any
}

// Ticket returns the ticket that is common to all of the locks, if there is one.
func (t *turn) Ticket() (n ticket.Number, ok bool) {
	if len(t.locks) == 1 {
		return t.locks[0].Ticket(), true
	}
	return t.held.(*queuelock.Locks).Ticket()
}

// String prints the locks for people.
func (t *turn) String() string {
	var all []string
	for _, lock := range t.locks {
		all = append(all, brief(lock.Key())+" ticket "+lock.Ticket().Short())
	}
	return strings.Join(all, ", ")
}
