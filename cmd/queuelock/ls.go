package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/cmd/queuelock/internal/display"
	"github.com/queuelock/queuelock/cmd/queuelock/internal/doctor"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/queue"
)

// sortedTogether is how many queues are sorted and printed together. It bounds the memory.
const sortedTogether = 10_000

// defaultRate is a rate of read units that a table on demand does not notice.
const defaultRate = 100

type lsFlags struct {
	settings
	output string
	busy   bool
	quiet  bool
	units  bool
	rate   float64
}

func newLs() *cobra.Command {
	var f lsFlags
	cmd := &cobra.Command{
		Use:   "ls [PREFIX]",
		Short: "List the queues of the table",
		Long: `Lists all queues of the table, or those whose entities begin with PREFIX: mode, holder, how long
that has held the lock, how many wait, and the longest wait. It changes nothing.

It scans the whole table, also with a PREFIX: one read unit for each 4 KB. It first prints what
that costs, on standard error, and keeps to --max-rcu. docs/observe.md describes the outputs.

Each queue is as its page of the scan showed it. The lock of an item (LockItem) is listed only
while clients wait for it: its holder is in the item, which "status --item" shows.

--units estimates heartbeats and looks, and turns where clients wait, as if all stayed as it is.

` + display.Fields("JSON and YAML, for each queue; durations in seconds, null: not known", display.Line{}) +
			"\n\n" + exitCodes("0    the table was read", codeWritten, codeUsage, codeUnavailable),
		Example: `  queuelock ls deploy/
  queuelock ls --busy -o json | jq 'select(.longest_wait_seconds>60).entity'
  queuelock ls --max-rcu 1000`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, strings.Join(args, "")) },
	}
	flags := cmd.Flags()
	outputs.addFlag(cmd, &f.output, "output", "o", "the `FORMAT`")
	flags.BoolVar(&f.busy, "busy", false, "only queues that have a holder or a waiter")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "do not print the cost")
	flags.BoolVar(&f.units, "units", false, "show about how many capacity units each queue needs in an hour")
	addRate(flags, &f.rate)
	f.addFlags(cmd)
	cmd.ValidArgsFunction = f.offerEntities(func(before []string) bool { return len(before) == 0 })
	return cmd
}

func addRate(flags *pflag.FlagSet, rate *float64) {
	within(flags, rate, "max-rcu", "", defaultRate, 0, 1e6, "the read `UNITS` to use in a second, on average; 0: no bound")
}

func (f *lsFlags) run(cmd *cobra.Command, prefix string) error {
	ctx, stop := signalContext(cmd.Context())
	defer stop()
	o, err := f.openTable(ctx, cmd.ErrOrStderr())
	if err != nil {
		return interrupted(ctx, err)
	}
	defer o.close()
	stderr := cmd.ErrOrStderr()
	if f.quiet {
		stderr = io.Discard
	}
	fmt.Fprintln(stderr, "queuelock:", o.cost(f.rate))
	return interrupted(ctx, f.list(ctx, cmd.OutOrStdout(), stderr, o.client, prefix))
}

func (f *lsFlags) list(ctx context.Context, out, stderr io.Writer, client *queuelock.Client, prefix string) error {
	begun := time.Now()
	var lines []display.Line
	var units float64
	var hourly display.Units
	printed := 0
	flush := func() error {
		slices.SortFunc(lines, display.Line.Compare)
		err := f.print(out, lines, printed > 0)
		printed, lines = printed+len(lines), lines[:0]
		return err
	}
	for state, err := range client.Viewer().Queues(ctx, queuelock.ScanConfig{Prefix: prefix, MaxRate: f.rate, OnPage: func(u float64) { units += u }}) {
		if state == nil {
			return errors.Join(flush(), unavailable(err))
		}
		if line := display.NewLine(state, err); !f.busy || line.State != display.Idle || err != nil {
			lines, hourly = append(lines, line), hourly.Add(line.Units)
		}
		if len(lines) == sortedTogether {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	if err := flush(); err != nil {
		return err
	}
	if f.units {
		fmt.Fprintf(stderr, "queuelock: %v, if all stays as it is\n", hourly)
	}
	_, err := fmt.Fprintf(stderr, "queuelock: %s; %s in %v\n", display.Count(printed, "queue"), measure(units, "read unit"), display.Duration(time.Since(begun)))
	return err
}

func (f *lsFlags) print(out io.Writer, lines []display.Line, more bool) error {
	if len(lines) == 0 {
		return nil
	}
	write, ok := display.Machine[f.output]
	if !ok {
		return display.Lines(out, lines, f.output == "wide", f.units)
	}
	for i, l := range lines {
		if f.output == "yaml" && (more || i > 0) {
			if _, err := io.WriteString(out, "---\n"); err != nil {
				return err
			}
		}
		if err := write(out, l); err != nil {
			return err
		}
	}
	return nil
}

// measure prints an amount of a unit, with four digits.
func measure(n float64, unit string) string {
	number := fmt.Sprintf("%.4g", n)
	if number != "1" {
		unit += "s"
	}
	return number + " " + unit
}

// opened is a table, and a client of the library for it.
type opened struct {
	client *queuelock.Client
	db     *database
	local  bool                    // the engine is on this host, and counts at once
	table  *types.TableDescription // nil if it was not described
}

func (o *opened) close() { o.db.close() } // a client that acquired nothing needs no Close

// leave ends the connection after requests of an operator: nothing depends on what they left in the background.
func (o *opened) leave(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), statusLimit)
	defer cancel()
	_ = o.client.Close(ctx)
	o.close()
}

// open returns a client for looks. What the library refuses before its first request is
// the caller's to correct.
func (s *settings) open(ctx context.Context, key queuelock.AnyKey, cfg queuelock.Config) (*opened, error) {
	cfg = s.config(cfg)
	if err := checkArguments(s.table, cfg, key); err != nil {
		return nil, err
	}
	db, err := s.connect(ctx)
	if err != nil {
		return nil, err
	}
	client, err := queuelock.New(db, s.table, cfg)
	if err != nil {
		db.close()
		return nil, usagef("%w", err)
	}
	return &opened{client: client, db: db, local: isLoopback(aws.ToString(db.Options().BaseEndpoint))}, nil
}

// openTable returns a client for scans. It describes the table, which fails early if there
// is none. The right to do so is not needed.
func (s *settings) openTable(ctx context.Context, stderr io.Writer) (*opened, error) {
	o, err := s.open(ctx, nil, queuelock.Config{})
	if err != nil {
		return nil, err
	}
	p := s.patience(ctx, stderr, statusLimit)
	defer p.end()
	out, err := o.db.DescribeTable(p.ctx, &dynamodb.DescribeTableInput{TableName: &s.table})
	_, missing := errors.AsType[*types.ResourceNotFoundException](err)
	switch {
	case err == nil:
		o.table = out.Table
		err = table.Layout{Table: s.table, PK: s.partitionKey, SK: s.sortKey}.CheckKeys(out.Table)
	case doctor.Denied(err):
		err = nil
	case missing:
		err = &queue.TableError{Table: s.table, Err: err}
	}
	if err != nil {
		o.close()
		return nil, p.unavailable(err)
	}
	return o, nil
}

func (o *opened) cost(rate float64) string {
	bound := "with no bound"
	if rate > 0 {
		bound = fmt.Sprintf("at most %v a second", rate)
	}
	if o.table == nil {
		return fmt.Sprintf("a scan of the table: one read unit for each 4 KB, %s; its size is not known without dynamodb:DescribeTable", bound)
	}
	size := aws.ToInt64(o.table.TableSizeBytes)
	units := max(4, float64((size+4095)/4096)) // each segment has a last page
	when := ", as DynamoDB counted some hours ago"
	if o.local {
		when = ""
	}
	text := fmt.Sprintf("a scan of %s (%s%s): about %.0f read units, %s", display.Count(int(aws.ToInt64(o.table.ItemCount)), "item"), bytesOf(size), when, units, bound)
	if rate > 0 {
		text += fmt.Sprintf(", %v", max(time.Second, time.Duration(units/rate*float64(time.Second)).Round(time.Second)))
	}
	return text
}

func bytesOf(n int64) string {
	size, unit := float64(n), "B"
	for _, next := range []string{"KB", "MB", "GB", "TB"} {
		if size < 1024 {
			break
		}
		size, unit = size/1024, next
	}
	return fmt.Sprintf("%.3g %s", size, unit)
}
