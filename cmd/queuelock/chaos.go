package main

import (
	"github.com/spf13/cobra"

	"github.com/queuelock/queuelock/internal/testbed/chaos/worker"
)

// newChaosWorker is the hidden command by which "make chaos" starts its
// workers. It ends by SIGTERM, with exit code 0.
func newChaosWorker() *cobra.Command {
	var s settings
	cmd := &cobra.Command{
		Use:    "chaos-worker",
		Short:  "One worker of make chaos",
		Hidden: true,
		Args:   noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := signalContext(cmd.Context())
			defer stop()
			db, err := s.connect(ctx)
			if err != nil {
				return err
			}
			defer db.close()
			if worker.Work(ctx, db, cmd.InOrStdin(), direct(cmd.OutOrStdout())) != nil {
				return &exitError{code: exitFailed} // it was reported
			}
			return nil
		},
	}
	s.addFlags(cmd)
	return cmd
}
