package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/waitpolicy"
)

// closeLimit bounds the requests of release and of leaving the queue. What
// does not get through in that time, the lease ends. Tests shorten it.
var closeLimit = 10 * time.Second

// The bounds of queuelock.Config.TTL. To the library zero means its default; on a command
// line it is a mistake.
const (
	minTTL = time.Second
	maxTTL = 7 * 24 * time.Hour
)

// maxPermits is the bound of queuelock.Permits.
const maxPermits = 500

// maxDelay is the bound of queuelock.LockDelay.
const maxDelay = 24 * time.Hour

type runFlags struct {
	settings
	reason, wait string
	scope        string
	ttl, delay   time.Duration
	failClosed   bool
	shared       bool
	quiet        bool
	permits      int // zero: a lock

	key     queuelock.Key
	command []string
	hurry   bool // end at once: clean up no more
}

func newRun() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run ENTITY [flags] -- COMMAND [ARG]…",
		Short: "Run a command while holding a lock",
		Long: `Waits for its turn at the lock of ENTITY, runs COMMAND while it holds it, releases it when
the command has ended, and returns the command's exit code. That the command exists is
checked before the lock is asked for.

It reads the queue once before it takes a number, which is one read more than the library
needs. So its lease ends on DynamoDB's clock from the start, and other clients know when it
is over, however soon this process is killed. The read is retried for 10 s, or for --wait if
that is less.

The command finds in its environment:
  QUEUELOCK_TICKET   its ticket, a number greater than that of every holder before. It is a
                     fencing token: send it with each write to what the lock protects, and
                     let that refuse a number lower than the highest it has seen.
                     With --shared or --permits several hold at once: then such a check
                     refuses the writes of present holders.
  QUEUELOCK_ENTITY, QUEUELOCK_REASON   what is locked, and what for

The command is run in a process group of its own. SIGINT, SIGTERM and SIGHUP are passed on
to the group; while waiting for the lock, they leave the queue. If the lock is lost, the
group is sent SIGTERM, and SIGKILL after three quarters of the time that is left until
another client may hold the lock: a loss is known a tenth of --ttl before, at most 2 s.
After an eviction by an operator there is no such time. On Linux the command is killed if
queuelock itself is; processes that the command has started are not.

--wait takes a duration, such as 90s, for which to wait in the queue; "forever"; "0", to try
once; or a number of attempts and the longest pause between two of them, such as 5x2s, to
try without a place in the queue. After 2 s in the queue its position and a present holder are
printed to standard error, and again when the position has changed, at most every 10 s. --quiet
leaves that out.

--shared takes the lock together with other shared holders, and --permits N makes it a
semaphore with up to N holders at once. All wait in one queue, in order. The number of permits
of a lock never changes.

--scope selects the counter that issues the tickets: "queue", the lock's own; "entity", one
for all locks of the entity; "table", one for all locks of the table. The scope of a lock never
changes. A lock that a program uses with Config.Scope needs the same scope here. "queuelock
status" shows it; status and "queuelock evict" work in any scope.

--lock-delay keeps the lock closed for that long after it was lost, and not after it was
released. In that time requests of the command that are still on their way can arrive.

--fail-closed takes the lock without a lease. It ends with the command, and in no other way:
if queuelock or its host crashes, all waiters wait until an operator has looked ("queuelock
status") and has evicted the holder ("queuelock evict"). --ttl is then only twice the time
between two heartbeats, by which this process learns of an eviction.

If standard input and output are the terminal, the command's group is put in the
foreground of it, so that it can read from it and gets its Ctrl-C; Ctrl-Z is ignored then,
because a lease runs on while its holder is stopped. In a pipeline, the command cannot
read from the terminal itself.`,
		Example: `  queuelock run deploy/prod -- ./deploy.sh --fast
  queuelock run nightly --wait 0 -- ./report            # not at all, if another runs it
  queuelock run db --reason backup --wait forever --ttl 2m -- sh -c 'backup --token "$QUEUELOCK_TICKET"'

Exit codes:
  the command's own; 128 + n if signal n ended it, or if signal n came while waiting
  64   wrong usage
  69   DynamoDB cannot be used: no answer, no such table, no rights, no AWS settings; or the
       command has ended, and its lock of --fail-closed could not be released
  70   the lock was lost while the command ran; it was stopped
  75   the lock was not acquired in time (--wait); the command was not run
  126  the command cannot be executed
  127  the command was not found`,
		Args: func(cmd *cobra.Command, args []string) error {
			dash := cmd.ArgsLenAtDash()
			if flag := tookDash(cmd); dash < 0 && flag != "" {
				return usagef(`--%s took "--" as its value: write its value before "--"`, flag)
			}
			switch {
			case len(args) == 0 || dash == 0:
				return usagef("ENTITY is missing: name what is to be locked")
			case dash < 0:
				return usagef(`the command is missing: write it after "--", as in 'queuelock run %s -- COMMAND'`, args[0])
			case dash > 1:
				return tooMany(cmd, args[1], ` before "--"`)
			case len(args) == 1:
				return usagef(`the command is missing after "--"`)
			}
			f.key.Entity, f.command = args[0], args[1:]
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			f.key.Reason = f.reason
			return f.run(cmd)
		},
	}
	cmd.Flags().StringVar(&f.reason, "reason", "", `what the lock is for (default "lock"); locks of different reasons are independent`)
	cmd.Flags().StringVar(&f.wait, "wait", "60s", `how long to wait for the lock: a duration, "0", "forever", or attempts such as "5x2s"`)
	cmd.Flags().DurationVar(&f.ttl, "ttl", time.Minute, "the length of the lease, at least 1s: a crashed holder delays others for as long")
	cmd.Flags().BoolVar(&f.shared, "shared", false, "together with other shared holders")
	cmd.Flags().IntVar(&f.permits, "permits", 0, "a semaphore with up to this many holders, at most 500; 0: a lock")
	cmd.Flags().StringVar(&f.scope, "scope", "queue", "which counter issues the tickets: queue, entity or table")
	cmd.Flags().DurationVar(&f.delay, "lock-delay", 0, "how long no client is served after the lock was lost, at most 24h")
	cmd.Flags().BoolVar(&f.failClosed, "fail-closed", false, "without a lease: a crashed holder keeps others waiting until it is evicted")
	cmd.Flags().BoolVar(&f.quiet, "quiet", false, "do not print the position while waiting")
	f.addFlags(cmd)
	return cmd
}

// tookDash is the name of a flag whose value is "--", or empty. Where there is
// no other "--", it was meant to begin the command.
func tookDash(cmd *cobra.Command) string {
	for _, name := range []string{"wait", "reason", "scope", "table", "endpoint"} {
		if cmd.Flag(name).Value.String() == "--" {
			return name
		}
	}
	return ""
}

// options are those of the acquire.
func (f *runFlags) options() ([]queuelock.Option, error) {
	switch {
	case f.delay < 0 || f.delay > maxDelay || f.delay%time.Millisecond != 0:
		return nil, usagef("--lock-delay %v: need a duration from 0s to %v, in whole milliseconds, such as 5s", f.delay, maxDelay)
	case f.failClosed && f.delay > 0:
		return nil, usagef("--fail-closed and --lock-delay: a lock without a lease is not lost by itself; use one of them")
	case f.permits < 0 || f.permits > maxPermits:
		return nil, usagef("--permits %d: need a number from 1 to %d, or 0 for a lock", f.permits, maxPermits)
	case f.shared && f.permits > 0:
		return nil, usagef("--shared and --permits: a semaphore has no writers; use one of them")
	}
	var options []queuelock.Option
	if f.shared {
		options = append(options, queuelock.Shared())
	}
	if f.permits > 0 {
		options = append(options, queuelock.Permits(f.permits))
	}
	if f.failClosed {
		return append(options, queuelock.FailClosed()), nil
	}
	return append(options, queuelock.LockDelay(f.delay)), nil
}

// plan is what a command line asks for.
type plan struct {
	cfg     queuelock.Config
	wait    waitpolicy.Wait
	options []queuelock.Option
	path    string // of the command
}

// plan checks the command line. It makes no request.
func (f *runFlags) plan(ctx context.Context) (p plan, err error) {
	if p.wait, err = waitpolicy.Parse(f.wait); err != nil {
		return p, usagef("--wait %s: need 0, forever or a duration such as 5s, or attempts such as 5x2s", f.wait)
	}
	if p.options, err = f.options(); err != nil {
		return p, err
	}
	if f.ttl < minTTL || f.ttl > maxTTL {
		return p, usagef("--ttl %v: need a duration from %v to %v, such as 1m", f.ttl, minTTL, maxTTL)
	}
	p.cfg.TTL = f.ttl
	if p.cfg.Scope, err = parseScope(f.scope); err != nil {
		return p, err
	}
	if err := checkArguments(ctx, f.key, f.table, p.cfg); err != nil {
		return p, err
	}
	p.path, err = find(f.command[0])
	return p, err
}

func (f *runFlags) run(cmd *cobra.Command) error {
	plan, err := f.plan(cmd.Context())
	if err != nil {
		return err
	}
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(signals)
	// A closed standard error must not end the process while it waits or holds.
	// With this channel, a write to it is an error and no signal.
	broken := make(chan os.Signal, 1)
	signal.Notify(broken, syscall.SIGPIPE)
	defer signal.Stop(broken)

	db, err := f.connect(cmd.Context())
	if err != nil {
		return err
	}
	defer db.close()
	client, err := queuelock.New(db, f.table, plan.cfg)
	if err != nil {
		return usagef("%w", err)
	}
	defer func() {
		ctx, cancel := f.ending(cmd)
		defer cancel()
		f.warn(cmd, client.Close(ctx))
	}()
	begun, wait := time.Now(), plan.wait
	if err := f.contact(cmd, client, wait, signals); err != nil {
		return err
	}
	if limit, limited := wait.Limit(); limited {
		wait = waitpolicy.For(max(0, limit-time.Since(begun)))
	}
	lock, err := f.acquire(cmd, client, wait, signals, plan.options)
	if err != nil {
		return err
	}
	code, err := f.hold(cmd, lock, plan.path, signals)
	return f.release(cmd, lock, code, err)
}

// release releases the lock after a command that returned code, or failed.
func (f *runFlags) release(cmd *cobra.Command, lock *queuelock.Lock, code int, err error) error {
	ctx, cancel := f.ending(cmd)
	defer cancel()
	releaseErr := lock.Release(ctx)
	_, held := errors.AsType[*queuelock.UnreleasedError](releaseErr)
	switch {
	case held:
		return unavailable(releaseErr) // an operator must evict it
	case errors.Is(releaseErr, queuelock.ErrLost):
		return releaseErr // it outweighs whatever the command has returned
	case err != nil:
		return err
	}
	f.warn(cmd, releaseErr)
	return &exitError{code: code}
}

// ending bounds requests that are made whatever has happened.
func (f *runFlags) ending(cmd *cobra.Command) (context.Context, context.CancelFunc) {
	limit := closeLimit
	if f.hurry {
		limit = 0
	}
	return context.WithTimeout(context.WithoutCancel(cmd.Context()), limit)
}

// warn prints what is wrong, and does not change the outcome.
func (f *runFlags) warn(cmd *cobra.Command, err error) {
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
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, fs.ErrNotExist):
		return "", &exitError{exitNotFound, fmt.Errorf("command not found: %s", name)}
	}
	return "", notRunnable(err)
}

func notRunnable(err error) error {
	return &exitError{exitNotRunnable, fmt.Errorf("the command cannot be executed: %w", err)}
}
