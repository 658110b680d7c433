package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/queuelock/queuelock/cmd/queuelock/internal/help"

	"github.com/spf13/cobra"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/cmd/queuelock/internal/display"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/sweeper"
	"github.com/queuelock/queuelock/ticket"
)

// evictLimit bounds the requests of an eviction, the library's repetitions
// included. Tests shorten it.
var evictLimit = 30 * time.Second

type evictFlags struct {
	settings
	target
	ticket           string
	beat             int64
	force, yes, json bool
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

` + help.Fields("JSON", evictReport{}) + `

Exit codes:
  1    nothing was done: no holder has this ticket, or it has a lease, or has renewed it
  64   wrong usage
  69   DynamoDB cannot be used: no answer, no such table, no rights, no AWS settings`,
		Example: `  queuelock evict payroll --ticket 7
  queuelock evict deploy/prod --ticket 12 --force`,
		Args: f.arguments,
		RunE: f.run,
	}
	cmd.Flags().StringVar(&f.ticket, "ticket", "", "the `NUMBER` of the holder, also as …123456; --force needs none for the only holder")
	cmd.Flags().BoolVar(&f.force, "force", false, "evict a holder that has a lease, too")
	cmd.Flags().Int64Var(&f.beat, "beat", 0, "with --force: only if this is the holder's beat")
	cmd.Flags().BoolVar(&f.yes, "yes", false, "with --force: do not ask")
	cmd.Flags().BoolVar(&f.json, "json", false, "print one JSON object")
	f.target.addFlags(cmd.Flags())
	f.settings.addFlags(cmd)
	cmd.ValidArgsFunction = f.offerEntities(func(before []string) bool { return len(before) == 0 && f.item == "" })
	return cmd
}

func (f *evictFlags) arguments(cmd *cobra.Command, args []string) error {
	err := f.target.arguments(cmd, args)
	if err == nil && f.item != "" && !f.force {
		return usagef("--item needs --force: each lock of an item has a lease")
	}
	return err
}

// evictReport is an eviction for machines.
type evictReport struct {
	Entity  string `json:"entity" help:"the entity"`
	Reason  string `json:"reason" help:"what the lock is for"`
	Ticket  string `json:"ticket" help:"the ticket of the holder"`
	Evicted bool   `json:"evicted" help:"true"`
}

// evictee is the queue of the holder to evict.
type evictee struct {
	name   string
	key    queuelock.AnyKey
	report queuelock.Key
}

func evicteeOf(f target, args []string) (*evictee, error) {
	if f.item == "" {
		key := queuelock.Key{Entity: args[0], Reason: f.reason}
		return &evictee{name: key.String(), key: key, report: key}, nil
	}
	itemKey, err := parseItemKey(f.key)
	if err != nil {
		return nil, err
	}
	item := queuelock.ItemKey{Table: f.item, Key: itemKey}
	return &evictee{
		name: "item " + item.String(), key: item, report: queuelock.Key{Entity: item.String(), Reason: queuelock.ItemReason},
	}, nil
}

func (f *evictFlags) run(cmd *cobra.Command, args []string) error {
	beat := cmd.Flags().Changed("beat")
	if err := f.check(beat); err != nil {
		return err
	}
	chosen, err := parseChoice(f.ticket)
	if err != nil {
		return err
	}
	what, err := evicteeOf(f.target, args)
	if err != nil {
		return err
	}
	e := &evicter{evictee: what, cmd: cmd, settings: &f.settings, cfg: queuelock.Config{ItemPrefix: f.itemPrefix}, named: f.ticket != ""}
	defer e.close()
	holder, err := e.find(chosen)
	switch {
	case err != nil:
		return err
	case !f.force && !holder.Endless() && !holder.Closed:
		text := fmt.Sprintf("%s: this holder has a lease: stop its process, or repeat the command with --force", clip(e.name, 60))
		return &exitError{exitFailed, errors.New(text)}
	case beat && holder.Beat != f.beat:
		err = &sweeper.EvictError{Holder: holder, Serving: []queue.Holder{holder}}
	case beat, !f.force:
		err = e.evict(holder)
	default:
		err = e.insist(holder, f.yes)
	}
	if err != nil {
		return e.refused(err)
	}
	if f.json {
		report := evictReport{Entity: e.report.Entity, Reason: cmp.Or(e.report.Reason, queuelock.DefaultReason), Ticket: holder.Ticket.String(), Evicted: true}
		return display.JSON(cmd.OutOrStdout(), report)
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s: ticket %s is evicted\n", e.name, holder.Ticket)
	return err
}

// check checks flags that depend on each other.
func (f *evictFlags) check(beat bool) error {
	switch {
	case f.ticket == "" && !f.force:
		return usagef("--ticket is missing: name the holder, as 'queuelock status' shows it")
	case f.ticket == "" && (f.yes || beat):
		return usagef("--ticket is missing: --yes and --beat need it, so that no other holder is evicted unseen: see 'queuelock status'")
	case !f.force && (beat || f.yes):
		return usagef("--beat and --yes are for --force: add it to evict a holder with a lease")
	case f.beat < 0:
		return usagef("--beat %d: need a number from 0, as 'queuelock status -o json' shows it", f.beat)
	}
	return nil
}

// evicter evicts one holder.
type evicter struct {
	*evictee
	cmd      *cobra.Command
	settings *settings
	cfg      queuelock.Config
	named    bool              // by a ticket
	client   *queuelock.Client // nil before find
	closed   func()
}

func (e *evicter) patience() *patience {
	return e.settings.patience(e.cmd.Context(), e.cmd.ErrOrStderr(), evictLimit)
}

// find connects, and finds the holder. An eviction is repeated while DynamoDB does not
// answer; a wrong address is noticed at once.
func (e *evicter) find(chosen choice) (holder queue.Holder, err error) {
	p := e.patience()
	defer p.end()
	if e.client, e.closed, err = e.settings.open(p.ctx, e.key, e.cfg); err != nil {
		return holder, err
	}
	state, err := e.client.Viewer().Inspect(p.ctx, e.key)
	if err != nil {
		return holder, p.unavailable(err)
	}
	var found []queue.Holder
	for _, h := range state.Serving {
		if chosen.of(h) {
			found = append(found, h)
		}
	}
	if display.StateOf(state) == display.Unused {
		return holder, &exitError{exitFailed, fmt.Errorf("%s: there is no such queue: see 'queuelock ls'", clip(e.name, 60))}
	}
	if turns := queue.Turns(found); !e.named && len(turns) == 1 {
		found = turns // the only holder, beside permits that stay closed
	}
	switch len(found) {
	case 0:
		return holder, e.refused(&sweeper.EvictError{Serving: state.Serving})
	case 1:
		if found[0].Problem != nil {
			return holder, e.unreadable(found[0])
		}
		return found[0], nil
	}
	return holder, &exitError{exitFailed, fmt.Errorf("%s: %d holders are possible: name one by its whole --ticket, as 'queuelock status -o json' shows it",
		clip(e.name, 40), len(found))}
}

// choice reports whether the operator means the holder of a ticket.
type choice func(ticket.Number) bool

// of reports whether that holder is meant: by any ticket of its block.
func (c choice) of(h queue.Holder) bool {
	for t := h.Ticket; ; t = t.Plus(1) {
		if c(t) {
			return true
		}
		if !t.Less(h.Last()) {
			return false
		}
	}
}

// parseChoice reads what --ticket gives: a number, its last digits after "…", or nothing for
// any. The short form of a number that lost its "…" on the way names the ticket as well.
func parseChoice(text string) (choice, error) {
	digits := strings.TrimPrefix(strings.TrimPrefix(text, "…"), "...")
	number, err := ticket.Parse(digits)
	switch {
	case text == "":
		return func(ticket.Number) bool { return true }, nil
	case digits != text && digits != "" && !strings.ContainsFunc(digits, func(r rune) bool { return r < '0' || r > '9' }):
		return func(n ticket.Number) bool { return strings.HasSuffix(n.String(), digits) }, nil
	case err != nil || number.IsZero():
		return nil, usagef("--ticket %s: need a whole number from 1, as 'queuelock status' shows it", clip(text, 40))
	}
	return func(n ticket.Number) bool { return n == number || n.Short() == "…"+digits }, nil
}

func (e *evicter) close() {
	if e.client == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(e.cmd.Context()), evictLimit)
	defer cancel()
	_ = e.client.Close(ctx) // nothing depends on what runs in the background
	e.closed()
}

// evict evicts a holder as it was shown.
func (e *evicter) evict(h queue.Holder) error {
	p := e.patience()
	defer p.end()
	err := e.client.Operator().Evict(p.ctx, e.key, h)
	if _, refused := errors.AsType[*sweeper.EvictError](err); err == nil || refused {
		return err
	}
	return p.unavailable(err)
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
		err := e.evict(h)
		refused, ok := errors.AsType[*sweeper.EvictError](err)
		if !ok {
			return err
		}
		if h, ok = refused.Renewed(); !ok {
			return err
		}
	}
}

// describe prints what the operator decides about.
func (e *evicter) describe(h queue.Holder) {
	out := &strings.Builder{}
	defer func() { fmt.Fprint(e.cmd.ErrOrStderr(), wrap(out.String(), questionWidth)) }()
	if h.Closed {
		fmt.Fprintf(out, "%s: ticket %s was released, and keeps the queue closed until %s.\n", e.name, h.Ticket, display.At(h.NotBefore))
		return
	}
	fmt.Fprintf(out, "%s: ticket %s is held by %.200q", e.name, h.Turn(), h.Owner)
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

// wrap breaks the lines of a text between words.
func wrap(text string, width int) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		column := 0
		for i, word := range strings.Split(strings.TrimSuffix(line, "\n"), " ") {
			switch n := utf8.RuneCountInString(word); {
			case i > 0 && column+1+n > width:
				b.WriteString("\n" + word)
				column = n
			case i > 0:
				b.WriteString(" " + word)
				column += 1 + n
			default:
				b.WriteString(word)
				column = n
			}
		}
		b.WriteString("\n")
	}
	return b.String()
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

// unreadable is the line of a holder that no client evicts.
func (e *evicter) unreadable(h queue.Holder) error {
	return &exitError{exitFailed, &briefError{
		fmt.Sprintf("%s: the holder's entry cannot be read: end its process, then remove the entry from \"holders\" of the record by hand; see --verbose", clip(e.name, 30)), h.Problem,
	}}
}

// refused is the line of an eviction that did nothing.
func (e *evicter) refused(err error) error {
	refused, ok := errors.AsType[*sweeper.EvictError](err)
	if !ok {
		return err
	}
	now, renewed := refused.Renewed()
	renewed = renewed && !now.Closed
	name := clip(e.name, 60)
	text, none := "", "the lock has no holder"
	if e.named {
		none = "no holder has this ticket: " + none
	}
	switch {
	case renewed:
		text = fmt.Sprintf("%s: this holder has another beat: it has renewed its lease since: see 'queuelock status -o json', and repeat the command", name)
	case len(refused.Serving) == 0:
		text = fmt.Sprintf("%s: %s: see 'queuelock status'", name, none)
	case refused.Serving[0].Problem != nil:
		return e.unreadable(refused.Serving[0])
	default:
		first := refused.Serving[0]
		if first.Closed {
			text = fmt.Sprintf("%s: %s: closed until %s (ticket %s)", name, none, display.At(first.NotBefore), first.Ticket.Short())
			break
		}
		text = fmt.Sprintf("%s: no holder has this ticket; %.30s holds it (ticket %s)", name, first.Owner, first.Turn().Short())
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
