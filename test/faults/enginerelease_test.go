package faults_test

import (
	"errors"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

func TestEngineReadersAndPermits(t *testing.T) {
	locktest.OnEveryEngine(t, func(t *testing.T, table *queuelocktest.Table) {
		a, b := locktest.Two(t, table, locktest.Fast, "a", "b")
		writer := locktest.Acquire(t, a, waitpolicy.NoWait)
		waiting := locktest.LockBy(t, b, queuelock.Shared())
		locktest.OK(t, writer.Downgrade(t.Context()))
		reader := (<-waiting).Lock
		if reader == nil || !reader.Shared() || reader.Ticket().Compare(writer.Ticket()) <= 0 {
			t.Fatal("no reader has joined")
		}
		if _, err := b.Acquire(t.Context(), locktest.Order, waitpolicy.NoWait); !errors.Is(err, queuelock.ErrNotAcquired) {
			t.Errorf("a writer beside readers: %v", err)
		}
		if err := reader.Transact(t.Context(), locktest.Deposit(table, nil)); err != nil {
			t.Errorf("a fenced write of a reader: %v", err)
		}
		locktest.Release(t, writer)
		locktest.Release(t, reader)
		if err := reader.Transact(t.Context(), locktest.Deposit(table, nil)); !errors.Is(err, queuelock.ErrReleased) {
			t.Errorf("after its release: %v", err)
		}
		locktest.Release(t, locktest.Acquire(t, b, waitpolicy.For(time.Minute)))

		permits := queuelock.Key{Entity: locktest.Order.Entity, Reason: "permits"}
		var locks []*queuelock.Lock
		for _, c := range []*queuelock.Client{a, b} {
			lock := locktest.Must(c.Acquire(t.Context(), permits, waitpolicy.For(time.Minute), queuelock.Permits(2)))
			locks = append(locks, lock)
		}
		if _, err := a.Acquire(t.Context(), permits, waitpolicy.NoWait, queuelock.Permits(2)); !errors.Is(err, queuelock.ErrNotAcquired) {
			t.Errorf("a third of two: %v", err)
		}
		var mismatch *queue.MismatchError
		if _, err := a.Acquire(t.Context(), permits, waitpolicy.NoWait, queuelock.Permits(3)); !errors.As(err, &mismatch) {
			t.Errorf("another number: %v", err)
		}
		for _, lock := range locks {
			locktest.Check(t, lock.Extend(t.Context()))
			locktest.Release(t, lock)
		}
	})
}

// writeAndRelease writes under the lock, and releases it if that was done.
func writeAndRelease(t *testing.T, lock *queuelock.Lock, item types.TransactWriteItem) error {
	if err := lock.Transact(t.Context(), item); err != nil {
		return err
	}
	return lock.Release(t.Context())
}

func TestEngineTransactRelease(t *testing.T) {
	locktest.OnEveryEngine(t, func(t *testing.T, table *queuelocktest.Table) {
		a, dbA := locktest.Open(t, table, "a", queuelock.Config{})
		b, _ := locktest.Open(t, table, "b", queuelock.Config{})
		locktest.Release(t, locktest.Acquire(t, a, waitpolicy.NoWait))
		lock := locktest.Acquire(t, a, waitpolicy.NoWait)
		n := locktest.Sent(table, func() {
			locktest.OK(t, writeAndRelease(t, lock, locktest.Deposit(table, nil)))
		})
		if n != 2 || locktest.Balance(table) != "1" {
			t.Errorf("%d requests; the account holds %s", n, locktest.Balance(table))
		}
		// With a waiter behind it, and an answer that is lost.
		lock = locktest.Acquire(t, a, waitpolicy.NoWait)
		queued, waits := locktest.OnceItWaits()
		waiting := locktest.LockBy(t, b, waits)
		<-queued
		dbA.Inject(queuelocktest.LoseResponse().Of("TransactWriteItems").Times(2))
		if err := writeAndRelease(t, lock, locktest.Deposit(table, nil)); err != nil || locktest.Balance(table) != "2" {
			t.Errorf("with a waiter behind it: %v; the account holds %s", err, locktest.Balance(table))
		}
		got := locktest.Lock(t, <-waiting)
		// Its own condition.
		err := writeAndRelease(t, got, locktest.Deposit(table, aws.String("amount = :one")))
		if _, ok := errors.AsType[*types.TransactionCanceledException](err); !ok || got.Err() != nil || locktest.Balance(table) != "2" {
			t.Errorf("got %v, the lock's end is %v, the account holds %s", err, got.Err(), locktest.Balance(table))
		}
		if err := writeAndRelease(t, got, locktest.Deposit(table, nil)); err != nil || locktest.Balance(table) != "3" {
			t.Errorf("then %v; the account holds %s", err, locktest.Balance(table))
		}
		// Of a lock that was taken away.
		lock = locktest.Acquire(t, a, waitpolicy.For(10*time.Second))
		locktest.OperatorTakes(t, table)
		if err := writeAndRelease(t, lock, locktest.Deposit(table, nil)); !errors.Is(err, queuelock.ErrLost) || locktest.Balance(table) != "3" {
			t.Errorf("of a lost lock: %v; the account holds %s", err, locktest.Balance(table))
		}
	})
}
