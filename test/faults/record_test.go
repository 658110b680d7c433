package faults_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/av"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/ticket"
	"github.com/queuelock/queuelock/waitpolicy"
)

// TestLastTicket checks that the client with the last number is served, and no client
// after it. The last number is issued like any other; after it there is one clear error,
// for who comes, and who was there before is served all the same.
func TestLastTicket(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t, queuelocktest.WithLatency(4*time.Millisecond))
		before := ticket.Max.Previous().Previous()
		locktest.Write(t, table, av.With(locktest.RecordKey(), av.Item{"ticketNumber": before.Attribute(), "granted": before.Attribute()}))
		a, b, c := locktest.Three(t, table, locktest.TenSeconds, "a", "b", "c")
		held := locktest.Acquire(t, a, waitpolicy.Forever)
		waiting := locktest.QueueUp(t.Context(), b, waitpolicy.For(10*time.Minute))
		time.Sleep(time.Second)
		for _, wait := range []waitpolicy.Wait{waitpolicy.For(time.Minute), waitpolicy.Forever} {
			_, err := c.Acquire(t.Context(), locktest.Order, wait)
			if !errors.Is(err, ticket.ErrExhausted) {
				t.Errorf("%v: %v", wait, err)
			}
		}
		locktest.Release(t, held)
		got := <-waiting
		if got.Err != nil || got.Lock.Ticket() != ticket.Max {
			t.Fatalf("%+v", got)
		}
		time.Sleep(3 * locktest.TTL)
		locktest.Check(t, got.Lock.Err())
		locktest.Release(t, got.Lock)
		_, err := c.Acquire(t.Context(), locktest.Order, waitpolicy.Forever)
		locktest.Says(t, err, "exhausted")
		time.Sleep(time.Second)
		if n := len(table.Items()); n != 1 {
			t.Errorf("%d items are left, want the record", n)
		}
	})
}

// The counter of a wider scope serves every queue of it: a record that holds a
// number which cannot be right costs its own queue, and no other.
func TestBadTicketNumber(t *testing.T) {
	bad, good := queuelock.Key{Entity: "bad"}, queuelock.Key{Entity: "good"}
	for name, number := range map[string]string{
		"TheLast": ticket.Max.String(), "TwoBeforeTheLast": ticket.Max.Previous().Previous().String(), "Negative": "-3", "BeyondAnyClock": "900000000000000",
	} {
		locktest.InBubble(t, "CostsItsOwnQueueOnly/"+name, func(t *testing.T) {
			table := queuelocktest.NewTable(t, queuelocktest.WithLatency(4*time.Millisecond))
			cfg := locktest.TenSeconds
			cfg.Scope = ticket.ScopeTable
			a, db := locktest.Open(t, table, "a", cfg)
			for _, key := range []queuelock.Key{bad, good} {
				locktest.Release(t, locktest.Must(a.Acquire(t.Context(), key, waitpolicy.NoWait)))
			}
			locktest.Must(db.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
				TableName: aws.String(table.Name()), Key: av.With(locktest.RecordKey(), av.Item{"pk": av.Str("bad")}),
				UpdateExpression: aws.String("SET ticketNumber = :n"), ExpressionAttributeValues: av.Item{":n": av.Num(number)},
			}))
			items := len(table.Items())
			for _, wait := range []waitpolicy.Wait{waitpolicy.NoWait, waitpolicy.For(time.Minute)} {
				_, one := a.Acquire(t.Context(), bad, wait)
				_, all := a.AcquireAll(t.Context(), []queuelock.Key{good, bad}, wait)
				for _, err := range []error{one, all} {
					locktest.Says(t, err, `serving record of "bad lock"`, "ticketNumber", number)
					if _, ok := errors.AsType[*queue.MalformedError](err); !ok {
						t.Errorf("%v", err)
					}
				}
			}
			lock := locktest.Must(a.Acquire(t.Context(), good, waitpolicy.NoWait))
			if n := lock.Ticket(); n.After(ticket.FromUint64(100)) > 0 {
				t.Errorf("the next ticket is %s", n)
			}
			locktest.Release(t, lock)
			if n := len(table.Items()); n != items {
				t.Errorf("%d items, want %d", n, items)
			}
		})
	}
	locktest.InBubble(t, "RaisesACounterThatWasLostAfterYears", func(t *testing.T) {
		table := queuelocktest.NewTable(t, queuelocktest.WithLatency(4*time.Millisecond))
		cfg := locktest.TenSeconds
		cfg.Scope = ticket.ScopeTable
		a, _ := locktest.Open(t, table, "a", cfg)
		const issued = 50 * 365 * 24 * 3600 * 10_000 // seconds of fifty years, times 10^4
		locktest.Write(t, table, av.With(locktest.RecordKey(), av.Item{"ticketNumber": av.Num(issued), "granted": av.Num(issued), "scope": av.Str("shared")}))
		lock := locktest.Acquire(t, a, waitpolicy.Forever)
		if lock.Ticket() != ticket.FromUint64(issued+1) {
			t.Errorf("ticket %s, want %d", lock.Ticket(), issued+1)
		}
		locktest.Release(t, lock)
	})
}

// TestCounterOutlivesTTL checks that the counter outlives the TTL of the table. A counter
// that expires, or is reset, issues tickets twice.
func TestCounterOutlivesTTL(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t, queuelocktest.WithExpiry())
		c, _ := locktest.Open(t, table, "a", locktest.TenSeconds)
		for i := range 3 {
			lock := locktest.Acquire(t, c, waitpolicy.NoWait)
			if got := lock.Ticket().String(); got != fmt.Sprint(i+1) {
				t.Errorf("ticket %s after a year, want %d", got, i+1)
			}
			locktest.Release(t, lock)
			time.Sleep(365 * 24 * time.Hour)
		}
	})
}
