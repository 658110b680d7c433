// Command quickstart runs a function under a lock. README.md shows it.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/waitpolicy"
)

func main() {
	if err := shipOrder(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func shipOrder(ctx context.Context) error {
	cfg, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return err
	}
	locks, err := queuelock.New(dynamodb.NewFromConfig(cfg), "queuelock", queuelock.Config{})
	if err != nil {
		return err
	}
	key := queuelock.Key{Entity: "order-7"}
	return errors.Join(locks.Do(ctx, key, waitpolicy.For(time.Minute), ship), locks.Close(ctx))
}

// ship runs while the lock is held. Its context ends when the lock is lost.
func ship(ctx context.Context, lock *queuelock.Lock) error {
	fmt.Printf("shipping %s with ticket %s\n", lock.Key().Entity, lock.Ticket())
	return ctx.Err()
}
