package hold_test

import (
	"errors"
	"reflect"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/av"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

// The holder's host is suspended, and others evict it, write and release while its request is lost. It wakes within its
// own deadline, and its request is repeated and refused.
func TestOutcomeAfterSuspend(t *testing.T) {
	locktest.InTable(t, "UpdateAndReleaseIsLost", func(t *testing.T, table *queuelocktest.Table) {
		u, key, _ := locktest.NewOrder(t, table)
		a, dbA := locktest.Open(t, table, "a", queuelock.Config{})
		b, _ := locktest.Open(t, table, "b", queuelock.Config{})
		lock := locktest.LockItem(t, a, u.Key(key), waitpolicy.NoWait)
		first := dbA.Inject(locktest.UpdatesOfItems(queuelocktest.LoseRequest().Times(1)))
		second := dbA.Inject(locktest.UpdatesOfItems(queuelocktest.HoldRequest().Times(1).LandingAnyway()))
		done := make(chan error, 1)
		go func() {
			_, err := lock.UpdateAndRelease(t.Context(), locktest.AddOne())
			done <- err
		}()
		<-second.Reached()
		endLeaseOf(t, u, key)
		other := locktest.LockItem(t, b, u.Key(key), waitpolicy.Forever)
		locktest.Updated(t, other, locktest.AddOne())
		second.Release()
		if err := <-done; !errors.Is(err, queuelock.ErrLost) || first.Fired() != 1 {
			t.Errorf("got %v, although nothing was written", err)
		}
		if got := u.Get(key)["amount"]; !reflect.DeepEqual(got, av.Num(101)) {
			t.Errorf("the amount is %v after one update", got)
		}
	})
	locktest.InTable(t, "ReleaseIsLost", func(t *testing.T, table *queuelocktest.Table) {
		a, b := locktest.Two(t, table, queuelock.Config{}, "a", "b")
		lock := locktest.Acquire(t, a, waitpolicy.NoWait)
		endLeasesOf(t, table)
		locktest.Release(t, locktest.Acquire(t, b, waitpolicy.Forever))
		locktest.Is(t, lock.Release(t.Context()), queuelock.ErrLost)
	})
	locktest.InTable(t, "UnknownOnceBothMarksAreReplaced", func(t *testing.T, table *queuelocktest.Table) {
		a, b, c := locktest.Three(t, table, queuelock.Config{}, "a", "b", "c")
		lock := locktest.Acquire(t, a, waitpolicy.NoWait)
		endLeasesOf(t, table)
		locktest.Acquire(t, b, waitpolicy.Forever)
		endLeasesOf(t, table)
		locktest.Release(t, locktest.Acquire(t, c, waitpolicy.Forever))
		err := lock.Release(t.Context())
		if _, unknown := errors.AsType[*queuelock.UnknownOutcomeError](err); !unknown || errors.Is(err, queuelock.ErrLost) {
			t.Errorf("got %v", err)
		}
	})
}

// endLeasesOf lets the leases in the order's record end, for others alone.
func endLeasesOf(t *testing.T, table *queuelocktest.Table) {
	t.Helper()
	for _, i := range table.Items() {
		endLeases(t, table.Client("operator"), table.Name(), av.Item{"pk": i["pk"], "sk": i["sk"]}, i, "")
	}
}

func endLeaseOf(t *testing.T, u locktest.ItemTable, key av.Item) {
	t.Helper()
	endLeases(t, u.DB, u.Name, key, u.Get(key), "lock_")
}

func endLeases(t *testing.T, db *queuelocktest.Client, name string, key, now av.Item, prefix string) {
	t.Helper()
	holders, _ := now[prefix+"holders"].(*types.AttributeValueMemberM)
	if holders == nil {
		return
	}
	for id := range holders.Value {
		locktest.Must(db.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
			TableName: aws.String(name), Key: key, UpdateExpression: aws.String("SET #h.#id.#u = :past"),
			ExpressionAttributeNames:  map[string]string{"#h": prefix + "holders", "#id": id, "#u": "until"},
			ExpressionAttributeValues: av.Item{":past": av.Num(1)},
		}))
	}
}

// A client that retries on its own hears the refusal of its own success.
func TestOutcomeOfRepeatingClient(t *testing.T) {
	locktest.InTable(t, "ReleaseIsNil", func(t *testing.T, table *queuelocktest.Table) {
		again := false
		db := locktest.Repeating{Client: table.Client("c"), Again: func(*dynamodb.UpdateItemInput) bool { return again }}
		c := locktest.Must(queuelock.New(db, table.Name(), queuelock.Config{}))
		lock := locktest.Acquire(t, c, waitpolicy.NoWait)
		again = true
		locktest.Release(t, lock)
	})
	locktest.InTable(t, "UpdateAndReleaseIsMade", func(t *testing.T, table *queuelocktest.Table) {
		u, key, _ := locktest.NewOrder(t, table)
		again := false
		db := locktest.Repeating{Client: table.Client("c"), Again: func(*dynamodb.UpdateItemInput) bool { return again }}
		c := locktest.Must(queuelock.New(db, table.Name(), queuelock.Config{}))
		lock := locktest.LockItem(t, c, u.Key(key), waitpolicy.NoWait)
		again = true
		locktest.Updated(t, lock, locktest.AddOne())
		if got := u.Get(key)["amount"]; !reflect.DeepEqual(got, av.Num(101)) {
			t.Errorf("the amount is %v after one update", got)
		}
	})
}
