package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/queuelock/queuelock/cmd/queuelock/internal/help"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/cmd/queuelock/internal/display"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
)

// statusLimit bounds the look at the queue, the SDK's repetitions included. Tests shorten it.
var statusLimit = 15 * time.Second

// Exit codes of --exit-code.
const (
	exitIdle   = 2 // the queue exists, and has neither a holder nor a waiter
	exitUnused = 3 // there is no such queue
)

type statusFlags struct {
	settings
	target
	output         string
	json, exitCode bool
	watch          bool
	interval       time.Duration
}

// target is the queue that flags and arguments name.
type target struct {
	reason, item, itemPrefix string
	key                      []string
}

func (f *target) addFlags(flags *pflag.FlagSet) {
	addReason(flags, &f.reason)
	flags.StringVar(&f.item, "item", "", "the `TABLE` of an item that LockItem locks")
	flags.StringArrayVar(&f.key, "key", nil, "the item's key: NAME=TEXT, NAME:N=NUMBER, or JSON; once for each attribute")
	flags.StringVar(&f.itemPrefix, "item-prefix", "lock_", "the prefix of the lock's attributes in the item")
}

func newStatus() *cobra.Command {
	var f statusFlags
	cmd := &cobra.Command{
		Use:   "status ENTITY | status --item TABLE --key KEY",
		Short: "List the holders and the waiters of a lock",
		Long: `Lists the holders of the lock of ENTITY and its waiters, in order, by one consistent read. It
changes nothing. A lease that is over belongs to a process that has crashed or is partitioned:
the next client that looks at the queue removes it. docs/observe.md describes the outputs.

--item and --key name an item that the library's LockItem locks, instead of ENTITY.
--watch looks again and again until Ctrl-C: each --interval on a terminal; elsewhere it prints
the queue again when it has changed.

` + help.Fields("JSON and YAML; durations in seconds, null: not known", display.Report{}) + `

Exit codes:
  0    the queue was read
  1    the output cannot be written
  2    with --exit-code: the queue is idle (0: it has a holder or a waiter)
  3    with --exit-code: there is no such queue
  64   wrong usage
  69   DynamoDB cannot be used: no answer, no such table, no rights, no AWS settings`,
		Example: `  queuelock status deploy/prod --watch
  queuelock status db --reason backup -o json | jq '.waiting | length'
  queuelock status --item orders --key id=order-7`,
		Args: f.arguments,
		RunE: f.run,
	}
	flags := cmd.Flags()
	outputs.addFlag(cmd, &f.output, "output", "o", "the `FORMAT`")
	flags.BoolVar(&f.json, "json", false, "the same as -o json")
	flags.BoolVar(&f.exitCode, "exit-code", false, "report the state by the exit code too")
	flags.BoolVar(&f.watch, "watch", false, "look again and again")
	flags.DurationVar(&f.interval, "interval", time.Second, "the time between two looks of --watch, from 100ms")
	f.target.addFlags(flags)
	f.settings.addFlags(cmd)
	cmd.ValidArgsFunction = f.offerEntities(func(before []string) bool { return len(before) == 0 && f.item == "" })
	return cmd
}

func (f *target) arguments(cmd *cobra.Command, args []string) error {
	switch {
	case f.item == "" && len(f.key) > 0:
		return usagef("--key is the key of an item: name its table with --item")
	case f.item == "":
		return oneEntity(cmd, args)
	case len(args) > 0:
		return usagef("%.60q and --item exclude each other: name an entity, or an item by --item and --key", args[0])
	case f.reason != "":
		return usagef("--reason and --item exclude each other: an item has one lock")
	case len(f.key) == 0:
		return usagef("--key is missing: name the item, as in --key id=order-7")
	}
	return nil
}

// subject is the queue that the command line names.
type subject struct {
	key    queuelock.AnyKey
	report queuelock.Key // for machines
	table  string        // of the queue, if it is not an item's
	name   string
	none   string // what is said if there is none
	// evict returns the command that evicts a holder; nil: there is none.
	evict func(ticket.Number) string
}

// subject returns the queue, which is in that table if it is not an item's.
func (f *target) subject(args []string, table string) (*subject, error) {
	if f.item == "" {
		key := queuelock.Key{Entity: args[0], Reason: f.reason}
		if f.reason == queuelock.ItemReason {
			return nil, usagef("--reason %s: the lock of an item is in the item: use --item TABLE --key KEY", f.reason)
		}
		return &subject{
			key: key, report: queuelock.Key{Entity: key.Entity, Reason: cmp.Or(key.Reason, queuelock.DefaultReason)}, table: table, name: key.String(), evict: func(n ticket.Number) string { return evictCommand(key, n) },
			none: fmt.Sprintf("no such queue in table %q: it was never used, or has another name (see 'queuelock ls')", table),
		}, nil
	}
	itemKey, err := parseItemKey(f.key)
	if err != nil {
		return nil, err
	}
	item := queuelock.ItemKey{Table: f.item, Key: itemKey}
	report := queuelock.Key{Entity: item.String(), Reason: queuelock.ItemReason}
	return &subject{key: item, report: report, table: table, name: "item " + item.String(), none: "no such item, or it was never locked"}, nil
}

// look reads the queue's state.
func (s *subject) look(ctx context.Context, c *queuelock.Client) (*queue.State, error) {
	state, err := c.Viewer().Inspect(ctx, s.key)
	_, missing := errors.AsType[*types.ResourceNotFoundException](err)
	item, _ := s.key.(queuelock.ItemKey)
	if wrong, ok := errors.AsType[*queue.TableError](err); ok && missing && wrong.Table == item.Table && item.Table != s.table {
		err = &briefError{fmt.Sprintf(noTable, clip(item.Table, 60), "--item"), err}
	}
	return state, err
}

func (f *statusFlags) run(cmd *cobra.Command, args []string) error {
	if f.json {
		if cmd.Flags().Changed("output") && f.output != "json" {
			return usagef("--json and -o %s exclude each other", f.output)
		}
		f.output = "json"
	}
	if f.interval < 100*time.Millisecond {
		return usagef("--interval %v: at least 100ms is needed", f.interval)
	}
	if cmd.Flags().Changed("interval") && !f.watch {
		return usagef("--interval is only for --watch: add that to look again and again")
	}
	s, err := f.subject(args, f.table)
	if err != nil {
		return err
	}
	print, err := f.printer(s)
	if err != nil {
		return err
	}
	o, err := f.open(cmd.Context(), s.key, queuelock.Config{ItemPrefix: f.itemPrefix})
	if err != nil {
		return err
	}
	defer o.close()
	if f.watch {
		return f.watching(cmd, o.client, s, print)
	}
	p := f.patience(cmd.Context(), cmd.ErrOrStderr(), statusLimit)
	state, err := s.look(p.ctx, o.client)
	p.end()
	if err != nil {
		return p.unavailable(err)
	}
	if err := print(cmd.OutOrStdout(), state); err != nil {
		return err
	}
	return f.result(state)
}

// result is the exit code that --exit-code asks for.
func (f *statusFlags) result(state *queue.State) error {
	if !f.exitCode {
		return nil
	}
	switch display.StateOf(state) {
	case display.Unused:
		return &exitError{code: exitUnused}
	case display.Idle:
		return &exitError{code: exitIdle}
	}
	return nil
}

// printer prints a state.
type printer func(io.Writer, *queue.State) error

// printer returns the function that prints a state in the format that is asked for.
func (f *statusFlags) printer(s *subject) (printer, error) {
	if !slices.Contains(outputs, f.output) {
		return nil, usagef("-o %s: need %v", f.output, outputs)
	}
	if write, ok := display.Machine[f.output]; ok {
		return func(w io.Writer, state *queue.State) error { return write(w, display.NewReport(state)) }, nil
	}
	options := display.Options{Name: s.name, None: s.none, Evict: s.evict, Wide: f.output == "wide"}
	return func(w io.Writer, state *queue.State) error { return display.Table(w, state, options) }, nil
}
