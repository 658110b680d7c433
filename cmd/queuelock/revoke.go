package main

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/cmd/queuelock/internal/display"
	"github.com/queuelock/queuelock/cmd/queuelock/internal/help"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/sweeper"
)

type revokeFlags struct {
	settings
	target
	bellFlags
	ticket, why string
	after       time.Duration
	json        bool
}

func newRevoke() *cobra.Command {
	var f revokeFlags
	cmd := &cobra.Command{
		Use:   "revoke ENTITY | revoke --item TABLE --key KEY",
		Short: "Ask a holder to give way",
		Long: `Asks the holder of the lock of ENTITY to give way. The lock stays until it is released: a
command under "run --on-revoke SIGNAL" gets that signal, and a program hears of it by
Lock.Revoked. Others go on, and the table does not show which listen.

It takes milliseconds where the holder has a bell, which is the default on one host. Without,
on another host or with --no-bell, the holder learns of it by its next heartbeat, up to half
of its lease later: start it by "run --ttl 10s" if that is too late.

With --after, "queuelock status" shows by when it should have ended. Nothing happens then by
itself: "evict --force" ends its turn. A later request replaces an earlier one, and no
later holder is ever asked. --item and --key name an item that the library's LockItem locks.

` + help.Fields("JSON", revokeReport{}) + `

Exit codes:
  1    nothing was done: no holder has this ticket, or several are possible
  64   wrong usage
  69   DynamoDB cannot be used: no answer, no such table, no rights, no AWS settings`,
		Example: `  queuelock revoke deploy/prod --why 'a hotfix waits' --after 5m
  queuelock revoke gpu --ticket 12`,
		Args: f.target.arguments,
		RunE: f.run,
	}
	cmd.Flags().StringVar(&f.ticket, "ticket", "", "the `NUMBER` of the holder, also as …123456; not needed for the only one")
	cmd.Flags().StringVar(&f.why, "why", "", "a `TEXT` for people, at most 256 bytes")
	cmd.Flags().DurationVar(&f.after, "after", 0, "by when it should have ended, from now; at most 168h")
	cmd.Flags().BoolVar(&f.json, "json", false, "print one JSON object")
	f.bellFlags.addFlag(cmd.Flags())
	f.target.addFlags(cmd.Flags())
	f.settings.addFlags(cmd)
	cmd.ValidArgsFunction = f.offerEntities(func(before []string) bool { return len(before) == 0 && f.item == "" })
	return cmd
}

// revokeReport is a request to give way, for machines.
type revokeReport struct {
	Entity string `json:"entity" help:"the entity"`
	Reason string `json:"reason" help:"what the lock is for"`
	Ticket string `json:"ticket" help:"the ticket of the holder"`
	Asked  bool   `json:"asked" help:"true"`
	// Within is of the default interval of heartbeats.
	Within *float64 `json:"hears_within_seconds" help:"by when it learns of it, if it is not rung: half of its lease; null: it has none"`
	Bell   bool     `json:"has_bell" help:"it has a bell, which is rung if it is on this host"`
}

func (f *revokeFlags) run(cmd *cobra.Command, args []string) error {
	switch {
	case f.after < 0 || f.after > queue.MaxLease:
		return usagef("--after %v: need a duration up to %v, such as 5m", f.after, queue.MaxLease)
	case len(f.why) > queue.MaxWhy:
		return usagef("--why has %d bytes: at most %d are possible", len(f.why), queue.MaxWhy)
	case !display.Printable(f.why):
		return usagef("--why has characters that cannot be printed: leave them out")
	}
	chosen, err := parseChoice(f.ticket)
	if err != nil {
		return err
	}
	what, err := evicteeOf(f.target, args)
	if err != nil {
		return err
	}
	e := &evicter{evictee: what, cmd: cmd, settings: &f.settings, cfg: queuelock.Config{ItemPrefix: f.itemPrefix, Owner: owner()}, named: f.ticket != ""}
	defer f.hang(&e.cfg)()
	defer e.close()
	holder, err := e.find(chosen)
	switch {
	case err != nil:
	case holder.Closed:
		err = &sweeper.EvictError{Holder: holder, Serving: []queue.Holder{holder}}
	default:
		err = e.revoke(holder, f.why, f.after)
	}
	if err != nil {
		return e.refused(err)
	}
	if f.json {
		reason := cmp.Or(e.report.Reason, queuelock.DefaultReason)
		report := revokeReport{Entity: e.report.Entity, Reason: reason, Ticket: holder.Ticket.String(), Asked: true, Bell: holder.Bell != ""}
		if holder.TTL > 0 {
			within := display.Seconds(holder.TTL / 2)
			report.Within = &within
		}
		return display.JSON(cmd.OutOrStdout(), report)
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s: ticket %s was asked to give way; %s\n", e.name, holder.Ticket, f.reaction(holder))
	return err
}

// reaction says when the holder learns of the request. Whether it listens, the record does not say.
func (f *revokeFlags) reaction(h queue.Holder) string {
	learns := "it learns of it by its next heartbeat"
	if h.TTL > 0 {
		learns += fmt.Sprintf(", within about %v", display.Duration(h.TTL/2))
	}
	if h.Bell != "" && !f.noBell {
		learns += ", at once on this host"
	}
	return learns + "; it may not react"
}

// revoke asks a holder as it was shown.
func (e *evicter) revoke(h queue.Holder, why string, after time.Duration) error {
	p := e.patience()
	defer p.end()
	err := e.client.Operator().Revoke(p.ctx, e.key, h, why, after)
	if _, refused := errors.AsType[*sweeper.EvictError](err); err == nil || refused {
		return err
	}
	return p.unavailable(err)
}
