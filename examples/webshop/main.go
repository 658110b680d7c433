// Command webshop is an HTTP service of which any number of processes run. Orders of one
// customer are placed one at a time and in order; a customer that is busy gets an answer
// that says when to try again. README.md shows how to run it.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"log"
	"log/slog"
	"net/http"
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
		log.Fatal("webshop: ", err)
	}
}

func run(ctx context.Context) error {
	table := flag.String("table", cmp.Or(os.Getenv("QUEUELOCK_TABLE"), "queuelock"), "the table of the locks")
	address := flag.String("address", "127.0.0.1:8080", "where to listen")
	wait := flag.Duration("wait", time.Second, "how long a request waits for its customer's turn")
	work := flag.Duration("work", 3*time.Second, "how long an order takes")
	flag.Parse()

	cfg, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return err
	}
	locks, err := queuelock.New(dynamodb.NewFromConfig(cfg), *table, queuelock.Config{})
	if err != nil {
		return err
	}
	s := shop{locks: locks, wait: *wait, log: slog.New(slog.NewTextHandler(os.Stdout, nil)), save: func(ctx context.Context, _ *queuelock.Lock) error {
		select {
		case <-time.After(*work): // the place for the work
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}}
	server := &http.Server{Addr: *address, Handler: s.handler(), ReadTimeout: 10 * time.Second}
	failed := make(chan error, 1)
	go func() { failed <- server.ListenAndServe() }()
	select {
	case <-ctx.Done():
		err = nil
	case err = <-failed:
	}
	// Requests under way end first, because Close releases their locks.
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), 20*time.Second)
	defer cancel()
	return errors.Join(err, server.Shutdown(ending), locks.Close(ending))
}
