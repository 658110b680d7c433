package faults_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/av"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/ticket"
	"github.com/queuelock/queuelock/waitpolicy"
)

// TestLateRow shows that the published ticket queue, where the first row is the lock, has two holders if a row arrives late: A takes
// a ticket and stalls, B takes the next one and is served, and then A's row arrives.
func TestLateRow(t *testing.T) {
	table := queuelocktest.NewTable(t)
	db, name := table.Client("a"), table.Name()
	holds := func(ticket int) bool {
		sk := fmt.Sprintf("lock/%03d", ticket)
		locktest.Must(db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &name, Item: av.Item{"pk": av.Str("order-7"), "sk": av.Str(sk)}}))
		rows := locktest.Must(db.Query(t.Context(), &dynamodb.QueryInput{
			TableName: &name, ConsistentRead: aws.Bool(true), KeyConditionExpression: aws.String("pk = :pk"),
			ExpressionAttributeValues: av.Item{":pk": av.Str("order-7")},
		}))
		return av.Text(rows.Items[0]["sk"]) == sk
	}
	if b, a := holds(2), holds(1); !b || !a {
		t.Errorf("A holds %v, B holds %v, want that both do", a, b)
	}
}

// TestLostAnswerOfEach checks that a waiter is served once although the answer to one of its requests is lost.
func TestLostAnswerOfEach(t *testing.T) {
	for _, op := range []struct{ name, mentioning string }{
		{"UpdateItem", "servingAfter = if_not_exists"}, // TAKE
		{"PutItem", ""},                  // ENQUEUE
		{"UpdateItem", "granted = 2"},    // CLAIM
		{"UpdateItem", "beat = "},        // HEARTBEAT
		{"UpdateItem", "REMOVE holders"}, // RELEASE
		{"DeleteItem", ""},               // row delete
	} {
		locktest.InTable(t, op.name+" "+op.mentioning, func(t *testing.T, table *queuelocktest.Table) {
			a, _ := locktest.Open(t, table, "a", queuelock.Config{TTL: 10 * time.Second})
			b, db := locktest.Open(t, table, "b", queuelock.Config{TTL: 10 * time.Second})
			held := locktest.Acquire(t, a, waitpolicy.Forever)
			lost := db.Inject(queuelocktest.LoseResponse().Of(op.name).Mentioning(op.mentioning).Times(1))
			waiting := locktest.QueueUp(t.Context(), b, waitpolicy.Forever)
			time.Sleep(time.Second)
			locktest.Release(t, held)
			got := locktest.Lock(t, <-waiting)
			behind := uint64(1)
			if strings.Contains(op.mentioning, "servingAfter") {
				behind = 2 // the number that was issued unheard is burnt
			}
			if n := got.Ticket().After(held.Ticket()); n != behind {
				t.Errorf("served with the ticket %d after the holder's, want %d", n, behind)
			}
			time.Sleep(20 * time.Second) // heartbeats
			locktest.OK(t, got.Err())
			locktest.Release(t, got)
			time.Sleep(time.Second)
			if lost.Fired() != 1 {
				t.Fatalf("the fault struck %d times, want once\n%s", lost.Fired(), table.Log())
			}
			locktest.NothingLeft(t, table)
		})
	}
}

// TestFailingClaims checks that claims which fail while looks succeed are not repeated for ever, and do not delay leaving.
func TestFailingClaims(t *testing.T) {
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		a, db := locktest.Open(t, table, "a", locktest.TenSeconds)
		b, _ := locktest.Open(t, table, "b", locktest.TenSeconds)
		held := locktest.Acquire(t, b, waitpolicy.NoWait)
		waiting := locktest.QueueUp(t.Context(), a, waitpolicy.Forever)
		time.Sleep(time.Second)
		refuse := queuelocktest.Refuse(queuelocktest.InternalError).Of("UpdateItem").On(locktest.Order.Entity, "lock/"+ticket.Number{}.Padded())
		claims := db.Inject(refuse.Mentioning("size (holders) = 0"))
		removals := db.Inject(refuse.Mentioning("REMOVE holders."))
		locktest.Release(t, held)
		begun := time.Now()
		got := <-waiting
		if took := got.At.Sub(begun); got.Err == nil || took > time.Minute {
			t.Errorf("after %v: %v", took, got.Err)
		}
		// Pauses double from 50 ms to 2 s, each shortened or lengthened by up to a half, for 30 s.
		if n := claims.Fired(); n < 15 || n > 30 {
			t.Errorf("%d claims were sent in vain, want some 20", n)
		}
		// Leaving takes 3 s, and each call is three requests of the SDK.
		if n := removals.Fired(); n < 9 || n > 30 {
			t.Errorf("%d removals were sent in vain, want some 20", n)
		}
	}, queuelocktest.WithLatency(5*time.Millisecond))
}
