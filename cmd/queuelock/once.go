package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/cmd/queuelock/internal/progress"
	"github.com/queuelock/queuelock/once"
)

// checkOnce refuses what run --once cannot be combined with.
func (f *runFlags) checkOnce(cmd *cobra.Command) error {
	switch {
	case !cmd.Flags().Changed("once"):
		return nil
	case f.all:
		return usagef("--once and --all: a result is of one entity")
	case f.shared || f.permits > 0 || f.failClosed:
		return usagef("--once excludes --shared, --permits and --fail-closed: one computes at a time")
	case f.keep > 0:
		return usagef("--once and --keep: a result is waited for in one call; use one of them")
	case f.progress == "json":
		return usagef("--once and --progress json: use one of them")
	}
	if wait, err := f.waiting(cmd); err == nil {
		if tries, _ := wait.Tries(); tries > 0 {
			return usagef("--once waits for the result: leave --nonblock out, and give --wait a time")
		}
	}
	return nil
}

// runOnce prints the output that another process has left, or runs the command, and leaves and prints its own.
func (f *runFlags) runOnce(cmd *cobra.Command, client *queuelock.Client, p plan, signals <-chan os.Signal) error {
	if err := f.contact(cmd, client, p.wait, signals); err != nil {
		return err
	}
	style := f.style(cmd.ErrOrStderr())
	value, err := f.computed(cmd, client, p, style, signals)
	_, own := errors.AsType[*exitError](err)
	switch {
	case err == nil:
		_, err := direct(cmd.OutOrStdout()).Write(value)
		f.report(cmd, "the result of %s has %d bytes", brief(f.keys[0]), len(value))
		return err
	case errors.Is(err, queuelock.ErrLost) && f.lossReported && !f.verbose:
		return &exitError{code: exitLost}
	case own || errors.Is(err, queuelock.ErrLost):
		return err
	case errors.Is(err, queuelock.ErrNotAcquired) && f.quiet:
		return &exitError{code: f.conflict}
	case errors.Is(err, queuelock.ErrNotAcquired):
		return &exitError{f.conflict, busy(err)}
	case errors.Is(err, queuelock.ErrUnavailable):
		return unavailable(err)
	}
	return err
}

// computed returns the output that another process has left, or that of the command. The command receives the signals; before it
// runs, one of them or the end of the wait leaves the queue.
func (f *runFlags) computed(
	cmd *cobra.Command, client *queuelock.Client, p plan, style progress.Style, signals <-chan os.Signal,
) ([]byte, error) {
	ctx, cancel := context.WithCancel(cmd.Context())
	defer cancel()
	begun := time.Now()
	var options []queuelock.Option
	for _, opt := range append(p.options, f.limit()...) {
		options = append(options, opt.(queuelock.Option)) // checkOnce refuses the others
	}
	end := func() {}
	if style != progress.None {
		r := f.reporter(ctx, cmd, style, p.wait)
		options, end = append(options, queuelock.OnProgress(r.Report)), r.End
	}
	defer end()
	type answer struct {
		value []byte
		err   error
	}
	computes, answers := make(chan struct{}), make(chan answer, 1)
	go func() {
		value, err := once.Do(ctx, client, f.keys[0], f.once, func(_ context.Context, lock *queuelock.Lock) ([]byte, error) {
			close(computes)
			end()
			out, err := f.output(cmd, &turn{lock, []*queuelock.Lock{lock}}, p.cfg.Owner, signals)
			if f.spared { // the lock is left to its lease, so Do must not go on
				answers <- answer{nil, err}
				select {}
			}
			return out, err
		}, options...)
		answers <- answer{value, err}
	}()
	var over <-chan time.Time
	if limit, limited := p.wait.Limit(); limited {
		over = time.After(limit)
	}
	select {
	case a := <-answers:
		return a.value, a.err
	case <-computes:
	case <-over:
		select {
		case <-computes: // just in time
		default:
			cancel()
		}
	case sig := <-signals:
		cancel()
		return nil, leave(&f.lockFlags, sig, begun, answers, signals)
	}
	a := <-answers
	return a.value, a.err
}

// output runs the command, and returns its output. Any other exit code than zero is an error.
func (f *runFlags) output(cmd *cobra.Command, t *turn, owner string, signals <-chan os.Signal) ([]byte, error) {
	var out capture
	f.stdout = &out
	code, err := f.hold(cmd, t, owner, signals)
	switch {
	case err != nil:
		return nil, err
	case code != 0:
		_, _ = direct(cmd.OutOrStdout()).Write(out.kept) // it may say why
		return nil, &exitError{code: code}
	case out.size > once.MaxSize:
		return nil, fmt.Errorf("the output has %d bytes, at most %d are kept: store it elsewhere, and print a pointer to it, such as its key", out.size, once.MaxSize)
	}
	return out.kept, nil
}

type capture struct {
	kept []byte
	size int
}

func (c *capture) Write(p []byte) (int, error) {
	c.size += len(p)
	c.kept = append(c.kept, p[:min(len(p), once.MaxSize-len(c.kept))]...)
	return len(p), nil
}
