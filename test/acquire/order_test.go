package acquire_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

// TestOrderOfTickets checks that waiters are served in the order of their tickets across
// powers of ten. A key of unpadded numbers sorts 10 before 9.
func TestOrderOfTickets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t, queuelocktest.WithLatency(2*time.Millisecond))
		first, db := locktest.Open(t, table, "first", queuelock.Config{})
		item := locktest.RecordKey()
		item["ticketNumber"] = &types.AttributeValueMemberN{Value: "94"}
		item["granted"] = item["ticketNumber"]
		locktest.Must(db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(table.Name()), Item: item}))
		held := locktest.Acquire(t, first, waitpolicy.Forever)
		var waiting []<-chan locktest.Outcome
		for i := range 12 {
			c, _ := locktest.Open(t, table, fmt.Sprint(i), queuelock.Config{})
			waiting = append(waiting, locktest.QueueUp(t.Context(), c, waitpolicy.Forever))
			time.Sleep(5 * time.Millisecond)
		}
		locktest.Release(t, held)
		for i, w := range waiting {
			got := <-w
			if got.Err != nil || got.Lock.Ticket().After(held.Ticket()) != uint64(i+1) {
				t.Fatalf("waiter %d: %v %v", i, got.Lock.Ticket(), got.Err)
			}
			locktest.Release(t, got.Lock)
		}
	})
}
