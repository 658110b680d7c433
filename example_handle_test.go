package queuelock_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

// firstState takes the lock. Its output is the input of the last state.
func firstState(ctx context.Context, locks *queuelock.Client, order string) (json.RawMessage, error) {
	lock, err := locks.Acquire(ctx, queuelock.Key{Entity: order}, waitpolicy.For(2*time.Second),
		queuelock.WithTTL(5*time.Minute), queuelock.NoHeartbeat())
	if err != nil {
		return nil, err
	}
	return json.Marshal(lock.Handle())
}

// lastState returns ErrGone if the lock was lost in between.
func lastState(ctx context.Context, locks *queuelock.Client, input json.RawMessage) error {
	var handle queuelock.Handle
	if err := json.Unmarshal(input, &handle); err != nil {
		return err
	}
	lock, err := locks.Resume(ctx, handle, waitpolicy.NoWait)
	if err != nil {
		return err
	}
	return lock.Release(ctx)
}

// A state machine takes a lock in one function and releases it in another.
func ExampleLock_Handle() {
	ctx := context.Background()
	db := locktest.Memory()
	first, err := queuelock.New(db, "queuelock", queuelock.Config{Owner: "function-1"})
	check(err)
	defer func() { _ = first.Close(ctx) }() // only so that it leaves nothing running here
	last, closed := client(db, "function-2", time.Minute)
	defer closed()

	state, err := firstState(ctx, first, "order-7")
	check(err)
	err = last.Do(ctx, queuelock.Key{Entity: "order-7"}, waitpolicy.NoWait, ship)
	fmt.Println("locked in between:", errors.Is(err, queuelock.ErrNotAcquired))
	fmt.Println("released:", lastState(ctx, last, state) == nil)
	fmt.Println("released twice:", !errors.Is(lastState(ctx, last, state), queuelock.ErrGone))
	// Output:
	// locked in between: true
	// released: true
	// released twice: false
}

// oneSlice waits in a place, or takes one. It returns the lock, or the place that is kept: save it for the next slice.
func oneSlice(ctx context.Context, locks *queuelock.Client, order queuelock.Key, place *queuelock.Handle) (
	lock *queuelock.Lock, kept *queuelock.Handle, err error) {
	wait, keep := waitpolicy.For(9*time.Minute), queuelock.KeepPlace(5*time.Minute)
	if place == nil {
		lock, err = locks.Acquire(ctx, order, wait, keep)
	} else {
		lock, err = locks.Resume(ctx, *place, wait, keep)
	}
	if ended, ok := errors.AsType[*queuelock.NotAcquiredError](err); ok && ended.Handle != nil {
		return nil, ended.Handle, nil
	}
	return lock, nil, err
}

// A caller that may wait only for some time keeps its place, and gets its turn in the order of the queue.
func ExampleKeepPlace() {
	ctx := context.Background()
	db := locktest.Memory()
	other, closeOther := client(db, "other", time.Minute)
	defer closeOther()
	first, closeFirst := client(db, "first slice", time.Minute)
	order := queuelock.Key{Entity: "order-7"}
	held, err := other.Acquire(ctx, order, waitpolicy.NoWait)
	check(err)

	short, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
	defer cancel()
	_, place, err := oneSlice(short, first, order, nil)
	closeFirst()
	fmt.Println("a place is kept:", place != nil, err)
	_ = held.Release(ctx)
	second, closeSecond := client(db, "second slice", time.Minute)
	defer closeSecond()
	lock, _, err := oneSlice(ctx, second, order, place)
	check(err)
	fmt.Println("served with its ticket:", lock.Ticket() == place.Ticket)
	_ = lock.Release(ctx)
	// Output:
	// a place is kept: true <nil>
	// served with its ticket: true
}
