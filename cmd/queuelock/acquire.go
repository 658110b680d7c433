package main

import (
	"context"
	"errors"
	"os"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/retry"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/waitpolicy"
)

// contactLimit bounds how long a DynamoDB that has never answered is tried.
// Tests shorten it.
var contactLimit = 10 * time.Second

// contact reads the queue once before it takes a number. It is repeated for less
// long than a lock is waited for: a DynamoDB that has never answered is more likely
// a wrong address than a moment's trouble. By its date the lease of the lock has an
// end from the start, however soon the process is killed.
func (f *runFlags) contact(cmd *cobra.Command, client *queuelock.Client, wait waitpolicy.Wait, signals <-chan os.Signal) error {
	limit := contactLimit
	if longest, limited := wait.Limit(); limited {
		limit = min(limit, longest)
	}
	ctx, cancel := context.WithCancel(cmd.Context())
	defer cancel()
	answer := make(chan error, 1)
	go func() { answer <- f.look(ctx, client, limit) }()
	select {
	case err := <-answer:
		if err != nil {
			return unavailable(err)
		}
		return nil
	case sig := <-signals:
		cancel()
		return signalled(sig.(syscall.Signal), "%v: ended before a number for %s was taken", sig, f.key)
	}
}

// look makes one attempt to read the queue, and more within the limit while they fail
// transiently.
func (f *runFlags) look(ctx context.Context, client *queuelock.Client, limit time.Duration) error {
	bounded, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	_, err := client.Inspect(ctx, f.key) // the first has the library's own bound alone
	for attempts := retry.For(contactLimit); table.Transient(err) && attempts.Pause(bounded); {
		_, again := client.Inspect(bounded, f.key)
		if bounded.Err() != nil && again != nil {
			break // what it was cut short by says less than the failure before
		}
		err = again
	}
	return err
}

// acquire waits for the lock, or for a signal. After a signal it waits until it has left
// the queue, but not for ever: a DynamoDB that does not answer cannot hold up a user. A
// second signal ends it at once. The leases end what is left in the queue then.
func (f *runFlags) acquire(cmd *cobra.Command, client *queuelock.Client, wait waitpolicy.Wait, signals <-chan os.Signal, options []queuelock.Option) (*queuelock.Lock, error) {
	ctx, cancel := context.WithCancel(cmd.Context())
	defer cancel()
	type answer struct {
		lock *queuelock.Lock
		err  error
	}
	answers := make(chan answer, 1)
	begun := time.Now()
	if !f.quiet {
		limit, limited := wait.Limit()
		b := newBulletin(ctx, cmd.ErrOrStderr(), limit, limited)
		defer b.end()
		options = append(options, queuelock.OnProgress(b.tell))
	}
	go func() {
		lock, err := client.Acquire(ctx, f.key, wait, options...)
		answers <- answer{lock, err}
	}()
	select {
	case a := <-answers:
		_, stands := errors.AsType[*queuelock.UnreleasedError](a.err)
		if a.err != nil && (stands || !errors.Is(a.err, queuelock.ErrNotAcquired)) {
			a.err = unavailable(a.err)
		}
		return a.lock, a.err
	case sig := <-signals:
		cancel()
		patience := time.NewTimer(closeLimit)
		defer patience.Stop()
		select {
		case <-answers: // a lock that was served meanwhile is released by Close
		case <-signals:
			f.hurry = true
		case <-patience.C:
			f.hurry = true
		}
		return nil, signalled(sig.(syscall.Signal), "%v: left the queue of %s after %v", sig, f.key, time.Since(begun).Round(time.Millisecond))
	}
}
