// Command dynamolock is a program that is migrated from dynamolock to queuelock while it
// runs: three deployments, of which neighbours exclude each other. README.md shows how to
// run them beside each other.
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

	"cirello.io/dynamolock/v2"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		log.Fatal("dynamolock: ", err)
	}
}

func run(ctx context.Context) (err error) {
	table := flag.String("table", cmp.Or(os.Getenv("QUEUELOCK_TABLE"), "queuelock"), "the table of the new locks")
	formerTable := flag.String("former", "former", "the table of the former locks; it is created if it is missing")
	deployment := flag.Int("deployment", 1, "0: the former lock; 1: both; 2: the new lock")
	turns := flag.Int("turns", 5, "how many turns to take")
	flag.Parse()
	if *deployment < 0 || *deployment > 2 {
		return fmt.Errorf("-deployment %d: 0, 1 or 2 is needed", *deployment)
	}

	cfg, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return err
	}
	db := dynamodb.NewFromConfig(cfg)
	former, err := openFormer(ctx, db, *formerTable)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, former.Close()) }()
	locks, err := queuelock.New(db, *table, queuelock.Config{})
	if err != nil {
		return err
	}
	defer func() {
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		err = errors.Join(err, locks.Close(ending))
	}()
	p := program{deployment: *deployment, former: former, locks: locks}
	for range *turns {
		if err := p.turn(ctx, "order-7", work); err != nil {
			return err
		}
	}
	return nil
}

// openFormer returns a client of the former locks, and makes their table.
func openFormer(ctx context.Context, db *dynamodb.Client, table string) (*dynamolock.Client, error) {
	former, err := dynamolock.New(db, table)
	if err != nil {
		return nil, err
	}
	_, err = former.CreateTableWithContext(ctx, table)
	var exists *types.ResourceInUseException
	if err != nil && !errors.As(err, &exists) {
		return nil, errors.Join(err, former.Close())
	}
	return former, dynamodb.NewTableExistsWaiter(db).Wait(ctx, &dynamodb.DescribeTableInput{TableName: aws.String(table)}, time.Minute)
}

// work is the place for the work.
func work(ctx context.Context) error {
	fmt.Println(time.Now().Format(time.TimeOnly), "begins")
	select {
	case <-time.After(2 * time.Second):
		fmt.Println(time.Now().Format(time.TimeOnly), "ends")
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
