package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/spf13/cobra"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/cmd/queuelock/internal/display"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/sweeper"
	"github.com/queuelock/queuelock/ticket"
)

type evictFlags struct {
	holderFlags
	beat       int64
	force, yes bool
}

func newEvict() *cobra.Command {
	var f evictFlags
	cmd := &cobra.Command{
		Use:   "evict ENTITY | evict --item TABLE --key KEY",
		Short: "Take the lock from a holder",
		Long: `Ends the turn of the holder with that ticket, which took the lock of ENTITY without a lease
("run --fail-closed"): no other client would ever end it. The next waiter is served. A holder
with a lease needs --force: its process hangs, say, while it renews its lease.

First make sure that the holder's process has ended. A live process learns of the eviction by
its next heartbeat, and works on until then. Its writes on the condition that it holds the lock
are refused from now on; its other work overlaps with that of the next holder. A closed queue
opens by the ticket that "queuelock status" shows.

--force shows the holder and asks for a confirmation. --yes answers it, and --beat N is one: it
evicts the holder only if that is still its beat ("queuelock status -o json"). In no case is
another holder evicted. A repeated call is safe. --item and --key name an item that the
library's LockItem locks, instead of ENTITY.

` + display.Fields("JSON", evictReport{}) +
			"\n\n" + exitCodes(
			"1    nothing was done: no holder has this ticket, or it has a lease, or has renewed it", codeUsage,
			codeUnavailable,
		),
		Example: `  queuelock evict payroll --ticket 7
  queuelock evict deploy/prod --ticket 12 --force`,
		Args: f.arguments,
		RunE: f.run,
	}
	f.addTicket(cmd, "the `NUMBER` of the holder, also as …123456; --force needs none for the only holder")
	cmd.Flags().BoolVar(&f.force, "force", false, "evict a holder that has a lease, too")
	within(cmd.Flags(), &f.beat, "beat", "", 0, 0, 0, "with --force: only if this is the holder's beat")
	cmd.Flags().BoolVar(&f.yes, "yes", false, "with --force: do not ask")
	f.addFlags(cmd)
	return cmd
}

func (f *evictFlags) arguments(cmd *cobra.Command, args []string) error {
	err := f.target.arguments(cmd, args)
	if err == nil && f.item != "" && !f.force {
		return usagef("--item needs --force: each lock of an item has a lease")
	}
	return err
}

type evictReport struct {
	Entity  string `json:"entity" help:"the entity"`
	Reason  string `json:"reason" help:"what the lock is for"`
	Ticket  string `json:"ticket" help:"the ticket of the holder"`
	Evicted bool   `json:"evicted" help:"true"`
}

func (f *evictFlags) run(cmd *cobra.Command, args []string) error {
	beat := cmd.Flags().Changed("beat")
	if err := f.check(beat); err != nil {
		return err
	}
	return f.act(cmd, args, queuelock.Config{}, func(a *acting, h queue.Holder) error {
		switch {
		case !f.force && !h.Endless() && !h.Closed:
			return failed(exitFailed, "%s: this holder has a lease: stop its process, or repeat the command with --force", clip(a.name, 60))
		case beat && h.Beat != f.beat:
			return &sweeper.EvictError{Holder: h, Serving: []queue.Holder{h}}
		case beat, !f.force:
			return a.evict(h)
		}
		return a.insist(h, f.yes)
	}, func(key queuelock.Key, h queue.Holder) (any, string) {
		return evictReport{Entity: key.Entity, Reason: key.Reason, Ticket: h.Ticket.String(), Evicted: true}, "is evicted"
	})
}

func (f *evictFlags) check(beat bool) error {
	switch {
	case f.ticket == "" && !f.force:
		return usagef("--ticket is missing: name the holder, as 'queuelock status' shows it")
	case f.ticket == "" && (f.yes || beat):
		return usagef("--ticket is missing: --yes and --beat need it, so that no other holder is evicted unseen: see 'queuelock status'")
	case !f.force && (beat || f.yes):
		return usagef("--beat and --yes are for --force: add it to evict a holder with a lease")
	}
	return nil
}

func (a *acting) evict(h queue.Holder) error {
	return a.request(func(ctx context.Context, o queuelock.Operator) error { return o.Evict(ctx, a.key, h) })
}

// insist evicts the holder that was confirmed. If that has renewed its lease since, it asks
// again, or repeats the eviction if it need not ask.
func (a *acting) insist(h queue.Holder, yes bool) error {
	answers := bufio.NewReader(a.cmd.InOrStdin())
	a.describe(h)
	for {
		if !yes {
			if err := a.confirm(answers, h); err != nil {
				return err
			}
		}
		err := a.evict(h)
		refused, ok := errors.AsType[*sweeper.EvictError](err)
		if !ok {
			return err
		}
		if h, ok = refused.Renewed(); !ok {
			return err
		}
	}
}

func (a *acting) describe(h queue.Holder) {
	out := &strings.Builder{}
	defer func() { fmt.Fprint(a.cmd.ErrOrStderr(), ansi.Wordwrap(out.String(), questionWidth, "")) }()
	if h.Closed {
		fmt.Fprintf(out, "%s: ticket %s was released, and keeps the queue closed until %s.\n", a.name, h.Ticket, display.At(h.NotBefore))
		return
	}
	fmt.Fprintf(out, "%s: ticket %s is held by %.200q", a.name, h.Turn(), h.Owner)
	if h.Age > 0 {
		fmt.Fprintf(out, ", for %v", h.Age.Round(time.Second))
	}
	switch {
	case h.Endless():
		fmt.Fprintln(out, ", without a lease.")
	case h.Expired():
		fmt.Fprintln(out, ". Its lease has ended, and the next client evicts it.")
	default:
		fmt.Fprintf(out, ", with %v left of a lease of %v.\n", max(0, h.Remaining-h.Delay).Round(100*time.Millisecond), h.TTL)
	}
	fmt.Fprintln(out, "If its process runs, it works on until its next heartbeat, beside the next holder. Its writes by Transact are refused at once, those that carry a token only after a later holder has written.")
	if n := h.Follow(); n > 0 {
		fmt.Fprintf(out, "Its callers with the %d tickets after it go to the end of the queue.\n", n)
	}
	if len(h.Data) > 0 {
		fmt.Fprintf(out, "Its data: %s\n", clip(display.Owner(string(h.Data)), 200))
	}
	if h.NotBefore.After(time.Now()) {
		fmt.Fprintf(out, "The queue, which it keeps closed until %s, opens at once.\n", display.At(h.NotBefore))
	}
	if h.Delay > 0 {
		fmt.Fprintf(out, "Its lock delay of %v does not apply.\n", h.Delay)
	}
}

// questionWidth is the width of a terminal that shows what is asked.
const questionWidth = 79

func (a *acting) confirm(answers *bufio.Reader, h queue.Holder) error {
	fmt.Fprintf(a.cmd.ErrOrStderr(), "Evict it as it is now, with beat %d? [y/N] ", h.Beat)
	answer, err := answers.ReadString('\n')
	if answer = strings.ToLower(strings.TrimSpace(answer)); answer == "y" || answer == "yes" {
		return nil
	}
	if err != nil && answer == "" {
		fmt.Fprintln(a.cmd.ErrOrStderr())
	}
	return failed(exitFailed, "nothing was done: answer y to evict the holder, or pass --yes")
}

func evictCommand(key queuelock.Key, number ticket.Number) string {
	return commandOn("evict", key) + " --ticket " + number.String()
}

// commandOn is a command for a queue, as a shell takes it.
func commandOn(name string, key queuelock.Key) string {
	command := "queuelock " + name + " " + quoted(key.Entity)
	if key.Reason != "" && key.Reason != queuelock.DefaultReason {
		command += " --reason " + quoted(key.Reason)
	}
	return command
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
