// Command workers reads jobs from standard input, one on a line, and sends each to an
// interface that admits so many calls in a period, counted over all processes. README.md
// shows how to run it.
package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"flag"
	"io"
	"log"
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
		log.Fatal("workers: ", err)
	}
}

func run(ctx context.Context) (err error) {
	table := flag.String("table", cmp.Or(os.Getenv("QUEUELOCK_TABLE"), "queuelock"), "the table of the locks")
	api := flag.String("api", "geocoder", "the interface whose calls are limited")
	calls := flag.Int("calls", 3, "how many calls are admitted in a period; the same in all processes")
	period := flag.Duration("period", time.Second, "the period")
	workers := flag.Int("workers", 4, "how many jobs this process does at the same time")
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
	out := slog.New(slog.NewTextHandler(os.Stdout, nil))
	p := pool{workers: *workers, limit: limit{api: *api, calls: *calls, period: *period, locks: locks}}
	return p.run(ctx, lines(os.Stdin), func(ctx context.Context, job string) error { return geocode(ctx, out, job) })
}

// geocode is the place for the call.
func geocode(_ context.Context, log *slog.Logger, job string) error {
	log.Info("called", "job", job)
	return nil
}

// lines returns the lines of the input.
func lines(in io.Reader) <-chan string {
	jobs := make(chan string)
	go func() {
		defer close(jobs)
		for scanner := bufio.NewScanner(in); scanner.Scan(); {
			jobs <- scanner.Text()
		}
	}()
	return jobs
}
