package acquire_test

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

// TestOwnTicketOfATurn checks that a caller which asks for a lock that its own client holds learns the ticket of the present turn.
func TestOwnTicketOfATurn(t *testing.T) {
	withSlowTable(t, func(t *testing.T, table *queuelocktest.Table) {
		holder, _ := locktest.OpenMet(t, table, "holder", queuelock.Config{})
		c, _ := locktest.OpenMet(t, table, "c", queuelock.Config{Block: 64})
		held := locktest.Acquire(t, holder, waitpolicy.NoWait)
		var turns sync.WaitGroup
		for range 4 {
			turns.Go(func() {
				lock := locktest.Acquire(t, c, waitpolicy.Forever)
				_, err := c.Acquire(t.Context(), locktest.Order, waitpolicy.NoWait)
				if busy, ok := errors.AsType[*queuelock.NotAcquiredError](err); !ok || busy.Own != lock.Ticket() {
					t.Errorf("in the turn of ticket %s: %v", lock.Ticket(), err)
				}
				locktest.Release(t, lock)
			})
		}
		time.Sleep(time.Second)
		locktest.Release(t, held)
		turns.Wait()
	})
}

// TestValidateItem checks that the options of a lock on an item are those that LockItem takes.
func TestValidateItem(t *testing.T) {
	item := queuelock.ItemKey{Table: "orders", Key: map[string]types.AttributeValue{"id": &types.AttributeValueMemberS{Value: "7"}}}
	for _, option := range map[string]queuelock.AcquireOption{
		"Shared": queuelock.Shared(), "Permits": queuelock.Permits(2), "FailClosed": queuelock.FailClosed(), "OnHandle": queuelock.OnHandle(func(queuelock.Handle) {}),
	} {
		locktest.Says(t, queuelock.Config{}.Validate("queuelock", item, queuelock.CreateItem(), option), "option 2 of 2 is for Acquire")
		locktest.OK(t, queuelock.Config{}.Validate("queuelock", locktest.Order, option))
	}
	locktest.OK(t, queuelock.Config{}.Validate("queuelock", item, queuelock.CreateItem()))
}
