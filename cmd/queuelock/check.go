package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/cmd/queuelock/internal/keeper"
)

// checkLimit bounds a check: a keeper that runs answers at once.
const checkLimit = 5 * time.Second

func newCheck() *cobra.Command {
	var f handleFlags
	return f.command(&cobra.Command{
		Use:   "check [HANDLE]",
		Short: "Ask whether a lock of queuelock lock is held",
		Long: `Asks the keeper of a lock on this host, by its handle or by QUEUELOCK_HANDLE, whether the lock
is held. It prints nothing then, and makes no request to DynamoDB. The lock may be lost just
after the answer: send its ticket with each write as well. The handle of a lock without a keeper is
looked up in the table, on any host.`,
		Example: `  queuelock check "$handle" || exit

Exit codes:
  0    the lock is held
  1    it is not known: no lock has this handle, or its keeper does not answer
  64   wrong usage
  69   DynamoDB cannot be used, which a lock without a keeper needs
  70   the lock was lost, for a reason that unlock reports too`,
	}, func(ctx context.Context, handle string) error {
		ctx, cancel := context.WithTimeout(ctx, checkLimit)
		defer cancel()
		outcome, err := keeper.Check(ctx, handle)
		switch {
		case err != nil:
			return &exitError{exitFailed, unanswered(err, checkLimit)}
		case outcome.Result != keeper.Kept:
			return &exitError{exitLost, lossOf(outcome)}
		}
		return nil
	}, func(ctx context.Context, client *queuelock.Client, h savedHandle) error {
		if !h.Held {
			return usagef("the handle is of a place: see 'queuelock status'")
		}
		return runs(ctx, client, h)
	})
}
