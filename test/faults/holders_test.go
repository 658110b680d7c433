package faults_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/av"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

// TestHostileHolder checks that a well-formed entry of another program is outwaited. See TestMalformed for others.
func TestHostileHolder(t *testing.T) {
	entry := av.Item{"beat": av.Num(3), "ttl": av.Num(locktest.TTL.Milliseconds()), "owner": av.Str("owner"), "ticket": av.Num(1)}
	type row struct {
		name  string
		id    string
		entry av.Item
		delay time.Duration
	}
	for _, h := range locktest.Some([]row{
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
			if len(items) != 1 || av.Text(items[0]["note"]) != "of another program" {
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
	for name, until := range map[string]av.Item{"by the clock": {"until": av.Num(1)}, "by observation": {}} {
		locktest.InBubble(t, name, func(t *testing.T) {
			n := locktest.Scaled(1000, 200)
			table := queuelocktest.NewTable(t, queuelocktest.WithLatency(4*time.Millisecond))
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
			t.Logf("served after %v, with\n%s", took, counts)
		})
	}
}
