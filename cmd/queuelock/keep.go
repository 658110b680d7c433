package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/cmd/queuelock/internal/display"
	"github.com/queuelock/queuelock/cmd/queuelock/internal/keeper"
)

// keeperName is the command of the process that keeps a lock between lock and unlock.
const keeperName = "keep-lock"

func newKeeper() *cobra.Command {
	var f keepFlags
	cmd := &cobra.Command{
		Use:    keeperName + " ENTITY",
		Hidden: true,
		Args:   func(_ *cobra.Command, args []string) error { return f.arguments(args) },
		RunE:   func(cmd *cobra.Command, _ []string) error { return f.keep(cmd) },
	}
	f.addFlags(cmd)
	return cmd
}

// keep acquires the lock, reports that on standard output, and keeps the lock.
func (f *keepFlags) keep(cmd *cobra.Command) error {
	reports := keeperReports()
	defer reports.Close()
	cmd.SetErr(display.NewFilter(reports))
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(signals)
	broken := make(chan os.Signal, 1) // a lock command that has ended is an error and no signal
	signal.Notify(broken, syscall.SIGPIPE)
	defer signal.Stop(broken)
	known := listen(cmd.InOrStdin(), signals)
	answers := json.NewEncoder(direct(cmd.OutOrStdout()))

	k, err := keeper.Listen()
	if err != nil {
		return f.refuse(answers, &exitError{exitFailed, fmt.Errorf("no socket for unlock: %w: set TMPDIR to a directory that can be written", err)})
	}
	plan, err := f.plan(cmd, f.title())
	if err != nil {
		k.Discard()
		return f.refuse(answers, err)
	}
	f.credentialsIn, f.notices = patienceOf(plan.wait), cmd.ErrOrStderr()
	db, err := f.connect(cmd.Context())
	if err != nil {
		k.Discard()
		return f.refuse(answers, err)
	}
	defer db.close()
	defer f.hang(&plan.cfg)()
	client, err := queuelock.New(db, f.table, plan.cfg)
	if err != nil {
		k.Discard()
		return f.refuse(answers, usagef("%w", err))
	}
	defer func() {
		ctx, cancel := f.ending(cmd)
		defer cancel()
		_ = client.Close(ctx) // no one is there to read why
	}()
	turn, err := f.acquire(cmd, client, plan, signals)
	if err != nil {
		k.Discard()
		return f.refuse(answers, err)
	}
	f.handle = k.Handle()
	if err := answers.Encode(keeperAnswer{Handle: k.Handle(), Env: settingsOf(f.environment(turn, plan.cfg.Owner))}); err != nil || !<-known {
		k.Discard()
		return f.release(cmd, turn, exitFailed, nil)
	}
	reports.Close()
	if out, ok := direct(cmd.OutOrStdout()).(io.Closer); ok {
		out.Close()
	}
	ctx, stop := f.Limits.Context(cmd.Context())
	defer stop()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case sig := <-signals:
			cancel(fmt.Errorf("its keeper received the signal: %v", sig))
		case <-ctx.Done():
		}
	}()
	if outcome := k.Serve(ctx, brieflyFailing{turn}, closeLimit); outcome.Result != keeper.Released {
		return errors.New(outcome.Message)
	}
	return nil
}

// brieflyFailing is a turn whose release fails in one line.
type brieflyFailing struct{ *turn }

func (b brieflyFailing) Release(ctx context.Context) error {
	err := b.turn.Release(ctx)
	if _, unknown := errors.AsType[*queuelock.UnknownOutcomeError](err); unknown {
		return &briefError{"it is not known whether the lock was held until now: see 'queuelock status'", err}
	}
	return shortened(err)
}

// refuse reports to the lock command that there is no lock.
func (f *keepFlags) refuse(answers *json.Encoder, err error) error {
	_ = answers.Encode(keeperAnswer{Code: codeOf(err), Message: message(err), Details: details(err)})
	return err
}

// listen reads whether the user has the handle. If the lock command ends before, that is
// a signal to leave the queue.
func listen(control io.Reader, signals chan<- os.Signal) <-chan bool {
	known := make(chan bool, 1)
	go func() {
		line, _ := bufio.NewReader(control).ReadString('\n')
		known <- line == kept
		if line != kept {
			signals <- syscall.SIGTERM
		}
	}()
	return known
}

// settingsOf are the variables of this command in an environment. One that is no single
// line is left out: it would be read as several.
func settingsOf(env []string) (own []string) {
	for _, setting := range env {
		if strings.HasPrefix(setting, "QUEUELOCK_") && !strings.ContainsAny(setting, "\r\n") && !strings.HasPrefix(setting, "QUEUELOCK_TEST") {
			own = append(own, setting)
		}
	}
	return own
}
