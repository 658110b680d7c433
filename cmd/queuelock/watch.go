package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/cmd/queuelock/internal/display"
	"github.com/queuelock/queuelock/cmd/queuelock/internal/screen"
	"github.com/queuelock/queuelock/queue"
)

// watching prints the state of a queue again and again, until a signal. A terminal shows
// the last look. Elsewhere each change is printed, so that a log has the queue's history.
func (f *statusFlags) watching(cmd *cobra.Command, client *queuelock.Client, s *subject, print printer) error {
	ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	var terminal *screen.Screen
	if (f.output == "table" || f.output == "wide") && runtime.GOOS != "windows" { // whose consoles need not know the sequences
		terminal = screen.Of(direct(cmd.OutOrStdout()))
	}
	var last *queue.State
	err := s.looks(ctx, client, cmd.ErrOrStderr(), f.interval, func(state *queue.State) error {
		before := last
		last = state
		return f.show(cmd.OutOrStdout(), terminal, before, state, print)
	})
	if err != nil || last == nil {
		return err
	}
	return f.result(last)
}

// looks looks at the queue again and again, until ctx ends. An outage after the first look may end by itself: it is reported
// once, as is its end.
func (s *subject) looks(ctx context.Context, client *queuelock.Client, stderr io.Writer, interval time.Duration, see func(*queue.State) error) error {
	ticks := time.NewTicker(interval)
	defer ticks.Stop()
	for first, failed := true, false; ; {
		limited, cancel := context.WithTimeout(ctx, statusLimit)
		state, err := s.look(limited, client)
		cancel()
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil && first:
			return unavailable(err)
		case err != nil && !failed:
			line := strings.NewReplacer(", and repeat the command", "", ": repeat the command", ": it may end by itself").Replace(message(unavailable(err)))
			const goesOn = "; still watching"
			fmt.Fprintln(stderr, clip(line, maxLine-len(goesOn))+goesOn)
		case err == nil:
			if failed {
				fmt.Fprintln(stderr, "queuelock: DynamoDB answers again")
			}
			first = false
			if err := see(state); err != nil {
				return err
			}
		}
		failed = err != nil
		select {
		case <-ticks.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// show prints a look, if it is the first, if it shows a change, or on a terminal.
func (f *statusFlags) show(out io.Writer, terminal *screen.Screen, last, state *queue.State, print printer) error {
	var b bytes.Buffer
	switch {
	case terminal != nil:
		fmt.Fprintf(&b, "every %v, Ctrl-C ends: %s\n\n", f.interval, state.ReadAt.Local().Format(time.TimeOnly))
	case last == nil:
	case essence(last) == essence(state):
		return nil
	case f.output == "yaml":
		b.WriteString("---\n")
	case f.output != "json":
		b.WriteString("\n")
	}
	if terminal == nil && (f.output == "table" || f.output == "wide") {
		b.WriteString(state.ReadAt.UTC().Format(time.RFC3339) + " ")
	}
	if err := print(&b, state); err != nil {
		return err
	}
	if terminal != nil {
		return terminal.Draw(b.String())
	}
	_, err := out.Write(b.Bytes())
	return err
}

// essence is a state without what changes by itself: ages, beats and times left.
func essence(s *queue.State) string {
	var b strings.Builder
	fmt.Fprintln(&b, display.StateOf(s), s.Issued, s.Permits)
	for _, h := range s.Serving {
		fmt.Fprintf(&b, "holder %s %s %s %q %t %t %q %v %v\n", h.Ticket, h.Turn(), h.ID, h.Owner, h.Shared, h.Expired(), h.Data, h.Problem, h.Revoked)
	}
	for _, w := range s.Waiting {
		fmt.Fprintf(&b, "waiter %s %s %t %v\n", w.Ticket, w.ID, w.Expired(), w.Problem)
	}
	return b.String()
}
