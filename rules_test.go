package queuelock_test

import (
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
