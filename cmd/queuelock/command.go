package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/cmd/queuelock/internal/display"
	"github.com/queuelock/queuelock/cmd/queuelock/internal/process"
	"github.com/queuelock/queuelock/heartbeat"
)

const maxKillAfter = time.Hour

// margin is the part of a lease for ending the command. The library reports a loss at least
// so long before the lease ends.
func margin(ttl time.Duration) time.Duration { return min(ttl/10, 2*time.Second) }

// grace is the most time that a command has from SIGTERM to SIGKILL when its lock was
// lost. The library reports a loss a margin before the lease ends. Three quarters of that
// are for the command to clean up. The last quarter is for the kernel to kill it, and for
// this process to be late. After an eviction another client may hold the lock at once. The
// command has the same time then, because a clean end is worth more than half a second of
// overlap that fencing must cover anyhow.
func grace(ttl time.Duration) time.Duration { return margin(ttl) * 3 / 4 }

// guard is the time after a loss at which the supervisor kills the command, if this process
// has not: it is stopped.
func guard(ttl time.Duration) time.Duration { return margin(ttl) * 17 / 20 }

const (
	// leftAfter is how long run waits for what the command has left before it says so.
	leftAfter = time.Second

	// overdueAfter is how long a renewal may take before it is reported; an eighth of a
	// short lease.
	overdueAfter = 3 * time.Second
)

type processFlags struct {
	killAfter time.Duration
	bounded   bool // killAfter was given
	leave     bool
	onRevoke  string
	revoke    syscall.Signal // that onRevoke names; 0: none

	lossReported bool // why the lock was lost
}

func (p *processFlags) addFlags(cmd *cobra.Command) {
	within(cmd.Flags(), &p.killAfter, "kill-after", "", 5*time.Second, 0, maxKillAfter, fmt.Sprintf("from SIGTERM to SIGKILL; if given, also from a SIGTERM to run; after a loss 3/4 of a tenth of --ttl, or %v, if that is less", grace(maxTTL)))
	cmd.Flags().BoolVarP(&p.leave, "no-wait-children", "o", false, "release when COMMAND ends, whatever it has left running")
	addSignal(cmd.Flags(), &p.onRevoke, &p.revoke, "on-revoke", "the `SIGNAL` for COMMAND once another asks it to give way, such as TERM: at once on one host, else up to half of --ttl later")
}

// addSignal adds a flag that names one of the signals that run passes on, if any.
func addSignal(flags *pflag.FlagSet, text *string, chosen *syscall.Signal, name, usage string) {
	known, names := map[string]syscall.Signal{}, []string{}
	for _, sig := range append([]os.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM}, userSignals...) {
		short := strings.TrimPrefix(process.SignalName(sig.(syscall.Signal)), "SIG")
		known[short], names = sig.(syscall.Signal), append(names, short)
	}
	flags.StringVar(text, name, "", usage)
	needs(flags, name, "need one of "+strings.Join(names, ", "), func() (ok bool) {
		*chosen, ok = known[strings.TrimPrefix(strings.ToUpper(*text), "SIG")]
		return ok || *text == ""
	})
}

// revoked passes on that the command is to give way. The lock is released when it has ended, as always.
func (h *holding) revoked() {
	what := "it goes on: see --on-revoke"
	if h.flags.revoke != 0 && !h.ended {
		what = process.SignalName(h.flags.revoke) + " was sent to the command"
		h.signal(h.flags.revoke)
	}
	for _, lock := range h.turn.locks {
		if r, asked := lock.Revocation(); asked {
			h.say("%s was asked to give way%s; %s", brief(lock.Key()), display.Asked(r, time.Now()), what)
		}
	}
}

// passedOn are the signals that the command receives from this process. nohup(1) lets
// SIGHUP be ignored, and so does the command then.
func passedOn() []os.Signal {
	signals := []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGQUIT}
	if !signal.Ignored(syscall.SIGHUP) {
		signals = append(signals, syscall.SIGHUP)
	}
	return append(signals, userSignals...)
}

var errStuck = errors.New("processes of the command cannot be ended")

// holding is a command that runs under a lock.
type holding struct {
	flags    *runFlags
	turn     *turn
	tree     *process.Tree
	terminal *process.Terminal
	lines    *process.Lines

	ended   bool           // the command, but not what it has left
	stopped syscall.Signal // that stopped the command; 0: it runs
	asked   syscall.Signal // the last that was passed on
	end     time.Time      // when the leases end, as the supervisor knows it
	overdue time.Duration  // what was left of the leases when it was last reported
	lost    bool
	termed  bool // the command's group has received SIGTERM

	timers
}

type timers struct {
	killAt    time.Time   // zero: not
	killTimer *time.Timer // for SIGKILL
	stuck     *time.Timer // for giving up after it
	left      *time.Timer // for saying what is waited for
}

// hold runs the command while the lock is held, and returns its exit code.
func (f *runFlags) hold(cmd *cobra.Command, lock *turn, owner string, signals <-chan os.Signal) (int, error) {
	h := &holding{
		flags: f, turn: lock, terminal: process.OpenTerminal(), lines: process.NewLines(cmd.ErrOrStderr()),
		timers: timers{killTimer: idle(), stuck: idle(), left: idle()},
	}
	defer h.lines.Close()
	defer h.terminal.Close()
	command := process.Command{
		Path: f.path, Args: f.command, Env: f.environment(lock, owner),
		Stdin: cmd.InOrStdin(), Stdout: direct(cmd.OutOrStdout()), Stderr: direct(cmd.ErrOrStderr()),
		Leave: f.leave, Grace: f.killAfter,
	}
	if f.stdout != nil {
		command.Stdout = f.stdout
	}
	command.Foreground = h.terminal.Interactive(command.Stdin, command.Stdout)
	if !f.failClosed {
		left := lock.Remaining()
		command.Until, h.end = left+guard(f.ttl), time.Now().Add(left)
	}
	tree, err := process.Start(command)
	switch {
	case errors.Is(err, fs.ErrNotExist): // such as the interpreter of a script
		return 0, &exitError{exitNotFound, err}
	case err != nil:
		return 0, notRunnable(err)
	}
	h.tree = tree
	if command.Foreground {
		h.terminal.Started()
	}
	return h.wait(cmd, signals)
}

// idle is a timer that waits to be set.
func idle() *time.Timer {
	t := time.NewTimer(time.Hour)
	t.Stop()
	return t
}

// wait handles what happens until nothing of the command is left.
func (h *holding) wait(cmd *cobra.Command, signals <-chan os.Signal) (int, error) {
	tick := time.NewTicker(min(h.flags.ttl/20, 250*time.Millisecond))
	defer tick.Stop()
	loss, cancelled, revoked := h.turn.Done(), cmd.Context().Done(), h.turn.Revoked()
	for {
		select {
		case sig := <-signals:
			h.signal(sig.(syscall.Signal))
		case event := <-h.tree.Events():
			h.event(event)
		case <-loss:
			loss = nil
			h.lose()
		case <-revoked:
			revoked = nil
			h.revoked()
		case <-cancelled:
			cancelled = nil
			h.terminate(h.flags.killAfter)
		case <-tick.C:
			h.look()
		case <-h.left.C:
			h.sayLeft()
		case <-h.killTimer.C:
			h.say("SIGKILL was sent to the command: it has not ended in time")
			h.tree.Kill()
			h.stuck.Reset(closeLimit)
		case <-h.stuck.C:
			return h.giveUp()
		case <-h.tree.Done():
			if h.tree.Expired() && !h.lost {
				return 0, failed(exitLost, "lock lost: this process was stopped until its lease ended; the command was killed")
			}
			return h.tree.Code(), nil
		}
	}
}

// signal passes on a signal. After the end of the command, it ends what that has left.
func (h *holding) signal(sig syscall.Signal) {
	if slices.Contains(userSignals, os.Signal(sig)) {
		h.tree.Signal(sig) // it asks for no end
		return
	}
	h.asked = sig
	if h.ended {
		h.terminate(h.flags.killAfter)
		return
	}
	h.tree.Signal(sig)
	if sig != syscall.SIGTERM {
		return
	}
	h.termed = true
	if h.flags.bounded { // else the command has the time that it needs to end in order
		h.killIn(h.flags.killAfter)
	}
}

func (h *holding) event(e process.Event) {
	switch e.Kind {
	case process.Stopped:
		h.stopped = e.Signal
		h.resume(true)
	case process.Continued:
		h.stopped = 0
	case process.Ended:
		h.ended, h.stopped = true, 0
		if h.tree.Code() > exitSignal {
			h.terminal.Restore()
		}
		h.terminal.TakeBack() // what is left must not have it
		h.left.Reset(leftAfter)
		if h.asked != 0 && !h.lost {
			h.terminate(h.flags.killAfter)
		}
	}
}

// resume gives the terminal to a command that was stopped because it needs it. Otherwise
// it says why the command is stopped, the first time.
func (h *holding) resume(first bool) {
	wants := process.WantsTerminal(h.stopped)
	if wants && h.terminal.Lend(h.tree.Pid()) {
		h.stopped = 0
		h.tree.Continue()
		return
	}
	if !first {
		return
	}
	h.terminal.TakeBack() // for Ctrl-C
	if wants {
		h.say("the command is stopped: it needs the terminal. Bring queuelock to the foreground (fg), or end it (kill %d)", os.Getpid())
		return
	}
	h.say("the command is stopped by %v and keeps the lock. Continue it with 'kill -CONT -- -%d', or end it with 'kill %d'",
		process.SignalName(h.stopped), h.tree.Pid(), os.Getpid())
}

// look is called a few times in each lease.
func (h *holding) look() {
	if h.stopped != 0 && process.WantsTerminal(h.stopped) {
		h.resume(false)
	}
	if h.flags.failClosed || h.lost {
		h.tree.Wake()
		return
	}
	left := h.turn.Remaining()
	if left <= 0 {
		return // Done says so
	}
	const noise = 5 * time.Millisecond
	if end := time.Now().Add(left); end.Sub(h.end) > noise {
		h.end = end
		h.tree.Until(left + guard(h.flags.ttl))
	}
	h.tree.Wake()
	h.report(left)
}

// report says when renewals fail: first when one is overdue, and then each time that half
// of the rest has passed.
func (h *holding) report(left time.Duration) {
	ttl := h.flags.ttl
	// A renewal is sent after half of the lease at the latest.
	late := ttl/2 - heartbeat.Margin(ttl) - left
	switch {
	case late < min(overdueAfter, ttl/8):
		if h.overdue > 0 {
			h.say("the lock was renewed, and expires in %v", rough(left))
		}
		h.overdue = 0
	case h.overdue == 0 || left < h.overdue/2:
		h.say("renewals have failed for %v; the lock expires in %v", rough(late), rough(left))
		h.overdue = left
	}
}

func rough(d time.Duration) time.Duration {
	if d < 10*time.Second {
		return d.Round(100 * time.Millisecond)
	}
	return d.Round(time.Second)
}

func (h *holding) lose() {
	h.lost, h.flags.lossReported = true, true
	limit := min(h.flags.killAfter, grace(h.flags.ttl))
	err := h.turn.Err()
	why := "lock lost"
	if e, ok := errors.AsType[*queuelock.LostError](err); ok {
		why = fmt.Sprintf("lock lost: %s: %s", brief(e.Key), e.Cause)
		if text := remedy(e.Err); text != "" {
			h.say("%s", text)
		}
	}
	h.say("%s; SIGTERM was sent to the command, SIGKILL follows in %v", why, limit)
	h.terminate(limit)
}

func (h *holding) terminate(limit time.Duration) {
	h.tree.Terminate(h.termed)
	h.termed = true
	h.killIn(limit)
}

func (h *holding) killIn(limit time.Duration) {
	if at := time.Now().Add(limit); h.killAt.IsZero() || at.Before(h.killAt) {
		h.killAt = at
		h.killTimer.Reset(limit)
	}
}

func (h *holding) sayLeft() {
	what := "the processes that it has started"
	if names := h.tree.Left(); len(names) > 0 {
		what = clip(strings.Join(names, ", "), 60)
	}
	h.say("the command has ended; waiting for %s. Ctrl-C ends that, --no-wait-children does not wait", what)
}

// giveUp leaves the lock to its lease: what could not be ended may still work under it.
func (h *holding) giveUp() (int, error) {
	h.flags.spared = true
	next := "the lock is not released, and its lease ends by itself"
	if h.flags.failClosed {
		next = "the lock is not released: when they have ended, evict it"
	}
	what := clip(strings.Join(h.tree.Left(), ", "), 50)
	return 0, failed(exitLost, "%w: %s: %s", errStuck, what, next)
}

func (h *holding) say(format string, args ...any) {
	h.lines.Print(clip("queuelock: "+display.Escape(fmt.Sprintf(format, args...)), maxLine))
}
