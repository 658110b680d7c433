package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/cmd/queuelock/internal/keeper"
)

// unlockLimit bounds an unlock: a keeper's release, and some more.
const unlockLimit = 20 * time.Second

func newUnlock() *cobra.Command {
	var f handleFlags
	cmd := &cobra.Command{
		Use:   "unlock [HANDLE]",
		Short: "Release a lock of queuelock lock, or leave a place",
		Long: `Releases the lock that "queuelock lock" has acquired on this host, by its handle or by
QUEUELOCK_HANDLE, and reports whether it was held until now. After exit code 70, check what
the steps since "queuelock lock" have done: another client may have held the lock meanwhile.

A place that lock or run has kept is left, by its handle or with --ticket: the others do not wait for
it any more. That asks DynamoDB.`,
		Example: `  queuelock unlock "$handle"
  queuelock unlock --ticket deploy.ticket

Exit codes:
  0    the lock was held until now, and is released; or nothing is left of the place
  1    no lock has this handle: it was unlocked before, or the handle is wrong
  64   wrong usage
  75   a process uses the file of --ticket
  69   the lock could not be released: its lease ends it, or its keeper is stopped
  70   the lock was lost: it expired or was evicted, --max-hold was over, the process of
       --parent-pid has ended, or the keeper was killed`,
	}
	cmd.Flags().StringVar(&f.ticket, "ticket", "", "leave the place of that `FILE`, and remove it")
	return f.command(cmd, unlock, func(ctx context.Context, client *queuelock.Client, h savedHandle) error {
		var late error // the lock is released all the same, and if the look fails
		if h.Held && errors.Is(runs(ctx, client, h), queuelock.ErrGone) {
			late = queuelock.ErrGone
		}
		err := errors.Join(client.Leave(ctx, h.Handle), client.Close(ctx))
		if err == nil && f.ticket != "" {
			err = os.Remove(f.ticket)
		}
		return cmp.Or(err, late)
	})
}

func unlock(ctx context.Context, handle string) error {
	ctx, cancel := context.WithTimeout(ctx, unlockLimit)
	defer cancel()
	outcome, err := keeper.Unlock(ctx, handle)
	switch {
	case errors.Is(err, keeper.ErrNoLock):
		return &exitError{exitFailed, unanswered(err, unlockLimit)}
	case err != nil:
		return &exitError{exitUnavailable, unanswered(err, unlockLimit)}
	case outcome.Result == keeper.Released:
		return nil
	case outcome.Result == keeper.Lost:
		return &exitError{exitLost, lossOf(outcome)}
	}
	return &exitError{exitUnavailable, errors.New(outcome.Message)}
}

// unanswered says why no keeper has answered within the limit.
func unanswered(err error, limit time.Duration) error {
	silent, isSilent := errors.AsType[*keeper.SilentError](err)
	switch {
	case errors.Is(err, keeper.ErrNoLock):
		return fmt.Errorf("%w: see 'queuelock status' for whether its lock is held", err)
	case isSilent:
		return fmt.Errorf("process %d, perhaps the keeper, is stopped or ending: continue it with 'kill -CONT %d', and repeat; see 'queuelock status'", silent.Pid, silent.Pid)
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("the keeper has not answered for %v: its lease ends the lock if it does not continue", limit)
	}
	return fmt.Errorf("the keeper cannot be reached: %w", err)
}

func lossOf(o keeper.Outcome) error { return fmt.Errorf("the lock was lost: %s", o.Message) }
