package play_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/bells"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/ticket"
	"github.com/queuelock/queuelock/waitpolicy"
)

// TestReleaseEnds checks that a release at a table that does not answer ends a request's time after its caller's context, that another
// one succeeds, and that its error says what ends the lock.
func TestReleaseEnds(t *testing.T) {
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		c, db := locktest.Open(t, table, "c", queuelock.Config{})
		lock := locktest.Acquire(t, c, waitpolicy.Forever)
		db.Partition()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begun := time.Now()
		if err := lock.Release(ctx); err == nil || time.Since(begun) > 7*time.Second {
			t.Errorf("after %v: %v", time.Since(begun), err)
		}
		locktest.Is(t, lock.Err(), queuelock.ErrReleased)
		db.Heal()
		locktest.OK(t, lock.Release(t.Context()))
	}, queuelocktest.WithLatency(2*time.Millisecond))
}

// TestManyGiveUp lets 2,000 callers give up at once, with -short 200: each hears of it within a second, and nothing is left.
func TestManyGiveUp(t *testing.T) {
	n := 2000
	if testing.Short() {
		n = 200
	}
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		holder, _ := locktest.Open(t, table, "holder", queuelock.Config{})
		c, _ := locktest.Open(t, table, "c", queuelock.Config{})
		held := locktest.Acquire(t, holder, waitpolicy.Forever)
		ctx, cancel := context.WithCancel(t.Context())
		var all []<-chan locktest.Outcome
		for range n {
			all = append(all, locktest.QueueUp(ctx, c, waitpolicy.Forever))
		}
		time.Sleep(10 * time.Second)
		cancel()
		for _, one := range all {
			locktest.Is(t, locktest.Within(t, "a caller", time.Second, one).Err, queuelock.ErrNotAcquired)
		}
		locktest.Release(t, held)
		if rows, holders := locktest.RowsAndHolders(t, holder); rows+holders > 0 {
			t.Errorf("%d rows and %d holders are left", rows, holders)
		}
	}, queuelocktest.WithLatency(2*time.Millisecond))
}

// TestReadsForBells checks that a holder which does not know the next row reads it for its bell once beside a release that is repeated,
// and not beside each attempt: the SDK repeats the read as well. Once the release has had an answer, the next waiter is rung.
func TestReadsForBells(t *testing.T) {
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		var hub bells.Hub
		client := func(name string) (*queuelock.Client, *queuelocktest.Client) {
			return locktest.OpenMet(t, table, name, queuelock.Config{Wake: hub.Client(name)})
		}
		first, _ := client("first")
		second, db := client("second")
		third, _ := client("third")
		held := locktest.Acquire(t, first, waitpolicy.Forever)
		next := locktest.LockBy(t, second)
		time.Sleep(10 * time.Second)
		locktest.Release(t, held)
		held = locktest.Lock(t, <-next) // by CLAIM: others may wait
		last := locktest.LockBy(t, third)
		time.Sleep(time.Second)
		db.Partition()
		before, rung := db.Counts(), len(hub.Rung())
		released := make(chan error, 1)
		go func() { released <- held.Release(t.Context()) }()
		time.Sleep(2 * time.Second)
		sent := db.Counts().Sub(before)
		if reads, writes := sent["GetItem"].Sent, sent["UpdateItem"].Sent; reads > 4 || writes < 5 || len(hub.Rung()) > rung {
			t.Errorf("%d reads beside %d attempts of the release, rung %v", reads, writes, hub.Rung()[rung:])
		}
		db.Heal()
		locktest.OK(t, <-released)
		begun := time.Now()
		locktest.Release(t, locktest.Lock(t, <-last))
		if took := time.Since(begun); took > 20*time.Millisecond || len(hub.Rung()) != rung+1 {
			t.Errorf("the next waiter had its turn after %v, rung %v", took, hub.Rung()[rung:])
		}
	}, queuelocktest.WithLatency(2*time.Millisecond))
}

// TestReadsNoRow checks that a release reads a row for its bell only if the next ticket is of its queue, and for an exclusive holder.
func TestReadsNoRow(t *testing.T) {
	for name, test := range map[string]struct {
		scope ticket.Scope
		opt   queuelock.AcquireOption
		reads int
	}{
		"Exclusive": {opt: queuelock.LockDelay(0), reads: 1},
		"Shared":    {opt: queuelock.Shared()},
		"Permits":   {opt: queuelock.Permits(2)},
		"Table":     {scope: ticket.ScopeTable, opt: queuelock.LockDelay(0)},
	} {
		locktest.InTable(t, name, func(t *testing.T, table *queuelocktest.Table) {
			var hub bells.Hub
			c, db := locktest.OpenMet(t, table, "c", queuelock.Config{Wake: hub.Client("c"), Scope: test.scope})
			other, _ := locktest.OpenMet(t, table, "other", queuelock.Config{Wake: hub.Client("other"), Scope: test.scope})
			first := locktest.Acquire(t, other, waitpolicy.Forever, test.opt)
			if name == "Shared" || name == "Permits" { // which has room: a second one is granted it beside the first
				defer locktest.Release(t, first)
			} else {
				time.AfterFunc(10*time.Second, func() { locktest.Release(t, first) })
			}
			held := locktest.Acquire(t, c, waitpolicy.Forever, test.opt) // by CLAIM: others may wait
			before := db.Counts()
			locktest.Release(t, held)
			time.Sleep(time.Second)
			if sent := db.Counts().Sub(before); sent["GetItem"].Sent != test.reads {
				t.Errorf("%d reads, want %d", sent["GetItem"].Sent, test.reads)
			}
		}, queuelocktest.WithLatency(2*time.Millisecond))
	}
}

// TestLogsWhatStays checks that ids which a wait could not remove are logged, if a lease ends them. So does that of a grant which fails
// closed, before it is confirmed.
func TestLogsWhatStays(t *testing.T) {
	for name, opts := range map[string][]queuelock.AcquireOption{"Leased": nil, "FailClosed": {queuelock.FailClosed()}} {
		locktest.InTable(t, name, func(t *testing.T, table *queuelocktest.Table) {
			var log locktest.Journal
			c, db := locktest.OpenMet(t, table, "c", queuelock.Config{Logger: log.Logger()})
			db.Inject(queuelocktest.LoseResponse().Of("UpdateItem").Times(1)) // of TAKE
			time.AfterFunc(10*time.Millisecond, db.Partition)
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			_, err := c.Acquire(ctx, locktest.Order, waitpolicy.Forever, opts...)
			locktest.Is(t, err, queuelock.ErrUnavailable)
			synctest.Wait() // a goroutine logs
			if n := log.Count("could not be removed; their lease will end them"); n != 1 {
				t.Errorf("it was logged %d times", n)
			}
		}, queuelocktest.WithLatency(2*time.Millisecond))
	}
}

// TestFirstLeavesDuringLook checks that the others of a block go on with the answer to a look whose caller has left.
func TestFirstLeavesDuringLook(t *testing.T) {
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		holder, _ := locktest.Open(t, table, "holder", queuelock.Config{})
		c, db := locktest.OpenMet(t, table, "c", queuelock.Config{Block: 64})
		held := locktest.Acquire(t, holder, waitpolicy.Forever)
		early, leaveEarly := context.WithCancel(t.Context())
		first, leaveFirst := context.WithCancel(t.Context())
		defer leaveFirst()
		alone := locktest.QueueUp(early, c, waitpolicy.Forever)
		time.Sleep(time.Microsecond)
		locktest.QueueUp(first, c, waitpolicy.Forever)
		time.Sleep(time.Microsecond)
		second := locktest.LockBy(t, c)
		time.Sleep(time.Second)
		leaveEarly()
		<-alone
		time.Sleep(time.Second)
		look := db.Inject(queuelocktest.DelayResponse(500 * time.Millisecond).Of("Query"))
		for look.Fired() == 0 {
			time.Sleep(time.Millisecond)
		}
		leaveFirst()
		look.Remove()
		locktest.Release(t, held)
		locktest.Release(t, locktest.Within(t, "the second of the block", 5*time.Second, second).Lock)
	}, queuelocktest.WithLatency(20*time.Millisecond))
}
