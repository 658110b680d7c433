package faults_test

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/internal/testbed/av"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/ticket"
	"github.com/queuelock/queuelock/waitpolicy"
)

// edit changes the item of the queue with that sort key, as an operator or
// another version does.
func edit(t *testing.T, table *queuelocktest.Table, sk, update string, names map[string]string, values av.Item) {
	t.Helper()
	locktest.Must(table.Client("editor").UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
		TableName: aws.String(table.Name()), Key: av.Item{"pk": av.Str(locktest.Order.Entity), "sk": av.Str(sk)},
		UpdateExpression: &update, ExpressionAttributeNames: names, ExpressionAttributeValues: values,
	}))
}

// In a rolling upgrade each version meets attributes that it does not know, and
// lacks those that it does.
func TestRecordFormat(t *testing.T) {
	mark := func(ticket int) types.AttributeValue {
		return av.Object(av.Item{"id": av.Str("other"), "ticket": av.Num(ticket)})
	}
	for name, unknown := range map[string]av.Item{
		"ANewersMarks":      {"released": av.Object(av.Item{"id": av.Str("other"), "ticket": av.Num(1), "call": av.Num(1)}), "evicted": mark(0)},
		"AttributesOfNoOne": {"future": av.Object(av.Item{"x": av.Num(1)}), "formatVersion": av.Num(9)},
	} {
		locktest.InBubble(t, "KeepsTurnsGoingWith"+name, func(t *testing.T) {
			table := queuelocktest.NewTable(t, queuelocktest.WithLatency(4*time.Millisecond))
			sk := av.Text(locktest.RecordKey()["sk"])
			a, b := locktest.Two(t, table, locktest.TenSeconds, "a", "b")
			lock := locktest.Acquire(t, a, waitpolicy.NoWait)
			queued := locktest.QueueUp(t.Context(), b, waitpolicy.Forever)
			time.Sleep(time.Second)
			for attribute, v := range unknown {
				edit(t, table, sk, "SET #a = :v", map[string]string{"#a": attribute}, av.Item{":v": v})
			}
			_, holders := locktest.Record(t, table)
			for id := range holders {
				edit(t, table, sk, "SET holders.#id.made = :n, holders.#id.future = :n", map[string]string{"#id": id}, av.Item{":n": av.Num(7)})
			}
			edit(t, table, locktest.RowSortKey(2), "SET future = :v", nil, av.Item{":v": av.Object(av.Item{})})
			time.Sleep(5 * locktest.TTL)
			if lock.Err() != nil {
				t.Errorf("lost: %v", lock.Err())
			}
			if state := locktest.Must(a.Viewer().Inspect(t.Context(), locktest.Order)); len(state.Serving) != 1 || state.Serving[0].Problem != nil || len(state.Waiting) != 1 || state.Waiting[0].Problem != nil {
				t.Errorf("%+v", state)
			}
			locktest.Release(t, lock)
			locktest.Release(t, locktest.Lock(t, <-queued))
			time.Sleep(time.Second)
			rec, holders := locktest.Record(t, table)
			for attribute := range unknown {
				if rec[attribute] == nil {
					t.Errorf("%s is gone: %v", attribute, rec)
				}
			}
			if len(holders) > 0 || len(table.Items()) != 1 {
				t.Errorf("left %v", table.Items())
			}
		})
	}

	// An older client's writes are those of its version, by hand: its entry and
	// its release have no marks.
	locktest.InBubble(t, "TakesTurnsWithAnOlderClient", func(t *testing.T) {
		table := queuelocktest.NewTable(t, queuelocktest.WithLatency(4*time.Millisecond))
		sk := av.Text(locktest.RecordKey()["sk"])
		locktest.Write(t, table, av.With(locktest.RecordKey(), av.Item{
			"ticketNumber": av.Num(1), "granted": av.Num(0), "servingAfter": av.Num(0), "holdMode": av.Str("exclusive"),
			"holders": av.Object(av.Item{"old-0": av.Object(av.Item{"beat": av.Num(0), "ttl": av.Num(locktest.TTL.Milliseconds()), "owner": av.Str("older")})}),
		}))
		a, _ := locktest.Open(t, table, "a", locktest.TenSeconds)
		queued := locktest.QueueUp(t.Context(), a, waitpolicy.Forever)
		for range 10 {
			time.Sleep(locktest.TTL / 2)
			edit(t, table, sk, "SET holders.#id.beat = holders.#id.beat + :one, holders.#id.#until = :until", map[string]string{"#id": "old-0", "#until": "until"},
				av.Item{":one": av.Num(1), ":until": ms(time.Now().Add(locktest.TTL + time.Second))})
		}
		if state := locktest.Must(a.Viewer().Inspect(t.Context(), locktest.Order)); len(state.Serving) != 1 || state.Serving[0].Owner != "older" {
			t.Fatalf("the older client was evicted: %+v", state.Serving)
		}
		edit(t, table, sk, "REMOVE holders.#id", map[string]string{"#id": "old-0"}, nil)
		got := <-queued
		if got.Err != nil || got.Lock.Ticket() != ticket.FromUint64(2) {
			t.Fatalf("%+v", got)
		}
		// The older client evicts no holder, and takes a number behind.
		edit(t, table, sk, "SET ticketNumber = ticketNumber + :one", nil, av.Item{":one": av.Num(1)})
		time.Sleep(3 * locktest.TTL)
		locktest.Release(t, got.Lock)
		// It claims, and releases by the fast form.
		edit(t, table, sk, "SET holders.#id = :e, granted = :t, holdMode = :m", map[string]string{"#id": "old-1"},
			av.Item{":t": av.Num(3), ":m": av.Str("exclusive"), ":e": av.Object(av.Item{"beat": av.Num(0), "ttl": av.Num(locktest.TTL.Milliseconds()), "owner": av.Str("older"), "ticket": av.Num(3)})})
		if !locktest.Locked(t, a) {
			t.Error("the older client's lock is not seen")
		}
		edit(t, table, sk, "REMOVE holders, servingAfter, holdMode SET granted = ticketNumber", nil, nil)
		next := locktest.Acquire(t, a, waitpolicy.NoWait)
		if next.Ticket() != ticket.FromUint64(4) {
			t.Errorf("ticket %s, want 4", next.Ticket())
		}
		locktest.Release(t, next)
		// It takes a number, is served, and dies.
		edit(t, table, sk, "SET servingAfter = ticketNumber, holders = :h, holdMode = :m, ticketNumber = ticketNumber + :one", nil,
			av.Item{":one": av.Num(1), ":m": av.Str("exclusive"), ":h": av.Object(av.Item{"old-2": av.Object(av.Item{
				"beat": av.Num(0), "ttl": av.Num(locktest.TTL.Milliseconds()), "owner": av.Str("older"), "until": ms(time.Now().Add(locktest.TTL)),
			})})})
		last := locktest.Acquire(t, a, waitpolicy.For(2*locktest.TTL))
		if last.Ticket() != ticket.FromUint64(6) {
			t.Errorf("ticket %s, want 6", last.Ticket())
		}
		locktest.Release(t, last)
	})
}
