package hold_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/av"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

// A copy of a refused transaction is made late, the record first. Neither a later transaction of the lock, nor a reader
// after a downgrade, nor the next holder may take its other items for visible before they are.
func TestSplitOfLateCopy(t *testing.T) {
	for name, follow := range map[string]func(t *testing.T, table *queuelocktest.Table, lock *queuelock.Lock){
		"NextIsMade": func(t *testing.T, table *queuelocktest.Table, lock *queuelock.Lock) {
			locktest.Check(t, lock.Transact(t.Context(), putOf(table, "other", nil)))
		},
		"NextIsRefused": func(t *testing.T, table *queuelocktest.Table, lock *queuelock.Lock) {
			if err := lock.Transact(t.Context(), putOf(table, "other", aws.String("attribute_exists(pk)"))); err == nil {
				t.Error("it was made")
			}
		},
		"Downgrade": func(t *testing.T, _ *queuelocktest.Table, lock *queuelock.Lock) {
			if err := lock.Downgrade(t.Context()); err != nil {
				t.Log(err) // others do not join
			}
		},
	} {
		for i := range 20 {
			order := []string{"CopyBefore", "CopyAfter"}[i%2]
			locktest.InTable(t, fmt.Sprint(name, "/", order, i/2), func(t *testing.T, table *queuelocktest.Table) {
				a, db := locktest.OpenMet(t, table, "a", queuelock.Config{})
				b, _ := locktest.OpenMet(t, table, "b", queuelock.Config{})
				lock := locktest.Acquire(t, a, waitpolicy.NoWait)
				copied := locktest.RefusedDeposit(t, table, db, lock)
				if order == "CopyBefore" {
					copied.Release()
					time.Sleep(time.Second)
				}
				follow(t, table, lock)
				copied.Release()
				time.Sleep(time.Second)
				next, err := b.Acquire(t.Context(), locktest.Order, waitpolicy.NoWait, queuelock.Shared())
				if err != nil {
					locktest.Release(t, lock)
					next = locktest.Acquire(t, b, waitpolicy.Forever)
				}
				seen := locktest.Balance(table)
				time.Sleep(20 * time.Second)
				if later := locktest.Balance(table); later != seen && !next.Unsettled() {
					t.Errorf("the account held %s at the grant, which was called settled, and holds %s now", seen, later)
				}
				locktest.Release(t, next)
			}, queuelocktest.WithSplitTransactions(50*time.Millisecond, 1, uint64(i/2)))
		}
	}
}

// A copy of a refused transaction was made, and cannot be repeated to see whether it is
// visible: the caller has lost its rights. The lock is released all the same, with a warning.
func TestReleaseBehindLateCopy(t *testing.T) {
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		a, db := locktest.OpenMet(t, table, "a", queuelock.Config{TTL: time.Hour})
		b, _ := locktest.OpenMet(t, table, "b", queuelock.Config{})
		lock := locktest.Acquire(t, a, waitpolicy.NoWait)
		copied := locktest.RefusedDeposit(t, table, db, lock)
		copied.Release()
		time.Sleep(time.Second)
		db.Inject(queuelocktest.Refuse(queuelocktest.AccessDenied).Of("TransactWriteItems"))
		begun := time.Now()
		locktest.Release(t, lock)
		next := locktest.Acquire(t, b, waitpolicy.NoWait)
		if took := time.Since(begun); took > 3*time.Second || !next.Unsettled() {
			t.Errorf("after %v Unsettled is %v", took, next.Unsettled())
		}
		locktest.Release(t, next)
	})
}

// putOf returns a write of an item of that name.
func putOf(table *queuelocktest.Table, name string, condition *string) types.TransactWriteItem {
	item := map[string]types.AttributeValue{"pk": av.Str(name), "sk": av.Str(name)}
	return types.TransactWriteItem{Put: &types.Put{TableName: aws.String(table.Name()), Item: item, ConditionExpression: condition}}
}

// An UpdateAndRelease without an answer arrives while a later transaction of the lock is
// being committed. It must not let in a holder that does not see that one's items.
func TestSplitBesideLateUpdate(t *testing.T) {
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		u, key, _ := locktest.NewOrder(t, table)
		c, db := locktest.OpenMet(t, table, "c", queuelock.Config{TTL: time.Hour, RequestTimeout: time.Second})
		lock := locktest.LockItem(t, c, u.Key(key), waitpolicy.NoWait)
		late := db.Inject(locktest.UpdatesOfItems(queuelocktest.HoldRequest().LandingAnyway()))
		if _, err := lock.UpdateAndRelease(limited(t, 3*time.Second), locktest.AddOne()); !isUnknown(err) {
			t.Fatalf("got %v", err)
		}
		db.Inject(queuelocktest.SplitTransaction(15*time.Second, 0).Times(1))
		made := make(chan error, 1)
		go func() { made <- lock.Transact(t.Context(), locktest.Deposit(table, nil)) }()
		time.Sleep(500 * time.Millisecond)
		late.Release()
		time.Sleep(100 * time.Millisecond)
		if state := locktest.Must(c.Viewer().Inspect(t.Context(), u.Key(key))); len(state.Serving) != 1 {
			t.Errorf("released while its transaction is being committed: %+v", state)
		}
		locktest.Check(t, <-made)
		locktest.Release(t, lock)
	})
}
