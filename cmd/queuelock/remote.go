package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/waitpolicy"
)

// withoutKeeper acquires the lock, and leaves it to a later command on any host: nothing renews its lease.
func (f *keepFlags) withoutKeeper(cmd *cobra.Command, p plan) error {
	for _, name := range []string{"max-hold", "parent-pid", "on-lost", "all", "fail-closed"} {
		if cmd.Flags().Changed(name) {
			return usagef("--no-keeper excludes --%s: no process stays that could do that", name)
		}
	}
	if !cmd.Flags().Changed("ttl") {
		return usagef("--no-keeper: add --ttl, after which the lock is lost unless it is renewed, such as --ttl 15m")
	}
	p.options = append(p.options, queuelock.NoHeartbeat())
	signals, deaf := hear(passedOn()...)
	defer deaf()
	client, closing, err := f.dial(cmd, &p)
	if err != nil {
		return err
	}
	defer func() { f.warn(cmd, closing()) }()
	turn, err := f.acquire(cmd, client, p, signals)
	if err != nil {
		if unprinted := f.printPlace(cmd, f.kept); unprinted != nil {
			return errors.Join(unprinted, f.giveUp(cmd))
		}
		return err
	}
	handle, others := f.textOf(turn.locks[0].Handle()), settingsOf(f.environment(turn, p.cfg.Owner))
	if err := f.print(direct(cmd.OutOrStdout()), "QUEUELOCK_HANDLE", handle, others); err != nil {
		return failed(exitFailed, "the handle cannot be printed: %w", err) // and the lock is released
	}
	f.spared = true
	return nil
}

// giveUp leaves a place of which no one has the handle.
func (f *lockFlags) giveUp(cmd *cobra.Command) error {
	ctx, cancel := f.ending(cmd)
	defer cancel()
	return f.quit(ctx)
}

// handleFlags are those of a command for the lock of a handle, which a keeper of this host has, or a table.
type handleFlags struct {
	settings
	ticket string           // the path of a file with the handle of a place; empty: none
	cfg    queuelock.Config // of the client that asks a table

	handle string
}

// arguments takes the handle from the arguments, the file, or QUEUELOCK_HANDLE.
func (f *handleFlags) arguments(cmd *cobra.Command, args []string) error {
	f.handle = os.Getenv("QUEUELOCK_HANDLE")
	switch {
	case f.ticket != "" && len(args) > 0:
		return usagef("--ticket and HANDLE: use one of them")
	case f.ticket != "":
		return nil
	case len(args) > 0 && args[0] == "":
		return usagef("HANDLE is empty: give what 'queuelock lock' has printed")
	case len(args) > 0:
		f.handle = args[0]
	case f.handle == "":
		return usagef("HANDLE is missing: give what 'queuelock lock' has printed")
	}
	return cobra.MaximumNArgs(1)(cmd, args)
}

// command lets a command do something with a handle: by its keeper, or at its table.
func (f *handleFlags) command(
	cmd *cobra.Command, byKeeper func(ctx context.Context, handle string) error, atTable func(context.Context, *queuelock.Client, savedHandle) error,
) *cobra.Command {
	f.settings.addFlags(cmd)
	cmd.Args, cmd.ValidArgsFunction = f.arguments, offerFiles
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if f.ticket != "" {
			free, err := f.readTicket()
			if err != nil {
				return err
			}
			defer free()
		} else if !strings.HasPrefix(f.handle, handlePrefix) {
			return byKeeper(cmd.Context(), f.handle)
		}
		h, err := parseHandle(f.handle)
		switch {
		case err != nil:
			return usagef("%w", err)
		case cmd.Flags().Changed("table") && f.table != h.Table:
			return usagef("--table %s: the handle is of the table %s", clip(f.table, 40), clip(h.Table, 40))
		}
		f.table, f.cfg.Scope = h.Table, scopes[h.Scope]
		ctx, stop := signalContext(cmd.Context())
		defer stop()
		ctx, cancel := context.WithTimeout(ctx, unlockLimit)
		defer cancel()
		db, err := f.connect(ctx)
		if err != nil {
			return err
		}
		defer db.close()
		client, err := queuelock.New(db, f.table, f.config(f.cfg))
		if err != nil {
			return usagef("%w", err)
		}
		err = atTable(ctx, client, h)
		_, own := errors.AsType[*exitError](err)
		switch {
		case errors.Is(err, queuelock.ErrGone), errors.Is(err, queuelock.ErrLost):
			return &exitError{exitLost, fmt.Errorf("the lock of %s was lost, or was released before: its lease is over, or another process has it", brief(h.Key))}
		case err != nil && !own:
			return interrupted(ctx, unavailable(err))
		}
		return err
	}
	return cmd
}

// readTicket takes the handle from the file, which no other process uses until free is called.
func (f *handleFlags) readTicket() (free func(), err error) {
	if _, err := os.Stat(f.ticket); err != nil {
		return nil, failed(exitFailed, "--ticket: %w", err)
	}
	if free, err = reserve(f.ticket); err != nil {
		return nil, err
	}
	content, err := os.ReadFile(f.ticket)
	if err != nil {
		free()
		return nil, failed(exitFailed, "--ticket: %w", err)
	}
	f.handle = string(content)
	return free, nil
}

// runs looks whether the lease of a lock still runs, and returns ErrGone if it does not. Until another process takes the lock,
// it could be renewed; but who comes later may have been served meanwhile as well.
func runs(ctx context.Context, client *queuelock.Client, h savedHandle) error {
	s, err := client.Viewer().Inspect(ctx, h.Key)
	if err != nil {
		return err
	}
	held := slices.ContainsFunc(s.Serving, func(o queue.Holder) bool {
		return strings.HasPrefix(o.ID, h.ID+"-") && !o.Closed && !o.Expired()
	})
	if !held {
		return queuelock.ErrGone
	}
	return nil
}

func newRenew() *cobra.Command {
	var f handleFlags
	cmd := &cobra.Command{
		Use:   "renew [HANDLE]",
		Short: "Renew a lock of queuelock lock that has no keeper",
		Long: `Renews the lease of a lock that "queuelock lock" has acquired without a keeper, on any host, and
prints its new handle. The handle before is worth nothing then, so that no two steps believe that they hold
the lock. Without HANDLE it takes QUEUELOCK_HANDLE.`,
		Example: `  handle=$(queuelock renew "$handle" --ttl 15m) || exit

` + exitCodes(codeWritten, codeUsage, codeUnavailable, "70   the lock was lost: its lease was over, or it was evicted"),
	}
	within(cmd.Flags(), &f.cfg.TTL, "ttl", "", 15*time.Minute, minTTL, maxTTL, "the lease: the lock is lost after it")
	return f.command(cmd, func(context.Context, string) error {
		return usagef("HANDLE: give what 'queuelock lock --no-keeper' has printed; a keeper renews its lock itself")
	}, func(ctx context.Context, client *queuelock.Client, h savedHandle) error {
		if !h.Held {
			return usagef("the handle is of a place: go on with it by 'queuelock lock --resume'")
		}
		if err := runs(ctx, client, h); err != nil {
			return err
		}
		lock, err := client.Resume(ctx, h.Handle, waitpolicy.NoWait, queuelock.NoHeartbeat())
		if err != nil {
			return err
		}
		h.Handle = lock.Handle()
		if _, err := fmt.Fprintln(direct(cmd.OutOrStdout()), h.text()); err != nil {
			return failed(exitFailed, "the handle cannot be printed: %w", errors.Join(err, lock.Release(ctx)))
		}
		return nil
	})
}
