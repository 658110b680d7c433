package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/spf13/cobra"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/cmd/queuelock/internal/display"
	"github.com/queuelock/queuelock/cmd/queuelock/internal/screen"
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
	target
	output         string
	json, exitCode bool
	watch          bool
	interval       time.Duration
}

// target are the flags of a command for one queue, or for the lock of an item.
type target struct {
	settings
	reason, item, itemPrefix string
	key                      []string
}

func (f *target) addFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	addReason(flags, &f.reason)
	flags.StringVar(&f.item, "item", "", "the `TABLE` of an item that LockItem locks")
	flags.StringArrayVar(&f.key, "key", nil, "the item's key: NAME=TEXT, NAME:N=NUMBER, or JSON; once for each attribute")
	flags.StringVar(&f.itemPrefix, "item-prefix", "lock_", "the prefix of the lock's attributes in the item")
	f.settings.addFlags(cmd)
	cmd.ValidArgsFunction = f.offerEntities(func(before []string) bool { return len(before) == 0 && f.item == "" })
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

` + display.Fields("JSON and YAML; durations in seconds, null: not known", display.Report{}) +
			"\n\n" + exitCodes(
			"0    the queue was read", codeWritten,
			"2    with --exit-code: the queue is idle (0: it has a holder or a waiter)",
			"3    with --exit-code: there is no such queue", codeUsage, codeUnavailable,
		),
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
	within(flags, &f.interval, "interval", "", time.Second, 100*time.Millisecond, 0, "the time between two looks of --watch, from 100ms")
	f.addFlags(cmd)
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
		return usagef("--reason and --item exclude each other: an item has one lock, so leave the reason out")
	case len(f.key) == 0:
		return usagef("--key is missing: name the item, as in --key id=order-7")
	}
	return nil
}

type subject struct {
	key    queuelock.AnyKey
	report queuelock.Key // for machines
	table  string        // of the queue, if it is not an item's
	name   string
	none   string // what is said if there is none
	// evict returns the command that evicts a holder; nil: there is none.
	evict func(ticket.Number) string
}

func (f *target) subject(args []string) (*subject, error) {
	if f.item == "" {
		key := queuelock.Key{Entity: args[0], Reason: f.reason}
		if f.reason == queuelock.ItemReason {
			return nil, usagef("--reason %s: the lock of an item is in the item: use --item TABLE --key KEY", f.reason)
		}
		return &subject{
			key: key, report: queuelock.Key{Entity: key.Entity, Reason: cmp.Or(key.Reason, queuelock.DefaultReason)}, table: f.table, name: key.String(), evict: func(n ticket.Number) string { return evictCommand(key, n) },
			none: fmt.Sprintf("no such queue in table %q: it was never used, or has another name (see 'queuelock ls')", f.table),
		}, nil
	}
	itemKey, err := parseItemKey(f.key)
	if err != nil {
		return nil, err
	}
	item := queuelock.ItemKey{Table: f.item, Key: itemKey}
	report := queuelock.Key{Entity: item.String(), Reason: queuelock.ItemReason}
	return &subject{key: item, report: report, table: f.table, name: "item " + item.String(), none: "no such item, or it was never locked"}, nil
}

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
			return usagef("--json and -o %s exclude each other: use one of them", f.output)
		}
		f.output = "json"
	}
	if cmd.Flags().Changed("interval") && !f.watch {
		return usagef("--interval is only for --watch: add that to look again and again")
	}
	s, err := f.subject(args)
	if err != nil {
		return err
	}
	print := f.printer(s)
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

type printer func(io.Writer, *queue.State) error

// printer returns the function that prints a state in the format that is asked for.
func (f *statusFlags) printer(s *subject) printer {
	if write, ok := display.Machine[f.output]; ok {
		return func(w io.Writer, state *queue.State) error { return write(w, display.NewReport(state)) }
	}
	options := display.Options{Name: s.name, None: s.none, Evict: s.evict, Wide: f.output == "wide"}
	return func(w io.Writer, state *queue.State) error { return display.Table(w, state, options) }
}

const keyForms = `need NAME=TEXT, NAME:N=NUMBER, or JSON such as {"id":{"S":"7"}}`

// parseItemKey reads the primary key of an item, from JSON as the AWS command line takes
// it, or from NAME=TEXT and NAME:TYPE=VALUE.
func parseItemKey(parts []string) (map[string]types.AttributeValue, error) {
	key := map[string]types.AttributeValue{}
	for _, part := range parts {
		var typed map[string]map[string]string
		if strings.HasPrefix(strings.TrimSpace(part), "{") {
			if err := json.Unmarshal([]byte(part), &typed); err != nil {
				return nil, usagef("--key %.40q is no key in JSON: %s", part, keyForms)
			}
		} else {
			name, value, ok := strings.Cut(part, "=")
			if !ok {
				return nil, usagef("--key %.40q: %s", part, keyForms)
			}
			kind := "S"
			if bare, suffix, ok := strings.Cut(name, ":"); ok {
				name, kind = bare, suffix
			}
			typed = map[string]map[string]string{name: {kind: value}}
		}
		for name, value := range typed {
			if _, twice := key[name]; twice {
				return nil, usagef("--key: the attribute %.40q is named twice: name it once", name)
			}
			v, ok := keyValue(value)
			if !ok {
				return nil, usagef("--key: the attribute %.40q needs one value of type S, N or B", name)
			}
			key[name] = v
		}
	}
	return key, nil
}

func keyValue(typed map[string]string) (types.AttributeValue, bool) {
	if len(typed) != 1 {
		return nil, false
	}
	for kind, value := range typed {
		switch kind {
		case "S":
			return &types.AttributeValueMemberS{Value: value}, true
		case "N":
			return &types.AttributeValueMemberN{Value: value}, true
		case "B":
			raw, err := base64.StdEncoding.DecodeString(value)
			return &types.AttributeValueMemberB{Value: raw}, err == nil
		}
	}
	return nil, false
}

// watching prints the state of a queue again and again, until a signal. A terminal shows
// the last look. Elsewhere each change is printed, so that a log has the queue's history.
func (f *statusFlags) watching(cmd *cobra.Command, client *queuelock.Client, s *subject, print printer) error {
	ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	var terminal *screen.Screen
	if (f.output == "table" || f.output == "wide") && runtime.GOOS != "windows" { // whose consoles need not know the sequences
		terminal = screen.Of(direct(cmd.OutOrStdout()))
	}
	var last *queue.State
	err := s.looks(ctx, client, cmd.ErrOrStderr(), f.interval, func(state *queue.State) error {
		before := last
		last = state
		return f.show(cmd.OutOrStdout(), terminal, before, state, print)
	})
	if err != nil || last == nil {
		return err
	}
	return f.result(last)
}

// looks looks at the queue again and again, until ctx ends. An outage after the first look may end by itself: it is reported
// once, as is its end.
func (s *subject) looks(ctx context.Context, client *queuelock.Client, stderr io.Writer, interval time.Duration, see func(*queue.State) error) error {
	ticks := time.NewTicker(interval)
	defer ticks.Stop()
	for first, failed := true, false; ; {
		limited, cancel := context.WithTimeout(ctx, statusLimit)
		state, err := s.look(limited, client)
		cancel()
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil && first:
			return unavailable(err)
		case err != nil && !failed:
			line := strings.NewReplacer(", and repeat the command", "", ": repeat the command", ": it may end by itself").Replace(message(unavailable(err)))
			const goesOn = "; still watching"
			fmt.Fprintln(stderr, clip(line, maxLine-len(goesOn))+goesOn)
		case err == nil:
			if failed {
				fmt.Fprintln(stderr, "queuelock: DynamoDB answers again")
			}
			first = false
			if err := see(state); err != nil {
				return err
			}
		}
		failed = err != nil
		select {
		case <-ticks.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// show prints a look, if it is the first, if it shows a change, or on a terminal.
func (f *statusFlags) show(out io.Writer, terminal *screen.Screen, last, state *queue.State, print printer) error {
	var b bytes.Buffer
	switch {
	case terminal != nil:
		fmt.Fprintf(&b, "every %v, Ctrl-C ends: %s\n\n", f.interval, state.ReadAt.Local().Format(time.TimeOnly))
	case last == nil:
	case essence(last) == essence(state):
		return nil
	case f.output == "yaml":
		b.WriteString("---\n")
	case f.output != "json":
		b.WriteString("\n")
	}
	if terminal == nil && (f.output == "table" || f.output == "wide") {
		b.WriteString(state.ReadAt.UTC().Format(time.RFC3339) + " ")
	}
	if err := print(&b, state); err != nil {
		return err
	}
	if terminal != nil {
		return terminal.Draw(b.String())
	}
	_, err := out.Write(b.Bytes())
	return err
}

// essence is a state without what changes by itself: ages, beats and times left.
func essence(s *queue.State) string {
	var b strings.Builder
	fmt.Fprintln(&b, display.StateOf(s), s.Issued, s.Permits)
	for _, h := range s.Serving {
		fmt.Fprintf(&b, "holder %s %s %s %q %t %t %q %v %v\n", h.Ticket, h.Turn(), h.ID, h.Owner, h.Shared, h.Expired(), h.Data, h.Problem, h.Revoked)
	}
	for _, w := range s.Waiting {
		fmt.Fprintf(&b, "waiter %s %s %t %v\n", w.Ticket, w.ID, w.Expired(), w.Problem)
	}
	return b.String()
}
