// Command leader is one of several processes of which one leads. It reports when it
// begins to lead, when it loses the leadership, and why. README.md shows how to run it.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"log"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/ticket"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		log.Fatal("leader: ", err)
	}
}

func run(ctx context.Context) (err error) {
	table := flag.String("table", cmp.Or(os.Getenv("QUEUELOCK_TABLE"), "queuelock"), "the table of the locks")
	service := flag.String("service", "scheduler", "what is led")
	ttl := flag.Duration("ttl", 10*time.Second, "the lease: how long a crashed leader keeps others from leading")
	flag.Parse()

	cfg, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return err
	}
	locks, err := queuelock.New(dynamodb.NewFromConfig(cfg), *table, queuelock.Config{TTL: *ttl})
	if err != nil {
		return err
	}
	defer func() {
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		err = errors.Join(err, locks.Close(ending))
	}()
	c := candidate{service: *service, locks: locks, log: slog.New(slog.NewTextHandler(os.Stdout, nil)), pause: 5 * time.Second}
	return c.run(ctx, func(ctx context.Context, term ticket.Number) error { return schedule(ctx, c.log, term) })
}

// schedule is the place for the work of a leader. It returns soon after ctx has ended.
func schedule(ctx context.Context, log *slog.Logger, term ticket.Number) error {
	for {
		select {
		case <-time.After(2 * time.Second):
			log.Info("scheduled", "term", term)
		case <-ctx.Done():
			return nil
		}
	}
}
