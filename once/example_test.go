package once_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"strings"
	"sync"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/once"
)

// docs/guide.md repeats a part of this file.

// prices returns the prices of the day. One process fetches them, and all use them for ten minutes.
func prices(ctx context.Context, locks *queuelock.Client) ([]byte, error) {
	key := queuelock.Key{Entity: "prices"}
	return once.Do(ctx, locks, key, 10*time.Minute, func(ctx context.Context, lock *queuelock.Lock) ([]byte, error) {
		return fetch(ctx)
	})
}

// fetch is slow, and its source does not like to be asked often.
func fetch(ctx context.Context) ([]byte, error) {
	fmt.Println("fetching")
	time.Sleep(100 * time.Millisecond)
	return []byte("apples 3, pears 4"), ctx.Err()
}

// Two processes need the prices at the same time.
func ExampleDo() {
	err := inProcesses(func(ctx context.Context, a, b *queuelock.Client) error {
		var all sync.WaitGroup
		errs := make([]error, 2)
		for i, locks := range []*queuelock.Client{a, b} {
			all.Go(func() {
				value, err := prices(ctx, locks)
				fmt.Println(string(value))
				errs[i] = err
			})
		}
		all.Wait()
		state, err := a.Viewer().Inspect(ctx, queuelock.Key{Entity: "prices"})
		if err != nil {
			return err
		}
		fmt.Println(state.Result.Exists(), state.Result.Fresh(state.ReadAt), len(state.Result.Value))
		return errors.Join(errs...)
	})
	fmt.Println(err)
	// Output:
	// fetching
	// apples 3, pears 4
	// apples 3, pears 4
	// true true 17
	// <nil>
}

// A result of more than 4 KB is stored elsewhere. The function returns where.
func ExampleDo_pointer() {
	objects := map[string]string{}
	render := func(_ context.Context, lock *queuelock.Lock) ([]byte, error) {
		name := "report-" + lock.Ticket().String() // another object each time
		objects[name] = strings.Repeat("a long report. ", 1000)
		return []byte(name), nil
	}
	err := inProcesses(func(ctx context.Context, a, b *queuelock.Client) error {
		for _, locks := range []*queuelock.Client{a, b} {
			name, err := once.Do(ctx, locks, queuelock.Key{Entity: "report"}, time.Hour, render)
			if err != nil {
				return err
			}
			fmt.Println(len(objects[string(name)]), "bytes")
		}
		return nil
	})
	fmt.Println(err, len(objects))
	// Output:
	// 15000 bytes
	// 15000 bytes
	// <nil> 1
}

// inProcesses calls f with the clients of two processes.
func inProcesses(f func(ctx context.Context, a, b *queuelock.Client) error) error {
	ctx, db := context.Background(), locktest.Memory()
	var clients []*queuelock.Client
	for range 2 {
		c, err := queuelock.New(db, "queuelock", queuelock.Config{})
		if err != nil {
			return err
		}
		defer func() {
			if err := c.Close(ctx); err != nil {
				log.Print(err)
			}
		}()
		clients = append(clients, c)
	}
	return f(ctx, clients[0], clients[1])
}
