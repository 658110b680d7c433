package locktest

import (
	"cmp"
	"context"
	"testing"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/counter"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/ticket"
	"github.com/queuelock/queuelock/waitpolicy"
)

// Order is the key that most tests lock.
var Order = queuelock.Key{Entity: "order-7"}

// TTL is the lease of a holder under [TenSeconds].
const TTL = 10 * time.Second

// TenSeconds is a configuration with short leases, for tests of expiry.
var TenSeconds = queuelock.Config{TTL: TTL, WaiterTTL: 4 * time.Second}

// Fast is a configuration for tests in real time. Its leases leave a request one
// second, which an engine on a busy machine needs at times.
var Fast = queuelock.Config{TTL: 4 * time.Second, WaiterTTL: 4 * time.Second}

// SharedScope is the configuration of clients with one counter for the table.
var SharedScope = queuelock.Config{Scope: ticket.ScopeTable}

// Open returns a client of the table with a network of its own, which bears its
// name. The client is closed at the end of the test.
func Open(t *testing.T, table *queuelocktest.Table, name string, cfg queuelock.Config) (*queuelock.Client, *queuelocktest.Client) {
	t.Helper()
	db := table.Client(name)
	cfg.Owner = cmp.Or(cfg.Owner, name)
	cfg.Block = cmp.Or(cfg.Block, 1) // each waiter has its own row, unless a test says otherwise
	c, err := queuelock.New(db, table.Name(), cfg)
	OK(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		_ = c.Close(ctx) // tests that care close it themselves
	})
	return c, db
}

// OpenMet calls [Open] and makes a first request, so that the client knows the
// table's clock and its first lock needs no read.
func OpenMet(t *testing.T, table *queuelocktest.Table, name string, cfg queuelock.Config) (*queuelock.Client, *queuelocktest.Client) {
	t.Helper()
	c, db := Open(t, table, name, cfg)
	_, err := c.Viewer().Inspect(t.Context(), queuelock.Key{Entity: "another"})
	OK(t, err)
	return c, db
}

// Pair calls [Open] for two clients of one configuration, of which the first has faults.
func Pair(t *testing.T, table *queuelocktest.Table, cfg queuelock.Config, one, other string) (
	a *queuelock.Client, db *queuelocktest.Client, b *queuelock.Client,
) {
	t.Helper()
	a, db = Open(t, table, one, cfg)
	b, _ = Open(t, table, other, cfg)
	return a, db, b
}

// Two is [Pair] without faults.
func Two(t *testing.T, table *queuelocktest.Table, cfg queuelock.Config, one, other string) (a, b *queuelock.Client) {
	t.Helper()
	a, _, b = Pair(t, table, cfg, one, other)
	return a, b
}

// Three is [Two] with a third one.
func Three(t *testing.T, table *queuelocktest.Table, cfg queuelock.Config, one, other, third string) (a, b, c *queuelock.Client) {
	t.Helper()
	a, b = Two(t, table, cfg, one, other)
	c, _ = Open(t, table, third, cfg)
	return a, b, c
}

// Acquire acquires [Order], which must succeed.
func Acquire(t *testing.T, c *queuelock.Client, wait waitpolicy.Wait, opts ...queuelock.AcquireOption) *queuelock.Lock {
	t.Helper()
	lock, err := c.Acquire(t.Context(), Order, wait, opts...)
	OK(t, err)
	return lock
}

// Release releases a lock, which must succeed.
func Release(t *testing.T, lock interface{ Release(context.Context) error }) {
	t.Helper()
	OK(t, lock.Release(t.Context()))
}

// Locked calls IsLocked, which must succeed.
func Locked(t *testing.T, c *queuelock.Client) bool {
	t.Helper()
	return Must(c.IsLocked(t.Context(), Order))
}

// RowsAndHolders counts the waiters and the holders of [Order].
func RowsAndHolders(t *testing.T, c *queuelock.Client) (rows, holders int) {
	t.Helper()
	state := Must(c.Viewer().Inspect(t.Context(), Order))
	return len(state.Waiting), len(state.Serving)
}

// Shown is the holder with a ticket, as Inspect shows it.
func Shown(t *testing.T, c *queuelock.Client, number ticket.Number) queue.Holder {
	t.Helper()
	h, ok := Must(c.Viewer().Inspect(t.Context(), Order)).Holder(number)
	if !ok {
		t.Fatalf("no holder has ticket %s", number)
	}
	return h
}

// RoundTrip is the time of a bare request.
const RoundTrip = 4600 * time.Microsecond

// SmallTickets lets new counters begin at 1 also in real time, for packages whose tests compare tickets.
func SmallTickets() { counter.Base = counter.Zero }

// TakenOverWithin is the longest time between the end of a crashed holder's lease
// and the next grant.
const TakenOverWithin = 1500 * time.Millisecond

// Judged names the two ways of judging that a lease has expired, and the options
// of a table on which clients use them.
var Judged = map[string][]queuelocktest.Option{"by the clock": nil, "by observation": {queuelocktest.WithoutDate()}}
