package acquire_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

// duel is a lock that two clients want alone, and whose turns take a second. The one that holds it was granted it after a wait,
// without a look that could show the row of the other.
type duel struct {
	table  *queuelocktest.Table
	first  *queuelock.Client // had the lock before
	second *queuelock.Client // holds it
	db     *queuelocktest.Client
	held   *queuelock.Lock
	began  time.Time            // its turn
	before queuelocktest.Counts // of the holder, until then
}

func newDuel(t *testing.T, opts ...queuelock.AcquireOption) *duel {
	t.Helper()
	d := &duel{table: queuelocktest.NewTable(t, queuelocktest.WithLatency(locktest.RoundTrip))}
	d.first, _ = locktest.OpenMet(t, d.table, "first", queuelock.Config{})
	d.second, d.db = locktest.OpenMet(t, d.table, "second", queuelock.Config{Block: 64})
	for range 8 {
		lock := locktest.Acquire(t, d.first, waitpolicy.Forever)
		time.Sleep(time.Second)
		locktest.Release(t, lock)
	}
	lock := locktest.Acquire(t, d.first, waitpolicy.Forever)
	next := locktest.QueueUp(t.Context(), d.second, waitpolicy.Forever, opts...)
	time.Sleep(time.Second)
	locktest.Release(t, lock)
	d.held, d.began, d.before = locktest.Lock(t, <-next), time.Now(), d.db.Counts()
	return d
}

// reads returns how often the holder has read since its turn began.
func (d *duel) reads() int {
	sent := d.db.Counts().Sub(d.before)
	return sent["GetItem"].Sent + sent["Query"].Sent
}

// end ends the turn after that time, and checks how often the holder has read.
func (d *duel) end(t *testing.T, after time.Duration, reads int) {
	t.Helper()
	time.Sleep(time.Until(d.began.Add(after)))
	locktest.Release(t, d.held)
	if got := d.reads(); got != reads {
		t.Errorf("%d reads, want %d", got, reads)
	}
}

// TestForeseen checks when a holder reads the next row during its turn, and what becomes of the lock then.
func TestForeseen(t *testing.T) {
	const turn = time.Second
	locktest.InBubble(t, "NamesWaiterThatCameMeanwhile", func(t *testing.T) {
		d := newDuel(t)
		back := locktest.QueueUp(t.Context(), d.first, waitpolicy.Forever)
		d.end(t, turn, 1)
		if named(t, d.table) == nil {
			t.Error("the release has named no waiter")
		}
		locktest.Release(t, locktest.Lock(t, <-back))
	})
	locktest.InBubble(t, "ReadsOnceInVain", func(t *testing.T) {
		newDuel(t).end(t, time.Hour, 1)
	})
	locktest.InBubble(t, "ReadsNothingInShortTurn", func(t *testing.T) {
		d := newDuel(t)
		d.end(t, turn/4, 0)
		time.Sleep(time.Minute)
		if d.reads() > 0 {
			t.Error("it reads after its turn")
		}
	})
	locktest.InBubble(t, "ReadsNothingAfterIdleLock", func(t *testing.T) {
		d := newDuel(t)
		locktest.Release(t, d.held)
		time.Sleep(time.Minute)
		for range 3 {
			if sent := locktest.Sent(d.table, func() {
				lock := locktest.Acquire(t, d.second, waitpolicy.Forever)
				time.Sleep(turn)
				locktest.Release(t, lock)
			}); sent != 2 {
				t.Errorf("%d requests, want acquire and release", sent)
			}
		}
	})
	locktest.InBubble(t, "ReadsNothingBeforeOwnWaiter", func(t *testing.T) {
		d := newDuel(t)
		own := locktest.QueueUp(t.Context(), d.second, waitpolicy.Forever)
		time.Sleep(turn)
		if sent := d.db.Counts().Sub(d.before)["GetItem"].Sent; sent > 0 { // its waiter's looks are queries
			t.Errorf("%d reads", sent)
		}
		locktest.Release(t, d.held)
		locktest.Release(t, locktest.Lock(t, <-own))
	})
	locktest.InBubble(t, "ReadsNothingForClosedQueue", func(t *testing.T) {
		newDuel(t, queuelock.HoldAtLeast(time.Hour)).end(t, turn, 0)
	})
	locktest.InBubble(t, "ReadsNothingOfSharedLock", func(t *testing.T) {
		newDuel(t, queuelock.Shared()).end(t, turn, 0)
	})
	locktest.InBubble(t, "ReadsNothingAfterLoss", func(t *testing.T) {
		d := newDuel(t)
		locktest.OperatorTakes(t, d.table)
		if err := d.held.Extend(t.Context()); !errors.Is(err, queuelock.ErrLost) {
			t.Error(err)
		}
		time.Sleep(turn)
		if d.reads() > 0 {
			t.Error("it reads after its turn")
		}
	})
	locktest.InBubble(t, "ReadsInLastTurnOfBlock", func(t *testing.T) {
		d := newDuel(t)
		ahead := locktest.QueueUp(t.Context(), d.first, waitpolicy.Forever)
		time.Sleep(turn / 4)
		one, other := locktest.QueueUp(t.Context(), d.second, waitpolicy.Forever), locktest.QueueUp(t.Context(), d.second, waitpolicy.Forever)
		time.Sleep(turn / 4)
		locktest.Release(t, d.held)
		held := locktest.Lock(t, <-ahead)
		time.Sleep(turn)
		locktest.Release(t, held)
		var of *queuelock.Lock
		select {
		case got := <-one:
			of, one = got.Lock, other
		case got := <-other:
			of = got.Lock
		}
		behind := locktest.QueueUp(t.Context(), d.first, waitpolicy.Forever)
		d.held, d.began, d.before = of, time.Now(), d.db.Counts()
		d.end(t, turn, 0)
		d.held, d.began = locktest.Lock(t, <-one), time.Now()
		d.end(t, turn, 1)
		if named(t, d.table) == nil {
			t.Error("the release has named no waiter")
		}
		locktest.Release(t, locktest.Lock(t, <-behind))
	})
	locktest.InBubble(t, "WaiterHasLeft", func(t *testing.T) {
		d := newDuel(t)
		ctx, cancel := context.WithCancel(t.Context())
		left := locktest.QueueUp(ctx, d.first, waitpolicy.Forever)
		time.Sleep(turn / 4)
		third, _ := locktest.OpenMet(t, d.table, "third", queuelock.Config{})
		next := locktest.QueueUp(t.Context(), third, waitpolicy.Forever)
		time.Sleep(time.Until(d.began.Add(turn * 9 / 10)))
		cancel()
		<-left
		d.end(t, turn, 1)
		ended := time.Now()
		if named(t, d.table) == nil {
			t.Error("the release has named no waiter")
		}
		if got := <-next; got.Err != nil || got.At.Sub(ended) > turn/2 {
			t.Errorf("the waiter behind was granted %v after the release (%v)", got.At.Sub(ended), got.Err)
		}
	})
	locktest.InBubble(t, "RowIsTooOld", func(t *testing.T) {
		d := newDuel(t)
		back := locktest.QueueUp(t.Context(), d.first, waitpolicy.Forever)
		d.end(t, turn/2+waitpolicy.NamedWithin+turn, 1)
		if named(t, d.table) != nil {
			t.Error("the release has named a waiter whose row was read long before")
		}
		locktest.Release(t, locktest.Lock(t, <-back))
	})
	locktest.InBubble(t, "TableIsSlow", func(t *testing.T) { // the release does not wait for the read
		d := newDuel(t)
		back := locktest.QueueUp(t.Context(), d.first, waitpolicy.Forever)
		d.db.Inject(queuelocktest.DelayRequest(2 * time.Second).Of("GetItem"))
		released := time.Now()
		d.end(t, turn, 1)
		if took := time.Since(released); took > turn+10*locktest.RoundTrip {
			t.Errorf("the turn took %v", took)
		}
		locktest.Release(t, locktest.Lock(t, <-back))
	})
}
