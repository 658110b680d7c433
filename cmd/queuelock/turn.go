package main

import (
	"context"
	"math"
	"strings"
	"sync"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/ticket"
)

// turn is what a command runs under: the lock of one entity, or the locks of run --all.
type turn struct {
	locks []*queuelock.Lock // in the order in which the entities were given
	all   *queuelock.Locks  // nil for one entity
}

// Done is closed when any of the locks is lost or released.
func (t *turn) Done() <-chan struct{} {
	if t.all != nil {
		return t.all.Context().Done()
	}
	return t.locks[0].Context().Done()
}

// Err returns why the turn has ended, or nil.
func (t *turn) Err() error {
	if t.all != nil {
		return t.all.Err()
	}
	return t.locks[0].Err()
}

// Remaining returns the time until the first of the leases expires without a renewal.
func (t *turn) Remaining() time.Duration {
	least := time.Duration(math.MaxInt64)
	for _, lock := range t.locks {
		least = min(least, lock.Remaining())
	}
	return least
}

// Revoked is closed once the holder of any of the locks was asked to give way.
func (t *turn) Revoked() <-chan struct{} {
	if len(t.locks) == 1 {
		return t.locks[0].Revoked()
	}
	any := make(chan struct{})
	once := sync.OnceFunc(func() { close(any) })
	for _, lock := range t.locks {
		go func() {
			select {
			case <-lock.Revoked():
				once()
			case <-t.Done():
			}
		}()
	}
	return any
}

// Ticket returns the ticket that is common to all of the locks, if there is one.
func (t *turn) Ticket() (n ticket.Number, ok bool) {
	if len(t.locks) == 1 {
		return t.locks[0].Ticket(), true
	}
	return t.all.Ticket()
}

// Release releases all of the locks.
func (t *turn) Release(ctx context.Context) error {
	if t.all != nil {
		return t.all.Release(ctx)
	}
	return t.locks[0].Release(ctx)
}

// String prints the locks for people.
func (t *turn) String() string {
	var all []string
	for _, lock := range t.locks {
		all = append(all, brief(lock.Key())+" ticket "+lock.Ticket().Short())
	}
	return strings.Join(all, ", ")
}
