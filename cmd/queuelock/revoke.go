package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/cmd/queuelock/internal/display"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/sweeper"
)

type revokeFlags struct {
	holderFlags
	bellFlags
	why   string
	after time.Duration
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

` + display.Fields("JSON", revokeReport{}) +
			"\n\n" + exitCodes(
			"1    nothing was done: no holder has this ticket, or several are possible", codeUsage,
			codeUnavailable,
		),
		Example: `  queuelock revoke deploy/prod --why 'a hotfix waits' --after 5m
  queuelock revoke gpu --ticket 12`,
		Args: f.target.arguments,
		RunE: f.run,
	}
	f.addTicket(cmd, "the `NUMBER` of the holder, also as …123456; not needed for the only one")
	cmd.Flags().StringVar(&f.why, "why", "", "a `TEXT` for people, at most 256 bytes")
	needs(cmd.Flags(), "why", fmt.Sprintf("need at most %d bytes of printable characters", queue.MaxWhy), func() bool {
		return len(f.why) <= queue.MaxWhy && display.Printable(f.why)
	})
	within(cmd.Flags(), &f.after, "after", "", 0, 0, queue.MaxLease, "by when it should have ended, from now; at most 168h")
	f.bellFlags.addFlag(cmd.Flags())
	f.addFlags(cmd)
	return cmd
}

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
	cfg := queuelock.Config{Owner: owner()}
	defer f.hang(&cfg)()
	return f.act(cmd, args, cfg, func(a *acting, h queue.Holder) error {
		if h.Closed {
			return &sweeper.EvictError{Holder: h, Serving: []queue.Holder{h}}
		}
		return a.request(func(ctx context.Context, o queuelock.Operator) error { return o.Revoke(ctx, a.key, h, f.why, f.after) })
	}, func(key queuelock.Key, h queue.Holder) (any, string) {
		report := revokeReport{Entity: key.Entity, Reason: key.Reason, Ticket: h.Ticket.String(), Asked: true, Bell: h.Bell != ""}
		if h.TTL > 0 {
			within := display.Seconds(h.TTL / 2)
			report.Within = &within
		}
		return report, "was asked to give way; " + f.reaction(h)
	})
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
