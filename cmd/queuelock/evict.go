package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/ticket"
)

// evictLimit bounds the requests of an eviction, the library's repetitions
// included. Tests shorten it.
var evictLimit = 30 * time.Second

type evictFlags struct {
	settings
	reason, ticket string
	json           bool
}

func newEvict() *cobra.Command {
	var f evictFlags
	cmd := &cobra.Command{
		Use:   "evict ENTITY --ticket N",
		Short: "Take the lock from a holder that has no lease",
		Long: `Ends the turn of the holder with ticket N, which took the lock of ENTITY without a lease
("run --fail-closed"): no other client would ever end it. The next waiter is served.

First make sure that the holder's process has ended, or has stopped permanently. A live process
learns of the eviction by its next heartbeat, and works on until then. Its writes on the
condition that it holds the lock are refused from now on; its other actions are not.

"queuelock status" shows the command with the ticket. A holder that has a lease is not evicted: it ends by
itself. A repeated call is safe, and never evicts another holder.

--json prints one object: entity, reason, ticket (a string) and evicted (true).

Exit codes:
  1    nothing was done: no holder has this ticket, or its holder has a lease
  64   wrong usage
  69   DynamoDB cannot be used: no answer, no such table, no rights, no AWS settings`,
		Example: `  queuelock status payroll
  queuelock evict payroll --ticket 7`,
		Args: oneEntity,
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd, queuelock.Key{Entity: args[0], Reason: f.reason})
		},
	}
	cmd.Flags().StringVar(&f.reason, "reason", "", `what the lock is for (default "lock")`)
	cmd.Flags().StringVar(&f.ticket, "ticket", "", "the ticket of the holder, as status shows it")
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
	if f.ticket == "" {
		return usagef("--ticket is missing: name the holder, as 'queuelock status %s' shows it", quoted(key.Entity))
	}
	number, err := ticket.Parse(f.ticket)
	if err != nil || number.IsZero() {
		return usagef("--ticket %s: need a whole number from 1", f.ticket)
	}
	if err := checkArguments(cmd.Context(), key, f.table, f.config(queuelock.Config{})); err != nil {
		return err
	}
	p := f.patience(cmd.Context(), cmd.ErrOrStderr(), evictLimit)
	defer p.end()
	db, err := f.connect(p.ctx)
	if err != nil {
		return err
	}
	defer db.close()
	client, err := queuelock.New(db, f.table, f.config(queuelock.Config{}))
	if err != nil {
		return usagef("%w", err)
	}
	// An eviction is repeated while DynamoDB does not answer. A wrong address is noticed at once.
	if _, err := client.Inspect(p.ctx, key); err != nil {
		return p.unavailable(err)
	}
	err = client.Evict(p.ctx, key, number)
	_ = client.Close(p.ctx) // of what runs in the background nothing depends
	p.end()
	if _, nobody := errors.AsType[*queuelock.EvictError](err); nobody {
		return err
	}
	if err != nil {
		return p.unavailable(err)
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
