package queuelock_test

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/ticket"
	"github.com/queuelock/queuelock/waitpolicy"
)

// Rules of the protocol about the order of one client's own requests.

// reads counts a client's looks.
func reads(db *queuelocktest.Client) int {
	counts := db.Counts()
	return counts["Query"].Sent + counts["GetItem"].Sent
}

func TestOnlyTheFirstLookRunsBesideAnUnansweredEnqueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		holder, _ := open(t, table, "holder", queuelock.Config{})
		ahead, _ := open(t, table, "ahead", queuelock.Config{})
		held := acquire(t, holder, waitpolicy.Forever)
		first := queueUp(t.Context(), ahead, waitpolicy.Forever)
		time.Sleep(time.Second)
		c, db := open(t, table, "a", queuelock.Config{})
		row := db.Inject(queuelocktest.HoldRequest().Of("PutItem").LandingAnyway())
		second := queueUp(t.Context(), c, waitpolicy.Forever)
		<-row.Reached()
		time.Sleep(3 * time.Second)
		if n := reads(db); n != 1 {
			t.Errorf("%d looks beside an ENQUEUE that is not answered, want the first alone", n)
		}
		row.Release()
		time.Sleep(3 * time.Second)
		if n := reads(db); n < 2 {
			t.Errorf("%d looks after the answer", n)
		}
		release(t, held)
		for _, w := range []<-chan outcome{first, second} {
			got := <-w
			if got.err != nil {
				t.Fatal(got.err)
			}
			release(t, got.lock)
		}
	})
}

func TestAWaiterThatWasOvertakenAwaitsItsEnqueueBeforeItLooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := queuelock.Config{WaiterTTL: 10 * time.Second, RequestTimeout: 4 * time.Second}
		table := queuelocktest.NewTable(t)
		holder, _ := open(t, table, "holder", cfg)
		held := acquire(t, holder, waitpolicy.Forever)
		c, db := open(t, table, "stalled", cfg)
		waiting := queueUp(t.Context(), c, waitpolicy.Forever)
		time.Sleep(time.Second)
		next, _ := open(t, table, "next", cfg)
		overtaker := queueUp(t.Context(), next, waitpolicy.Forever)
		db.Partition()
		time.Sleep(2 * cfg.WaiterTTL)
		release(t, held)
		served := <-overtaker
		if served.err != nil {
			t.Fatal(served.err)
		}
		// Its new ticket is the fourth that is issued.
		row := db.Inject(queuelocktest.HoldRequest().Of("PutItem").On(order.Entity, "lock/"+ticket.FromUint64(4).Padded()).LandingAnyway())
		db.Heal()
		<-row.Reached()
		before := reads(db)
		time.Sleep(3 * time.Second) // the next in line looks once a second at the least
		if n := reads(db) - before; n != 0 {
			t.Errorf("%d looks before the new row stood", n)
		}
		row.Release()
		release(t, served.lock)
		if got := <-waiting; got.err != nil {
			t.Error(got.err)
		}
	})
}

// A heartbeat that was lost, and lands after a later one was confirmed, must
// not set the end of the lease back: others would evict the holder while it
// relies on the later one.
func TestALateHeartbeatDoesNotShortenALease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		a, db := open(t, table, "a", queuelock.Config{TTL: 10 * time.Second})
		b, _ := open(t, table, "b", queuelock.Config{TTL: 10 * time.Second})
		release(t, acquire(t, a, waitpolicy.Forever))
		lock := acquire(t, a, waitpolicy.Forever)
		// The renewal at 5s is lost, and lands at 12.5s; its retry is confirmed
		// at once, and those at about 7.5s are the last that get through.
		db.Inject(queuelocktest.LandLate(7500 * time.Millisecond).Of("UpdateItem").Mentioning("beat + 1").Times(1))
		time.Sleep(12 * time.Second)
		db.Inject(queuelocktest.SwallowRequest().Of("UpdateItem"))
		waiting := queueUp(t.Context(), b, waitpolicy.Forever)
		select {
		case got := <-waiting:
			if lock.Err() == nil {
				t.Fatalf("%+v was served beside a holder that relies on its lease", got)
			}
		case <-lock.Done():
		}
		if got := <-waiting; got.err != nil {
			t.Error(got.err)
		}
	})
}

// A waiter that stood still while its own grant ran out, and another was
// served, must count the other's lease from when it first read of it, not from
// its own last look: it would evict a live holder at once.
func TestAWaiterThatStoodStillDoesNotEvictWhoWasServedMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t, queuelocktest.WithLatency(2*time.Millisecond))
		cfg := queuelock.Config{TTL: 10 * time.Second, WaiterTTL: 10 * time.Second}
		holder, _ := open(t, table, "holder", cfg)
		held := acquire(t, holder, waitpolicy.Forever)
		var pause atomic.Int64
		db := table.Client("stalled")
		cfg.Owner = "stalled"
		c, err := queuelock.New(stalling{db.Client, func() time.Duration { return time.Duration(pause.Swap(0)) }}, table.Name(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		first := queueUp(t.Context(), c, waitpolicy.Forever)
		time.Sleep(time.Second)
		other, _ := open(t, table, "other", cfg)
		second := queueUp(t.Context(), other, waitpolicy.Forever)
		time.Sleep(time.Second)

		claim := db.Inject(queuelocktest.HoldResponse().Of("UpdateItem").Mentioning("granted = 2"))
		release(t, held)
		<-claim.Reached()
		pause.Store(int64(12 * time.Second)) // longer than its own lease
		claim.Release()
		got := <-second
		if got.err != nil {
			t.Fatal(got.err)
		}
		time.Sleep(5 * time.Second) // the one that stood still has woken up
		if err := got.lock.Err(); err != nil {
			t.Errorf("a live holder was evicted: %v", err)
		}
		if state := must(holder.Inspect(t.Context(), order)); len(state.Serving) != 1 || state.Serving[0].Ticket != got.lock.Ticket() {
			t.Errorf("serving %+v, want ticket %s", state.Serving, got.lock.Ticket())
		}
		release(t, got.lock)
		if got := <-first; got.err != nil {
			t.Error(got.err)
		}
		if err := c.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// A waiter whose row cannot be put must not keep those of its own process
// waiting whose rows stand: the whole queue stands back for them.
func TestAWaiterWithoutARowDoesNotHoldUpItsOwnProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t, queuelocktest.WithLatency(2*time.Millisecond))
		holder, _ := open(t, table, "holder", queuelock.Config{})
		held := acquire(t, holder, waitpolicy.Forever)
		c, db := open(t, table, "a", queuelock.Config{})
		stuck := db.Inject(queuelocktest.SwallowRequest().Of("PutItem").On(order.Entity, "lock/"+ticket.FromUint64(2).Padded()))
		first := queueUp(t.Context(), c, waitpolicy.Forever)
		<-stuck.Reached()
		second := queueUp(t.Context(), c, waitpolicy.Forever)
		time.Sleep(time.Second)
		release(t, held)
		begun := time.Now()
		got := <-second
		if took := got.at.Sub(begun); got.err != nil || took > 2*time.Second {
			t.Errorf("served after %v: %v", took, got.err)
		}
		stuck.Remove()
		release(t, got.lock)
		if got := <-first; got.err != nil {
			t.Error(got.err)
		}
	})
}
