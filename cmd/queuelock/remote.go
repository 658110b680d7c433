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
		return errors.Join(f.printPlace(cmd, f.kept), err)
	}
	handle, others := handleText(f.table, turn.locks[0].Handle()), settingsOf(f.environment(turn, p.cfg.Owner))
	if err := f.print(direct(cmd.OutOrStdout()), "QUEUELOCK_HANDLE", handle, others); err != nil {
		return failed(exitFailed, "the handle cannot be printed: %w", err) // and the lock is released
	}
	f.spared = true
	return nil
}

// remoteFlags are those of a command that takes a handle to DynamoDB, and not to a keeper.
type remoteFlags struct {
	settings
	ticket string // the path of a file with the handle of a place; empty: none
}

// handle returns what a handle in the arguments, in the file or in QUEUELOCK_HANDLE names. It is empty if that is of a keeper.
func (f *remoteFlags) handle(args []string) (h queuelock.Handle, table string, err error) {
	text := os.Getenv("QUEUELOCK_HANDLE")
	switch {
	case f.ticket != "" && len(args) > 0:
		return h, "", usagef("--ticket and HANDLE: use one of them")
	case f.ticket != "":
		content, err := os.ReadFile(f.ticket)
		if err != nil {
			return h, "", failed(exitFailed, "--ticket: %w", err)
		}
		text = string(content)
	case len(args) > 0:
		text = args[0]
	}
	if f.ticket == "" && !strings.HasPrefix(text, handlePrefix) {
		return h, "", nil
	}
	if h, table, err = parseHandle(text); err != nil {
		return h, "", usagef("%w", err)
	}
	return h, table, nil
}

// ask does something with the handle at its table.
func (f *remoteFlags) ask(cmd *cobra.Command, h queuelock.Handle, table string, cfg queuelock.Config,
	do func(context.Context, *queuelock.Client) error) error {
	if cmd.Flags().Changed("table") && f.table != table {
		return usagef("--table %s: the handle is of the table %s", clip(f.table, 40), clip(table, 40))
	}
	f.table = table
	ctx, stop := signalContext(cmd.Context())
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, unlockLimit)
	defer cancel()
	db, err := f.connect(ctx)
	if err != nil {
		return err
	}
	defer db.close()
	client, err := queuelock.New(db, f.table, f.config(cfg))
	if err != nil {
		return usagef("%w", err)
	}
	err = do(ctx, client)
	_, own := errors.AsType[*exitError](err)
	switch {
	case errors.Is(err, queuelock.ErrGone), errors.Is(err, queuelock.ErrLost):
		return &exitError{exitLost, fmt.Errorf("the lock of %s was lost, or was released before: its lease is over, or another process has it", brief(h.Key))}
	case err != nil && !own:
		return interrupted(ctx, unavailable(err))
	}
	return err
}

// leaves lets unlock leave a place, or release a lock without a keeper.
func (f *remoteFlags) leaves(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.ticket, "ticket", "", "leave the place of that `FILE`, and remove it")
	f.instead(cmd, func(ctx context.Context, client *queuelock.Client, h queuelock.Handle) error {
		err := errors.Join(client.Leave(ctx, h), client.Close(ctx))
		if err == nil && f.ticket != "" {
			err = os.Remove(f.ticket)
		}
		return err
	})
}

// checks lets check look whether a lock without a keeper is held.
func (f *remoteFlags) checks(cmd *cobra.Command) {
	f.instead(cmd, func(ctx context.Context, client *queuelock.Client, h queuelock.Handle) error {
		s, err := client.Viewer().Inspect(ctx, h.Key)
		held := err == nil && slices.ContainsFunc(s.Serving, func(o queue.Holder) bool {
			return strings.HasPrefix(o.ID, h.ID+"-") && !o.Closed && !o.Expired()
		})
		switch {
		case err != nil:
			return err
		case !h.Held:
			return usagef("the handle is of a place: see 'queuelock status'")
		case !held:
			return queuelock.ErrGone
		}
		return nil
	})
}

// instead does something with a handle that is of no keeper.
func (f *remoteFlags) instead(cmd *cobra.Command, do func(context.Context, *queuelock.Client, queuelock.Handle) error) {
	f.settings.addFlags(cmd)
	keepers := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		h, table, err := f.handle(args)
		switch {
		case err != nil:
			return err
		case table == "":
			return keepers(cmd, args)
		}
		return f.ask(cmd, h, table, queuelock.Config{}, func(ctx context.Context, c *queuelock.Client) error { return do(ctx, c, h) })
	}
}

func newRenew() *cobra.Command {
	var f remoteFlags
	var ttl time.Duration
	cmd := &cobra.Command{
		Use:   "renew [HANDLE]",
		Short: "Renew a lock of queuelock lock that has no keeper",
		Long: `Renews the lease of a lock that "queuelock lock" has acquired without a keeper, on any host, and
prints its new handle. The handle before is worth nothing then, so that no two steps believe that they hold
the lock. Without HANDLE it takes QUEUELOCK_HANDLE.`,
		Example: `  handle=$(queuelock renew "$handle" --ttl 15m) || exit

` + exitCodes(codeWritten, codeUsage, codeUnavailable, "70   the lock was lost: its lease was over, or it was evicted"),
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			h, table, err := f.handle(args)
			switch {
			case err != nil:
				return err
			case table == "":
				return usagef("HANDLE: give what 'queuelock lock --no-keeper' has printed; a keeper renews its lock itself")
			case !h.Held:
				return usagef("the handle is of a place: go on with it by 'queuelock lock --resume'")
			}
			return f.ask(cmd, h, table, queuelock.Config{TTL: ttl}, func(ctx context.Context, client *queuelock.Client) error {
				lock, err := client.Resume(ctx, h, waitpolicy.NoWait, queuelock.NoHeartbeat())
				if err != nil {
					return err
				}
				if _, err := fmt.Fprintln(direct(cmd.OutOrStdout()), handleText(table, lock.Handle())); err != nil {
					return failed(exitFailed, "the handle cannot be printed: %w", errors.Join(err, lock.Release(ctx)))
				}
				return nil
			})
		},
	}
	within(cmd.Flags(), &ttl, "ttl", "", 15*time.Minute, minTTL, maxTTL, "the lease: the lock is lost after it")
	f.settings.addFlags(cmd)
	cmd.ValidArgsFunction = offerFiles
	return cmd
}
