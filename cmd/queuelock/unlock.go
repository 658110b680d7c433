package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/queuelock/queuelock/cmd/queuelock/internal/keeper"
)

// unlockLimit bounds an unlock: a keeper's release, and some more.
const unlockLimit = 20 * time.Second

func newUnlock() *cobra.Command {
	return &cobra.Command{
		Use:   "unlock [HANDLE]",
		Short: "Release a lock of queuelock lock",
		Long: `Releases the lock that "queuelock lock" has acquired on this host, by its handle or by
QUEUELOCK_HANDLE, and reports whether it was held until now. After exit code 70, check what
the steps since "queuelock lock" have done: another client may have held the lock meanwhile.`,
		Example: `  queuelock unlock "$handle"

Exit codes:
  0    the lock was held until now, and is released
  1    no lock has this handle: it was unlocked before, or the handle is wrong
  64   wrong usage
  69   the lock could not be released: its lease ends it, or its keeper is stopped
  70   the lock was lost: it expired or was evicted, --max-hold was over, the process of
       --parent-pid has ended, or the keeper was killed`,
		Args: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) > 1:
				return tooMany(cmd, args[1], "")
			case len(args) == 0 && os.Getenv("QUEUELOCK_HANDLE") == "":
				return usagef("HANDLE is missing: give what 'queuelock lock' has printed")
			case len(args) == 1 && args[0] == "":
				return usagef("HANDLE is empty: give what 'queuelock lock' has printed")
			}
			return nil
		},
		ValidArgsFunction: offerFiles,
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, cancel := context.WithTimeout(cmd.Context(), unlockLimit)
			defer cancel()
			return unlock(ctx, cmp.Or(append(args, os.Getenv("QUEUELOCK_HANDLE"))...))
		},
	}
}

func unlock(ctx context.Context, handle string) error {
	outcome, err := keeper.Unlock(ctx, handle)
	silent, isSilent := errors.AsType[*keeper.SilentError](err)
	switch {
	case errors.Is(err, keeper.ErrNoLock):
		return &exitError{exitFailed, fmt.Errorf("%w: see 'queuelock status' for whether its lock is held", err)}
	case isSilent:
		return &exitError{exitUnavailable, fmt.Errorf("process %d, perhaps the keeper, is stopped or ending: continue it with 'kill -CONT %d', and repeat; see 'queuelock status'", silent.Pid, silent.Pid)}
	case errors.Is(err, context.DeadlineExceeded):
		return &exitError{exitUnavailable, fmt.Errorf("the keeper has not answered for %v: its lease ends the lock if it does not continue", unlockLimit)}
	case err != nil:
		return &exitError{exitUnavailable, fmt.Errorf("the keeper cannot be reached: %w", err)}
	}
	switch outcome.Result {
	case keeper.Released:
		return nil
	case keeper.Lost:
		return &exitError{exitLost, fmt.Errorf("the lock was lost: %s", outcome.Message)}
	}
	return &exitError{exitUnavailable, fmt.Errorf("the release failed, the lease ends the lock: %s", outcome.Message)}
}
