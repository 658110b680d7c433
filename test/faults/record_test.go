package faults_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/embedded"
	"github.com/queuelock/queuelock/internal/load"
	"github.com/queuelock/queuelock/internal/testbed/av"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/ticket"
	"github.com/queuelock/queuelock/waitpolicy"
)

// TestLastTicket checks that the client with the last number is served, and that those after it get one clear error.
func TestLastTicket(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t, queuelocktest.WithLatency(4*time.Millisecond))
		before := ticket.Max.Previous().Previous()
		locktest.Write(t, table, av.With(locktest.RecordKey(), av.Item{"ticketNumber": before.Attribute(), "granted": before.Attribute()}))
		a, b, c := locktest.Three(t, table, locktest.TenSeconds, "a", "b", "c")
		held := locktest.Acquire(t, a, waitpolicy.Forever)
		waiting := locktest.QueueUp(t.Context(), b, waitpolicy.For(10*time.Minute))
		time.Sleep(time.Second)
		for _, wait := range []waitpolicy.Wait{waitpolicy.For(time.Minute), waitpolicy.Forever} {
			locktest.Is(t, released(c.Acquire(t.Context(), locktest.Order, wait)), ticket.ErrExhausted)
		}
		locktest.Release(t, held)
		got := <-waiting
		if got.Err != nil || got.Lock.Ticket() != ticket.Max {
			t.Fatalf("%+v", got)
		}
		time.Sleep(3 * locktest.TTL)
		locktest.Check(t, got.Lock.Err())
		locktest.Release(t, got.Lock)
		_, err := c.Acquire(t.Context(), locktest.Order, waitpolicy.Forever)
		locktest.Says(t, err, "exhausted")
		time.Sleep(time.Second)
		hasItems(t, table, 1)
	})
}

// The counter of a wider scope serves every queue of it: a record that holds a
// number which cannot be right costs its own queue, and no other.
func TestBadTicketNumber(t *testing.T) {
	bad, good := queuelock.Key{Entity: "bad"}, queuelock.Key{Entity: "good"}
	for name, number := range map[string]string{
		"TheLast": ticket.Max.String(), "TwoBeforeTheLast": ticket.Max.Previous().Previous().String(), "Negative": "-3", "BeyondAnyClock": "900000000000000",
	} {
		locktest.InTable(t, "CostsItsOwnQueueOnly/"+name, func(t *testing.T, table *queuelocktest.Table) {
			cfg := locktest.TenSeconds
			cfg.Scope = ticket.ScopeTable
			a, _ := locktest.Open(t, table, "a", cfg)
			for _, key := range []queuelock.Key{bad, good} {
				locktest.Release(t, locktest.Must(a.Acquire(t.Context(), key, waitpolicy.NoWait)))
			}
			edit(t, table, av.With(locktest.RecordKey(), av.Item{"pk": av.Str("bad")}), "SET ticketNumber = :n", nil, av.Item{":n": av.Num(number)})
			items := len(table.Items())
			for _, wait := range []waitpolicy.Wait{waitpolicy.NoWait, waitpolicy.For(time.Minute)} {
				_, one := a.Acquire(t.Context(), bad, wait)
				_, all := a.AcquireAll(t.Context(), []queuelock.Key{good, bad}, wait)
				for _, err := range []error{one, all} {
					locktest.Says(t, err, `serving record of "bad lock"`, "ticketNumber", number)
					if _, ok := errors.AsType[*queue.MalformedError](err); !ok {
						t.Errorf("%v", err)
					}
				}
			}
			lock := locktest.Must(a.Acquire(t.Context(), good, waitpolicy.NoWait))
			if n := lock.Ticket(); n.After(ticket.FromUint64(100)) > 0 {
				t.Errorf("the next ticket is %s", n)
			}
			locktest.Release(t, lock)
			hasItems(t, table, items)
		}, queuelocktest.WithLatency(4*time.Millisecond))
	}
	locktest.InTable(t, "RaisesACounterThatWasLostAfterYears", func(t *testing.T, table *queuelocktest.Table) {
		cfg := locktest.TenSeconds
		cfg.Scope = ticket.ScopeTable
		a, _ := locktest.Open(t, table, "a", cfg)
		const issued = 50 * 365 * 24 * 3600 * 10_000 // seconds of fifty years, times 10^4
		locktest.Write(t, table, av.With(locktest.RecordKey(), av.Item{"ticketNumber": av.Num(issued), "granted": av.Num(issued), "scope": av.Str("shared")}))
		lock := locktest.Acquire(t, a, waitpolicy.Forever)
		if lock.Ticket() != ticket.FromUint64(issued+1) {
			t.Errorf("ticket %s, want %d", lock.Ticket(), issued+1)
		}
		locktest.Release(t, lock)
	})
}

// filler is an attribute that brings an item to that many bytes, of the
// 409,600 that DynamoDB allows.
func filler(size int) av.Item {
	return av.Item{"filler": av.Str(strings.Repeat("x", size-len("filler")))}
}

// TestFullRecord checks that a record which another program has filled works for as long as the lock's own attributes fit.
// Else the error is the table's own, at once, and nothing is left behind.
func TestFullRecord(t *testing.T) {
	const limit = 400 << 10
	for _, c := range locktest.Some([]struct {
		name   string
		size   int
		served bool
	}{
		{"no room for a holder", limit - 120, false},
		{"300 KB", 300 << 10, true},
		{"a kilobyte left", limit - 1200, true},
	}) {
		locktest.InBubble(t, c.name, func(t *testing.T) {
			table := locktest.Watched(t)
			locktest.Write(t, table, av.With(locktest.RecordKey(), av.With(av.Item{"ticketNumber": av.Num(0), "granted": av.Num(0)}, filler(c.size))))
			a, b := locktest.Two(t, table, locktest.TenSeconds, "a", "b")
			lock, err := a.Acquire(t.Context(), locktest.Order, waitpolicy.Forever)
			if !c.served {
				locktest.Says(t, err, "UpdateItem", "size")
				if errors.Is(err, queuelock.ErrNotAcquired) || lock != nil {
					t.Errorf("%v", err)
				}
			} else {
				locktest.OK(t, err)
				waiting := locktest.QueueUp(t.Context(), b, waitpolicy.For(10*time.Minute))
				time.Sleep(locktest.TTL)
				locktest.Release(t, lock)
				locktest.Release(t, locktest.Lock(t, <-waiting))
			}
			time.Sleep(time.Second)
			items := table.Items()
			if len(items) != 1 || items[0]["holders"] != nil || len(av.Text(items[0]["filler"])) != c.size-6 {
				t.Errorf("%d items are left", len(items))
			}
		})
	}
	// The holder fits, and then another program fills the record: the waiters cannot
	// claim, and leave.
	locktest.InBubble(t, "filled while it is held", func(t *testing.T) {
		table := locktest.Watched(t)
		a, b := locktest.Two(t, table, locktest.TenSeconds, "a", "b")
		lock := locktest.Acquire(t, a, waitpolicy.Forever)
		waiting := locktest.QueueUp(t.Context(), b, waitpolicy.For(10*time.Minute))
		time.Sleep(2 * time.Second)
		edit(t, table, locktest.RecordKey(), "SET filler = :f", nil, av.Item{":f": filler(limit - 290)["filler"]})
		locktest.Release(t, lock)
		got := <-waiting
		locktest.Says(t, got.Err, "UpdateItem", "size")
		if took := got.At; errors.Is(got.Err, queuelock.ErrNotAcquired) || time.Since(took) > time.Second {
			t.Errorf("%v", got.Err)
		}
		time.Sleep(time.Second)
		hasItems(t, table, 1)
	})
}

// All entries of a record are one item: what its holders need together must stay
// within what an item may have and a partition gives.
func TestRecordSize(t *testing.T) {
	locktest.InTable(t, "RefusesPermitsThatCannotBeRenewed", func(t *testing.T, table *queuelocktest.Table) {
		a, db := locktest.Open(t, table, "a", queuelock.Config{})
		_, err := a.Acquire(t.Context(), locktest.Order, waitpolicy.NoWait, queuelock.Permits(500))
		locktest.Says(t, err, "Permits(500)", "HeartbeatInterval 30s", "write units a second", "at least 1m")
		locktest.SentNothing(t, db)
		locktest.Release(t, locktest.Acquire(t, a, waitpolicy.NoWait, queuelock.Permits(500), queuelock.WithTTL(5*time.Minute)))
	})
	locktest.InBubble(t, "BoundsDataByPermits", func(t *testing.T) {
		// The units that the heartbeats need are the narrower bound of both.
		n, ttl := locktest.Scaled(98, 40), locktest.Scaled(time.Minute, 10*time.Second)
		table := queuelocktest.NewTable(t)
		a, db := locktest.Open(t, table, "a", queuelock.Config{TTL: ttl})
		_, err := a.Acquire(t.Context(), locktest.Order, waitpolicy.NoWait, queuelock.Permits(n), queuelock.WithData(make([]byte, 4096)))
		locktest.Says(t, err, "WithData", "4096 bytes", "at most 1", "other holders")
		locktest.SentNothing(t, db)
		var held []*queuelock.Lock
		for range n {
			held = append(held, locktest.Acquire(t, a, waitpolicy.Forever, queuelock.Permits(n)))
		}
		for _, lock := range held {
			before := db.Counts()
			if err := lock.SetData(t.Context(), make([]byte, 1400)); err == nil || db.Counts().Sub(before)["UpdateItem"].Sent != 0 {
				t.Fatalf("%v: 1400 bytes were sent", err)
			}
			locktest.OK(t, lock.SetData(t.Context(), make([]byte, 1300)))
		}
		time.Sleep(ttl * 2 / 3) // each has renewed its lease
		for _, lock := range held {
			locktest.Release(t, lock)
		}
	})
	locktest.InTable(t, "BoundsDataOfReaders", func(t *testing.T, table *queuelocktest.Table) {
		a, _ := locktest.Open(t, table, "a", queuelock.Config{})
		_, err := a.Acquire(t.Context(), locktest.Order, waitpolicy.NoWait, queuelock.Shared(), queuelock.WithData(make([]byte, 257)))
		locktest.Says(t, err, "WithData", "257 bytes", "at most 256")
		lock := locktest.Acquire(t, a, waitpolicy.NoWait, queuelock.WithData(make([]byte, 4096)))
		locktest.OK(t, lock.Downgrade(t.Context()))
		locktest.Says(t, lock.SetData(t.Context(), make([]byte, 257)), "SetData", "257 bytes", "at most 256")
		locktest.Check(t, lock.SetData(t.Context(), make([]byte, 256)))
		locktest.Release(t, lock)
	})
	locktest.InTable(t, "AdmitsAsManyReadersAsCanBeRenewed", func(t *testing.T, table *queuelocktest.Table) {
		a, _ := locktest.Open(t, table, "a", queuelock.Config{TTL: time.Second, WaiterTTL: time.Minute})
		n := load.Holder{Owner: 1, Data: queue.MaxSharedData, Interval: time.Second / 2}.MaxHolders()
		if n < 10 || n > 100 {
			t.Fatalf("%d readers", n)
		}
		var held []*queuelock.Lock
		for range n {
			held = append(held, locktest.Acquire(t, a, waitpolicy.For(time.Minute), queuelock.Shared()))
		}
		for _, wait := range []waitpolicy.Wait{waitpolicy.NoWait, waitpolicy.For(time.Second)} {
			busy(t, released(a.Acquire(t.Context(), locktest.Order, wait, queuelock.Shared())))
		}
		locktest.Release(t, held[0])
		locktest.Release(t, locktest.Acquire(t, a, waitpolicy.For(time.Minute), queuelock.Shared()))
	})
}

// TestRecordSizeFormula checks that a record is no larger than the formula for its size
// says, with both marks, and with all that an entry can have.
func TestRecordSizeFormula(t *testing.T) {
	sizes, bounds := map[int]float64{}, map[int]float64{}
	for _, n := range []int{1, 20} {
		locktest.InBubble(t, fmt.Sprint("IsNoLessThanTheItem/", n), func(t *testing.T) {
			engine := embedded.New(embedded.Config{})
			table := queuelocktest.NewTable(t, queuelocktest.WithEngine(engine))
			load := load.Holder{Owner: 256, Data: 300, Interval: time.Duration(n) * time.Second}
			key := queuelock.Key{Entity: strings.Repeat("e", 200), Reason: strings.Repeat("r", 100)}
			a, _ := locktest.Open(t, table, "a", queuelock.Config{Owner: strings.Repeat("o", load.Owner)})
			b, _ := locktest.Open(t, table, "b", locktest.TenSeconds)
			options := []queuelock.AcquireOption{queuelock.Permits(n), queuelock.LockDelay(time.Hour), queuelock.WithData(make([]byte, load.Data))}
			locktest.Must(b.Acquire(t.Context(), key, waitpolicy.NoWait, queuelock.Permits(n))) // and evicted
			locktest.OK(t, b.Close(t.Context()))
			for i := range 2 * n {
				lock := locktest.Must(a.Acquire(t.Context(), key, waitpolicy.Forever, options...))
				locktest.OK(t, lock.Transact(t.Context(), locktest.Deposit(table, nil)))
				if i < n {
					locktest.OK(t, lock.Release(t.Context()))
				} else {
					locktest.OK(t, lock.SetData(t.Context(), make([]byte, load.Data)))
				}
			}
			time.Sleep(2 * time.Minute)
			kilobytes, _ := load.Units(n) // each holder writes the record once in n seconds
			bounds[n] = kilobytes * 1024
			for _, i := range engine.Items(table.Name()) {
				sizes[n] = max(sizes[n], float64(i.Size()))
			}
			if sizes[n] > bounds[n] {
				t.Errorf("the record has %v bytes, the formula says %v", sizes[n], bounds[n])
			}
		})
	}
	t.Run("GrowsNoLessThanTheItem", func(t *testing.T) {
		if grows, bound := sizes[20]-sizes[1], bounds[20]-bounds[1]; grows > bound {
			t.Errorf("nineteen more entries have %v bytes, the formula says %v", grows, bound)
		}
	})
}
