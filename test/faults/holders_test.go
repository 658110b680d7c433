package faults_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/attr"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

// TestHostileHolder checks that a well-formed entry of another program is outwaited. See TestMalformed for others.
func TestHostileHolder(t *testing.T) {
	entry := attr.Item{"beat": attr.Num(3), "ttl": attr.Num(locktest.TTL.Milliseconds()), "owner": attr.Str("owner"), "ticket": attr.Num(1)}
	type row struct {
		name  string
		id    string
		entry attr.Item
		delay time.Duration
	}
	for _, h := range locktest.Some([]row{
		{"alive until 9999", "h", attr.With(entry, attr.Item{"until": attr.Num(253402300799000)}), locktest.TTL},
		{"alive for all time", "h", attr.With(entry, attr.Item{"until": attr.Num(int64(math.MaxInt64))}), locktest.TTL},
		{"dead before the epoch", "h", attr.With(entry, attr.Item{"until": attr.Num(-1)}), 0},
		{"with the last beat", "h", attr.With(entry, attr.Item{"beat": attr.Num(int64(math.MaxInt64))}), locktest.TTL},
		{"of a delay", "h", attr.With(entry, attr.Item{"delay": attr.Num(5000)}), locktest.TTL + 5*time.Second},
		{"of a delay until the end of time, by the clock", "h", attr.With(entry, attr.Item{"until": attr.Num(int64(math.MaxInt64)), "delay": attr.Num(5000)}), locktest.TTL + 5*time.Second},
		{"since 9999", "h", attr.With(entry, attr.Item{"since": attr.Num(253402300799000)}), locktest.TTL},
		{"with a ticket that was never issued", "h", attr.With(entry, attr.Item{"ticket": attr.Num(strings.Repeat("9", 38))}), locktest.TTL},
		{"of an owner of 300 KB", "h", attr.With(entry, attr.Item{"owner": attr.Str(strings.Repeat("o", locktest.Scaled(300<<10, 30<<10)))}), locktest.TTL},
		{"with unknown attributes", "h", attr.With(entry, attr.Item{"data": attr.Object(attr.Item{"x": attr.Num(1)})}), locktest.TTL},
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
			locktest.Write(t, table, attr.With(locktest.RecordKey(), attr.Item{
				"ticketNumber": attr.Num(1), "granted": attr.Num(1), "servingAfter": attr.Num(0), "note": attr.Str("of another program"),
				"holders": attr.Object(attr.Item{h.id: attr.Object(h.entry)}),
			}))
			c, db := locktest.Open(t, table, "a", locktest.TenSeconds)
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
	}
}

// TestThousandExpiredHolders checks that a thousand expired holders are evicted in groups
// of forty. A thousand dead holders are evicted by forty, and named by none.
func TestThousandExpiredHolders(t *testing.T) {
	for name, until := range map[string]attr.Item{"by the clock": {"until": attr.Num(1)}, "by observation": {}} {
		locktest.InBubble(t, name, func(t *testing.T) {
			n := locktest.Scaled(1000, 200)
			table := queuelocktest.NewTable(t, queuelocktest.WithLatency(4*time.Millisecond))
			holders := attr.Item{}
			for i := range n {
				holders[fmt.Sprintf("holder-%d", i)] = attr.Object(attr.With(attr.Item{"beat": attr.Num(i), "ttl": attr.Num(locktest.TTL.Milliseconds()), "owner": attr.Str("owner"), "ticket": attr.Num(i + 1)}, until))
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
	}
}
