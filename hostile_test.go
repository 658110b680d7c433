package queuelock_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/embedded"
	"github.com/queuelock/queuelock/internal/testbed/audit"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/ticket"
	"github.com/queuelock/queuelock/waitpolicy"
)

// A hostile table: what stands in it was written by some other program, or by
// this one long ago. It slows a queue until it is swept. It never makes anything
// panic, and never decides who is served.

type item = map[string]types.AttributeValue

func str(s string) types.AttributeValue           { return &types.AttributeValueMemberS{Value: s} }
func num(v any) types.AttributeValue              { return &types.AttributeValueMemberN{Value: fmt.Sprint(v)} }
func object(m item) types.AttributeValue          { return &types.AttributeValueMemberM{Value: m} }
func ms(t time.Time) types.AttributeValue         { return num(t.UnixMilli()) }
func rowSortKey(n int) string                     { return "lock/" + ticket.FromUint64(uint64(n)).Padded() }
func with(m item, more item) item                 { m = maps.Clone(m); maps.Copy(m, more); return m }
func without(m item, name string) item            { m = maps.Clone(m); delete(m, name); return m }
func asText(v types.AttributeValue) (text string) { return v.(*types.AttributeValueMemberS).Value }

// abandoned leaves a queue in which ticket 1 was served, and those up to n were
// issued to nobody that lives, with these items in it.
func abandoned(t *testing.T, table *queuelocktest.Table, n int, items ...item) {
	t.Helper()
	c, db := open(t, table, "first", tenSeconds)
	lock := acquire(t, c, waitpolicy.NoWait)
	write(t, table, items...)
	if _, err := db.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
		TableName: aws.String(table.Name()), Key: recordKey(),
		UpdateExpression:          aws.String("SET ticketNumber = :n, note = :note"),
		ExpressionAttributeValues: item{":n": num(n), ":note": str("of another program")},
	}); err != nil {
		t.Fatal(err)
	}
	release(t, lock)
}

// left is a row that somebody left behind: well-formed, and of a lease of ten
// seconds.
func left(n int) item {
	return item{
		"pk": str(order.Entity), "sk": str(rowSortKey(n)), "id": str(fmt.Sprint("id-", n)), "owner": str("somebody"),
		"mode": str("exclusive"), "beat": num(3), "ttl": num(ttl.Milliseconds()),
	}
}

// write puts items into the table.
func write(t *testing.T, table *queuelocktest.Table, items ...item) {
	t.Helper()
	db := table.Client("given")
	for len(items) > 0 {
		batch := items[:min(len(items), 25)]
		items = items[len(batch):]
		var puts []types.WriteRequest
		for _, i := range batch {
			puts = append(puts, types.WriteRequest{PutRequest: &types.PutRequest{Item: i}})
		}
		out, err := db.BatchWriteItem(context.Background(), &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{table.Name(): puts}})
		if err != nil {
			t.Fatal(err)
		}
		if n := len(out.UnprocessedItems[table.Name()]); n > 0 {
			t.Fatalf("%d items were not written", n)
		}
	}
}

// watched is a table whose audit must find nothing in the end.
func watched(t *testing.T) *queuelocktest.Table {
	watch := audit.New(embedded.Config{}, "queuelock", time.Now)
	watch.Resumes = func(old, next string) bool { return next == "new" || next == "b" && old == "a" }
	t.Cleanup(func() {
		for _, v := range watch.Violations() {
			t.Error(v)
		}
	})
	return queuelocktest.NewTable(t, queuelocktest.WithEngine(watch), queuelocktest.WithLatency(4*time.Millisecond))
}

// wrongTypes are values of every type.
func wrongTypes() map[string]types.AttributeValue {
	return map[string]types.AttributeValue{
		"a string": str("7"), "a number": num(7), "binary": &types.AttributeValueMemberB{Value: []byte{0xff}},
		"a boolean": &types.AttributeValueMemberBOOL{Value: true}, "null": &types.AttributeValueMemberNULL{Value: true},
		"a map": object(item{"x": num(1)}), "a list": &types.AttributeValueMemberL{Value: []types.AttributeValue{num(1)}},
		"a set": &types.AttributeValueMemberNS{Value: []string{"1"}},
	}
}

// A row ahead delays those behind it for what it calls its lease, if that can
// be believed, and for a minute otherwise; meanwhile the error says what is
// wrong with it. Then it is swept, whatever it holds.
func TestAHostileRowDelaysAQueueByItsLeaseAndIsNamed(t *testing.T) {
	const malformed = time.Minute
	year9999 := time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)
	type hostile struct {
		name  string
		row   item
		delay time.Duration
		says  []string // of the error meanwhile; none: it is no more than a waiter
	}
	rows := []hostile{
		{"dead for long", with(left(2), item{"until": num(1)}), 0, nil},
		{"of a lease before the epoch", with(left(2), item{"until": num(-1)}), 0, nil},
		{"of a lease before all time", with(left(2), item{"until": num(int64(math.MinInt64))}), 0, nil},
		{"alive until 9999", with(left(2), item{"until": ms(year9999), "expiresAt": num(year9999.Unix())}), ttl, nil},
		{"alive for all time", with(left(2), item{"until": num(int64(math.MaxInt64))}), ttl, nil},
		{"alive for longer than that", with(left(2), item{"until": num("1E+125")}), malformed, []string{"until is 1"}},
		{"created in 9999", with(left(2), item{"createdAt": ms(year9999)}), ttl, nil},
		{"with the last beat", with(left(2), item{"beat": num(int64(math.MaxInt64))}), ttl, nil},
		{"with a beat beyond the last", with(left(2), item{"beat": num(uint64(math.MaxInt64) + 1)}), malformed, []string{"beat is 9223372036854775808"}},
		{"with a negative beat", with(left(2), item{"beat": num(-5)}), ttl, nil},
		{"with a lease of nothing", with(left(2), item{"ttl": num(0)}), malformed, []string{"ttl is 0 ms"}},
		{"with a negative lease", with(left(2), item{"ttl": num(-60000)}), malformed, []string{"ttl is -60000 ms"}},
		{"with a lease of 100 years", with(left(2), item{"ttl": num(int64(100 * 365 * 24 * time.Hour / time.Millisecond))}), malformed, []string{"ttl is 3153600000000 ms"}},
		{"with half a millisecond's lease", with(left(2), item{"ttl": num("0.5")}), malformed, []string{"ttl is 0.5"}},
		{"of an owner of 300 KB", with(left(2), item{"owner": str(strings.Repeat("o", 300<<10))}), ttl, nil},
		{"with attributes that nobody knows", with(left(2), item{"a": object(item{"b": num(1)}), "holders": num(1), "ticketNumber": str("x"), "": nil}), ttl, nil},
		{"of another mode", with(left(2), item{"mode": str("shared")}), ttl, nil},
		{"of nothing but its key", item{"pk": str(order.Entity), "sk": str(rowSortKey(2))}, malformed, []string{"id is missing"}},
	}
	for _, h := range rows {
		t.Run(h.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				delete(h.row, "")
				table := watched(t)
				abandoned(t, table, 2, h.row)
				c, db := open(t, table, "a", tenSeconds)
				if h.delay > 0 {
					_, err := c.Acquire(t.Context(), order, waitpolicy.For(time.Second))
					if err == nil {
						t.Fatal("served past a row that lives")
					}
					says(t, err, h.says...)
					if !errors.Is(err, queuelock.ErrNotAcquired) || len(err.Error()) > 1000 {
						t.Fatalf("%.1000v", err)
					}
					if _, ok := errors.AsType[*queuelock.MalformedError](err); ok != (len(h.says) > 0) {
						t.Errorf("%v, want a MalformedError: %v", err, len(h.says) > 0)
					}
					if state := must(c.Inspect(t.Context(), order)); len(state.Waiting) != 1 {
						t.Errorf("%d are waiting: %+v", len(state.Waiting), state.Waiting)
					}
				}
				begun := time.Now()
				lock := acquire(t, c, waitpolicy.For(10*time.Minute))
				if took := time.Since(begun); took > h.delay+takenOverWithin || took < h.delay-2*time.Second {
					t.Errorf("served after %v, want %v", took, h.delay)
				}
				if n := db.Counts()["DeleteItem"].Sent; n > 4 {
					t.Errorf("%d deletes, want one for the row, one for each own", n)
				}
				release(t, lock)
				time.Sleep(time.Second)
				if n := len(table.Items()); n != 1 {
					t.Errorf("%d items are left, want the record", n)
				}
			})
		})
	}
}

// Rows with every attribute of every wrong type, all ahead at once: they do not
// add up, each is named, and all go in one pass.
func TestRowsOfWrongTypesCostOneMinuteTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := watched(t)
		var rows []item
		var problems []string
		for attribute, needs := range map[string]string{"id": "a string", "owner": "a string", "mode": "a string", "beat": "a number", "ttl": "a number", "until": "a number", "createdAt": "a number"} {
			for kind, v := range wrongTypes() {
				if kind != needs {
					rows = append(rows, with(left(2+len(rows)), item{attribute: v}))
					problems = append(problems, fmt.Sprintf("attribute %s is %s, %s is needed", attribute, kind, needs))
				}
			}
		}
		abandoned(t, table, 1+len(rows), rows...)
		c, db := open(t, table, "a", tenSeconds)
		_, err := c.Acquire(t.Context(), order, waitpolicy.For(time.Second))
		says(t, err, "malformed queue row", "order-7 lock", "is needed")
		if _, ok := errors.AsType[*queuelock.MalformedError](err); !ok || !errors.Is(err, queuelock.ErrNotAcquired) {
			t.Errorf("%v", err)
		}
		state := must(c.Inspect(t.Context(), order))
		if len(state.Waiting) != len(rows) {
			t.Fatalf("%d are waiting, want %d", len(state.Waiting), len(rows))
		}
		for i, w := range state.Waiting {
			says(t, w.Problem, problems[i])
		}
		begun, before := time.Now(), db.Counts()
		lock := acquire(t, c, waitpolicy.For(10*time.Minute))
		if took := time.Since(begun); took > time.Minute+takenOverWithin {
			t.Errorf("served after %v, want a minute", took)
		}
		release(t, lock)
		time.Sleep(time.Second)
		counts := db.Counts().Sub(before)
		if n := counts["DeleteItem"].Sent; n != len(rows)+1 {
			t.Errorf("%d deletes for %d rows and an own one", n, len(rows))
		}
		if n := counts["Query"].Sent + counts["GetItem"].Sent; n > 90 {
			t.Errorf("%d looks, want one each second or so, and one pass", n)
		}
		if n := len(table.Items()); n != 1 {
			t.Errorf("%d items are left, want the record", n)
		}
	})
}

// A sort key of the queue's that is no number is nobody's ticket: it delays
// nobody, and goes once somebody has watched it for a minute.
func TestSortKeysThatAreNoNumbersDelayNobodyAndAreSwept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := watched(t)
		zeros := strings.Repeat("0", 37)
		var rows []item
		for _, sk := range []string{"lock/" + zeros + "x", "lock/1", "lock/00001", rowSortKey(2) + "0", rowSortKey(2) + "\n\x00", "lock/" + zeros + "\u0662", "lock/5/7"} {
			rows = append(rows, with(left(2), item{"sk": str(sk)}))
		}
		// Not the queue's own: these stay.
		others := []item{with(left(2), item{"sk": str("lock")}), with(left(2), item{"sk": str("lock2/" + zeros + "2")}), with(left(2), item{"sk": str("loc/" + zeros + "2")})}
		abandoned(t, table, 2, append(rows, others...)...)
		c, _ := open(t, table, "a", tenSeconds)
		begun := time.Now()
		held := acquire(t, c, waitpolicy.For(10*time.Minute))
		if took := time.Since(begun); took > takenOverWithin {
			t.Errorf("served after %v", took)
		}
		w, _ := open(t, table, "b", tenSeconds)
		waiting := queueUp(t.Context(), w, waitpolicy.For(10*time.Minute))
		time.Sleep(10 * time.Second)
		second := queueUp(t.Context(), w, waitpolicy.For(10*time.Minute))
		time.Sleep(2 * time.Minute)
		must(w.Sweep(t.Context(), order))
		time.Sleep(time.Minute)
		must(w.Sweep(t.Context(), order))
		release(t, held)
		for _, who := range []<-chan outcome{waiting, second} {
			got := <-who
			if got.err != nil {
				t.Fatal(got.err)
			}
			release(t, got.lock)
		}
		time.Sleep(time.Second)
		if n := len(table.Items()); n != 1+len(others) {
			t.Errorf("%d items are left, want the record and the %d that are of other queues: %v", n, len(others), table.Items())
		}
	})
}

// An entry of holders is as hostile as a row; but what cannot be read makes
// the record malformed, which nobody may touch.
func TestAHostileHolderIsOutwaitedOrNamed(t *testing.T) {
	entry := item{"beat": num(3), "ttl": num(ttl.Milliseconds()), "owner": str("somebody"), "ticket": num(1)}
	for _, h := range []struct {
		name  string
		id    string
		entry item
		delay time.Duration
		says  []string // if it is malformed
	}{
		{"alive until 9999", "h", with(entry, item{"until": num(253402300799000)}), ttl, nil},
		{"alive for all time", "h", with(entry, item{"until": num(int64(math.MaxInt64))}), ttl, nil},
		{"dead before the epoch", "h", with(entry, item{"until": num(-1)}), 0, nil},
		{"of a lease of nothing", "h", with(entry, item{"ttl": num(0)}), 0, []string{"holders.h.ttl", "0 ms"}},
		{"of a lease of 100 years", "h", with(entry, item{"ttl": num(int64(100 * 365 * 24 * time.Hour / time.Millisecond))}), 0, []string{"holders.h.ttl", "3153600000000 ms"}},
		{"with the last beat", "h", with(entry, item{"beat": num(int64(math.MaxInt64))}), ttl, nil},
		{"with a beat beyond the last", "h", with(entry, item{"beat": num(uint64(math.MaxInt64) + 1)}), 0, []string{"holders.h.beat", "9223372036854775808"}},
		{"of a delay", "h", with(entry, item{"delay": num(5000)}), ttl + 5*time.Second, nil},
		{"of a delay of less than nothing", "h", with(entry, item{"delay": num(-1)}), 0, []string{"holders.h.delay", "-1 ms"}},
		{"of a delay of 100 years", "h", with(entry, item{"delay": num(int64(100 * 365 * 24 * time.Hour / time.Millisecond))}), 0, []string{"holders.h.delay", "3153600000000 ms"}},
		{"of a delay until the end of time, by the clock", "h", with(entry, item{"until": num(int64(math.MaxInt64)), "delay": num(5000)}), ttl + 5*time.Second, nil},
		{"since 9999", "h", with(entry, item{"since": num(253402300799000)}), ttl, nil},
		{"with a ticket that was never issued", "h", with(entry, item{"ticket": num(strings.Repeat("9", 38))}), ttl, nil},
		{"with a ticket of 39 digits", "h", with(entry, item{"ticket": num("1E+38")}), 0, []string{"holders.h.ticket", "10^38-1"}},
		{"of an owner of 300 KB", "h", with(entry, item{"owner": str(strings.Repeat("o", 300<<10))}), ttl, nil},
		{"with attributes that nobody knows", "h", with(entry, item{"data": object(item{"x": num(1)})}), ttl, nil},
		{"by an id with dots", "h.1.x", entry, ttl, nil},
		{"by an id with a hash", "#0", entry, ttl, nil},
		{"by an id of 1 KB", strings.Repeat("é", 512), entry, ttl, nil},
		{"by an id of control characters", "\x00\n", entry, ttl, nil},
	} {
		t.Run(h.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				table := watched(t)
				if strings.Contains(h.name, "never issued") {
					table = queuelocktest.NewTable(t) // to an audit it was granted
				}
				before := with(recordKey(), item{
					"ticketNumber": num(1), "granted": num(1), "servingAfter": num(0), "note": str("of another program"),
					"holders": object(item{h.id: object(h.entry)}),
				})
				write(t, table, before)
				before = table.Items()[0]
				c, db := open(t, table, "a", tenSeconds)
				if h.says != nil {
					ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
					defer cancel()
					for _, wait := range []waitpolicy.Wait{waitpolicy.NoWait, waitpolicy.For(10 * time.Second)} {
						_, err := c.Acquire(ctx, order, wait)
						says(t, err, h.says...)
						if _, ok := errors.AsType[*queuelock.MalformedError](err); !ok {
							t.Errorf("%v", err)
						}
					}
					if items := table.Items(); len(items) != 1 || !reflect.DeepEqual(without(without(without(items[0], "ticketNumber"), "holdMode"), "evicted"), without(before, "ticketNumber")) {
						t.Errorf("left %v", items)
					}
					return
				}
				if h.delay > 0 {
					_, err := c.Acquire(t.Context(), order, waitpolicy.NoWait)
					if !errors.Is(err, queuelock.ErrNotAcquired) {
						t.Fatal(err)
					}
					if n := len(err.Error()); n > 2000 {
						t.Errorf("an error of %d bytes", n)
					}
				}
				begun := time.Now()
				lock := acquire(t, c, waitpolicy.For(10*time.Minute))
				if took := time.Since(begun); took > h.delay+takenOverWithin || took < h.delay-2*time.Second {
					t.Errorf("served after %v, want %v", took, h.delay)
				}
				release(t, lock)
				time.Sleep(time.Second)
				items := table.Items()
				if len(items) != 1 || asText(items[0]["note"]) != "of another program" {
					t.Errorf("left %v", items)
				}
				if n := db.Counts()["DeleteItem"].Sent; n > 2 {
					t.Errorf("%d deletes", n)
				}
			})
		})
	}
}

// Leftovers of ten thousand who died: whoever comes sweeps them in one pass,
// sixteen side by side.
func TestTenThousandLeftoverRowsAreSweptInOnePass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 10_000
		table := queuelocktest.NewTable(t, queuelocktest.WithLatency(4*time.Millisecond))
		rows := make([]item, n)
		for i := range rows {
			rows[i] = with(left(2+i), item{"until": num(1)})
		}
		abandoned(t, table, n+1, rows...)
		c, db := open(t, table, "a", queuelock.Config{})
		begun := time.Now()
		lock := acquire(t, c, waitpolicy.For(10*time.Minute))
		took, counts := time.Since(begun), db.Counts()
		release(t, lock)
		if got := lock.Ticket(); got != ticket.FromUint64(n+2) {
			t.Errorf("ticket %s", got)
		}
		if took > 4*time.Second {
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

// A thousand dead holders are evicted by forty, and named by none.
func TestAThousandDeadHoldersAreEvictedByForty(t *testing.T) {
	for name, until := range map[string]item{"by the clock": {"until": num(1)}, "by observation": {}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const n = 1000
				table := queuelocktest.NewTable(t, queuelocktest.WithLatency(4*time.Millisecond))
				holders := item{}
				for i := range n {
					holders[fmt.Sprintf("holder-%d", i)] = object(with(item{"beat": num(i), "ttl": num(ttl.Milliseconds()), "owner": str("somebody"), "ticket": num(i + 1)}, until))
				}
				write(t, table, with(recordKey(), item{"ticketNumber": num(n), "granted": num(n), "servingAfter": num(0), "holders": object(holders)}))
				c, db := open(t, table, "a", tenSeconds)
				begun := time.Now()
				lock := acquire(t, c, waitpolicy.For(10*time.Minute))
				took, counts := time.Since(begun), db.Counts()
				most := time.Duration(0)
				if len(until) == 0 {
					most = ttl
				}
				if took > most+takenOverWithin || took < most {
					t.Errorf("served after %v", took)
				}
				// TAKE, the evictions, CLAIM, and what is renewed meanwhile.
				evictions := (n + 39) / 40
				if got := counts["UpdateItem"].Sent; got < evictions+2 || got > evictions+2+int(took/(2*time.Second)) {
					t.Errorf("%d updates, want a TAKE, %d evictions and a CLAIM:\n%s", got, evictions, counts)
				}
				if _, holders := rowsAndHolders(t, c); holders != 1 {
					t.Errorf("%d holders are left", holders)
				}
				release(t, lock)
				t.Logf("served after %v, with\n%s", took, counts)
			})
		})
	}
}

// Rows that stand where numbers are yet to be issued, as after a record was
// deleted: each costs its number, and whoever comes gets past them.
func TestRowsAboveTheCounterCostANumberEach(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 200
		table := watched(t)
		var rows []item
		for i := range n {
			rows = append(rows, with(left(3+i), item{"until": num(1)}))
		}
		abandoned(t, table, 2, rows...)
		c, db := open(t, table, "a", tenSeconds)
		begun := time.Now()
		lock := acquire(t, c, waitpolicy.For(10*time.Minute))
		took, counts := time.Since(begun), db.Counts()
		if total := counts.Total().Sent; total > 6*n+10 || took > time.Minute {
			t.Errorf("served after %v, with\n%s", took, counts)
		}
		release(t, lock)
		must(c.Sweep(t.Context(), order))
		if left := len(table.Items()); left != 1 {
			t.Errorf("%d items are left, want the record", left)
		}
		t.Logf("served with ticket %s after %v, with\n%s", lock.Ticket(), took, counts)
	})
}

// filler is an attribute that brings an item to that many bytes, of the
// 409,600 that DynamoDB allows.
func filler(size int) item { return item{"filler": str(strings.Repeat("x", size-len("filler")))} }

// A record that is nearly full of what some other program put there works for
// as long as the lock's own attributes fit. Where they do not, the error is the
// table's own, the first time and at once, and nothing is left behind.
func TestAFullRecordIsServedOrRefusedWithNothingLeftBehind(t *testing.T) {
	const limit = 400 << 10
	for _, c := range []struct {
		name   string
		size   int
		served bool
	}{
		{"300 KB", 300 << 10, true},
		{"a kilobyte left", limit - 1200, true},
		{"no room for a holder", limit - 120, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				table := watched(t)
				write(t, table, with(recordKey(), with(item{"ticketNumber": num(0), "granted": num(0)}, filler(c.size))))
				a, _ := open(t, table, "a", tenSeconds)
				b, _ := open(t, table, "b", tenSeconds)
				lock, err := a.Acquire(t.Context(), order, waitpolicy.Forever)
				if !c.served {
					says(t, err, "UpdateItem", "size")
					if errors.Is(err, queuelock.ErrNotAcquired) || lock != nil {
						t.Errorf("%v", err)
					}
				} else {
					if err != nil {
						t.Fatal(err)
					}
					waiting := queueUp(t.Context(), b, waitpolicy.For(10*time.Minute))
					time.Sleep(ttl)
					release(t, lock)
					got := <-waiting
					if got.err != nil {
						t.Fatal(got.err)
					}
					release(t, got.lock)
				}
				time.Sleep(time.Second)
				items := table.Items()
				if len(items) != 1 || items[0]["holders"] != nil || len(asText(items[0]["filler"])) != c.size-6 {
					t.Errorf("%d items are left", len(items))
				}
			})
		})
	}
	// The holder fits, and then somebody fills the record: whoever waits cannot
	// claim, and leaves.
	t.Run("filled while it is held", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			table := watched(t)
			a, db := open(t, table, "a", tenSeconds)
			b, _ := open(t, table, "b", tenSeconds)
			lock := acquire(t, a, waitpolicy.Forever)
			waiting := queueUp(t.Context(), b, waitpolicy.For(10*time.Minute))
			time.Sleep(2 * time.Second)
			if _, err := db.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
				TableName: aws.String(table.Name()), Key: recordKey(), UpdateExpression: aws.String("SET filler = :f"),
				ExpressionAttributeValues: item{":f": filler(limit - 290)["filler"]},
			}); err != nil {
				t.Fatal(err)
			}
			release(t, lock)
			got := <-waiting
			says(t, got.err, "UpdateItem", "size")
			if took := got.at; errors.Is(got.err, queuelock.ErrNotAcquired) || time.Since(took) > time.Second {
				t.Errorf("%v", got.err)
			}
			time.Sleep(time.Second)
			if n := len(table.Items()); n != 1 {
				t.Errorf("%d items are left, want the record", n)
			}
		})
	})
}

// The record is spoilt while it is in use. A waiter gets an error that names the
// attribute, and leaves nothing. A holder keeps its lock for as long as its
// renewals are applied, and otherwise loses it by its own clock, with the same
// words. No other client is served.
func TestARecordThatIsSpoiltWhileInUseEndsItsUsersWithItsName(t *testing.T) {
	for name, change := range map[string]string{
		"ticketNumber": "SET ticketNumber = :bad", "granted": "SET granted = :bad", "holders": "SET holders = :bad", "servingAfter": "REMOVE servingAfter",
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				table := queuelocktest.NewTable(t, queuelocktest.WithLatency(4*time.Millisecond)) // an audit takes the spoilt record for a lost one
				holder, db := open(t, table, "holder", tenSeconds)
				held := acquire(t, holder, waitpolicy.Forever)
				waiter, _ := open(t, table, "waiter", tenSeconds)
				waiting := queueUp(t.Context(), waiter, waitpolicy.Forever)
				time.Sleep(2 * time.Second)
				in := &dynamodb.UpdateItemInput{TableName: aws.String(table.Name()), Key: recordKey(), UpdateExpression: &change}
				if strings.Contains(change, ":bad") {
					in.ExpressionAttributeValues = item{":bad": str("nonsense")}
				}
				if _, err := db.UpdateItem(t.Context(), in); err != nil {
					t.Fatal(err)
				}
				spoilt := time.Now()
				got := <-waiting
				says(t, got.err, name, "serving record")
				if _, ok := errors.AsType[*queuelock.MalformedError](got.err); !ok || got.at.Sub(spoilt) > 2*time.Second {
					t.Errorf("after %v: %v, want a MalformedError", got.at.Sub(spoilt), got.err)
				}
				if name == "ticketNumber" {
					// No renewal asks for it, and no grant is possible without it.
					time.Sleep(5 * ttl)
					if held.Err() != nil {
						t.Errorf("lost: %v", held.Err())
					}
					_, err := waiter.Acquire(t.Context(), order, waitpolicy.NoWait)
					says(t, err, name, "serving record")
					return
				}
				<-held.Done()
				if took := time.Since(spoilt); took > ttl || !errors.Is(held.Err(), queuelock.ErrLost) {
					t.Errorf("lost after %v: %v", took, held.Err())
				}
				says(t, held.Err(), name)
				time.Sleep(time.Minute)
				if n := len(table.Items()); n != 1 {
					t.Errorf("%d items are left, want the record", n)
				}
				if n := table.Counts().Total().Sent; n > 400 {
					t.Errorf("%d requests", n)
				}
				_, err := waiter.Acquire(t.Context(), order, waitpolicy.NoWait)
				says(t, err, name, "serving record")
			})
		})
	}
}

// The last number is issued like any other; after it there is one clear error,
// for who comes, and who was there before is served all the same.
func TestWhoHasTheLastNumberIsServedAndNobodyAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t, queuelocktest.WithLatency(4*time.Millisecond))
		before := ticket.Max.Previous().Previous()
		write(t, table, with(recordKey(), item{"ticketNumber": before.Attribute(), "granted": before.Attribute()}))
		a, _ := open(t, table, "a", tenSeconds)
		b, _ := open(t, table, "b", tenSeconds)
		c, _ := open(t, table, "c", tenSeconds)
		held := acquire(t, a, waitpolicy.Forever)
		waiting := queueUp(t.Context(), b, waitpolicy.For(10*time.Minute))
		time.Sleep(time.Second)
		for _, wait := range []waitpolicy.Wait{waitpolicy.For(time.Minute), waitpolicy.Forever} {
			_, err := c.Acquire(t.Context(), order, wait)
			if !errors.Is(err, ticket.ErrExhausted) {
				t.Errorf("%v: %v", wait, err)
			}
		}
		release(t, held)
		got := <-waiting
		if got.err != nil || got.lock.Ticket() != ticket.Max {
			t.Fatalf("%+v", got)
		}
		time.Sleep(3 * ttl)
		if err := got.lock.Err(); err != nil {
			t.Error(err)
		}
		release(t, got.lock)
		_, err := c.Acquire(t.Context(), order, waitpolicy.Forever)
		says(t, err, "exhausted")
		time.Sleep(time.Second)
		if n := len(table.Items()); n != 1 {
			t.Errorf("%d items are left, want the record", n)
		}
	})
}

// On every engine: what the dead left goes in as few requests as on the
// embedded one, what some other program keeps in the record stays, and what
// cannot be read is named.
func TestEngineLeftoversAreSweptAndTheRestIsLeftAlone(t *testing.T) {
	onEveryEngine(t, func(t *testing.T, table *queuelocktest.Table) {
		const dead = 45
		holders := item{}
		for i := range dead {
			holders[fmt.Sprint("h.", i)] = object(item{"beat": num(int64(math.MaxInt64) - int64(i)), "ttl": num(1), "until": num(-1), "owner": str(strings.Repeat("o", 1000)), "ticket": num(1), "more": object(item{})})
		}
		note := object(item{"list": &types.AttributeValueMemberL{Value: []types.AttributeValue{num(1), str("a")}}, "none": &types.AttributeValueMemberNULL{Value: true}})
		items := []item{with(recordKey(), item{"ticketNumber": num(dead + 1), "granted": num(1), "servingAfter": num(0), "holders": object(holders), "note": note})}
		for i := range dead {
			items = append(items, with(left(2+i), item{"until": num(int64(math.MinInt64)), "ttl": num(1), "beat": num(int64(math.MinInt64) + int64(i))}))
		}
		write(t, table, items...)
		c, db := open(t, table, "a", fast)
		begun := time.Now()
		lock := acquire(t, c, waitpolicy.For(20*time.Second))
		counts := db.Counts()
		beats := int(time.Since(begun) / (200 * time.Millisecond)) // of the row, on a slow machine
		if n := counts["DeleteItem"].Sent; n < dead || n > dead+1 {
			t.Errorf("%d deletes of %d rows", n, dead)
		}
		if n := counts["UpdateItem"].Sent; n < 4 || n > 8+beats {
			t.Errorf("%d updates, want a TAKE, two evictions and a CLAIM, and heartbeats:\n%s", n, counts)
		}
		release(t, lock)
		if err := c.Close(t.Context()); err != nil {
			t.Error(err)
		}
		found := table.Items()
		if len(found) != 1 || !reflect.DeepEqual(found[0]["note"], note) {
			t.Errorf("left %v", found)
		}
		write(t, table, with(recordKey(), item{"ticketNumber": num(1), "granted": num(1), "servingAfter": num(0), "holders": object(item{"h": object(item{"beat": num(0), "ttl": &types.AttributeValueMemberBOOL{Value: true}})})}))
		fresh, _ := open(t, table, "b", fast)
		_, err := fresh.Acquire(t.Context(), order, waitpolicy.Forever)
		says(t, err, "holders.h.ttl is a boolean", "order-7 lock")
	})
}
