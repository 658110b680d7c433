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
	held
	locks []*queuelock.Lock // in the order in which the entities were given
}

// held is a Lock, or Locks.
type held interface {
	Context() context.Context
	Err() error
	Release(context.Context) error
}

// Done is closed when any of the locks is lost or released.
func (t *turn) Done() <-chan struct{} { return t.Context().Done() }

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
	return t.held.(*queuelock.Locks).Ticket()
}

// String prints the locks for people.
func (t *turn) String() string {
	var all []string
	for _, lock := range t.locks {
		all = append(all, brief(lock.Key())+" ticket "+lock.Ticket().Short())
	}
	return strings.Join(all, ", ")
}
