package faults_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/av"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/ticket"
	"github.com/queuelock/queuelock/waitpolicy"
)

// A hostile table holds rows that another program, or an old version of this one, has
// written. It slows a queue until it is swept. It never causes a panic, and never decides
// which client is served.

// abandoned leaves a queue with these items, in which ticket 1 was served and the tickets
// up to n were issued to clients that have crashed.
func abandoned(t *testing.T, table *queuelocktest.Table, n int, items ...av.Item) {
	t.Helper()
	c, db := locktest.Open(t, table, "first", locktest.TenSeconds)
	lock := locktest.Acquire(t, c, waitpolicy.NoWait)
	locktest.Write(t, table, items...)
	locktest.Must(db.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
		TableName: aws.String(table.Name()), Key: locktest.RecordKey(),
		UpdateExpression:          aws.String("SET ticketNumber = :n, note = :note"),
		ExpressionAttributeValues: av.Item{":n": av.Num(n), ":note": av.Str("of another program")},
	}))
	locktest.Release(t, lock)
}

// wrongTypes are values of every type.
func wrongTypes() map[string]types.AttributeValue {
	return map[string]types.AttributeValue{
		"a string": av.Str("7"), "a number": av.Num(7), "binary": &types.AttributeValueMemberB{Value: []byte{0xff}},
		"a boolean": &types.AttributeValueMemberBOOL{Value: true}, "null": &types.AttributeValueMemberNULL{Value: true},
		"a map": av.Object(av.Item{"x": av.Num(1)}), "a list": &types.AttributeValueMemberL{Value: []types.AttributeValue{av.Num(1)}},
		"a set": &types.AttributeValueMemberNS{Value: []string{"1"}},
	}
}

// TestInvalidSortKeys checks that rows whose sort key is not a number delay no waiter,
// and are swept. Such a row has no ticket, and is removed once a client has observed it
// for a minute.
func TestInvalidSortKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := locktest.Watched(t)
		zeros := strings.Repeat("0", 37)
		var rows []av.Item
		for _, sk := range []string{"lock/" + zeros + "x", "lock/1", "lock/00001", locktest.RowSortKey(2) + "0", locktest.RowSortKey(2) + "\n\x00", "lock/" + zeros + "\u0662", "lock/5/7"} {
			rows = append(rows, av.With(locktest.LeftRow(2), av.Item{"sk": av.Str(sk)}))
		}
		// Not the queue's own: these stay.
		others := []av.Item{av.With(locktest.LeftRow(2), av.Item{"sk": av.Str("lock")}), av.With(locktest.LeftRow(2), av.Item{"sk": av.Str("lock2/" + zeros + "2")}), av.With(locktest.LeftRow(2), av.Item{"sk": av.Str("loc/" + zeros + "2")})}
		abandoned(t, table, 2, append(rows, others...)...)
		c, _ := locktest.Open(t, table, "a", locktest.TenSeconds)
		begun := time.Now()
		held := locktest.Acquire(t, c, waitpolicy.For(10*time.Minute))
		if took := time.Since(begun); took > locktest.TakenOverWithin {
			t.Errorf("served after %v", took)
		}
		w, _ := locktest.Open(t, table, "b", locktest.TenSeconds)
		waiting := locktest.QueueUp(t.Context(), w, waitpolicy.For(10*time.Minute))
		time.Sleep(10 * time.Second)
		second := locktest.QueueUp(t.Context(), w, waitpolicy.For(10*time.Minute))
		time.Sleep(2 * time.Minute)
		locktest.Must(w.Operator().Sweep(t.Context(), locktest.Order))
		time.Sleep(time.Minute)
		locktest.Must(w.Operator().Sweep(t.Context(), locktest.Order))
		locktest.Release(t, held)
		for _, who := range []<-chan locktest.Outcome{waiting, second} {
			locktest.Release(t, locktest.Lock(t, <-who))
		}
		time.Sleep(time.Second)
		if n := len(table.Items()); n != 1+len(others) {
			t.Errorf("%d items are left, want the record and the %d that are of other queues: %v", n, len(others), table.Items())
		}
	})
}

// TestLeftoverRows checks that ten thousand leftover rows are swept in one pass. The next
// client sweeps the rows of ten thousand crashed waiters, sixteen at a time.
func TestLeftoverRows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, more := locktest.Scaled(10_000, 500), filler(locktest.Scaled(100, 2400)) // more than the megabyte that a page has
		table := queuelocktest.NewTable(t, queuelocktest.WithLatency(4*time.Millisecond))
		rows := make([]av.Item, n)
		for i := range rows {
			rows[i] = av.With(locktest.LeftRow(2+i), av.With(more, av.Item{"until": av.Num(1)}))
		}
		abandoned(t, table, n+1, rows...)
		c, db := locktest.Open(t, table, "a", queuelock.Config{})
		begun := time.Now()
		lock := locktest.Acquire(t, c, waitpolicy.For(10*time.Minute))
		took, counts := time.Since(begun), db.Counts()
		locktest.Release(t, lock)
		if got := lock.Ticket(); got != ticket.FromUint64(uint64(n)+2) {
			t.Errorf("ticket %s", got)
		}
		if took > time.Duration(n)*400*time.Microsecond {
			t.Errorf("served after %v", took)
		}
		if total := counts.Total().Sent; total > n+12 {
			t.Errorf("%d requests for %d rows:\n%s", total, n, counts)
		}
		time.Sleep(time.Second)
		if left := len(table.Items()); left != 1 {
			t.Errorf("%d items are left, want the record", left)
		}
		t.Logf("served after %v, with\n%s", took, counts)
	})
}

// TestRowsAboveCounter checks that rows above the counter cost one number each. Such rows
// have numbers that are yet to be issued, as after a record was deleted. Each costs its
// number, and the next client gets past them.
func TestRowsAboveCounter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 200
		table := locktest.Watched(t)
		var rows []av.Item
		for i := range n {
			rows = append(rows, av.With(locktest.LeftRow(3+i), av.Item{"until": av.Num(1)}))
		}
		abandoned(t, table, 2, rows...)
		c, db := locktest.Open(t, table, "a", locktest.TenSeconds)
		begun := time.Now()
		lock := locktest.Acquire(t, c, waitpolicy.For(10*time.Minute))
		took, counts := time.Since(begun), db.Counts()
		if total := counts.Total().Sent; total > 6*n+10 || took > time.Minute {
			t.Errorf("served after %v, with\n%s", took, counts)
		}
		locktest.Release(t, lock)
		locktest.Must(c.Operator().Sweep(t.Context(), locktest.Order))
		if left := len(table.Items()); left != 1 {
			t.Errorf("%d items are left, want the record", left)
		}
		t.Logf("served with ticket %s after %v, with\n%s", lock.Ticket(), took, counts)
	})
}
