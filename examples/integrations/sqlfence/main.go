// Command sqlfence writes to a SQL database under a lock, with the lock's ticket as
// fencing token. The database refuses the write of a holder that lost the lock and does
// not know it yet. README.md shows how to run it.
package main

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/waitpolicy"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		log.Fatal("sqlfence: ", err)
	}
}

func run(ctx context.Context) (err error) {
	table := flag.String("table", cmp.Or(os.Getenv("QUEUELOCK_TABLE"), "queuelock"), "the table of the locks")
	file := flag.String("db", "orders.sqlite", "the file of the database")
	id := flag.String("order", "order-7", "the order to ship")
	status := flag.String("status", "shipped", "its new status")
	work := flag.Duration("work", 5*time.Second, "how long the shipping takes")
	flag.Parse()

	db, err := sql.Open("sqlite", *file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	s := store{db}
	if err := s.create(ctx); err != nil {
		return err
	}
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
	return locks.Do(ctx, queuelock.Key{Entity: *id}, waitpolicy.Forever, func(ctx context.Context, lock *queuelock.Lock) error {
		fmt.Printf("working on %s with ticket %s\n", *id, lock.Ticket())
		select {
		case <-time.After(*work): // the place for the work
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		// The fence, and not ctx, decides whether the write comes in time.
		if err := s.setStatus(ctx, *id, *status, lock.Ticket()); err != nil {
			return err
		}
		fmt.Printf("%s is %s\n", *id, *status)
		return nil
	})
}
