package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/spf13/cobra"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/cmd/queuelock/internal/display"
	"github.com/queuelock/queuelock/cmd/queuelock/internal/process"
	"github.com/queuelock/queuelock/cmd/queuelock/internal/progress"
	"github.com/queuelock/queuelock/once"
)

// closeLimit bounds the requests of release and of leaving the queue. What
// does not get through in that time, the lease ends. Tests shorten it.
var closeLimit = 10 * time.Second

type runFlags struct {
	lockFlags
	processFlags
	once time.Duration // for which the output is kept; zero: it is not
	text string        // for the shell; empty: there is a command

	command []string
	path    string    // of the command
	stdout  io.Writer // its output; nil: that of this process
}

func newRun() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run ENTITY [flags] -- COMMAND [ARG]…",
		Short: "Run a command while holding a lock",
		Long: `Waits for the lock of ENTITY, runs COMMAND with its ticket in QUEUELOCK_TICKET, and releases
the lock when all that COMMAND has started has ended.

` + ansi.Wordwrap(process.Limits, 95, "") + `

The ticket is greater than that of every holder before: send it with each write, and let the
resource refuse a ticket lower than the highest it has seen. With --shared or --permits several
hold at once: then such a check refuses the writes of present holders. The command also has
QUEUELOCK_ENTITY, QUEUELOCK_REASON, QUEUELOCK_OWNER and QUEUELOCK_TABLE. With --permits N it has
QUEUELOCK_SLOT: a number below N that no other holder has at the same time.

` + progressFields(),
		Example: `  queuelock run deploy/prod -- ./deploy.sh --fast
  queuelock run nightly -n -- ./report             # not at all, if another runs it
  queuelock run --all db disk -w 30 -c 'make backup'
  queuelock run prices --once 10m -- ./fetch       # one fetches, all print it

Exit codes:
  the command's own, or 64 wrong usage, 69 no DynamoDB, 70 lost, 75 busy (-E),
  76 superseded, 78 held by a command above, 79 place kept, 126 not executable, 127 not found,
  128+n signal`,
		Args: func(cmd *cobra.Command, args []string) error { return f.arguments(cmd, args) },
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	cmd.Flags().StringVarP(&f.text, "command", "c", "", "a `TEXT` for /bin/sh -c, in place of COMMAND")
	within(cmd.Flags(), &f.once, "once", "", 0, time.Millisecond, once.MaxTTL, "keep the output for `TIME`: others print it, and do not run COMMAND")
	f.lockFlags.addFlags(cmd)
	f.processFlags.addFlags(cmd)
	return cmd
}

func progressFields() string {
	waiting, outage, end := progress.Objects()
	return display.Fields("--progress json, a line at a time; durations in seconds, null: not known", waiting) + "\n\n" +
		display.Fields("a line when DynamoDB does not answer, and when it does again", outage) + "\n\n" +
		display.Fields("its last line", end)
}

// arguments takes the entities and the command from the arguments.
func (f *runFlags) arguments(cmd *cobra.Command, args []string) error {
	dash := cmd.ArgsLenAtDash()
	if flag := tookDash(cmd); dash < 0 && flag != "" {
		return usagef(`--%s took "--" as its value: write its value before "--"`, flag)
	}
	entities, given := args, cmd.Flags().Changed("command")
	if dash >= 0 {
		entities, f.command = args[:dash], args[dash:]
	}
	if len(entities) == 0 {
		return usagef("ENTITY is missing: name what is to be locked")
	}
	if err := f.commandOf(entities[0], given, dash >= 0); err != nil {
		return err
	}
	if len(entities) > 1 && !f.all {
		return usagef("%q is one ENTITY too many: write the command after \"--\", or use --all", clip(entities[1], 40))
	}
	f.name(entities)
	return nil
}

func (f *runFlags) commandOf(entity string, given, dash bool) error {
	switch {
	case given && dash:
		return usagef(`-c and a command after "--": use one of them`)
	case given && strings.TrimSpace(f.text) == "":
		return usagef("-c is empty: write a command, as in -c 'make deploy'")
	case given:
		f.command = shell(f.text)
	case !dash:
		return usagef(`the command is missing: write it after "--", as in 'queuelock run %s -- COMMAND'`, clipped(entity, 40))
	case len(f.command) == 0:
		return usagef(`the command is missing after "--": write it there, as in 'queuelock run %s -- COMMAND'`, clipped(entity, 40))
	}
	return nil
}

func (f *runFlags) title() string {
	if f.text != "" {
		return f.text
	}
	return strings.Join(f.command, " ")
}

// tookDash is the name of a flag whose value is "--", or empty. Where there is
// no other "--", it was meant to begin the command.
func tookDash(cmd *cobra.Command) string {
	for _, name := range []string{"wait", "reason", "data", "owner", "command", "table", "endpoint"} {
		if cmd.Flag(name).Value.String() == "--" {
			return name
		}
	}
	return ""
}

func (f *runFlags) run(cmd *cobra.Command) error {
	f.bounded = cmd.Flags().Changed("kill-after")
	if err := f.checkOnce(cmd); err != nil {
		return err
	}
	if f.keep > 0 && f.ticket == "" {
		return usagef("--keep: add --ticket, the file that has the place between two calls")
	}
	plan, err := f.plan(cmd, f.title())
	if err != nil {
		return err
	}
	if f.path, err = find(f.command[0]); err != nil {
		return err
	}
	signals, deaf := hear(passedOn()...)
	defer deaf()
	client, closing, err := f.dial(cmd, &plan)
	if err != nil {
		return err
	}
	defer func() {
		if err := closing(); !f.failed { // else it repeats what was printed
			f.warn(cmd, err)
		}
	}()
	if f.once > 0 {
		return f.runOnce(cmd, client, plan, signals)
	}
	turn, err := f.acquire(cmd, client, plan, signals)
	if err != nil {
		return err
	}
	code, err := f.hold(cmd, turn, plan.cfg.Owner, signals)
	if f.spared {
		return err
	}
	err = f.release(cmd, turn, code, err)
	if f.lossReported && !f.verbose && codeOf(err) == exitLost {
		return &exitError{code: exitLost}
	}
	return err
}

// hear returns the signals that come until stop is called. A closed standard error must not end the process while it waits or
// holds: meanwhile a write to it is an error and no signal.
func hear(which ...os.Signal) (signals chan os.Signal, stop func()) {
	signals, broken := make(chan os.Signal, 8), make(chan os.Signal, 1)
	signal.Notify(signals, which...)
	signal.Notify(broken, syscall.SIGPIPE)
	return signals, func() { signal.Stop(signals); signal.Stop(broken) }
}

// dial returns a client for the plan. closing lets it leave what it has, unless that is spared, and ends the connection.
func (f *lockFlags) dial(cmd *cobra.Command, p *plan) (client *queuelock.Client, closing func() error, err error) {
	f.credentialsIn, f.notices = patienceOf(p.wait), cmd.ErrOrStderr()
	free, err := f.openTicket()
	if err != nil {
		return nil, nil, err
	}
	db, err := f.connect(cmd.Context())
	if err != nil {
		free()
		return nil, nil, err
	}
	silence := f.hang(&p.cfg)
	if client, err = queuelock.New(db, f.table, p.cfg); err != nil {
		silence()
		db.close()
		free()
		return nil, nil, usagef("%w", err)
	}
	return client, func() error {
		defer free()
		defer db.close()
		defer silence()
		if f.spared {
			return nil
		}
		ctx, cancel := f.ending(cmd)
		defer cancel()
		return client.Close(ctx)
	}, nil
}

// leave ends a wait by a signal: it waits until the queues were left, but not for ever. A DynamoDB that does not answer cannot
// hold up a user. A second signal ends it at once. The leases end what is left in the queues then.
func leave[T any](f *lockFlags, sig os.Signal, begun time.Time, left <-chan T, signals <-chan os.Signal) error {
	select {
	case <-left: // a lock that was served meanwhile is released by Close
	case <-signals:
		f.hurry = true
	case <-time.After(closeLimit):
		f.hurry = true
	}
	what := "left the queue of"
	if _, err := os.Stat(f.ticket); f.ticket != "" && err == nil {
		what = "keeps its place in"
	}
	return signalled(sig.(syscall.Signal), "%v: %s %s after %v", sig, what, brief(f.keys[0]), time.Since(begun).Round(time.Millisecond))
}

// release releases the locks after a command that returned code, or failed.
func (f *lockFlags) release(cmd *cobra.Command, t *turn, code int, err error) error {
	ctx, cancel := f.ending(cmd)
	defer cancel()
	releaseErr := t.Release(ctx)
	f.failed = releaseErr != nil
	_, held := errors.AsType[*queuelock.UnreleasedError](releaseErr)
	switch {
	case held:
		return unavailable(releaseErr) // an operator must evict it
	case errors.Is(releaseErr, queuelock.ErrLost):
		return releaseErr // it outweighs whatever the command has returned
	case err != nil:
		return err
	}
	_, unknown := errors.AsType[*queuelock.UnknownOutcomeError](releaseErr)
	switch {
	case releaseErr == nil:
		f.report(cmd, "released %v", t)
	case unknown:
		f.warn(cmd, releaseErr)
	default:
		f.warn(cmd, &briefError{unreleasedLine(releaseErr), releaseErr})
	}
	return &exitError{code: code}
}

// report prints what --verbose asks for.
func (f *lockFlags) report(cmd *cobra.Command, format string, args ...any) {
	if f.verbose {
		say(cmd, fmt.Sprintf("queuelock: "+format, args...))
	}
}

// say prints a line to standard error, and does not wait long for its reader: while the
// lock is held, others wait.
func say(cmd *cobra.Command, line string) {
	lines := process.NewLines(cmd.ErrOrStderr())
	lines.Print(display.Escape(line))
	lines.Close()
}

// ending bounds requests that are made whatever has happened.
func (f *lockFlags) ending(cmd *cobra.Command) (context.Context, context.CancelFunc) {
	limit := closeLimit
	if f.hurry {
		limit = 0
	}
	return context.WithTimeout(context.WithoutCancel(cmd.Context()), limit)
}

func (f *lockFlags) warn(cmd *cobra.Command, err error) {
	if err != nil {
		fmt.Fprintln(cmd.ErrOrStderr(), message(err))
	}
}

// find looks for the command as a shell would.
func find(name string) (string, error) {
	path, err := exec.LookPath(name)
	switch {
	case err == nil, errors.Is(err, exec.ErrDot): // in a PATH with a dot: so be it
		return path, nil
	case strings.ContainsAny(name, " ;|&<>"):
		return "", failed(exitNotFound, "command not found: %s: use -c for a text of the shell, as in -c 'a && b'", clip(name, 60))
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, fs.ErrNotExist):
		return "", failed(exitNotFound, "command not found: %s: check its name, and PATH", clip(name, 80))
	}
	return "", notRunnable(err)
}

func notRunnable(err error) error {
	return failed(exitNotRunnable, "the command cannot be executed: %w: name a program or script that may be run", err)
}

// newSupervise is the hidden command by which run starts its supervisor.
func newSupervise() *cobra.Command {
	return &cobra.Command{
		Use:    process.Name,
		Short:  "The process between run and its command",
		Hidden: true,
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("%s is started by run only", process.Name)
			}
			return &exitError{code: process.Supervise(args[0])}
		},
	}
}
