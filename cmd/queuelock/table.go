package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/queuelock/queuelock/cmd/queuelock/internal/help"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/spf13/cobra"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/cmd/queuelock/internal/display"
	"github.com/queuelock/queuelock/queue"
)

// createLimit bounds how long a table may take to become active, or to be deleted.
// DynamoDB takes about ten seconds.
const createLimit = 3 * time.Minute

// answerLimit bounds how long a command waits for the answers of DynamoDB. Tests shorten it.
var answerLimit = 30 * time.Second

func newTable() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "table COMMAND",
		Short: "Create, describe or delete the table",
		Long:  `Creates, describes or deletes the table that the other commands use.`,
	}
	needsCommand(cmd)
	cmd.AddCommand(newTableCreate(&cobra.Command{Use: "create", Short: "Create the table, or check the one that is there"}), newTableDescribe(), newTableDelete())
	return cmd
}

func newCreateTable() *cobra.Command {
	return newTableCreate(&cobra.Command{Use: "create-table", Short: "The same as 'table create'"})
}

type tableFlags struct {
	settings
	protection, recovery bool
	tags                 []string
}

// newTableCreate makes cmd create the table.
func newTableCreate(cmd *cobra.Command) *cobra.Command {
	var f tableFlags
	cmd.Long = `Creates the table that the other commands use, with on-demand billing, and waits until it is
active. Its keys are "pk" and "sk" of type S, and its TTL attribute is "expiresAt". A table that
is there already is checked, and its TTL is enabled; one with other keys is left alone. The
output says whether the table was created. A repeated call is safe.

--deletion-protection, --point-in-time-recovery and --tag are for a new table.

` + exitCodesHelp
	cmd.Example = `  queuelock table create
  queuelock table create --table locks --deletion-protection --tag team=ops`
	cmd.Args = cobra.NoArgs
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return f.create(cmd) }
	f.addFlags(cmd)
	cmd.Flags().BoolVar(&f.protection, "deletion-protection", false, "let AWS refuse to delete the table")
	cmd.Flags().BoolVar(&f.recovery, "point-in-time-recovery", false, "back up continuously; see docs/operations-table.md before a restore")
	cmd.Flags().StringArrayVar(&f.tags, "tag", nil, "a tag of the table, `KEY=VALUE`; may be repeated")
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
	if err := f.check(); err != nil {
		return err
	}
	c := &creation{protection: f.protection}
	tags, err := parseTags(f.tags)
	if err != nil {
		return err
	}
	for _, tag := range tags {
		c.tags = append(c.tags, types.Tag{Key: &tag.Key, Value: &tag.Value})
	}
	db, _, err := f.contact(cmd.Context(), cmd.ErrOrStderr(), f.table)
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

// recover enables point-in-time recovery.
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

// check checks the table and its keys, before any request.
func (f *tableFlags) check() error {
	return checkArguments(f.table, f.config(queuelock.Config{}), nil)
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

// existing connects, and describes a table that must be there.
func (f *tableFlags) existing(cmd *cobra.Command) (*database, *types.TableDescription, error) {
	if err := f.check(); err != nil {
		return nil, nil, err
	}
	db, found, err := f.contact(cmd.Context(), cmd.ErrOrStderr(), f.table)
	if err != nil {
		return nil, nil, err
	}
	if found == nil {
		db.close()
		return nil, nil, unavailable(&queue.TableError{Table: f.table, Err: &types.ResourceNotFoundException{}})
	}
	return db, found, nil
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

// createTable creates a table at an engine of this host.
func createTable(ctx context.Context, db *database, table string) error {
	return awaitTable(ctx, io.Discard, db, table, queuelock.Config{})
}

// tableReport describes a table for machines. Unknown values are null.
type tableReport struct {
	Name       string   `json:"name" help:"the table"`
	Status     string   `json:"status" help:"as DynamoDB names it"`
	Keys       string   `json:"keys" help:"the keys and their types"`
	KeysFit    bool     `json:"keys_fit" help:"they are those that the locks need"`
	Billing    string   `json:"billing" help:"on demand, or provisioned with its units"`
	TTL        *string  `json:"ttl_attribute" help:"the attribute of the TTL, empty if that is off"`
	Protection *bool    `json:"deletion_protection" help:"it is on"`
	Recovery   *bool    `json:"point_in_time_recovery" help:"it is on"`
	Replicas   []string `json:"replicas" help:"other regions"`
	Items      *int64   `json:"items" help:"how many items, up to six hours ago"`
	Bytes      *int64   `json:"bytes" help:"their size, likewise"`
}

func newTableDescribe() *cobra.Command {
	var f tableFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "describe",
		Short: "Describe the table: keys, billing, TTL, protection, size",
		Long: `Describes the table: its keys, and whether they are those that the locks need; its billing, its
TTL attribute, deletion protection, point-in-time recovery, regions, and its size of up to six
hours ago. A "?" is what these credentials may not see. "queuelock doctor" checks more.

--json prints one object.

` + help.Fields("JSON; null: these credentials may not see it", tableReport{}) + "\n\n" + exitCodesHelp,
		Example: `  queuelock table describe --table locks`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			db, found, err := f.existing(cmd)
			if err != nil {
				return err
			}
			defer db.close()
			p := f.patience(cmd.Context(), cmd.ErrOrStderr(), answerLimit)
			report := f.report(p.ctx, db, found)
			p.end()
			if asJSON {
				return display.JSON(cmd.OutOrStdout(), report)
			}
			return report.print(cmd.OutOrStdout())
		},
	}
	f.addFlags(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

func (f *tableFlags) report(ctx context.Context, db *database, d *types.TableDescription) tableReport {
	r := tableReport{
		Name: aws.ToString(d.TableName), Status: string(d.TableStatus), Billing: "provisioned", Replicas: []string{},
		Protection: d.DeletionProtectionEnabled, Items: d.ItemCount, Bytes: d.TableSizeBytes,
	}
	r.Keys, r.KeysFit = describeKeys(d, f.partitionKey, f.sortKey)
	if b := d.BillingModeSummary; b != nil && b.BillingMode == types.BillingModePayPerRequest {
		r.Billing = "on demand"
	} else if t := d.ProvisionedThroughput; t != nil {
		r.Billing = fmt.Sprintf("provisioned, %d read and %d write units", aws.ToInt64(t.ReadCapacityUnits), aws.ToInt64(t.WriteCapacityUnits))
	}
	for _, replica := range d.Replicas {
		r.Replicas = append(r.Replicas, aws.ToString(replica.RegionName))
	}
	if out, err := db.DescribeTimeToLive(ctx, &dynamodb.DescribeTimeToLiveInput{TableName: &f.table}); err == nil {
		r.TTL = new(string)
		if ttl := out.TimeToLiveDescription; ttl != nil && (ttl.TimeToLiveStatus == types.TimeToLiveStatusEnabled || ttl.TimeToLiveStatus == types.TimeToLiveStatusEnabling) {
			r.TTL = ttl.AttributeName
		}
	}
	out, err := db.DescribeContinuousBackups(ctx, &dynamodb.DescribeContinuousBackupsInput{TableName: &f.table})
	if err == nil && out.ContinuousBackupsDescription != nil && out.ContinuousBackupsDescription.PointInTimeRecoveryDescription != nil {
		on := out.ContinuousBackupsDescription.PointInTimeRecoveryDescription.PointInTimeRecoveryStatus == types.PointInTimeRecoveryStatusEnabled
		r.Recovery = &on
	}
	return r
}

// describeKeys describes the keys of a table, and reports whether they have these names
// and type S.
func describeKeys(d *types.TableDescription, partition, sort string) (found string, fit bool) {
	kinds := map[string]types.ScalarAttributeType{}
	for _, a := range d.AttributeDefinitions {
		kinds[aws.ToString(a.AttributeName)] = a.AttributeType
	}
	var names []string
	fit = len(d.KeySchema) == 2
	for i, k := range d.KeySchema {
		name := aws.ToString(k.AttributeName)
		names = append(names, fmt.Sprintf("%q (%s)", name, kinds[name]))
		fit = fit && name == []string{partition, sort}[i] && kinds[name] == types.ScalarAttributeTypeS
	}
	return strings.Join(names, ", "), fit
}

func (r tableReport) print(out io.Writer) error {
	onOff := func(value *bool) string {
		switch {
		case value == nil:
			return "?"
		case *value:
			return "on"
		}
		return "off"
	}
	number := func(n *int64, unit string) string {
		if n == nil {
			return "?"
		}
		return fmt.Sprintf("%d %s", *n, unit)
	}
	keys, ttl, replicas := r.Keys, "?", "none"
	if !r.KeysFit {
		keys += ", which are not those that are needed: see --partition-key and --sort-key"
	}
	if r.TTL != nil {
		ttl = *r.TTL
		if ttl == "" {
			ttl = "off: 'queuelock table create' enables it"
		}
	}
	if len(r.Replicas) > 0 {
		replicas = strings.Join(r.Replicas, ", ")
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, line := range [][2]string{
		{"table", r.Name}, {"status", r.Status}, {"keys", keys}, {"billing", r.Billing}, {"TTL attribute", ttl},
		{"deletion protection", onOff(r.Protection)}, {"point-in-time recovery", onOff(r.Recovery)},
		{"replicas", replicas}, {"size", number(r.Items, "items") + ", " + number(r.Bytes, "bytes")},
	} {
		fmt.Fprintf(w, "%s\t%s\n", line[0], line[1])
	}
	return w.Flush()
}

func newTableDelete() *cobra.Command {
	var f tableFlags
	var yes, force bool
	cmd := &cobra.Command{
		Use:        "delete",
		SuggestFor: []string{"drop", "remove", "rm", "destroy"},
		Short:      "Delete the table, and all locks in it",
		Long: `Deletes the table with all its locks and tickets, and waits until it is gone. A table that is
created again begins with higher tickets, by DynamoDB's clock.

It asks for the table's name; --yes answers, for scripts. It reads the whole table first, and
refuses while a lock is held, or has waiters. --force deletes it without this look. A table with
deletion protection is left alone.

Exit codes:
  1    nothing was done: a lock is in use, or the answer was not the table's name
  64   wrong usage
  69   DynamoDB cannot be used: no answer, no such table, no rights, no AWS settings`,
		Example: `  queuelock table delete --table old-locks
  queuelock table delete --table test-locks --yes --force`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.delete(cmd, yes, force) },
	}
	f.addFlags(cmd)
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask")
	cmd.Flags().BoolVar(&force, "force", false, "delete locks that are in use, too")
	return cmd
}

func (f *tableFlags) delete(cmd *cobra.Command, yes, force bool) error {
	db, found, err := f.existing(cmd)
	if err != nil {
		return err
	}
	defer db.close()
	if aws.ToBool(found.DeletionProtectionEnabled) {
		return &exitError{exitFailed, fmt.Errorf("table %q has deletion protection: disable that first, in the AWS console or with 'aws dynamodb update-table'", clip(f.table, 30))}
	}
	if _, fit := describeKeys(found, f.partitionKey, f.sortKey); !fit {
		return &exitError{exitFailed, fmt.Errorf("table %q has other keys and is none of locks: check --table, --partition-key and --sort-key", clip(f.table, 40))}
	}
	if !force {
		if err := f.refuseUsed(cmd, db); err != nil {
			return err
		}
	}
	if !yes {
		fmt.Fprintf(cmd.ErrOrStderr(), "This deletes the table %q with about %s. Type its name to confirm: ", f.table, count(int(aws.ToInt64(found.ItemCount)), "item"))
		answer, _ := bufio.NewReader(cmd.InOrStdin()).ReadString('\n')
		if strings.TrimSpace(answer) != f.table {
			fmt.Fprintln(cmd.ErrOrStderr())
			return &exitError{exitFailed, errors.New("nothing was deleted: the answer was not the table's name; for scripts, pass --yes")}
		}
	}
	p := newPatience(cmd.Context(), cmd.ErrOrStderr(), fmt.Sprintf("the table %q to be deleted", f.table), createLimit)
	defer p.end()
	if _, err := db.DeleteTable(p.ctx, &dynamodb.DeleteTableInput{TableName: &f.table}); err != nil {
		return p.unavailable(err)
	}
	gone := dynamodb.NewTableNotExistsWaiter(db, func(o *dynamodb.TableNotExistsWaiterOptions) { o.MinDelay = time.Second })
	if err := gone.Wait(p.ctx, &dynamodb.DescribeTableInput{TableName: &f.table}, createLimit); err != nil {
		return p.unavailable(err)
	}
	p.end()
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "table %q is deleted\n", f.table)
	return err
}

// refuseUsed is an error if a lock of the table has a holder or a waiter.
func (f *tableFlags) refuseUsed(cmd *cobra.Command, db *database) error {
	client, err := queuelock.New(db, f.table, f.config(queuelock.Config{}))
	if err != nil {
		return usagef("%w", err)
	}
	p := newPatience(cmd.Context(), cmd.ErrOrStderr(), "a scan of the table", createLimit)
	defer p.end()
	used, example := 0, ""
	for state, err := range client.Viewer().Queues(p.ctx, queuelock.ScanConfig{}) {
		if state == nil {
			return p.unavailable(err)
		}
		if err != nil || !state.Idle() {
			used, example = used+1, queuelock.Key{Entity: state.Entity, Reason: state.Reason}.String()
		}
	}
	if used > 0 {
		return &exitError{exitFailed, fmt.Errorf("table %q has locks in use (%d), such as %s: release them, or repeat the command with --force",
			clip(f.table, 30), used, clip(example, 36))}
	}
	return nil
}
