package faults_test

import (
	"fmt"
	"math"
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
	c, _ := locktest.Open(t, table, "first", locktest.TenSeconds)
	lock := locktest.Acquire(t, c, waitpolicy.NoWait)
	locktest.Write(t, table, items...)
	edit(t, table, locktest.RecordKey(), "SET ticketNumber = :n, note = :note", nil, av.Item{":n": av.Num(n), ":note": av.Str("of another program")})
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

// TestInvalidSortKeys checks that rows whose sort key is not a number delay no waiter, and are swept once a client has
// observed them for a minute.
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
		hasItems(t, table, 1+len(others)) // of other queues
	})
}

// TestLeftoverRows checks that one client sweeps the rows of ten thousand crashed waiters, sixteen at a time.
func TestLeftoverRows(t *testing.T) {
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		n, more := locktest.Scaled(10_000, 500), filler(locktest.Scaled(100, 2400)) // more than the megabyte that a page has
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
		hasItems(t, table, 1)
	}, queuelocktest.WithLatency(4*time.Millisecond))
}

// TestRowsAboveCounter checks that rows with numbers that are yet to be issued, as after a record was deleted, cost one
// number each.
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
		hasItems(t, table, 1)
	})
}

// TestHostileHolder checks that a well-formed entry of another program is outwaited. See TestMalformed for others.
func TestHostileHolder(t *testing.T) {
	entry := av.Item{"beat": av.Num(3), "ttl": av.Num(locktest.TTL.Milliseconds()), "owner": av.Str("owner"), "ticket": av.Num(1)}
	for _, h := range locktest.Some([]struct {
		name, id string
		entry    av.Item
		delay    time.Duration
	}{
		{"alive until 9999", "h", av.With(entry, av.Item{"until": av.Num(253402300799000)}), locktest.TTL},
		{"alive for all time", "h", av.With(entry, av.Item{"until": av.Num(int64(math.MaxInt64))}), locktest.TTL},
		{"dead before the epoch", "h", av.With(entry, av.Item{"until": av.Num(-1)}), 0},
		{"with the last beat", "h", av.With(entry, av.Item{"beat": av.Num(int64(math.MaxInt64))}), locktest.TTL},
		{"of a delay", "h", av.With(entry, av.Item{"delay": av.Num(5000)}), locktest.TTL + 5*time.Second},
		{"of a delay until the end of time, by the clock", "h", av.With(entry, av.Item{"until": av.Num(int64(math.MaxInt64)), "delay": av.Num(5000)}), locktest.TTL + 5*time.Second},
		{"since 9999", "h", av.With(entry, av.Item{"since": av.Num(253402300799000)}), locktest.TTL},
		{"with a ticket that was never issued", "h", av.With(entry, av.Item{"ticket": av.Num(strings.Repeat("9", 38))}), locktest.TTL},
		{"of an owner of 300 KB", "h", av.With(entry, av.Item{"owner": av.Str(strings.Repeat("o", locktest.Scaled(300<<10, 30<<10)))}), locktest.TTL},
		{"with unknown attributes", "h", av.With(entry, av.Item{"data": av.Object(av.Item{"x": av.Num(1)})}), locktest.TTL},
		{"by an id with dots", "h.1.x", entry, locktest.TTL},
		{"by an id with a hash", "#0", entry, locktest.TTL},
		{"by an id of 1 KB", strings.Repeat("é", 512), entry, locktest.TTL},
		{"by an id of control characters", "\x00\n", entry, locktest.TTL},
	}) {
		locktest.InBubble(t, h.name, func(t *testing.T) {
			table := locktest.Watched(t)
			if strings.Contains(h.name, "never issued") {
				table = queuelocktest.NewTable(t) // to an audit it was granted
			}
			locktest.Write(t, table, av.With(locktest.RecordKey(), av.Item{
				"ticketNumber": av.Num(1), "granted": av.Num(1), "servingAfter": av.Num(0), "note": av.Str("of another program"),
				"holders": av.Object(av.Item{h.id: av.Object(h.entry)}),
			}))
			c, db := locktest.Open(t, table, "a", locktest.TenSeconds)
			if h.delay > 0 {
				_, err := c.Acquire(t.Context(), locktest.Order, waitpolicy.NoWait)
				busy(t, err)
				if n := len(err.Error()); n > 2000 {
					t.Errorf("an error of %d bytes", n)
				}
			}
			begun := time.Now()
			lock := locktest.Acquire(t, c, waitpolicy.For(10*time.Minute))
			if took := time.Since(begun); took > h.delay+locktest.TakenOverWithin || took < h.delay-2*time.Second {
				t.Errorf("served after %v, want %v", took, h.delay)
			}
			locktest.Release(t, lock)
			time.Sleep(time.Second)
			items := table.Items()
			if len(items) != 1 || av.Text(items[0]["note"]) != "of another program" {
				t.Errorf("left %v", items)
			}
			if n := db.Counts()["DeleteItem"].Sent; n > 2 {
				t.Errorf("%d deletes", n)
			}
		})
	}
}

// TestThousandExpiredHolders checks that expired holders are evicted in groups of forty.
func TestThousandExpiredHolders(t *testing.T) {
	for name, until := range map[string]av.Item{"by the clock": {"until": av.Num(1)}, "by observation": {}} {
		locktest.InTable(t, name, func(t *testing.T, table *queuelocktest.Table) {
			n := locktest.Scaled(1000, 200)
			holders := av.Item{}
			for i := range n {
				holders[fmt.Sprintf("holder-%d", i)] = av.Object(av.With(av.Item{"beat": av.Num(i), "ttl": av.Num(locktest.TTL.Milliseconds()), "owner": av.Str("owner"), "ticket": av.Num(i + 1)}, until))
			}
			locktest.Write(t, table, av.With(locktest.RecordKey(), av.Item{"ticketNumber": av.Num(n), "granted": av.Num(n), "servingAfter": av.Num(0), "holders": av.Object(holders)}))
			c, db := locktest.Open(t, table, "a", locktest.TenSeconds)
			begun := time.Now()
			lock := locktest.Acquire(t, c, waitpolicy.For(10*time.Minute))
			took, counts := time.Since(begun), db.Counts()
			most := time.Duration(0)
			if len(until) == 0 {
				most = locktest.TTL
			}
			if took > most+locktest.TakenOverWithin || took < most {
				t.Errorf("served after %v", took)
			}
			// TAKE, the evictions, CLAIM, and what is renewed meanwhile.
			evictions := (n + 39) / 40
			if got := counts["UpdateItem"].Sent; got < evictions+2 || got > evictions+2+int(took/(2*time.Second)) {
				t.Errorf("%d updates, want a TAKE, %d evictions and a CLAIM:\n%s", got, evictions, counts)
			}
			if _, holders := locktest.RowsAndHolders(t, c); holders != 1 {
				t.Errorf("%d holders are left", holders)
			}
			locktest.Release(t, lock)
		}, queuelocktest.WithLatency(4*time.Millisecond))
	}
}

// edit changes an item of the table, as an operator or another version does.
func edit(t *testing.T, table *queuelocktest.Table, key av.Item, update string, names map[string]string, values av.Item) {
	t.Helper()
	locktest.Must(table.Client("editor").UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
		TableName: aws.String(table.Name()), Key: key, UpdateExpression: &update, ExpressionAttributeNames: names, ExpressionAttributeValues: values,
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
		locktest.InTable(t, name, func(t *testing.T, table *queuelocktest.Table) {
			record := locktest.RecordKey()
			a, b := locktest.Two(t, table, locktest.TenSeconds, "a", "b")
			lock := locktest.Acquire(t, a, waitpolicy.NoWait)
			queued := locktest.QueueUp(t.Context(), b, waitpolicy.Forever)
			time.Sleep(time.Second)
			for attribute, v := range unknown {
				edit(t, table, record, "SET #a = :v", map[string]string{"#a": attribute}, av.Item{":v": v})
			}
			_, holders := locktest.Record(t, table)
			for id := range holders {
				edit(t, table, record, "SET holders.#id.made = :n, holders.#id.future = :n", map[string]string{"#id": id}, av.Item{":n": av.Num(7)})
			}
			edit(t, table, av.With(record, av.Item{"sk": av.Str(locktest.RowSortKey(2))}), "SET future = :v", nil, av.Item{":v": av.Object(av.Item{})})
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
		}, queuelocktest.WithLatency(4*time.Millisecond))
	}
}
