package hold_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/heartbeat"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

// TestProtectedWrite checks that a protected write is made once while the lock is held.
func TestProtectedWrite(t *testing.T) {
	for name, fault := range map[string]queuelocktest.Fault{
		"no fault":             queuelocktest.DelayRequest(0),
		"request lost":         queuelocktest.LoseRequest().Times(2),
		"response lost":        queuelocktest.LoseResponse().Times(2),
		"response never comes": queuelocktest.SwallowResponse().Times(1),
		"throttled":            queuelocktest.Refuse(queuelocktest.Throttling).Times(5),
		"arrives twice":        queuelocktest.Duplicate(time.Second),
		"conflict":             queuelocktest.Refuse(queuelocktest.TransactionConflict).Times(3),
	} {
		locktest.InTable(t, name, func(t *testing.T, table *queuelocktest.Table) {
			lock, db := hold(t, table, queuelock.Config{})
			db.Inject(fault.Of("TransactWriteItems"))
			locktest.OK(t, lock.Transact(t.Context(), locktest.Deposit(table, nil)))
			locktest.OK(t, table.Settle(t.Context()))
			if got := locktest.Balance(table); got != "1" {
				t.Errorf("the account holds %s after one deposit", got)
			}
			locktest.Release(t, lock)
		})
	}
}

func TestWriteAfterLoss(t *testing.T) {
	locktest.InTable(t, "evicted", func(t *testing.T, table *queuelocktest.Table) {
		lock, db := hold(t, table, queuelock.Config{})
		other, _ := locktest.OpenMet(t, table, "other", queuelock.Config{})
		condition := lock.Condition()
		db.Partition()
		taken := locktest.Acquire(t, other, waitpolicy.Forever)
		db.Heal()

		locktest.Is(t, lock.Transact(t.Context(), locktest.Deposit(table, nil)), queuelock.ErrLost)
		// One that does not ask the lock first is refused by the table.
		_, err := db.TransactWriteItems(t.Context(), &dynamodb.TransactWriteItemsInput{
			TransactItems: []types.TransactWriteItem{locktest.Deposit(table, nil), {ConditionCheck: &condition}},
		})
		canceled, ok := errors.AsType[*types.TransactionCanceledException](err)
		if !ok || aws.ToString(canceled.CancellationReasons[1].Code) != "ConditionalCheckFailed" {
			t.Errorf("the check of a lost lock let a transaction pass, or failed otherwise: %v", err)
		}
		if got := locktest.Balance(table); got != "0" {
			t.Errorf("%s deposits were made without the lock", got)
		}
		if err := taken.Transact(t.Context(), locktest.Deposit(table, nil)); err != nil || locktest.Balance(table) != "1" {
			t.Errorf("the holder's own write gave %v, and the account holds %s", err, locktest.Balance(table))
		}
		locktest.Release(t, taken)
		locktest.Is(t, taken.Transact(t.Context(), locktest.Deposit(table, nil)), queuelock.ErrReleased)
	})
	locktest.InTable(t, "evicted, and does not know yet", func(t *testing.T, table *queuelocktest.Table) {
		lock, _ := hold(t, table, queuelock.Config{})
		locktest.Evict(t, table, locktest.Order.Entity)
		err := lock.Transact(t.Context(), locktest.Deposit(table, nil))
		if lost, ok := errors.AsType[*queuelock.LostError](err); !ok || lost.Cause != heartbeat.Evicted {
			t.Errorf("the write gave %v, want a LostError: evicted", err)
		}
		if lock.Context().Err() == nil || !errors.Is(context.Cause(lock.Context()), queuelock.ErrLost) {
			t.Error("the lock's context goes on after the record has said that it is lost")
		}
		if locktest.Balance(table) != "0" {
			t.Error("the write was made")
		}
	})
}

// TestConcurrentWrites checks that each of several writes that are made at once returns its own outcome, after its own answer.
func TestConcurrentWrites(t *testing.T) {
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		lock, db := hold(t, table, queuelock.Config{})
		db.Inject(queuelocktest.DelayRequest(time.Second).Of("TransactWriteItems"))
		first := make(chan error, 1)
		go func() { first <- lock.Transact(t.Context(), locktest.Deposit(table, nil)) }()
		time.Sleep(100 * time.Millisecond)
		err := lock.Transact(t.Context(), locktest.Deposit(table, aws.String("attribute_not_exists(pk)")))
		locktest.OK(t, <-first)
		if _, canceled := errors.AsType[*types.TransactionCanceledException](err); !canceled {
			t.Error("a write with a false condition was called made")
		}
		locktest.Release(t, lock)
	})
}

func TestCallersCondition(t *testing.T) {
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		lock, _ := hold(t, table, queuelock.Config{})
		spent := locktest.Cost(table, func() {
			err := lock.Transact(t.Context(), locktest.Deposit(table, aws.String("attribute_exists(pk)")))
			canceled, ok := errors.AsType[*types.TransactionCanceledException](err)
			if !ok || aws.ToString(canceled.CancellationReasons[0].Code) != "ConditionalCheckFailed" || errors.Is(err, queuelock.ErrLost) {
				t.Errorf("got %v, want the caller's own condition", err)
			}
		})
		if spent.Sent != 1 {
			t.Errorf("a write that can never succeed was sent %d times", spent.Sent)
		}
		locktest.Check(t, lock.Err())
		locktest.Release(t, lock)
	})
}

// TestEndOfContext checks that a protected write ends with its context and with the lock.
func TestEndOfContext(t *testing.T) {
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		lock, db := hold(t, table, queuelock.Config{})
		db.Inject(queuelocktest.SwallowRequest().Of("TransactWriteItems"))
		begun := time.Now()
		err := lock.Transact(limited(t, 20*time.Second), locktest.Deposit(table, nil))
		// The table was asked: it was not made, and never will be.
		if isUnknown(err) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want the context's error, and no unknown outcome", err)
		}
		if took := time.Since(begun); took != 20*time.Second {
			t.Errorf("it ended %v after it began, its context after 20s", took)
		}
		synctest.Wait()
		db.Partition()
		begun = time.Now()
		if err := lock.Transact(t.Context(), locktest.Deposit(table, nil)); err == nil || lock.Err() == nil {
			t.Errorf("got %v, want an error once the lease has ended", err)
		}
		if took := time.Since(begun); took > time.Minute {
			t.Errorf("it went on for %v with a lease of a minute", took)
		}
	})
}

func TestInvalidItems(t *testing.T) {
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		lock, _ := hold(t, table, queuelock.Config{})
		spent := locktest.Cost(table, func() {
			for _, n := range []int{0, 100} {
				locktest.Says(t, lock.Transact(t.Context(), make([]types.TransactWriteItem, n)...), "between 1 and 99")
			}
		})
		if spent.Sent != 0 {
			t.Errorf("%d requests were sent", spent.Sent)
		}
		locktest.Release(t, lock)
	})
}

// TestFenceBesideOrphan checks that an entry that a late TAKE has put back does not pass the fence of its earlier turn.
func TestFenceBesideOrphan(t *testing.T) {
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		c, db := locktest.Open(t, table, "c", queuelock.Config{})
		locktest.Release(t, locktest.Acquire(t, c, waitpolicy.NoWait)) // the record is there
		again := db.Inject(queuelocktest.HoldDuplicate().Of("UpdateItem").Times(1))
		lock := locktest.Acquire(t, c, waitpolicy.NoWait)
		condition := lock.Condition()
		locktest.Release(t, lock)
		again.Release()
		locktest.OK(t, table.Settle(t.Context()))
		if _, holders := locktest.RowsAndHolders(t, c); holders != 1 {
			t.Fatalf("%d holders: want the orphaned entry of ticket %s", holders, lock.Ticket())
		}
		_, err := db.TransactWriteItems(t.Context(), &dynamodb.TransactWriteItemsInput{
			TransactItems: []types.TransactWriteItem{locktest.Deposit(table, nil), {ConditionCheck: &condition}},
		})
		if _, canceled := errors.AsType[*types.TransactionCanceledException](err); !canceled || locktest.Balance(table) != "0" {
			t.Errorf("a write with a released lock's token gave %v, and the account holds %s", err, locktest.Balance(table))
		}
	})
}
