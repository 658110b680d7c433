package main

import (
	"github.com/spf13/cobra"

	"github.com/queuelock/queuelock/cmd/queuelock/internal/process"
)

// newSupervise is the hidden command by which run starts its supervisor.
func newSupervise() *cobra.Command {
	return &cobra.Command{
		Use:    process.Name,
		Short:  "The process between run and its command",
		Hidden: true,
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("%s is started by run only", process.Name)
			}
			return &exitError{code: process.Supervise(args[0])}
		},
	}
}
