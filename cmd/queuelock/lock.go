package main

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/queuelock/queuelock/cmd/queuelock/internal/keeper"
	"github.com/queuelock/queuelock/cmd/queuelock/internal/progress"
)

// defaultMaxHold is how long a lock is kept without an unlock: longer than most CI jobs
// take, and not so long that a forgotten lock blocks a queue for a night.
const defaultMaxHold = time.Hour

// kept is the line by which a lock command says that its user has the handle.
const kept = "kept\n"

type keepFlags struct {
	lockFlags
	keeper.Limits
	env, export bool
	noKeeper    bool
	onLost      string
	lost        syscall.Signal // that onLost names; 0: none
}

func newLock() *cobra.Command {
	var f keepFlags
	cmd := &cobra.Command{
		Use:   "lock ENTITY [flags]",
		Short: "Acquire a lock for a script and print its handle",
		Long: `Waits for the lock of ENTITY and prints a handle for "queuelock unlock". A keeper process
renews the lease meanwhile, so that the steps of a CI job hold one lock together.

` + progressFields(),
		Example: `  handle=$(queuelock lock deploy/prod -w 10m --parent-pid $$) || exit
  queuelock unlock "$handle" || echo "the lock was lost: $?"

Exit codes:
  those of run: 64, 69, 75 (-E changes it), 76, 78, 79, and 128 + n for signal n`,
		Args: func(_ *cobra.Command, args []string) error { return f.arguments(args) },
		RunE: func(cmd *cobra.Command, args []string) error { return f.lock(cmd, args) },
	}
	f.addFlags(cmd)
	return cmd
}

func (f *keepFlags) addFlags(cmd *cobra.Command) {
	within(cmd.Flags(), &f.MaxHold, "max-hold", "", defaultMaxHold, 0, 0, "release the lock after so long; 0: never")
	within(cmd.Flags(), &f.ParentPid, "parent-pid", "", 0, 0, 0, "leave the queue or release when process `PID` has ended, such as $$")
	addSignal(cmd.Flags(), &f.onLost, &f.lost, "on-lost", "the `SIGNAL` for that process once the lock is lost, such as TERM")
	cmd.Flags().BoolVar(&f.noKeeper, "no-keeper", false, "leave no process: renew, check and unlock work on any host, until --ttl is over")
	cmd.Flags().StringVar(&f.resume, "resume", "", "go on in the place of a `HANDLE` that --keep has printed")
	needs(cmd.Flags(), "resume", "give the handle that --keep has printed", func() bool { return f.resume != "" })
	cmd.Flags().BoolVar(&f.env, "env", false, "print QUEUELOCK_HANDLE and the variables of run, unquoted, for a file of CI")
	cmd.Flags().BoolVar(&f.export, "export", false, "the same for a shell: eval \"$(queuelock lock x --export)\"")
	f.lockFlags.addFlags(cmd)
}

func (f *keepFlags) arguments(args []string) error {
	switch {
	case len(args) == 0:
		return usagef("ENTITY is missing: name what is to be locked")
	case len(args) > 1 && !f.all:
		return usagef("%q is one argument too many: see 'queuelock lock --help'", clip(args[1], 40))
	case f.env && f.export:
		return usagef("--env and --export exclude each other: use one of them")
	case f.superseded == 0 && !f.env:
		return usagef("--superseded-exit-code 0: a script would go on without the lock: need another code, or --env")
	case f.onLost != "" && f.ParentPid == 0:
		return usagef("--on-lost %s: add --parent-pid, the process that is to receive the signal, such as $$", clip(f.onLost, 20))
	case f.onLost != "" && runtime.GOOS == "windows":
		return usagef("--on-lost %s: Windows has no signals for other processes; use 'queuelock check'", clip(f.onLost, 20))
	case f.ParentPid > 0 && !keeper.Running(f.ParentPid):
		return usagef("--parent-pid %d: there is no such process", f.ParentPid)
	}
	f.name(args)
	return nil
}

func (f *keepFlags) title() string {
	title := "queuelock lock"
	for _, key := range f.keys {
		title += " " + key.Entity
	}
	return title
}

// keeperAnswer is what a keeper reports when it has acquired the lock, or has failed to.
type keeperAnswer struct {
	Handle  string
	Place   string // the handle of a place that is kept
	Env     []string
	Code    int
	Message string
	Details string
}

func (f *keepFlags) lock(cmd *cobra.Command, args []string) error {
	plan, err := f.plan(cmd, f.title())
	if err != nil {
		return err
	}
	if f.noKeeper {
		return f.withoutKeeper(cmd, plan)
	}
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, passedOn()...)
	defer signal.Stop(signals)
	begun := time.Now()
	k, err := f.startKeeper(cmd, args)
	if err != nil {
		return failed(exitFailed, "the keeper cannot be started: %w", err)
	}
	defer k.control.Close()
	select {
	case a := <-k.answers:
		if err := f.printPlace(cmd, a.Place); err != nil {
			return err
		}
		if a.Handle == "" {
			_, _ = io.WriteString(k.control, kept) // the handle of the place, if there is one
			return a.failure()
		}
		if err := f.print(direct(cmd.OutOrStdout()), "QUEUELOCK_HANDLE", a.Handle, a.Env); err != nil {
			return failed(exitFailed, "the handle cannot be printed: %w", err) // and the keeper releases the lock
		}
		_, err := io.WriteString(k.control, kept)
		return err
	case sig := <-signals:
		k.control.Close()
		return leave(&f.lockFlags, sig, begun, k.answers, signals)
	}
}

// printPlace prints the handle of a place that is kept, if there is one.
func (f *keepFlags) printPlace(cmd *cobra.Command, place string) error {
	if place == "" {
		return nil
	}
	if err := f.print(direct(cmd.OutOrStdout()), "QUEUELOCK_PLACE", place, nil); err != nil {
		return failed(exitFailed, "the handle of the place cannot be printed: %w", err)
	}
	return nil
}

func (a keeperAnswer) failure() error {
	if a.Message == "" {
		return &exitError{code: a.Code}
	}
	return &exitError{a.Code, &briefError{a.Message, errors.New(a.Details)}}
}

// print prints a handle, or with --env and --export the variable of that name and the others.
func (f *keepFlags) print(out io.Writer, name, handle string, others []string) error {
	text, all := handle+"\n", append([]string{name + "=" + handle}, others...)
	switch {
	case f.export:
		text = ""
		for _, variable := range all {
			name, value, _ := strings.Cut(variable, "=")
			text += "export " + name + "=" + quoted(value) + "\n"
		}
	case f.env:
		text = strings.Join(all, "\n") + "\n"
	}
	_, err := io.WriteString(out, text)
	return err
}

type startedKeeper struct {
	control io.WriteCloser // whose end without a line says that the handle is lost
	answers chan keeperAnswer
}

// startKeeper starts the keeper as a process of a session of its own.
func (f *keepFlags) startKeeper(cmd *cobra.Command, args []string) (*startedKeeper, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	flags := []string{keeperName}
	if f.progress == "auto" && f.style(cmd.ErrOrStderr()) == progress.Plain {
		flags = append(flags, "--progress=plain") // the keeper is in no job of a shell
	}
	cmd.Flags().Visit(func(flag *pflag.Flag) { flags = append(flags, "--"+flag.Name+"="+flag.Value.String()) })
	process := exec.Command(self, append(append(flags, "--"), args...)...)
	control, err := process.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	reports, ok := direct(cmd.ErrOrStderr()).(*os.File)
	if !ok {
		reports = os.Stderr // only a file outlives this process
	}
	detach(process, reports)
	if err := process.Start(); err != nil {
		return nil, err
	}
	k := &startedKeeper{control, make(chan keeperAnswer, 1)}
	go func() {
		var a keeperAnswer
		if err := json.NewDecoder(out).Decode(&a); err != nil {
			a = keeperAnswer{Code: exitFailed, Message: "the keeper has ended without an answer", Details: err.Error()}
		}
		k.answers <- a
	}()
	return k, nil
}
