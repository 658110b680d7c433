package main

import (
	"context"
	"fmt"
	"io"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/cmd/queuelock/internal/display"
	"github.com/queuelock/queuelock/cmd/queuelock/internal/history"
	"github.com/queuelock/queuelock/queue"
)

type historyFlags struct {
	target
	length, interval time.Duration
	json             bool
	pictures         pictureFlags
}

func newHistory() *cobra.Command {
	var f historyFlags
	cmd := &cobra.Command{
		Use:   "history ENTITY | history --item TABLE --key KEY",
		Short: "Observe a lock, and draw who held it when",
		Long: `Observes the queue of ENTITY for some time, by consistent reads, and changes nothing. It prints
each turn when it has ended, then a timeline and a summary. --svg and --html write a picture, for
a post-mortem or a ticket. Ctrl-C ends the observation early.

It first prints what the reads cost, on standard error. A turn between two reads is not seen: the
summary says how many tickets that may concern. The time of an end is known to half an interval.

` + display.Fields("JSON; null: not seen", history.Report{}) +
			"\n\n" + exitCodes("0    the queue was observed, if only until Ctrl-C", codeWritten, codeUsage, codeUnavailable),
		Example: `  queuelock history deploy/prod --for 5m --html deploy.html
  queuelock history db --reason backup --for 1h --interval 5s --svg backup.svg
  queuelock history --item orders --key id=order-7 --for 30s`,
		Args: f.arguments,
		RunE: f.run,
	}
	flags := cmd.Flags()
	within(flags, &f.length, "for", "", time.Minute, time.Second, 24*time.Hour, "how long to observe, 1s to 24h")
	within(flags, &f.interval, "interval", "", 500*time.Millisecond, 50*time.Millisecond, time.Minute, "the time between two reads, 50ms to 1m")
	flags.BoolVar(&f.json, "json", false, "print one JSON object instead of lines and a timeline")
	f.pictures.addFlags(cmd)
	f.addFlags(cmd)
	return cmd
}

func (f *historyFlags) run(cmd *cobra.Command, args []string) error {
	s, err := f.subject(args)
	if err != nil {
		return err
	}
	files, err := f.pictures.open()
	if err != nil {
		return err
	}
	defer files.close()
	o, err := f.open(cmd.Context(), s.key, queuelock.Config{ItemPrefix: f.itemPrefix})
	if err != nil {
		return err
	}
	defer o.close()
	ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	recorder, last, err := f.observe(ctx, cmd, o.client, s)
	if err != nil {
		return err
	}
	if last != nil && display.StateOf(last) == display.Unused {
		fmt.Fprintln(cmd.ErrOrStderr(), "queuelock:", s.none)
	}
	chart := recorder.Chart(s.name)
	if err := files.write(chart); err != nil {
		return err
	}
	files.report(cmd.ErrOrStderr())
	out := cmd.OutOrStdout()
	if f.json {
		return display.JSON(out, recorder.Report(s.name))
	}
	return chart.Print(out, isUTF8())
}

// observe looks at the queue until the time is over, and returns the last look; nil: there was none.
func (f *historyFlags) observe(ctx context.Context, cmd *cobra.Command, client *queuelock.Client, s *subject) (r *history.Recorder, last *queue.State, err error) {
	fmt.Fprintf(cmd.ErrOrStderr(), "queuelock: a consistent read every %v for %v: %s, more if the queue exceeds 4 KB; Ctrl-C ends it early\n",
		f.interval, f.length, display.Count(int(f.length/f.interval)+1, "read unit"))
	out := cmd.OutOrStdout()
	if f.json {
		out = io.Discard
	}
	ctx, over := context.WithCancel(ctx)
	defer over()
	r = history.New(time.Now())
	err = s.looks(ctx, client, cmd.ErrOrStderr(), f.interval, func(state *queue.State) error {
		if last == nil { // the time begins now: this look may have waited for credentials
			r = history.New(time.Now())
			time.AfterFunc(f.length, over)
		}
		last = state
		for _, turn := range r.See(state, time.Now()) {
			if _, err := fmt.Fprintln(out, turn.Line()); err != nil {
				return err
			}
		}
		return nil
	})
	return r, last, err
}
