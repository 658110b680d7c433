// Command batch is a nightly job that shares something with other jobs. If it finds the
// lock busy, it queues, reports its place, and runs when its turn comes. README.md
// shows how to run it.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/queuelock/queuelock"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "batch:", err)
		os.Exit(exitCode(err))
	}
}

func run(ctx context.Context) (err error) {
	table := flag.String("table", cmp.Or(os.Getenv("QUEUELOCK_TABLE"), "queuelock"), "the table of the locks")
	name := flag.String("job", "report", "the name of this job")
	resource := flag.String("lock", "warehouse", "what the jobs share")
	wait := flag.Duration("wait", 2*time.Hour, "how long to wait for a turn")
	steps := flag.Int("steps", 5, "how many steps of a second the job has")
	flag.Parse()

	cfg, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return err
	}
	locks, err := queuelock.New(dynamodb.NewFromConfig(cfg), *table, queuelock.Config{})
	if err != nil {
		return err
	}
	defer func() {
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		err = errors.Join(err, locks.Close(ending))
	}()
	j := job{name: *name, resource: *resource, wait: *wait, locks: locks, log: slog.New(slog.NewTextHandler(os.Stdout, nil))}
	return j.run(ctx, func(ctx context.Context) error { return export(ctx, j.log, *steps) })
}

// export is the place for the work. It returns soon after ctx has ended.
func export(ctx context.Context, log *slog.Logger, steps int) error {
	for step := range steps {
		select {
		case <-time.After(time.Second):
			log.Info("step done", "step", step+1, "of", steps)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}
