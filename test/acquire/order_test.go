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

// TestStalledWaiter checks that a waiter that was paused takes its place again, or a new
// one. Etcd's mutex let a waiter in whose session had expired.
func TestStalledWaiter(t *testing.T) {
	locktest.InTable(t, "NotOvertaken", func(t *testing.T, table *queuelocktest.Table) {
		holder, _ := locktest.Open(t, table, "holder", locktest.TenSeconds)
		held := locktest.Acquire(t, holder, waitpolicy.Forever)
		c, db := locktest.Open(t, table, "stalled", locktest.TenSeconds)
		waiting := locktest.QueueUp(t.Context(), c, waitpolicy.Forever)
		time.Sleep(time.Second)
		db.Partition()
		time.Sleep(2 * locktest.TenSeconds.WaiterTTL)
		if swept := locktest.Must(holder.Operator().Sweep(t.Context(), locktest.Order)); swept.Waiters != 1 {
			t.Fatalf("swept %+v, want the stalled row", swept)
		}
		db.Heal()
		time.Sleep(10 * time.Second)
		if rows, _ := locktest.RowsAndHolders(t, holder); rows != 1 {
			t.Errorf("%d rows, want its own again", rows)
		}
		locktest.Release(t, held)
		if got := <-waiting; got.Err != nil || got.Lock.Ticket().After(held.Ticket()) != 1 {
			t.Errorf("%+v, want the same ticket", got)
		}
	})
	locktest.InTable(t, "Overtaken", func(t *testing.T, table *queuelocktest.Table) {
		holder, _ := locktest.Open(t, table, "holder", locktest.TenSeconds)
		held := locktest.Acquire(t, holder, waitpolicy.Forever)
		c, db := locktest.Open(t, table, "stalled", locktest.TenSeconds)
		waiting := locktest.QueueUp(t.Context(), c, waitpolicy.Forever)
		time.Sleep(time.Second)
		next, _ := locktest.Open(t, table, "next", locktest.TenSeconds)
		overtaker := locktest.QueueUp(t.Context(), next, waitpolicy.Forever)
		time.Sleep(time.Second)
		db.Partition()
		time.Sleep(2 * locktest.TenSeconds.WaiterTTL)
		locktest.Release(t, held)
		got := locktest.Lock(t, <-overtaker)
		db.Heal()
		time.Sleep(10 * time.Second)
		select {
		case both := <-waiting:
			t.Fatalf("%+v beside %s", both, got.Ticket())
		default:
		}
		locktest.Release(t, got)
		if last := <-waiting; last.Err != nil || !got.Ticket().Less(last.Lock.Ticket()) {
			t.Errorf("%+v, want a ticket after %s", last, got.Ticket())
		}
		if rows, _ := locktest.RowsAndHolders(t, holder); rows != 0 {
			t.Errorf("%d rows are left", rows)
		}
	})
}
