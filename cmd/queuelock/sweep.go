package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/cmd/queuelock/internal/display"
	"github.com/queuelock/queuelock/internal/workload/benchmark/capacity"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/sweeper"
)

type sweepFlags struct {
	settings
	reason            string
	all, dryRun, json bool
	rate              float64
}

func newSweep() *cobra.Command {
	var f sweepFlags
	cmd := &cobra.Command{
		Use:   "sweep ENTITY | sweep --all",
		Short: "Remove expired holders and waiters",
		Long: `Removes the holders and the waiters of a queue whose leases have ended. Waiters do the same, so
sweep is for queues without waiters: what crashed clients have left there does no harm, and is
removed by the next client. No live lease is removed.

--all scans the table for such queues. It prints what that costs first, and keeps to --max-rcu.
A lease without a known end is judged by observation, and so is not removed here. "evict" removes
a holder without a lease.

The output has a line for each queue with something to remove, and the requests and capacity
units that were used. --json prints one object. --dry-run removes nothing.

` + display.Fields("JSON", sweepReport{}) + "\n\n" + exitCodes(codeUsage, codeUnavailable),
		Example: `  queuelock sweep deploy/prod
  queuelock sweep --all --dry-run`,
		Args: func(cmd *cobra.Command, args []string) error {
			switch {
			case !f.all:
				if len(args) == 0 {
					return usagef("ENTITY is missing: name a queue, or pass --all for all queues of the table")
				}
				return oneEntity(cmd, args)
			case len(args) > 0:
				return usagef("%.60q and --all: use one of them", args[0])
			case f.reason != "":
				return usagef("--reason and --all: use one of them")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := signalContext(cmd.Context())
			defer stop()
			return interrupted(ctx, f.run(ctx, cmd, strings.Join(args, "")))
		},
	}
	addReason(cmd.Flags(), &f.reason)
	cmd.Flags().BoolVar(&f.all, "all", false, "all queues of the table")
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, "only print what would be removed")
	cmd.Flags().BoolVar(&f.json, "json", false, "print one JSON object")
	addRate(cmd.Flags(), &f.rate)
	f.addFlags(cmd)
	cmd.ValidArgsFunction = f.offerEntities(func(before []string) bool { return len(before) == 0 && !f.all })
	return cmd
}

type sweepReport struct {
	DryRun     bool         `json:"dry_run" help:"nothing was removed"`
	Queues     int          `json:"queues" help:"how many were looked at"`
	Waiters    int          `json:"waiters" help:"how many expired waiters there were"`
	Holders    int          `json:"holders" help:"how many expired holders there were"`
	Requests   int          `json:"requests" help:"requests"`
	ReadUnits  float64      `json:"read_units" help:"read units"`
	WriteUnits float64      `json:"write_units" help:"write units"`
	Swept      []sweptQueue `json:"swept" help:"the queues with something to remove"`
}

type sweptQueue struct {
	Entity  string `json:"entity" help:"the entity"`
	Reason  string `json:"reason" help:"what the lock is for"`
	Waiters int    `json:"waiters" help:"its expired waiters"`
	Holders int    `json:"holders" help:"its expired holders"`
}

func (f *sweepFlags) run(ctx context.Context, cmd *cobra.Command, entity string) error {
	key := queuelock.Key{Entity: entity, Reason: f.reason}
	if !f.all {
		if err := checkArguments(f.table, f.config(queuelock.Config{}), key); err != nil {
			return err
		}
	}
	o, err := f.openTable(ctx, cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	defer o.close()
	if f.all {
		fmt.Fprintln(cmd.ErrOrStderr(), "queuelock:", o.cost(f.rate))
	}
	var meter capacity.Meter
	metered := o.db.another(meter.Option)
	defer metered.close()
	client, err := queuelock.New(metered, f.table, f.config(queuelock.Config{}))
	if err != nil {
		return usagef("%w", err)
	}
	report := sweepReport{DryRun: f.dryRun, Swept: []sweptQueue{}}
	if f.all {
		err = f.sweepAll(ctx, client, &report)
	} else {
		err = f.sweepOne(ctx, client, key, &report)
	}
	used := meter.Count()
	report.Requests, report.WriteUnits = used.Requests, used.WriteUnits
	report.ReadUnits += used.ReadUnits // those of a scan are counted by its pages
	if err != nil && report.Queues == 0 {
		return err
	}
	// What was removed is reported after a failure, too.
	if printErr := report.print(cmd.OutOrStdout(), f.json); err == nil {
		err = printErr
	}
	return err
}

func (f *sweepFlags) sweepAll(ctx context.Context, client *queuelock.Client, report *sweepReport) error {
	for state, err := range client.Viewer().Queues(ctx, queuelock.ScanConfig{MaxRate: f.rate, OnPage: func(units float64) { report.ReadUnits += units }}) {
		if state == nil {
			return unavailable(err)
		}
		if err != nil {
			report.Queues++
			continue // another program wrote the record
		}
		if err := f.sweep(ctx, client, state, report); err != nil {
			return err
		}
	}
	return nil
}

func (f *sweepFlags) sweepOne(ctx context.Context, client *queuelock.Client, key queuelock.Key, report *sweepReport) error {
	state, err := client.Viewer().Inspect(ctx, key)
	if err != nil {
		return unavailable(err)
	}
	if err := noQueue(key.String(), state); err != nil {
		return err
	}
	return f.sweep(ctx, client, state, report)
}

// sweep sweeps a queue if that shows something to remove.
func (f *sweepFlags) sweep(ctx context.Context, client *queuelock.Client, s *queue.State, report *sweepReport) error {
	report.Queues++
	if s.Reason == queuelock.ItemReason {
		return nil // its holder is in the item, and its rows end by the table's TTL
	}
	var swept sweeper.Swept
	for _, h := range s.Serving {
		if h.Expired() && h.Problem == nil && !h.Closed {
			swept.Holders++
		}
	}
	for _, w := range s.Waiting {
		if w.Expired() {
			swept.Waiters++
		}
	}
	if swept == (sweeper.Swept{}) {
		return nil
	}
	var err error
	key := queuelock.Key{Entity: s.Entity, Reason: s.Reason}
	if !f.dryRun {
		if swept, err = client.Operator().Sweep(ctx, key); err != nil {
			err = unavailable(err)
		}
	}
	report.Waiters += swept.Waiters
	report.Holders += swept.Holders
	report.Swept = append(report.Swept, sweptQueue{s.Entity, s.Reason, swept.Waiters, swept.Holders})
	return err
}

func (r *sweepReport) print(out io.Writer, asJSON bool) error {
	if asJSON {
		return display.JSON(out, r)
	}
	removed := "removed"
	if r.DryRun {
		removed = "would remove"
	}
	for _, q := range r.Swept {
		fmt.Fprintf(out, "%s: %s %s and %s\n", queuelock.Key{Entity: q.Entity, Reason: q.Reason}, removed, display.Count(q.Waiters, "waiter"), display.Count(q.Holders, "holder"))
	}
	_, err := fmt.Fprintf(out, "%s looked at: %s %s and %s; %s, %s, %s\n", display.Count(r.Queues, "queue"), removed,
		display.Count(r.Waiters, "waiter"), display.Count(r.Holders, "holder"), display.Count(r.Requests, "request"), measure(r.ReadUnits, "read unit"), measure(r.WriteUnits, "write unit"))
	return err
}
