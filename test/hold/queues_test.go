package hold_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/av"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/ticket"
	"github.com/queuelock/queuelock/waitpolicy"
)

// queues returns the states by entity and reason. It fails the test at an error.
func queues(t *testing.T, c *queuelock.Client, cfg queuelock.ScanConfig) map[string]*queue.State {
	t.Helper()
	found := map[string]*queue.State{}
	for state, err := range c.Viewer().Queues(t.Context(), cfg) {
		locktest.OK(t, err)
		name := state.Entity + " " + state.Reason
		if found[name] != nil {
			t.Errorf("%s was found twice", name)
		}
		found[name] = state
	}
	return found
}

// leaveQueues acquires the locks of n entities, and releases them.
func leaveQueues(t *testing.T, c *queuelock.Client, n int) {
	t.Helper()
	for i := range n {
		locktest.Release(t, locktest.Must(c.Acquire(t.Context(), queuelock.Key{Entity: fmt.Sprint("e", i)}, waitpolicy.Forever)))
	}
}

// TestQueues checks that Queues finds each queue once, and in the state that Inspect shows.
func TestQueues(t *testing.T) {
	for _, cfg := range []queuelock.ScanConfig{{}, {Segments: 1}, {Segments: 50}, {Segments: 2, MaxRate: 1}} {
		locktest.InTable(t, fmt.Sprintf("%d segments, %v units", cfg.Segments, cfg.MaxRate), func(t *testing.T, table *queuelocktest.Table) {
			c, _ := locktest.Open(t, table, "c", queuelock.Config{})
			wide, _ := locktest.Open(t, table, "wide", queuelock.Config{Scope: ticket.ScopeTable})
			keys := []queuelock.Key{{Entity: "order-7", Reason: "a b"}, {Entity: "order-7", Reason: "a"}, {Entity: "order-7", Reason: "a0"}, locktest.Order}
			for i := range 20 {
				keys = append(keys, queuelock.Key{Entity: fmt.Sprint("e", i), Reason: "lock"})
			}
			for i, key := range keys {
				by := c
				if i%5 == 0 {
					by = wide
				}
				lock := locktest.Must(by.Acquire(t.Context(), key, waitpolicy.Forever))
				if i%3 == 0 && key != locktest.Order {
					locktest.Release(t, lock)
				}
			}
			for range 3 {
				locktest.QueueUp(t.Context(), c, waitpolicy.Forever)
			}
			time.Sleep(time.Second)

			found := queues(t, c, cfg)
			if len(found) != len(keys) {
				t.Errorf("found %d queues, want %d", len(found), len(keys))
			}
			for _, key := range keys {
				got, want := found[key.Entity+" "+cmp.Or(key.Reason, queuelock.DefaultReason)], locktest.Must(c.Viewer().Inspect(t.Context(), key))
				if got == nil {
					t.Errorf("%s is missing", key)
					continue
				}
				if a, b := plain(got), plain(want); a != b {
					t.Errorf("%s is listed as\n%s\nand Inspect shows\n%s", key, a, b)
				}
			}
			if n := len(found["order-7 lock"].Waiting); n != 3 {
				t.Errorf("%d waiters, want 3", n)
			}
		})
	}
}

// plain prints what a state says, without times.
func plain(s *queue.State) string {
	text := fmt.Sprintln(s.Entity, s.Reason, s.Issued, s.Scope, s.Permits, s.HoldTime)
	for _, h := range s.Serving {
		text += fmt.Sprintln("holder", h.Ticket, h.ID, h.Owner, h.Shared, h.TTL, h.Endless(), h.Expired(), h.Problem)
	}
	for _, w := range s.Waiting {
		text += fmt.Sprintln("waiter", w.Position, w.Ticket, w.ID, w.Owner, w.Shared, w.TTL, w.Expired(), w.Problem)
	}
	return text
}

// TestQueuesFault checks that each page that fails is read again, and no page before it.
func TestQueuesFault(t *testing.T) {
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		c, db := locktest.Open(t, table, "c", queuelock.Config{})
		leaveQueues(t, c, 30)
		pages := 0
		cfg := queuelock.ScanConfig{Segments: 1, MaxRate: 1, OnPage: func(float64) { // eight items a page
			if pages++; pages < 4 {
				time.Sleep(time.Minute)                                    // for longer than the failures of one page are repeated
				db.Inject(queuelocktest.LoseRequest().Of("Scan").Times(4)) // the SDK client makes three attempts
			}
		}}
		if found := queues(t, c, cfg); len(found) != 30 || pages != 4 {
			t.Errorf("%d queues in %d pages, want 30 in 4", len(found), pages)
		}
	})
}

func TestQueuesPrefix(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, pk := range []string{"pk", "lock.pk"} {
			table := queuelocktest.NewTable(t, queuelocktest.WithKeys(pk, "sk"))
			c, _ := locktest.Open(t, table, "c", queuelock.Config{Attributes: queuelock.Attributes{PartitionKey: pk}})
			for _, entity := range []string{"deploy/a", "deploy/b", "deploy", "x/deploy/"} {
				locktest.Must(c.Acquire(t.Context(), queuelock.Key{Entity: entity}, waitpolicy.Forever))
			}
			found := queues(t, c, queuelock.ScanConfig{Prefix: "deploy/"})
			if len(found) != 2 || found["deploy/a lock"] == nil || found["deploy/b lock"] == nil {
				t.Errorf("with the key %q it found %v", pk, found)
			}
		}
	})
}

// TestQueuesOtherItems checks what Queues says of another program's items, and of the lock of an item.
func TestQueuesOtherItems(t *testing.T) {
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		c, _ := locktest.Open(t, table, "c", queuelock.Config{})
		id, whole := locktest.OrderItem()
		users := locktest.NewItemTable(t, table, id)
		users.Put(whole)
		locktest.LockItem(t, c, users.Key(id), waitpolicy.NoWait)
		locktest.QueueUpForItem(t.Context(), c, users.Key(id), waitpolicy.Forever)
		locktest.Release(t, locktest.Acquire(t, c, waitpolicy.NoWait))
		locktest.Write(t, table,
			av.Item{"pk": av.Str("alien"), "sk": av.Str("data")},
			av.Item{"pk": av.Str("alien"), "sk": av.Str("lock/" + strings.Repeat("x", 38))},
			av.Item{"pk": av.Str("broken"), "sk": av.Str("lock/" + strings.Repeat("0", 38)), "ticketNumber": av.Str("seven")},
			av.Item{"pk": av.Str("row"), "sk": av.Str(locktest.RowSortKey(7))})
		time.Sleep(time.Second)

		var names []string
		for state, err := range c.Viewer().Queues(t.Context(), queuelock.ScanConfig{}) {
			names = append(names, state.Entity+" "+state.Reason)
			malformed, ok := errors.AsType[*queue.MalformedError](err)
			switch {
			case state.Entity == "broken":
				if !ok || malformed.Attribute != "ticketNumber" {
					t.Errorf("broken: %+v, %v", state, err)
				}
			case err != nil:
				t.Error(err)
			case state.Entity == "row":
				if len(state.Waiting) != 1 || state.Waiting[0].Problem == nil {
					t.Errorf("row: %+v", state)
				}
			case state.Reason == queuelock.ItemReason:
				if len(state.Serving) != 0 || len(state.Waiting) != 1 || !strings.HasPrefix(queuelock.Key{Entity: state.Entity, Reason: state.Reason}.String(), "item ") {
					t.Errorf("item: %+v", state)
				}
			}
		}
		slices.Sort(names)
		if len(names) != 4 || names[0] != "broken lock" || !strings.HasSuffix(names[1], " item") || names[2] != "order-7 lock" || names[3] != "row lock" {
			t.Errorf("found %q", names)
		}
	})
}

// TestQueuesRate checks that a scan keeps to its read units.
func TestQueuesRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := locktest.Open(t, queuelocktest.NewTable(t), "c", queuelock.Config{})
		for i := range 200 {
			lock := locktest.Must(c.Acquire(t.Context(), queuelock.Key{Entity: fmt.Sprint("e", i)}, waitpolicy.Forever, queuelock.WithData(make([]byte, 2000))))
			defer locktest.Release(t, lock)
		}
		var units float64
		begun := time.Now()
		found := 0
		for _, err := range c.Viewer().Queues(t.Context(), queuelock.ScanConfig{MaxRate: 20, OnPage: func(u float64) { units += u }}) {
			locktest.OK(t, err)
			found++
		}
		took := time.Since(begun)
		// The last page of each segment is not waited for.
		if found != 200 || units < 100 || took < time.Duration(units/20*0.6*float64(time.Second)) || took > time.Duration(units/20*1.4*float64(time.Second)) {
			t.Errorf("found %d with %v units in %v", found, units, took)
		}
		begun, found = time.Now(), 0
		for range c.Viewer().Queues(t.Context(), queuelock.ScanConfig{}) {
			found++
		}
		if took := time.Since(begun); found != 200 || took > time.Second {
			t.Errorf("without a bound: found %d in %v", found, took)
		}
	})
}

func TestQueuesEnd(t *testing.T) {
	end := func(c *queuelock.Client, ctx context.Context, cfg queuelock.ScanConfig) (found int, last error) {
		for state, err := range c.Viewer().Queues(ctx, cfg) {
			if last = err; state != nil {
				found++
			}
		}
		return found, last
	}
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		c, db := locktest.Open(t, table, "c", queuelock.Config{})
		leaveQueues(t, c, 10)
		for range c.Viewer().Queues(t.Context(), queuelock.ScanConfig{MaxRate: 1}) {
			break // the goroutines of the scan end, or the bubble would not
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		reason := errors.New("enough")
		cancel(reason)
		if found, err := end(c, ctx, queuelock.ScanConfig{}); found > 0 || !errors.Is(err, reason) && !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled: %d, %v", found, err)
		}
		for _, cfg := range []queuelock.ScanConfig{{Segments: -1}, {Segments: 1001}, {MaxRate: -1}} {
			if found, err := end(c, t.Context(), cfg); found > 0 || err == nil {
				t.Errorf("%+v: %d, %v", cfg, found, err)
			}
		}
		narrow := locktest.Must(queuelock.New(onlyLocks{db}, table.Name(), queuelock.Config{}))
		if _, err := end(narrow, t.Context(), queuelock.ScanConfig{}); err == nil || !strings.Contains(err.Error(), "has no method Scan") {
			t.Errorf("without Scan: %v", err)
		}
		locktest.OK(t, c.Close(t.Context()))
		if found, err := end(c, t.Context(), queuelock.ScanConfig{}); found > 0 || !errors.Is(err, queuelock.ErrClosed) {
			t.Errorf("closed: %d, %v", found, err)
		}
	})
}

// onlyLocks has the methods that locks need, and no other.
type onlyLocks struct{ queuelock.DynamoDB }

// TestQueuesOtherKeys checks that a scan of another program's table is an error, and not 0 queues.
func TestQueuesOtherKeys(t *testing.T) {
	for _, cfg := range []queuelock.ScanConfig{{}, {Prefix: "e"}, {Segments: 1, MaxRate: 1}} {
		for _, described := range []bool{true, false} {
			locktest.InTable(t, fmt.Sprintf("%+v, described %t", cfg, described), func(t *testing.T, table *queuelocktest.Table) {
				other := queuelock.Config{Attributes: queuelock.Attributes{PartitionKey: "name", SortKey: "place"}}
				c, db := locktest.Open(t, table, "c", other)
				if !described {
					db.Inject(queuelocktest.Refuse(queuelocktest.AccessDenied).Of("DescribeTable"))
				}
				mine, _ := locktest.Open(t, table, "mine", queuelock.Config{})
				leaveQueues(t, mine, 40)
				cfg, pages := cfg, 0
				cfg.OnPage = func(float64) { pages++ }
				found := `found partition key "pk" (S)`
				if !described {
					found = "found "
				}
				for state, err := range c.Viewer().Queues(t.Context(), cfg) {
					wrong, ok := errors.AsType[*queue.TableError](err)
					if state != nil || !ok || !strings.Contains(wrong.Error(), found) || !strings.Contains(wrong.Error(), `need partition key "name" (S)`) {
						t.Errorf("%+v, %v", state, err)
					}
				}
				if pages > 3 {
					t.Errorf("%d pages were read", pages)
				}
			})
		}
	}
}

// TestQueuesWithPanic checks that a panic of OnPage is one of the caller, and ends the scan.
func TestQueuesWithPanic(t *testing.T) {
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		c, db := locktest.Open(t, table, "c", queuelock.Config{})
		locktest.Release(t, locktest.Acquire(t, c, waitpolicy.NoWait))
		before := db.Counts().Total().Sent
		if v := recovered(func() {
			for _, err := range c.Viewer().Queues(t.Context(), queuelock.ScanConfig{Segments: 20, OnPage: func(float64) { panic("mistake") }}) {
				t.Errorf("it yields %v", err)
			}
		}); v != "mistake" {
			t.Errorf("it panicked with %v", v)
		}
		if db.Counts().Total().Sent == before {
			t.Error("no request was sent")
		}
	})
}
