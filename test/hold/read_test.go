package hold_test

import (
	"reflect"
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

func readOf(table *queuelocktest.Table, key map[string]types.AttributeValue) types.TransactGetItem {
	return types.TransactGetItem{Get: &types.Get{TableName: aws.String(table.Name()), Key: key}}
}

func TestLockGet(t *testing.T) {
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		lock, db := hold(t, table, queuelock.Config{})
		locktest.OK(t, lock.Transact(t.Context(), locktest.Deposit(table, nil)))
		account := locktest.Account()
		db.Inject(queuelocktest.Refuse(queuelocktest.TransactionConflict).Of("TransactGetItems").Times(2))
		read, err := lock.Get(t.Context(), readOf(table, av.With(account, av.Item{"pk": av.Str("nothing")})), readOf(table, account))
		if err != nil || len(read) != 2 || read[0] != nil || !reflect.DeepEqual(read[1]["amount"], av.Num(1)) {
			t.Errorf("got %v, %v", read, err)
		}
		spent := locktest.Cost(table, func() { _, err = lock.Get(t.Context(), readOf(table, account)) })
		if err != nil || spent.Sent != 1 || spent.ReadUnits != 2 {
			t.Errorf("one item took %d requests and %v read units: %v", spent.Sent, spent.ReadUnits, err)
		}
		_, err = lock.Get(t.Context())
		locktest.Says(t, err, "between 1 and 100")
		locktest.Release(t, lock)
		_, err = lock.Get(t.Context(), readOf(table, account))
		locktest.Is(t, err, queuelock.ErrReleased)
	})
}

// TestLockUnsettled follows turns after releases, evictions and a resumption.
func TestLockUnsettled(t *testing.T) {
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		a, dbA := locktest.OpenMet(t, table, "a", locktest.TenSeconds)
		b, _ := locktest.Open(t, table, "b", locktest.TenSeconds)
		is := func(want bool, when string) {
			t.Helper()
			lock := locktest.Acquire(t, b, waitpolicy.Forever)
			if lock.Unsettled() != want {
				t.Errorf("%s: want unsettled %t", when, want)
			}
			locktest.Release(t, lock)
		}
		is(false, "at first")
		is(false, "after a release")
		locktest.Acquire(t, a, waitpolicy.NoWait)
		dbA.Partition()
		is(true, "right after an eviction")
		is(true, "in the turn after that")
		time.Sleep(2 * time.Minute)
		is(false, "minutes later")
		dbA.Heal()
		locktest.Acquire(t, a, waitpolicy.NoWait)
		dbA.Partition()
		time.Sleep(time.Minute)
		if swept := locktest.Must(b.Operator().Sweep(t.Context(), locktest.Order)); swept.Holders != 1 {
			t.Fatalf("swept %+v", swept)
		}
		time.Sleep(5 * time.Minute)
		is(true, "although no holder has released since an eviction")
		dbA.Heal()
		time.Sleep(2 * time.Minute)
		lock := locktest.Must(b.Resume(t.Context(), locktest.Acquire(t, a, waitpolicy.NoWait).Handle(), waitpolicy.NoWait))
		if !lock.Unsettled() {
			t.Error("settled after a resumption")
		}
		locktest.Release(t, lock)
	})
}
