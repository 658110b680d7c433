package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/queuelock/queuelock/cmd/queuelock/internal/keeper"
)

// checkLimit bounds a check: a keeper that runs answers at once.
const checkLimit = 5 * time.Second

func newCheck() *cobra.Command {
	var f remoteFlags
	cmd := withHandle(&cobra.Command{
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
	}, checkLimit, func(ctx context.Context, handle string) error {
		outcome, err := keeper.Check(ctx, handle)
		switch {
		case err != nil:
			return &exitError{exitFailed, unanswered(err, checkLimit)}
		case outcome.Result != keeper.Kept:
			return &exitError{exitLost, lossOf(outcome)}
		}
		return nil
	})
	f.checks(cmd)
	return cmd
}
