package modes_test

import (
	"fmt"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/av"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

// TestReadModifyWrite checks that a read-modify-write under random faults loses no
// update. The process computes the new amount from the one that the lock showed, so one
// update too many or too few changes the sum.
func TestReadModifyWrite(t *testing.T) {
	for seed := range locktest.Scaled[uint64](10, 1) {
		locktest.InBubble(t, fmt.Sprint(seed), func(t *testing.T) {
			table := queuelocktest.NewTable(t, queuelocktest.WithLatency(10*time.Millisecond))
			u, key, _ := locktest.NewOrder(t, table)
			var log locktest.Journal
			var wg sync.WaitGroup
			for i := range 3 {
				c, db := locktest.Open(t, table, fmt.Sprint("c", i), queuelock.Config{TTL: 20 * time.Second, HeartbeatInterval: time.Second, Logger: log.Logger()})
				db.Inject(queuelocktest.LandLate(300*time.Millisecond).Of("UpdateItem").Mentioning("amount").WithProbability(0.25, seed))
				db.Inject(queuelocktest.LoseResponse().WithProbability(0.2, seed+1))
				db.Inject(queuelocktest.Duplicate(500*time.Millisecond).Of("UpdateItem").Mentioning("amount").WithProbability(0.3, seed+2))
				wg.Go(func() {
					for range 4 {
						lock, err := c.LockItem(t.Context(), u.Key(key), waitpolicy.For(10*time.Minute))
						if err != nil {
							t.Error(err)
							return
						}
						var amount int
						fmt.Sscan(lock.Item()["amount"].(*types.AttributeValueMemberN).Value, &amount)
						time.Sleep(1500 * time.Millisecond)
						if _, err := lock.UpdateAndRelease(t.Context(), expression.Set(expression.Name("amount"), expression.Value(amount+1))); err != nil {
							t.Error(err)
						}
					}
				})
			}
			wg.Wait()
			locktest.OK(t, table.Settle(t.Context()))
			if got := u.Get(key)["amount"]; !reflect.DeepEqual(got, av.Num(112)) || log.SaysLost() {
				t.Errorf("the amount is %v, want 112; a lock was called lost: %v", got, log.SaysLost())
			}
		})
	}
}
