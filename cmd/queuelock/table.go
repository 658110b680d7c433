package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/spf13/cobra"

	"github.com/queuelock/queuelock"
)

// createLimit bounds how long a table may take to become active. DynamoDB
// takes about ten seconds.
const createLimit = 3 * time.Minute

// answerLimit bounds how long a command waits for the answers of DynamoDB. Tests shorten it.
var answerLimit = 30 * time.Second

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
			db, _, err := s.contact(cmd.Context(), cmd.ErrOrStderr(), s.table)
			if err != nil {
				return err
			}
			defer db.close()
			if err := awaitTable(cmd.Context(), cmd.ErrOrStderr(), db, s.table, s.config(queuelock.Config{})); err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "table %q is ready\n", s.table)
			return err
		},
	}
	s.addFlags(cmd)
	return cmd
}

// contact connects, and describes the table. Its description is nil if there is none.
func (s *settings) contact(ctx context.Context, stderr io.Writer, table string) (*database, *types.TableDescription, error) {
	p := s.patience(ctx, stderr, answerLimit)
	defer p.end()
	db, err := s.connect(p.ctx)
	if err != nil {
		return nil, nil, err
	}
	out, err := db.DescribeTable(p.ctx, &dynamodb.DescribeTableInput{TableName: &table})
	if _, missing := errors.AsType[*types.ResourceNotFoundException](err); missing {
		return db, nil, nil
	}
	if err != nil {
		db.close()
		return nil, nil, p.unavailable(err)
	}
	return db, out.Table, nil
}

// awaitTable creates a table, or checks the one that is there, and waits until it is active.
func awaitTable(ctx context.Context, stderr io.Writer, db *database, table string, cfg queuelock.Config) error {
	p := newPatience(ctx, stderr, fmt.Sprintf("the table %q to be active", table), createLimit)
	defer p.end()
	if err := queuelock.CreateTable(p.ctx, db, table, cfg); err != nil {
		return p.unavailable(err)
	}
	return nil
}

// createTable creates a table at an engine of this host.
func createTable(ctx context.Context, db *database, table string) error {
	return awaitTable(ctx, io.Discard, db, table, queuelock.Config{})
}
