package main

import (
	"context"
	"errors"
	"io"
	"os"
	"regexp"
	"time"

	"github.com/spf13/cobra"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/cmd/queuelock/internal/display"
	"github.com/queuelock/queuelock/cmd/queuelock/internal/progress"
	"github.com/queuelock/queuelock/cmd/queuelock/internal/screen"
	"github.com/queuelock/queuelock/waitpolicy"
)

// progressStyles are the styles that --progress names. The style of "auto" is found out.
var progressStyles = map[string]progress.Style{"plain": progress.Plain, "json": progress.JSON, "none": progress.None}

func (f *lockFlags) style(out io.Writer) progress.Style {
	switch file, ok := direct(out).(*os.File); {
	case f.quiet:
		return progress.None
	case f.progress != "auto":
		return progressStyles[f.progress]
	case ok && screen.Of(file) != nil && inForeground(file):
		return progress.Screen
	}
	return progress.Plain
}

func (f *lockFlags) reporter(ctx context.Context, cmd *cobra.Command, style progress.Style, wait waitpolicy.Wait) *progress.Reporter {
	cfg := progress.Config{Out: cmd.ErrOrStderr(), Style: style}
	if limit, limited := wait.Limit(); limited {
		cfg.Deadline = time.Now().Add(limit)
	}
	if file, ok := direct(cfg.Out).(*os.File); ok && style == progress.Screen {
		cfg.Screen, cfg.Visible = screen.Of(file), func() bool { return inForeground(file) }
	}
	return progress.Start(ctx, cfg)
}

// conclude reports the end of a wait to programs. err is nil if the locks were acquired.
func (f *lockFlags) conclude(cmd *cobra.Command, t *turn, begun time.Time, err error) {
	now := time.Now()
	o := progress.Outcome{Event: "acquired", Time: now.UTC(), Tickets: []string{}, Waited: display.Seconds(now.Sub(begun))}
	if err != nil {
		for _, key := range f.keys {
			o.Entities = append(o.Entities, key.Entity)
		}
		o.Event, o.Message = "not_acquired", busy(err).Error()
		o.Why, o.By = why(err)
		if e, ok := errors.AsType[*queuelock.NotAcquiredError](err); ok && e.Handle != nil {
			f.keptOutcome(&o, e)
		}
	} else {
		for _, lock := range t.locks {
			o.Entities, o.Tickets = append(o.Entities, lock.Key().Entity), append(o.Tickets, lock.Ticket().String())
		}
	}
	say(cmd, o.JSON())
}

// plainSeconds is a number without a unit, as flock takes it.
var plainSeconds = regexp.MustCompile(`^\d+(\.\d*)?$`)

// parseWait reads what --wait gives: what the library reads, or a number of seconds.
func parseWait(text string) (waitpolicy.Wait, error) {
	if plainSeconds.MatchString(text) {
		d, err := time.ParseDuration(text + "s")
		if err == nil {
			return waitpolicy.For(d), nil
		}
	}
	wait, err := waitpolicy.Parse(text)
	if err != nil {
		return wait, usagef("--wait %s: need seconds, a duration such as 5m, 0, forever, or attempts such as 5x2s", text)
	}
	return wait, nil
}
