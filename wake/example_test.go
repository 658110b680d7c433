package wake_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/wake"
)

func withBells(ctx context.Context, db queuelock.DynamoDB, work func(*queuelock.Client) error) error {
	bells, err := wake.New(wake.Config{}) // between the processes of this host
	if err != nil {
		return err
	}
	locks, err := queuelock.New(db, "queuelock", queuelock.Config{Wake: bells})
	if err != nil {
		return err
	}
	return errors.Join(work(locks), locks.Close(ctx), bells.Close())
}

// Processes of one host wake each other.
func Example() {
	db := dynamodb.New(dynamodb.Options{})
	fmt.Println(withBells(context.Background(), db, func(*queuelock.Client) error { return nil }))
	// Output: <nil>
}

// Processes on several hosts of a private network wake each other.
func ExampleNew() {
	bells, err := wake.New(wake.Config{Network: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(bells.Close())
	// Output: <nil>
}
