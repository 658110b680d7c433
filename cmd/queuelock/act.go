package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/cmd/queuelock/internal/display"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/sweeper"
	"github.com/queuelock/queuelock/ticket"
)

// actLimit bounds the requests of an action on a holder, the library's repetitions included. Tests shorten it.
var actLimit = 30 * time.Second

type holderFlags struct {
	target
	ticket string
	json   bool
}

func (f *holderFlags) addTicket(cmd *cobra.Command, usage string) {
	cmd.Flags().StringVar(&f.ticket, "ticket", "", usage)
}

func (f *holderFlags) addFlags(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.json, "json", false, "print one JSON object")
	f.target.addFlags(cmd)
}

// act finds the holder that the flags name, does something to it, and reports that: as the object, or in words after the ticket.
func (f *holderFlags) act(
	cmd *cobra.Command, args []string, cfg queuelock.Config,
	do func(*acting, queue.Holder) error, report func(queuelock.Key, queue.Holder) (object any, text string),
) error {
	chosen, err := parseChoice(f.ticket)
	if err != nil {
		return err
	}
	s, err := f.subject(args)
	if err != nil {
		return err
	}
	cfg.ItemPrefix = f.itemPrefix
	a := &acting{subject: s, cmd: cmd, settings: &f.settings, cfg: cfg, named: f.ticket != ""}
	defer func() {
		if a.opened != nil {
			a.leave(cmd.Context())
		}
	}()
	holder, err := a.find(chosen)
	if err == nil {
		err = do(a, holder)
	}
	if err != nil {
		return a.refused(err)
	}
	object, text := report(s.report, holder)
	if f.json {
		return display.JSON(cmd.OutOrStdout(), object)
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s: ticket %s %s\n", a.name, holder.Ticket, text)
	return err
}

type acting struct {
	*subject
	cmd      *cobra.Command
	settings *settings
	cfg      queuelock.Config
	named    bool // by a ticket
	*opened       // nil before find
}

// request makes a request of an operator. That the holder is another one is no failure of DynamoDB.
func (a *acting) request(send func(context.Context, queuelock.Operator) error) error {
	p := a.patience()
	defer p.end()
	err := send(p.ctx, a.client.Operator())
	if _, refused := errors.AsType[*sweeper.EvictError](err); err == nil || refused {
		return err
	}
	return p.unavailable(err)
}

// noQueue is the error of a queue that was never used; nil if it was.
func noQueue(name string, state *queue.State) error {
	if display.StateOf(state) != display.Unused {
		return nil
	}
	return failed(exitFailed, "%s: there is no such queue: see 'queuelock ls'", clip(name, 60))
}

func (a *acting) patience() *patience {
	return a.settings.patience(a.cmd.Context(), a.cmd.ErrOrStderr(), actLimit)
}

// find connects, and finds the holder. An eviction is repeated while DynamoDB does not
// answer; a wrong address is noticed at once.
func (a *acting) find(chosen choice) (holder queue.Holder, err error) {
	p := a.patience()
	defer p.end()
	if a.opened, err = a.settings.open(p.ctx, a.key, a.cfg); err != nil {
		return holder, err
	}
	state, err := a.look(p.ctx, a.client)
	if err != nil {
		return holder, p.unavailable(err)
	}
	var found []queue.Holder
	for _, h := range state.Serving {
		if chosen.of(h) {
			found = append(found, h)
		}
	}
	if err := noQueue(a.name, state); err != nil {
		return holder, err
	}
	if turns := queue.Turns(found); !a.named && len(turns) == 1 {
		found = turns // the only holder, beside permits that stay closed
	}
	switch len(found) {
	case 0:
		return holder, a.refused(&sweeper.EvictError{Serving: state.Serving})
	case 1:
		if found[0].Problem != nil {
			return holder, a.unreadable(found[0])
		}
		return found[0], nil
	}
	return holder, failed(exitFailed, "%s: %d holders are possible: name one by its whole --ticket, as 'queuelock status -o json' shows it",
		clip(a.name, 40), len(found))
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

// unreadable is the line of a holder that no client evicts.
func (a *acting) unreadable(h queue.Holder) error {
	return &exitError{exitFailed, &briefError{
		fmt.Sprintf("%s: the holder's entry cannot be read: end its process, then remove the entry from \"holders\" of the record by hand; see --verbose", clip(a.name, 30)), h.Problem,
	}}
}

// refused is the line of an action that did nothing.
func (a *acting) refused(err error) error {
	refused, ok := errors.AsType[*sweeper.EvictError](err)
	if !ok {
		return err
	}
	none := "the lock has no holder"
	if a.named {
		none = "no holder has this ticket: " + none
	}
	now, renewed := refused.Renewed()
	var text string
	switch {
	case renewed && !now.Closed:
		text = "this holder has another beat: it has renewed its lease since: see 'queuelock status -o json', and repeat the command"
	case len(refused.Serving) == 0:
		text = none + ": see 'queuelock status'"
	case refused.Serving[0].Problem != nil:
		return a.unreadable(refused.Serving[0])
	case refused.Serving[0].Closed:
		text = fmt.Sprintf("%s: closed until %s (ticket %s)", none, display.At(refused.Serving[0].NotBefore), refused.Serving[0].Ticket.Short())
	default:
		first := refused.Serving[0]
		text = fmt.Sprintf("no holder has this ticket; %.30s holds it (ticket %s)", first.Owner, first.Turn().Short())
	}
	return &exitError{exitFailed, &briefError{clip(a.name, 60) + ": " + text, err}}
}
