package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/spf13/cobra"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/cmd/queuelock/internal/template"
)

// createLimit bounds how long a table may take to become active.
// DynamoDB takes about ten seconds.
const createLimit = 3 * time.Minute

// answerLimit bounds how long a command waits for the answers of DynamoDB. Tests shorten it.
var answerLimit = 30 * time.Second

func newTable() *cobra.Command {
	cmd := &cobra.Command{Use: "table COMMAND", Short: "Create the table"}
	needsCommand(cmd)
	cmd.AddCommand(newTableCreate(&cobra.Command{Use: "create", Short: "Create the table, or check the one that is there"}))
	return cmd
}

func newCreateTable() *cobra.Command {
	return newTableCreate(&cobra.Command{Use: "create-table", Short: "The same as 'table create'"})
}

type tableFlags struct {
	settings
	protection, recovery bool
	tags                 []template.Tag
}

func newTableCreate(cmd *cobra.Command) *cobra.Command {
	var f tableFlags
	cmd.Long = `Creates the table that the other commands use, with on-demand billing, and waits until it is
active. Its keys are "pk" and "sk" of type S, and its TTL attribute is "expiresAt". A table that
is there already is checked, and its TTL is enabled; one with other keys is left alone. The
output says whether the table was created. A repeated call is safe.

--deletion-protection, --point-in-time-recovery and --tag are for a new table.

` + exitCodes(codeUsage, codeUnavailable)
	cmd.Example = `  queuelock table create
  queuelock table create --table locks --deletion-protection --tag team=ops`
	cmd.Args = cobra.NoArgs
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return f.create(cmd) }
	f.addFlags(cmd)
	cmd.Flags().BoolVar(&f.protection, "deletion-protection", false, "let AWS refuse to delete the table")
	cmd.Flags().BoolVar(&f.recovery, "point-in-time-recovery", false, "back up continuously; see docs/operations-table.md before a restore")
	addTags(cmd.Flags(), &f.tags)
	return cmd
}

// creation is a client that creates the table with the flags' settings, and knows whether
// it has done so.
type creation struct {
	*database
	protection bool
	tags       []types.Tag
	created    bool
}

func (c *creation) CreateTable(ctx context.Context, in *dynamodb.CreateTableInput, opts ...func(*dynamodb.Options)) (*dynamodb.CreateTableOutput, error) {
	in.Tags = c.tags
	if c.protection {
		in.DeletionProtectionEnabled = aws.Bool(true)
	}
	out, err := c.database.CreateTable(ctx, in, opts...)
	c.created = err == nil
	return out, err
}

func (f *tableFlags) create(cmd *cobra.Command) error {
	if err := checkArguments(f.table, f.config(queuelock.Config{}), nil); err != nil {
		return err
	}
	c := &creation{protection: f.protection}
	for _, tag := range f.tags {
		c.tags = append(c.tags, types.Tag{Key: &tag.Key, Value: &tag.Value})
	}
	db, err := f.contact(cmd.Context(), cmd.ErrOrStderr(), f.table)
	if err != nil {
		return err
	}
	defer db.close()
	c.database = db
	if err := awaitTable(cmd.Context(), cmd.ErrOrStderr(), c, f.table, f.config(queuelock.Config{})); err != nil {
		return err
	}
	if !c.created {
		if f.protection || f.recovery || len(f.tags) > 0 {
			fmt.Fprintln(cmd.ErrOrStderr(), "queuelock: the table was there already: protection, recovery and tags are left as they are")
		}
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "table %q exists already, and is ready\n", f.table)
		return err
	}
	if f.recovery {
		if err := f.recover(cmd, db); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "table %q is created, and is ready\n", f.table)
	return err
}

func (f *tableFlags) recover(cmd *cobra.Command, db *database) error {
	p := f.patience(cmd.Context(), cmd.ErrOrStderr(), answerLimit)
	defer p.end()
	_, err := db.UpdateContinuousBackups(p.ctx, &dynamodb.UpdateContinuousBackupsInput{
		TableName:                        &f.table,
		PointInTimeRecoverySpecification: &types.PointInTimeRecoverySpecification{PointInTimeRecoveryEnabled: aws.Bool(true)},
	})
	if err != nil {
		err = &briefError{fmt.Sprintf("table %q is created, but its point-in-time recovery is not enabled: enable it in the AWS console; see --verbose", clip(f.table, 40)), err}
		return p.unavailable(err)
	}
	return nil
}

// contact connects, and asks for the table, which need not be there, so that a wrong address is noticed early.
func (s *settings) contact(ctx context.Context, stderr io.Writer, table string) (*database, error) {
	p := s.patience(ctx, stderr, answerLimit)
	defer p.end()
	db, err := s.connect(p.ctx)
	if err != nil {
		return nil, err
	}
	_, err = db.DescribeTable(p.ctx, &dynamodb.DescribeTableInput{TableName: &table})
	if _, missing := errors.AsType[*types.ResourceNotFoundException](err); err == nil || missing {
		return db, nil
	}
	db.close()
	return nil, p.unavailable(err)
}

// awaitTable creates a table, or checks the one that is there, and waits until it is active.
func awaitTable(ctx context.Context, stderr io.Writer, db queuelock.TableAPI, table string, cfg queuelock.Config) error {
	p := newPatience(ctx, stderr, fmt.Sprintf("the table %q to be active", table), createLimit)
	defer p.end()
	if err := queuelock.CreateTable(p.ctx, db, table, cfg); err != nil {
		return p.unavailable(err)
	}
	return nil
}

func createTable(ctx context.Context, db *database, table string) error {
	return awaitTable(ctx, io.Discard, db, table, queuelock.Config{})
}
