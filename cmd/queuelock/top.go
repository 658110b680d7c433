package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/cmd/queuelock/internal/top"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/sweeper"
)

type topFlags struct {
	settings
	rate     float64
	interval time.Duration
	once     bool
}

func newTop() *cobra.Command {
	var f topFlags
	cmd := &cobra.Command{
		Use:   "top [PREFIX]",
		Short: "Watch the queues of the table live",
		Long: `Shows the queues of the table, or those whose entities begin with PREFIX, again and again: holders,
waiters, and how hold and wait times have developed. Queues with the longest waits are first.

Keys: up and down choose a queue, Enter inspects it, "/" filters, "o" orders, "?" lists all keys, "q"
quits. "e" evicts a holder, and asks first; the help of "evict" describes what that means for one that runs.

Each refresh scans the table: one read unit for each 4 KB. --max-rcu bounds the units in a second, so
that a large table is refreshed less often. The last line shows the use. Without a terminal, top prints
the busy queues whenever they have changed, until it is interrupted.

` + exitCodes("0    quit or interrupted", codeWritten, codeUsage, codeUnavailable),
		Example: `  queuelock top
  queuelock top deploy/ --max-rcu 20 --interval 10s`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, strings.Join(args, "")) },
	}
	addRate(cmd.Flags(), &f.rate)
	within(cmd.Flags(), &f.interval, "interval", "", 2*time.Second, 100*time.Millisecond, 0, "the time from one scan to the next, at least; from 100ms")
	cmd.Flags().BoolVar(&f.once, "once", false, "print the view once, after one scan")
	f.addFlags(cmd)
	cmd.ValidArgsFunction = f.offerEntities(func(before []string) bool { return len(before) == 0 })
	return cmd
}

func (f *topFlags) run(cmd *cobra.Command, prefix string) error {
	ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	in, out, stderr := cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr()
	live := !f.once && isTerminal(in) && isTerminal(direct(out))
	if live {
		stderr = io.Discard // the view has the terminal
	}
	var o *opened
	defer func() {
		if o != nil {
			o.leave(ctx)
		}
	}()
	config := top.Config{Table: f.table, Rate: f.rate, Interval: f.interval, Unicode: isUTF8(), Plain: os.Getenv("NO_COLOR") != ""}
	config.Open = func(ctx context.Context, c *top.Config) (err error) {
		if o, err = f.openTable(ctx, stderr); err == nil {
			o.serve(c, prefix)
		}
		return err
	}
	if live {
		return top.Run(ctx, in, direct(out), config)
	}
	if err := config.Open(ctx, &config); err != nil {
		return err
	}
	if f.once {
		if err := top.Once(ctx, out, config); err != nil {
			return &exitError{exitUnavailable, err}
		}
		return nil
	}
	fmt.Fprintln(stderr, "queuelock: each refresh is", o.cost(f.rate))
	return top.Lines(ctx, out, config)
}

func (o *opened) serve(c *top.Config, prefix string) {
	c.Source = top.Source{
		Scan: func(ctx context.Context, rate float64, onPage func(float64)) iter.Seq2[*queue.State, error] {
			return o.client.Viewer().Queues(ctx, queuelock.ScanConfig{Prefix: prefix, MaxRate: rate, OnPage: onPage})
		},
		Inspect: func(ctx context.Context, key queuelock.Key) (*queue.State, error) {
			return o.client.Viewer().Inspect(ctx, key)
		},
		Evict:    o.evict,
		Describe: func(err error) string { return strings.TrimPrefix(message(shortened(err)), "queuelock: ") },
	}
	if o.table != nil {
		c.Expected = float64(aws.ToInt64(o.table.TableSizeBytes)/4096 + 1)
	}
}

// evictTries is how many present holders are tried: of turns shorter than a request, each is
// over before the request comes.
const evictTries = 20

// evict evicts the holder that was shown, or the one that holds the lock now.
func (o *opened) evict(ctx context.Context, e top.Evict) (queue.Holder, error) {
	ctx, cancel := context.WithTimeout(ctx, statusLimit)
	defer cancel()
	for try := 1; ; try++ {
		err := o.client.Operator().Evict(ctx, e.Key, e.Holder)
		refused, ok := errors.AsType[*sweeper.EvictError](err)
		if !ok {
			return e.Holder, err
		}
		_, renewed := refused.Renewed()
		switch {
		case e.Present && len(refused.Serving) == 0 && try < evictTries: // between two turns
		case e.Present && len(refused.Serving) == 1 && try < evictTries:
			e.Holder = refused.Serving[0]
		case renewed:
			return e.Holder, &briefError{"it has renewed its lease meanwhile: look again, and repeat", err}
		case e.Present:
			return e.Holder, &briefError{"each holder was gone before it was evicted", err}
		default:
			return e.Holder, &briefError{"it has gone; E evicts the holder of the moment", err}
		}
	}
}

func isTerminal(stream any) bool {
	file, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}
