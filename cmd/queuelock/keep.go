package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
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

func (f *keepFlags) keep(cmd *cobra.Command) error {
	reports := keeperReports()
	defer reports.Close()
	cmd.SetErr(display.NewFilter(reports))
	signals, deaf := hear(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP) // and not that the lock command has ended
	defer deaf()
	known := listen(cmd.InOrStdin(), signals)
	parent, unwatch := f.Limits.Parent(cmd.Context())
	defer unwatch()
	unhook := context.AfterFunc(parent, func() { signals <- syscall.SIGTERM }) // which ends a wait
	defer unhook()
	answers := json.NewEncoder(direct(cmd.OutOrStdout()))

	refuse := func(err error) error {
		_ = answers.Encode(keeperAnswer{Code: codeOf(err), Message: message(err), Details: details(err), Place: f.kept})
		return err
	}
	k, err := keeper.Listen()
	if err != nil {
		return refuse(failed(exitFailed, "no socket for unlock: %w: set TMPDIR to a directory that can be written", err))
	}
	f.handle = k.Handle()
	turn, env, closing, err := f.await(cmd, signals)
	defer func() { _ = closing() }() // no one is there to read why
	unhook()                         // from now on parent itself ends the lock
	if ended := context.Cause(parent); err != nil && ended != nil {
		err = failed(codeOf(err), "%w: left the queue of %s", ended, brief(f.keys[0]))
	}
	if err != nil {
		k.Discard()
		if err = refuse(err); f.quit != nil && !<-known {
			return errors.Join(err, f.giveUp(cmd))
		}
		return err
	}
	if err := answers.Encode(keeperAnswer{Handle: f.handle, Env: settingsOf(env)}); err != nil || !<-known {
		k.Discard()
		return f.release(cmd, turn, exitFailed, nil)
	}
	reports.Close()
	if out, ok := direct(cmd.OutOrStdout()).(io.Closer); ok {
		out.Close()
	}
	return f.serve(parent, k, turn, signals)
}

// await acquires the lock, and returns the variables of a command under it. closing must be called, also after an error.
func (f *keepFlags) await(cmd *cobra.Command, signals <-chan os.Signal) (t *turn, env []string, closing func() error, err error) {
	none := func() error { return nil }
	plan, err := f.plan(cmd, f.title())
	if err != nil {
		return nil, nil, none, err
	}
	client, closing, err := f.dial(cmd, &plan)
	if err != nil {
		return nil, nil, none, err
	}
	if t, err = f.acquire(cmd, client, plan, signals); err == nil {
		env = f.environment(t, plan.cfg.Owner)
	}
	return t, env, closing, err
}

// serve keeps the lock until unlock, or until it is lost or one of the limits ends it.
func (f *keepFlags) serve(parent context.Context, k *keeper.Keeper, turn *turn, signals <-chan os.Signal) error {
	ctx, stop := f.Limits.Hold(parent)
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
	signalLoss := f.signalLoss(turn)
	outcome := k.Serve(ctx, keptTurn{turn}, closeLimit)
	if outcome.Result == keeper.Lost || outcome.Result == keeper.Failed && ctx.Err() != nil {
		signalLoss() // also after --max-hold
	}
	if outcome.Result != keeper.Released {
		return errors.New(outcome.Message)
	}
	return nil
}

// signalLoss sends the signal of --on-lost to the process of --parent-pid as soon as the lock is lost, and returns a function that
// sends it unless it was sent.
func (f *keepFlags) signalLoss(t *turn) func() {
	if f.lost == 0 {
		return func() {}
	}
	script, err := os.FindProcess(f.ParentPid)
	if err != nil {
		return func() {} // it has ended, and so does this process
	}
	send := sync.OnceFunc(func() { _ = script.Signal(f.lost) })
	go func() {
		if <-t.Done(); errors.Is(t.Err(), queuelock.ErrLost) {
			send()
		}
	}()
	return send
}

// keptTurn is a turn that says in one line why it has ended, or why its release has failed.
type keptTurn struct{ *turn }

// loss is how a lock was lost. Equal texts are the same error.
type loss string

func (l loss) Error() string { return string(l) }

func (k keptTurn) Err() error {
	err := k.turn.Err()
	if lost, ok := errors.AsType[*queuelock.LostError](err); ok {
		return loss(brief(lost.Key) + ": " + lost.Cause.String())
	}
	return err
}

func (k keptTurn) Release(ctx context.Context) error {
	err := k.turn.Release(ctx)
	_, unknown := errors.AsType[*queuelock.UnknownOutcomeError](err)
	_, unreleased := errors.AsType[*queuelock.UnreleasedError](err)
	switch {
	case unknown:
		return &briefError{"it is not known whether the lock was held until now: see 'queuelock status'", err}
	case unreleased && errors.Is(err, queuelock.ErrLost):
		return &briefError{unreleasedLine(err), k.Err()}
	case errors.Is(err, queuelock.ErrLost):
		return k.Err()
	case err != nil:
		return &briefError{unreleasedLine(err), err}
	}
	return nil
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
