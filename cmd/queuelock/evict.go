package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
)

// evictLimit bounds the requests of an eviction, the library's repetitions
// included. Tests shorten it.
var evictLimit = 30 * time.Second

type evictFlags struct {
	settings
	reason, ticket   string
	beat             int64
	force, yes, json bool
}

func newEvict() *cobra.Command {
	var f evictFlags
	cmd := &cobra.Command{
		Use:   "evict ENTITY --ticket N",
		Short: "Take the lock from a holder",
		Long: `Ends the turn of the holder with ticket N, which took the lock of ENTITY without a lease
("run --fail-closed"): no other client would ever end it. The next waiter is served. A holder
with a lease needs --force: its process hangs, say, while it renews its lease.

First make sure that the holder's process has ended. A live process learns of the eviction by
its next heartbeat, and works on until then. Its writes on the condition that it holds the lock
are refused from now on; its other work overlaps with that of the next holder.

--force shows the holder and asks for a confirmation. --yes answers it, and --beat N is one: it
evicts the holder only if that is still its beat ("queuelock status -o json"). In no case is
another holder evicted. A repeated call is safe.

Exit codes:
  1    nothing was done: no holder has this ticket, or it has a lease, or has renewed it
  64   wrong usage
  69   DynamoDB cannot be used: no answer, no such table, no rights, no AWS settings`,
		Example: `  queuelock evict payroll --ticket 7
  queuelock evict deploy/prod --ticket 12 --force`,
		Args: oneEntity,
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd, queuelock.Key{Entity: args[0], Reason: f.reason})
		},
	}
	cmd.Flags().StringVar(&f.reason, "reason", "", `what the lock is for (default "lock")`)
	cmd.Flags().StringVar(&f.ticket, "ticket", "", "the ticket of the holder, as status shows it")
	cmd.Flags().BoolVar(&f.force, "force", false, "evict a holder that has a lease, too")
	cmd.Flags().Int64Var(&f.beat, "beat", 0, "with --force: only if this is the holder's beat")
	cmd.Flags().BoolVar(&f.yes, "yes", false, "with --force: do not ask")
	cmd.Flags().BoolVar(&f.json, "json", false, "print one JSON object")
	f.addFlags(cmd)
	return cmd
}

// evictReport is an eviction for machines.
type evictReport struct {
	Entity  string `json:"entity"`
	Reason  string `json:"reason"`
	Ticket  string `json:"ticket"`
	Evicted bool   `json:"evicted"`
}

func (f *evictFlags) run(cmd *cobra.Command, key queuelock.Key) error {
	beat := cmd.Flags().Changed("beat")
	switch {
	case f.ticket == "":
		return usagef("--ticket is missing: name the holder, as 'queuelock status %s' shows it", clip(quoted(key.Entity), 40))
	case !f.force && (beat || f.yes):
		return usagef("--beat and --yes are for --force: add it to evict a holder with a lease")
	case f.beat < 0:
		return usagef("--beat %d: need a number from 0, as 'queuelock status -o json' shows it", f.beat)
	}
	number, err := ticket.Parse(f.ticket)
	if err != nil || number.IsZero() {
		return usagef("--ticket %s: need a whole number from 1, as 'queuelock status' shows it", clip(f.ticket, 40))
	}
	if err := checkArguments(cmd.Context(), key, f.table, f.config(queuelock.Config{})); err != nil {
		return err
	}
	e := &evicter{cmd: cmd, settings: &f.settings, key: key, ticket: number}
	defer e.close()
	holder, err := e.look()
	switch {
	case err != nil:
		return err
	case !f.force:
		err = e.evict(func(ctx context.Context) error { return e.client.Evict(ctx, key, number) })
	case beat:
		holder.Beat = f.beat
		err = e.evictHolder(holder)
	default:
		err = e.insist(holder, f.yes)
	}
	if err != nil {
		return e.refused(err)
	}
	if f.json {
		report := evictReport{Entity: key.Entity, Reason: key.Reason, Ticket: number.String(), Evicted: true}
		if report.Reason == "" {
			report.Reason = queuelock.DefaultReason
		}
		return json.NewEncoder(cmd.OutOrStdout()).Encode(report)
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s: ticket %s is evicted\n", key, number)
	return err
}

// evicter evicts one holder.
type evicter struct {
	cmd      *cobra.Command
	settings *settings
	key      queuelock.Key
	ticket   ticket.Number
	db       *database
	client   *queuelock.Client
}

func (e *evicter) patience() *patience {
	return e.settings.patience(e.cmd.Context(), e.cmd.ErrOrStderr(), evictLimit)
}

// look connects, and finds the holder. An eviction is repeated while DynamoDB does not
// answer; a wrong address is noticed by this look at once.
func (e *evicter) look() (holder queue.Holder, err error) {
	p := e.patience()
	defer p.end()
	if e.db, err = e.settings.connect(p.ctx); err != nil {
		return holder, err
	}
	if e.client, err = queuelock.New(e.db, e.settings.table, e.settings.config(queuelock.Config{})); err != nil {
		return holder, usagef("%w", err)
	}
	state, err := e.client.Inspect(p.ctx, e.key)
	if err != nil {
		return holder, p.unavailable(err)
	}
	holder, ok := state.Holder(e.ticket)
	if !ok {
		return holder, e.refused(&queuelock.EvictError{Key: e.key, Ticket: e.ticket, Serving: state.Serving, Err: queuelock.ErrNotServed})
	}
	return holder, nil
}

func (e *evicter) close() {
	if e.client != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(e.cmd.Context()), evictLimit)
		defer cancel()
		_ = e.client.Close(ctx) // of what runs in the background nothing depends
	}
	if e.db != nil {
		e.db.close()
	}
}

func (e *evicter) evict(call func(context.Context) error) error {
	p := e.patience()
	defer p.end()
	err := call(p.ctx)
	if _, refused := errors.AsType[*queuelock.EvictError](err); err == nil || refused {
		return err
	}
	return p.unavailable(err)
}

func (e *evicter) evictHolder(h queue.Holder) error {
	return e.evict(func(ctx context.Context) error { return e.client.EvictHolder(ctx, e.key, h) })
}

// insist evicts the holder that was confirmed. If that has renewed its lease since, it asks
// again, or repeats the eviction if it need not ask.
func (e *evicter) insist(h queue.Holder, yes bool) error {
	answers := bufio.NewReader(e.cmd.InOrStdin())
	e.describe(h)
	for {
		if !yes {
			if err := e.confirm(answers, h); err != nil {
				return err
			}
		}
		err := e.evictHolder(h)
		refused, ok := errors.AsType[*queuelock.EvictError](err)
		if !ok || !errors.Is(err, queuelock.ErrRenewed) {
			return err
		}
		i := slices.IndexFunc(refused.Serving, func(now queue.Holder) bool { return now.ID == h.ID })
		if i < 0 {
			return err
		}
		h = refused.Serving[i]
	}
}

// describe prints what the operator decides about.
func (e *evicter) describe(h queue.Holder) {
	out := e.cmd.ErrOrStderr()
	fmt.Fprintf(out, "%s: ticket %s is held by %.200q", e.key, h.Ticket, h.Owner)
	if h.Age > 0 {
		fmt.Fprintf(out, ", for %v", h.Age.Round(time.Second))
	}
	switch {
	case h.FailClosed:
		fmt.Fprintln(out, ", without a lease.")
	case h.Expired():
		fmt.Fprintln(out, ". Its lease has ended, and the next client evicts it.")
	default:
		fmt.Fprintf(out, ", with %v left of a lease of %v.\n", h.Remaining.Round(100*time.Millisecond), h.TTL)
	}
	fmt.Fprintln(out, "If its process runs, it works on until its next heartbeat, beside the next holder. Its fenced writes are refused at once.")
	if h.Delay > 0 {
		fmt.Fprintf(out, "Its lock delay of %v does not apply.\n", h.Delay)
	}
}

// confirm asks the operator.
func (e *evicter) confirm(answers *bufio.Reader, h queue.Holder) error {
	fmt.Fprintf(e.cmd.ErrOrStderr(), "Evict it as it is now, with beat %d? [y/N] ", h.Beat)
	answer, err := answers.ReadString('\n')
	if answer = strings.ToLower(strings.TrimSpace(answer)); answer == "y" || answer == "yes" {
		return nil
	}
	if err != nil && answer == "" {
		fmt.Fprintln(e.cmd.ErrOrStderr())
	}
	return &exitError{exitFailed, errors.New("nothing was done: answer y to evict the holder, or pass --yes")}
}

// refused is the line of an eviction that did nothing.
func (e *evicter) refused(err error) error {
	refused, ok := errors.AsType[*queuelock.EvictError](err)
	if !ok {
		return err
	}
	name := clip(e.key.String(), 60)
	var text string
	switch {
	case errors.Is(err, queuelock.ErrLeased):
		text = fmt.Sprintf("%s: this holder has a lease: stop its process, or repeat the command with --force", name)
	case errors.Is(err, queuelock.ErrRenewed):
		text = fmt.Sprintf("%s: this holder has renewed its lease since: look again with 'queuelock status -o json', or pass --yes", name)
	case len(refused.Serving) == 0:
		text = fmt.Sprintf("%s: no holder has this ticket: the lock has no holder: see 'queuelock status'", name)
	default:
		first := refused.Serving[0]
		text = fmt.Sprintf("%s: no holder has this ticket; %.30s holds it (ticket %s)", name, first.Owner, first.Ticket.Short())
		if more := len(refused.Serving) - 1; more > 0 {
			text += fmt.Sprintf(", and %d more", more)
		}
	}
	return &exitError{exitFailed, &briefError{text, err}}
}

// evictCommand is what evicts a holder.
func evictCommand(key queuelock.Key, number ticket.Number) string {
	command := "queuelock evict " + quoted(key.Entity)
	if key.Reason != "" && key.Reason != queuelock.DefaultReason {
		command += " --reason " + quoted(key.Reason)
	}
	return command + " --ticket " + number.String()
}

// quoted is a word as a shell takes it.
func quoted(word string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/_.:@%+=,-", r)
	}
	if word != "" && word[0] != '-' && !strings.ContainsFunc(word, func(r rune) bool { return !plain(r) }) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
