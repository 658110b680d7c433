// Command objectstore changes an object in S3 under a lock, with the lock's ticket as
// fencing token and a conditional put. The store refuses the put of a holder that lost
// the lock and does not know it yet. README.md shows how to run it.
package main

import (
	"cmp"
	"context"
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
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/waitpolicy"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		log.Fatal("objectstore: ", err)
	}
}

func run(ctx context.Context) (err error) {
	table := flag.String("table", cmp.Or(os.Getenv("QUEUELOCK_TABLE"), "queuelock"), "the table of the locks")
	bucket := flag.String("bucket", "reports", "the bucket of the object")
	key := flag.String("key", "sales.json", "the key of the object")
	line := flag.String("line", "a sale", "the line to append")
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
	client := s3.NewFromConfig(cfg, func(o *s3.Options) { o.UsePathStyle = os.Getenv("AWS_ENDPOINT_URL_S3") != "" })
	s := store{client, *bucket}
	return locks.Do(ctx, queuelock.Key{Entity: *key}, waitpolicy.Forever, func(ctx context.Context, lock *queuelock.Lock) error {
		return s.update(ctx, *key, lock.Ticket(), func(lines []string) ([]string, error) {
			lines = append(lines, *line)
			fmt.Printf("line %d with ticket %s\n", len(lines), lock.Ticket())
			return lines, nil
		})
	})
}
