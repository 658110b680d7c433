package wake_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/wake"
)

func withHints(ctx context.Context, db queuelock.DynamoDB, work func(*queuelock.Client) error) error {
	hints, err := wake.New(wake.Config{}) // between the processes of this host
	if err != nil {
		return err
	}
	locks, err := queuelock.New(db, "queuelock", queuelock.Config{Wake: hints})
	if err != nil {
		return err
	}
	return errors.Join(work(locks), locks.Close(ctx), hints.Close())
}

// Processes of one host wake each other.
func Example() {
	db := dynamodb.New(dynamodb.Options{})
	fmt.Println(withHints(context.Background(), db, func(*queuelock.Client) error { return nil }))
	// Output: <nil>
}

// A process hints at those of its own host and of two others, and listens to them.
func ExampleNew() {
	hints, err := wake.New(wake.Config{Listen: "10.0.0.5:29440", Peers: []string{"10.0.0.6:29440", "10.0.0.7:29440"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(hints.Close())
	// Output: <nil>
}

// Hints of a program's own. A client of package queuelock sends and receives them by itself.
func ExampleUDP_Listen() {
	hints, err := wake.New(wake.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	printer, received := wake.Digest{1, 2, 3}, make(chan bool, 1)
	stop, err := hints.Listen(func(d wake.Digest) {
		select {
		case received <- d == printer:
		default: // it must not block
		}
	})
	if err != nil {
		fmt.Println(err)
	}
	hints.Send(printer)
	fmt.Println("look now:", <-received)
	stop()
	fmt.Println(hints.Close())
	// Output:
	// look now: true
	// <nil>
}

// Hosts without a list of each other.
func Example_bell() {
	hints, err := wake.New(wake.Config{Bell: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(hints.Close())
	// Output: <nil>
}

// What clients of package queuelock do with bells: a waiter shows in its row where it can be rung.
func ExampleUDP_Ring() {
	hints, err := wake.New(wake.Config{Bell: true, Listen: "127.0.0.1:0"}) // without Listen, the address of this host
	if err != nil {
		fmt.Println(err)
		return
	}
	rung := make(chan bool, 1)
	bell, stop := hints.Hang(func() {
		select {
		case rung <- true:
		default: // it must not block
		}
	})
	hints.Ring(bell) // in another process, which has read the row
	fmt.Println("look now:", <-rung)
	stop()
	fmt.Println(hints.Close())
	// Output:
	// look now: true
	// <nil>
}
