package queuelock_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/waitpolicy"
)

func ExampleClient_Resume() {
	ctx := context.Background()
	db := newMemoryTable()
	order := queuelock.Key{Entity: "order-7"}
	crashes, err := queuelock.New(db, "queuelock", queuelock.Config{Owner: "worker-1"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = crashes.Close(ctx) }() // only so that it leaves nothing running here
	lock, err := crashes.Acquire(ctx, order, waitpolicy.NoWait)
	if err != nil {
		fmt.Println(err)
		return
	}
	file, err := json.Marshal(lock.Handle()) // kept where the next process finds it
	if err != nil {
		fmt.Println(err)
		return
	}

	var handle queuelock.Handle
	if err := json.Unmarshal(file, &handle); err != nil {
		fmt.Println(err)
		return
	}
	locks, closed := client(db, "worker-1, started again", time.Minute)
	defer closed()
	lock, err = locks.Resume(ctx, handle, waitpolicy.For(time.Minute))
	if errors.Is(err, queuelock.ErrGone) {
		lock, err = locks.Acquire(ctx, order, waitpolicy.For(time.Minute))
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("goes on with ticket", lock.Ticket())
	// Output:
	// goes on with ticket 1
}
