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

// TestRecordFormat checks that turns go on beside attributes that the client does not know, which stay.
func TestRecordFormat(t *testing.T) {
	mark := func(ticket int) types.AttributeValue {
		return av.Object(av.Item{"id": av.Str("other"), "ticket": av.Num(ticket)})
	}
	for name, unknown := range map[string]av.Item{
		"ANewersMarks":      {"released": av.Object(av.Item{"id": av.Str("other"), "ticket": av.Num(1), "call": av.Num(1)}), "evicted": mark(0)},
		"AttributesOfNoOne": {"future": av.Object(av.Item{"x": av.Num(1)}), "formatVersion": av.Num(9)},
	} {
		locktest.InBubble(t, name, func(t *testing.T) {
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
}
