package faults_test

import (
	"context"
	"errors"
	"fmt"
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
	"github.com/queuelock/queuelock/internal/testbed/attr"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/ticket"
	"github.com/queuelock/queuelock/waitpolicy"
)

// A hostile table: what stands in it was written by some other program, or by
// this one long ago. It slows a queue until it is swept. It never makes anything
// panic, and never decides who is served.

func ms(t time.Time) types.AttributeValue { return attr.Num(t.UnixMilli()) }
func rowSortKey(n int) string             { return "lock/" + ticket.FromUint64(uint64(n)).Padded() }

// abandoned leaves a queue in which ticket 1 was served, and those up to n were
// issued to nobody that lives, with these items in it.
func abandoned(t *testing.T, table *queuelocktest.Table, n int, items ...attr.Item) {
	t.Helper()
	c, db := locktest.Open(t, table, "first", locktest.TenSeconds)
	lock := locktest.Acquire(t, c, waitpolicy.NoWait)
	locktest.Write(t, table, items...)
	if _, err := db.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
		TableName: aws.String(table.Name()), Key: locktest.RecordKey(),
		UpdateExpression:          aws.String("SET ticketNumber = :n, note = :note"),
		ExpressionAttributeValues: attr.Item{":n": attr.Num(n), ":note": attr.Str("of another program")},
	}); err != nil {
		t.Fatal(err)
	}
	locktest.Release(t, lock)
}

// left is a row that somebody left behind: well-formed, and of a lease of ten
// seconds.
func left(n int) attr.Item {
	return attr.Item{
		"pk": attr.Str(locktest.Order.Entity), "sk": attr.Str(rowSortKey(n)), "id": attr.Str(fmt.Sprint("id-", n)), "owner": attr.Str("somebody"),
		"mode": attr.Str("exclusive"), "beat": attr.Num(3), "ttl": attr.Num(locktest.TTL.Milliseconds()),
	}
}

// wrongTypes are values of every type.
func wrongTypes() map[string]types.AttributeValue {
	return map[string]types.AttributeValue{
		"a string": attr.Str("7"), "a number": attr.Num(7), "binary": &types.AttributeValueMemberB{Value: []byte{0xff}},
		"a boolean": &types.AttributeValueMemberBOOL{Value: true}, "null": &types.AttributeValueMemberNULL{Value: true},
		"a map": attr.Object(attr.Item{"x": attr.Num(1)}), "a list": &types.AttributeValueMemberL{Value: []types.AttributeValue{attr.Num(1)}},
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
		row   attr.Item
		delay time.Duration
		says  []string // of the error meanwhile; none: it is no more than a waiter
	}
	rows := []hostile{
		{"dead for long", attr.With(left(2), attr.Item{"until": attr.Num(1)}), 0, nil},
		{"of a lease before the epoch", attr.With(left(2), attr.Item{"until": attr.Num(-1)}), 0, nil},
		{"of a lease before all time", attr.With(left(2), attr.Item{"until": attr.Num(int64(math.MinInt64))}), 0, nil},
		{"alive until 9999", attr.With(left(2), attr.Item{"until": ms(year9999), "expiresAt": attr.Num(year9999.Unix())}), locktest.TTL, nil},
		{"alive for all time", attr.With(left(2), attr.Item{"until": attr.Num(int64(math.MaxInt64))}), locktest.TTL, nil},
		{"alive for longer than that", attr.With(left(2), attr.Item{"until": attr.Num("1E+125")}), malformed, []string{"until is 1"}},
		{"created in 9999", attr.With(left(2), attr.Item{"createdAt": ms(year9999)}), locktest.TTL, nil},
		{"with the last beat", attr.With(left(2), attr.Item{"beat": attr.Num(int64(math.MaxInt64))}), locktest.TTL, nil},
		{"with a beat beyond the last", attr.With(left(2), attr.Item{"beat": attr.Num(uint64(math.MaxInt64) + 1)}), malformed, []string{"beat is 9223372036854775808"}},
		{"with a negative beat", attr.With(left(2), attr.Item{"beat": attr.Num(-5)}), locktest.TTL, nil},
		{"with a lease of nothing", attr.With(left(2), attr.Item{"ttl": attr.Num(0)}), malformed, []string{"ttl is 0 ms"}},
		{"with a negative lease", attr.With(left(2), attr.Item{"ttl": attr.Num(-60000)}), malformed, []string{"ttl is -60000 ms"}},
		{"with a lease of 100 years", attr.With(left(2), attr.Item{"ttl": attr.Num(int64(100 * 365 * 24 * time.Hour / time.Millisecond))}), malformed, []string{"ttl is 3153600000000 ms"}},
		{"with half a millisecond's lease", attr.With(left(2), attr.Item{"ttl": attr.Num("0.5")}), malformed, []string{"ttl is 0.5"}},
		{"of an owner of 300 KB", attr.With(left(2), attr.Item{"owner": attr.Str(strings.Repeat("o", 300<<10))}), locktest.TTL, nil},
		{"with attributes that nobody knows", attr.With(left(2), attr.Item{"a": attr.Object(attr.Item{"b": attr.Num(1)}), "holders": attr.Num(1), "ticketNumber": attr.Str("x"), "": nil}), locktest.TTL, nil},
		{"of another mode", attr.With(left(2), attr.Item{"mode": attr.Str("shared")}), locktest.TTL, nil},
		{"of nothing but its key", attr.Item{"pk": attr.Str(locktest.Order.Entity), "sk": attr.Str(rowSortKey(2))}, malformed, []string{"id is missing"}},
	}
	for _, h := range rows {
		t.Run(h.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				delete(h.row, "")
				table := locktest.Watched(t)
				abandoned(t, table, 2, h.row)
				c, db := locktest.Open(t, table, "a", locktest.TenSeconds)
				if h.delay > 0 {
					_, err := c.Acquire(t.Context(), locktest.Order, waitpolicy.For(time.Second))
					if err == nil {
						t.Fatal("served past a row that lives")
					}
					locktest.Says(t, err, h.says...)
					if !errors.Is(err, queuelock.ErrNotAcquired) || len(err.Error()) > 1000 {
						t.Fatalf("%.1000v", err)
					}
					if _, ok := errors.AsType[*queuelock.MalformedError](err); ok != (len(h.says) > 0) {
						t.Errorf("%v, want a MalformedError: %v", err, len(h.says) > 0)
					}
					if state := locktest.Must(c.Inspect(t.Context(), locktest.Order)); len(state.Waiting) != 1 {
						t.Errorf("%d are waiting: %+v", len(state.Waiting), state.Waiting)
					}
				}
				begun := time.Now()
				lock := locktest.Acquire(t, c, waitpolicy.For(10*time.Minute))
				if took := time.Since(begun); took > h.delay+locktest.TakenOverWithin || took < h.delay-2*time.Second {
					t.Errorf("served after %v, want %v", took, h.delay)
				}
				if n := db.Counts()["DeleteItem"].Sent; n > 4 {
					t.Errorf("%d deletes, want one for the row, one for each own", n)
				}
				locktest.Release(t, lock)
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
		table := locktest.Watched(t)
		var rows []attr.Item
		var problems []string
		for attribute, needs := range map[string]string{"id": "a string", "owner": "a string", "mode": "a string", "beat": "a number", "ttl": "a number", "until": "a number", "createdAt": "a number"} {
			for kind, v := range wrongTypes() {
				if kind != needs {
					rows = append(rows, attr.With(left(2+len(rows)), attr.Item{attribute: v}))
					problems = append(problems, fmt.Sprintf("attribute %s is %s, %s is needed", attribute, kind, needs))
				}
			}
		}
		abandoned(t, table, 1+len(rows), rows...)
		c, db := locktest.Open(t, table, "a", locktest.TenSeconds)
		_, err := c.Acquire(t.Context(), locktest.Order, waitpolicy.For(time.Second))
		locktest.Says(t, err, "malformed queue row", "order-7 lock", "is needed")
		if _, ok := errors.AsType[*queuelock.MalformedError](err); !ok || !errors.Is(err, queuelock.ErrNotAcquired) {
			t.Errorf("%v", err)
		}
		state := locktest.Must(c.Inspect(t.Context(), locktest.Order))
		if len(state.Waiting) != len(rows) {
			t.Fatalf("%d are waiting, want %d", len(state.Waiting), len(rows))
		}
		for i, w := range state.Waiting {
			locktest.Says(t, w.Problem, problems[i])
		}
		begun, before := time.Now(), db.Counts()
		lock := locktest.Acquire(t, c, waitpolicy.For(10*time.Minute))
		if took := time.Since(begun); took > time.Minute+locktest.TakenOverWithin {
			t.Errorf("served after %v, want a minute", took)
		}
		locktest.Release(t, lock)
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
		table := locktest.Watched(t)
		zeros := strings.Repeat("0", 37)
		var rows []attr.Item
		for _, sk := range []string{"lock/" + zeros + "x", "lock/1", "lock/00001", rowSortKey(2) + "0", rowSortKey(2) + "\n\x00", "lock/" + zeros + "\u0662", "lock/5/7"} {
			rows = append(rows, attr.With(left(2), attr.Item{"sk": attr.Str(sk)}))
		}
		// Not the queue's own: these stay.
		others := []attr.Item{attr.With(left(2), attr.Item{"sk": attr.Str("lock")}), attr.With(left(2), attr.Item{"sk": attr.Str("lock2/" + zeros + "2")}), attr.With(left(2), attr.Item{"sk": attr.Str("loc/" + zeros + "2")})}
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
		locktest.Must(w.Sweep(t.Context(), locktest.Order))
		time.Sleep(time.Minute)
		locktest.Must(w.Sweep(t.Context(), locktest.Order))
		locktest.Release(t, held)
		for _, who := range []<-chan locktest.Outcome{waiting, second} {
			got := <-who
			if got.Err != nil {
				t.Fatal(got.Err)
			}
			locktest.Release(t, got.Lock)
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
	entry := attr.Item{"beat": attr.Num(3), "ttl": attr.Num(locktest.TTL.Milliseconds()), "owner": attr.Str("somebody"), "ticket": attr.Num(1)}
	for _, h := range []struct {
		name  string
		id    string
		entry attr.Item
		delay time.Duration
		says  []string // if it is malformed
	}{
		{"alive until 9999", "h", attr.With(entry, attr.Item{"until": attr.Num(253402300799000)}), locktest.TTL, nil},
		{"alive for all time", "h", attr.With(entry, attr.Item{"until": attr.Num(int64(math.MaxInt64))}), locktest.TTL, nil},
		{"dead before the epoch", "h", attr.With(entry, attr.Item{"until": attr.Num(-1)}), 0, nil},
		{"of a lease of nothing", "h", attr.With(entry, attr.Item{"ttl": attr.Num(0)}), 0, []string{"holders.h.ttl", "0 ms"}},
		{"of a lease of 100 years", "h", attr.With(entry, attr.Item{"ttl": attr.Num(int64(100 * 365 * 24 * time.Hour / time.Millisecond))}), 0, []string{"holders.h.ttl", "3153600000000 ms"}},
		{"with the last beat", "h", attr.With(entry, attr.Item{"beat": attr.Num(int64(math.MaxInt64))}), locktest.TTL, nil},
		{"with a beat beyond the last", "h", attr.With(entry, attr.Item{"beat": attr.Num(uint64(math.MaxInt64) + 1)}), 0, []string{"holders.h.beat", "9223372036854775808"}},
		{"of a delay", "h", attr.With(entry, attr.Item{"delay": attr.Num(5000)}), locktest.TTL + 5*time.Second, nil},
		{"of a delay of less than nothing", "h", attr.With(entry, attr.Item{"delay": attr.Num(-1)}), 0, []string{"holders.h.delay", "-1 ms"}},
		{"of a delay of 100 years", "h", attr.With(entry, attr.Item{"delay": attr.Num(int64(100 * 365 * 24 * time.Hour / time.Millisecond))}), 0, []string{"holders.h.delay", "3153600000000 ms"}},
		{"of a delay until the end of time, by the clock", "h", attr.With(entry, attr.Item{"until": attr.Num(int64(math.MaxInt64)), "delay": attr.Num(5000)}), locktest.TTL + 5*time.Second, nil},
		{"since 9999", "h", attr.With(entry, attr.Item{"since": attr.Num(253402300799000)}), locktest.TTL, nil},
		{"with a ticket that was never issued", "h", attr.With(entry, attr.Item{"ticket": attr.Num(strings.Repeat("9", 38))}), locktest.TTL, nil},
		{"with a ticket of 39 digits", "h", attr.With(entry, attr.Item{"ticket": attr.Num("1E+38")}), 0, []string{"holders.h.ticket", "10^38-1"}},
		{"of an owner of 300 KB", "h", attr.With(entry, attr.Item{"owner": attr.Str(strings.Repeat("o", 300<<10))}), locktest.TTL, nil},
		{"with attributes that nobody knows", "h", attr.With(entry, attr.Item{"data": attr.Object(attr.Item{"x": attr.Num(1)})}), locktest.TTL, nil},
		{"by an id with dots", "h.1.x", entry, locktest.TTL, nil},
		{"by an id with a hash", "#0", entry, locktest.TTL, nil},
		{"by an id of 1 KB", strings.Repeat("é", 512), entry, locktest.TTL, nil},
		{"by an id of control characters", "\x00\n", entry, locktest.TTL, nil},
	} {
		t.Run(h.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				table := locktest.Watched(t)
				if strings.Contains(h.name, "never issued") {
					table = queuelocktest.NewTable(t) // to an audit it was granted
				}
				before := attr.With(locktest.RecordKey(), attr.Item{
					"ticketNumber": attr.Num(1), "granted": attr.Num(1), "servingAfter": attr.Num(0), "note": attr.Str("of another program"),
					"holders": attr.Object(attr.Item{h.id: attr.Object(h.entry)}),
				})
				locktest.Write(t, table, before)
				before = table.Items()[0]
				c, db := locktest.Open(t, table, "a", locktest.TenSeconds)
				if h.says != nil {
					ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
					defer cancel()
					for _, wait := range []waitpolicy.Wait{waitpolicy.NoWait, waitpolicy.For(10 * time.Second)} {
						_, err := c.Acquire(ctx, locktest.Order, wait)
						locktest.Says(t, err, h.says...)
						if _, ok := errors.AsType[*queuelock.MalformedError](err); !ok {
							t.Errorf("%v", err)
						}
					}
					if items := table.Items(); len(items) != 1 || !reflect.DeepEqual(attr.Without(attr.Without(attr.Without(items[0], "ticketNumber"), "holdMode"), "evicted"), attr.Without(before, "ticketNumber")) {
						t.Errorf("left %v", items)
					}
					return
				}
				if h.delay > 0 {
					_, err := c.Acquire(t.Context(), locktest.Order, waitpolicy.NoWait)
					if !errors.Is(err, queuelock.ErrNotAcquired) {
						t.Fatal(err)
					}
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
				if len(items) != 1 || attr.Text(items[0]["note"]) != "of another program" {
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
		n, more := locktest.Scaled(10_000, 1500), filler(locktest.Scaled(100, 800)) // more than the megabyte that a page has
		table := queuelocktest.NewTable(t, queuelocktest.WithLatency(4*time.Millisecond))
		rows := make([]attr.Item, n)
		for i := range rows {
			rows[i] = attr.With(left(2+i), attr.With(more, attr.Item{"until": attr.Num(1)}))
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

// A thousand dead holders are evicted by forty, and named by none.
func TestAThousandDeadHoldersAreEvictedByForty(t *testing.T) {
	for name, until := range map[string]attr.Item{"by the clock": {"until": attr.Num(1)}, "by observation": {}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := locktest.Scaled(1000, 400)
				table := queuelocktest.NewTable(t, queuelocktest.WithLatency(4*time.Millisecond))
				holders := attr.Item{}
				for i := range n {
					holders[fmt.Sprintf("holder-%d", i)] = attr.Object(attr.With(attr.Item{"beat": attr.Num(i), "ttl": attr.Num(locktest.TTL.Milliseconds()), "owner": attr.Str("somebody"), "ticket": attr.Num(i + 1)}, until))
				}
				locktest.Write(t, table, attr.With(locktest.RecordKey(), attr.Item{"ticketNumber": attr.Num(n), "granted": attr.Num(n), "servingAfter": attr.Num(0), "holders": attr.Object(holders)}))
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
		table := locktest.Watched(t)
		var rows []attr.Item
		for i := range n {
			rows = append(rows, attr.With(left(3+i), attr.Item{"until": attr.Num(1)}))
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
		locktest.Must(c.Sweep(t.Context(), locktest.Order))
		if left := len(table.Items()); left != 1 {
			t.Errorf("%d items are left, want the record", left)
		}
		t.Logf("served with ticket %s after %v, with\n%s", lock.Ticket(), took, counts)
	})
}

// filler is an attribute that brings an item to that many bytes, of the
// 409,600 that DynamoDB allows.
func filler(size int) attr.Item {
	return attr.Item{"filler": attr.Str(strings.Repeat("x", size-len("filler")))}
}

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
				table := locktest.Watched(t)
				locktest.Write(t, table, attr.With(locktest.RecordKey(), attr.With(attr.Item{"ticketNumber": attr.Num(0), "granted": attr.Num(0)}, filler(c.size))))
				a, _ := locktest.Open(t, table, "a", locktest.TenSeconds)
				b, _ := locktest.Open(t, table, "b", locktest.TenSeconds)
				lock, err := a.Acquire(t.Context(), locktest.Order, waitpolicy.Forever)
				if !c.served {
					locktest.Says(t, err, "UpdateItem", "size")
					if errors.Is(err, queuelock.ErrNotAcquired) || lock != nil {
						t.Errorf("%v", err)
					}
				} else {
					if err != nil {
						t.Fatal(err)
					}
					waiting := locktest.QueueUp(t.Context(), b, waitpolicy.For(10*time.Minute))
					time.Sleep(locktest.TTL)
					locktest.Release(t, lock)
					got := <-waiting
					if got.Err != nil {
						t.Fatal(got.Err)
					}
					locktest.Release(t, got.Lock)
				}
				time.Sleep(time.Second)
				items := table.Items()
				if len(items) != 1 || items[0]["holders"] != nil || len(attr.Text(items[0]["filler"])) != c.size-6 {
					t.Errorf("%d items are left", len(items))
				}
			})
		})
	}
	// The holder fits, and then somebody fills the record: whoever waits cannot
	// claim, and leaves.
	t.Run("filled while it is held", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			table := locktest.Watched(t)
			a, db := locktest.Open(t, table, "a", locktest.TenSeconds)
			b, _ := locktest.Open(t, table, "b", locktest.TenSeconds)
			lock := locktest.Acquire(t, a, waitpolicy.Forever)
			waiting := locktest.QueueUp(t.Context(), b, waitpolicy.For(10*time.Minute))
			time.Sleep(2 * time.Second)
			if _, err := db.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
				TableName: aws.String(table.Name()), Key: locktest.RecordKey(), UpdateExpression: aws.String("SET filler = :f"),
				ExpressionAttributeValues: attr.Item{":f": filler(limit - 290)["filler"]},
			}); err != nil {
				t.Fatal(err)
			}
			locktest.Release(t, lock)
			got := <-waiting
			locktest.Says(t, got.Err, "UpdateItem", "size")
			if took := got.At; errors.Is(got.Err, queuelock.ErrNotAcquired) || time.Since(took) > time.Second {
				t.Errorf("%v", got.Err)
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
				holder, db := locktest.Open(t, table, "holder", locktest.TenSeconds)
				held := locktest.Acquire(t, holder, waitpolicy.Forever)
				waiter, _ := locktest.Open(t, table, "waiter", locktest.TenSeconds)
				waiting := locktest.QueueUp(t.Context(), waiter, waitpolicy.Forever)
				time.Sleep(2 * time.Second)
				in := &dynamodb.UpdateItemInput{TableName: aws.String(table.Name()), Key: locktest.RecordKey(), UpdateExpression: &change}
				if strings.Contains(change, ":bad") {
					in.ExpressionAttributeValues = attr.Item{":bad": attr.Str("nonsense")}
				}
				if _, err := db.UpdateItem(t.Context(), in); err != nil {
					t.Fatal(err)
				}
				spoilt := time.Now()
				got := <-waiting
				locktest.Says(t, got.Err, name, "serving record")
				if _, ok := errors.AsType[*queuelock.MalformedError](got.Err); !ok || got.At.Sub(spoilt) > 2*time.Second {
					t.Errorf("after %v: %v, want a MalformedError", got.At.Sub(spoilt), got.Err)
				}
				if name == "ticketNumber" {
					// No renewal asks for it, and no grant is possible without it.
					time.Sleep(5 * locktest.TTL)
					if held.Err() != nil {
						t.Errorf("lost: %v", held.Err())
					}
					_, err := waiter.Acquire(t.Context(), locktest.Order, waitpolicy.NoWait)
					locktest.Says(t, err, name, "serving record")
					return
				}
				<-held.Done()
				if took := time.Since(spoilt); took > locktest.TTL || !errors.Is(held.Err(), queuelock.ErrLost) {
					t.Errorf("lost after %v: %v", took, held.Err())
				}
				locktest.Says(t, held.Err(), name)
				time.Sleep(time.Minute)
				if n := len(table.Items()); n != 1 {
					t.Errorf("%d items are left, want the record", n)
				}
				if n := table.Counts().Total().Sent; n > 400 {
					t.Errorf("%d requests", n)
				}
				_, err := waiter.Acquire(t.Context(), locktest.Order, waitpolicy.NoWait)
				locktest.Says(t, err, name, "serving record")
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
		locktest.Write(t, table, attr.With(locktest.RecordKey(), attr.Item{"ticketNumber": before.Attribute(), "granted": before.Attribute()}))
		a, _ := locktest.Open(t, table, "a", locktest.TenSeconds)
		b, _ := locktest.Open(t, table, "b", locktest.TenSeconds)
		c, _ := locktest.Open(t, table, "c", locktest.TenSeconds)
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
		if err := got.Lock.Err(); err != nil {
			t.Error(err)
		}
		locktest.Release(t, got.Lock)
		_, err := c.Acquire(t.Context(), locktest.Order, waitpolicy.Forever)
		locktest.Says(t, err, "exhausted")
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
	locktest.OnEveryEngine(t, func(t *testing.T, table *queuelocktest.Table) {
		const dead = 45
		holders := attr.Item{}
		for i := range dead {
			holders[fmt.Sprint("h.", i)] = attr.Object(attr.Item{"beat": attr.Num(int64(math.MaxInt64) - int64(i)), "ttl": attr.Num(1), "until": attr.Num(-1), "owner": attr.Str(strings.Repeat("o", 1000)), "ticket": attr.Num(1), "more": attr.Object(attr.Item{})})
		}
		note := attr.Object(attr.Item{"list": &types.AttributeValueMemberL{Value: []types.AttributeValue{attr.Num(1), attr.Str("a")}}, "none": &types.AttributeValueMemberNULL{Value: true}})
		items := []attr.Item{attr.With(locktest.RecordKey(), attr.Item{"ticketNumber": attr.Num(dead + 1), "granted": attr.Num(1), "servingAfter": attr.Num(0), "holders": attr.Object(holders), "note": note})}
		for i := range dead {
			items = append(items, attr.With(left(2+i), attr.Item{"until": attr.Num(int64(math.MinInt64)), "ttl": attr.Num(1), "beat": attr.Num(int64(math.MinInt64) + int64(i))}))
		}
		locktest.Write(t, table, items...)
		c, db := locktest.Open(t, table, "a", locktest.Fast)
		begun := time.Now()
		lock := locktest.Acquire(t, c, waitpolicy.For(20*time.Second))
		counts := db.Counts()
		beats := int(time.Since(begun) / (200 * time.Millisecond)) // of the row, on a slow machine
		if n := counts["DeleteItem"].Sent; n < dead || n > dead+1 {
			t.Errorf("%d deletes of %d rows", n, dead)
		}
		if n := counts["UpdateItem"].Sent; n < 4 || n > 8+beats {
			t.Errorf("%d updates, want a TAKE, two evictions and a CLAIM, and heartbeats:\n%s", n, counts)
		}
		locktest.Release(t, lock)
		if err := c.Close(t.Context()); err != nil {
			t.Error(err)
		}
		found := table.Items()
		if len(found) != 1 || !reflect.DeepEqual(found[0]["note"], note) {
			t.Errorf("left %v", found)
		}
		locktest.Write(t, table, attr.With(locktest.RecordKey(), attr.Item{"ticketNumber": attr.Num(1), "granted": attr.Num(1), "servingAfter": attr.Num(0), "holders": attr.Object(attr.Item{"h": attr.Object(attr.Item{"beat": attr.Num(0), "ttl": &types.AttributeValueMemberBOOL{Value: true}})})}))
		fresh, _ := locktest.Open(t, table, "b", locktest.Fast)
		_, err := fresh.Acquire(t.Context(), locktest.Order, waitpolicy.Forever)
		locktest.Says(t, err, "holders.h.ttl is a boolean", "order-7 lock")
	})
}
