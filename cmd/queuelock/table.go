package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/queuelock/queuelock"
)

// createLimit bounds how long a table may take to become active. DynamoDB
// takes about ten seconds.
const createLimit = 3 * time.Minute

func newCreateTable() *cobra.Command {
	var s settings
	cmd := &cobra.Command{
		Use:   "create-table",
		Short: "Create the table, or check the one that is there",
		Long: `Creates the table that the other commands use, on demand billing, and waits until it
is active. Its keys are "pk" and "sk" of type S, and its TTL attribute "expiresAt". A
table that is there already is checked, and its TTL is enabled; one with other keys is
left alone, and the error names what was found and what is needed. Calling it again is
safe.

` + exitCodesHelp,
		Example: `  queuelock create-table
  queuelock create-table --table locks --endpoint http://127.0.0.1:8000`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkTable("--table", s.table); err != nil {
				return err
			}
			db, err := s.connect(cmd.Context())
			if err != nil {
				return err
			}
			defer db.close()
			if err := createTable(cmd.Context(), db, s.table); err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "table %q is ready\n", s.table)
			return err
		},
	}
	s.addFlags(cmd)
	return cmd
}

func createTable(ctx context.Context, db *database, table string) error {
	ctx, cancel := context.WithTimeout(ctx, createLimit)
	defer cancel()
	if err := queuelock.CreateTable(ctx, db, table, queuelock.Config{}); err != nil {
		return unavailable(err)
	}
	return nil
}
