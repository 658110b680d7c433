package acquire_test

import (
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
	next := locktest.Waiting(t, d.second, opts...)
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
	for name, test := range map[string]struct {
		opts  []queuelock.AcquireOption // of the holder
		slow  time.Duration             // a read
		back  bool                      // another waits
		after time.Duration             // the turn ends
		reads int
		named bool
	}{
		"NamesWaiterThatCameMeanwhile": {back: true, after: turn, reads: 1, named: true},
		"ReadsOnceInVain":              {after: time.Hour, reads: 1},
		"ReadsNothingInShortTurn":      {after: turn / 4},
		"ReadsNothingForClosedQueue":   {opts: []queuelock.AcquireOption{queuelock.HoldAtLeast(time.Hour)}, after: turn},
		"ReadsNothingOfSharedLock":     {opts: []queuelock.AcquireOption{queuelock.Shared()}, after: turn},
		"RowIsTooOld":                  {back: true, after: turn/2 + waitpolicy.NamedWithin + turn, reads: 1},
		"TableIsSlow":                  {back: true, slow: 2 * time.Second, after: turn, reads: 1}, // the release does not wait for the read
	} {
		locktest.InBubble(t, name, func(t *testing.T) {
			d := newDuel(t, test.opts...)
			var back <-chan locktest.Outcome
			if test.back {
				back = locktest.LockBy(t, d.first)
			}
			d.db.Inject(queuelocktest.DelayRequest(test.slow).Of("GetItem"))
			d.end(t, test.after, test.reads)
			if took := time.Since(d.began); took > test.after+10*locktest.RoundTrip {
				t.Errorf("the turn took %v", took)
			}
			if is := named(t, d.table) != nil; is != test.named {
				t.Errorf("the release has named a waiter: %t", is)
			}
			if test.back {
				locktest.Release(t, locktest.Lock(t, <-back))
			}
			if time.Sleep(time.Minute); test.reads == 0 && d.reads() > 0 {
				t.Error("it reads after its turn")
			}
		})
	}
	locktest.InBubble(t, "ReadsNothingAfterIdleLock", func(t *testing.T) {
		d := newDuel(t)
		locktest.Release(t, d.held)
		time.Sleep(time.Minute)
		if sent := locktest.Sent(d.table, func() {
			lock := locktest.Acquire(t, d.second, waitpolicy.Forever)
			time.Sleep(turn)
			locktest.Release(t, lock)
		}); sent != 2 {
			t.Errorf("%d requests, want acquire and release", sent)
		}
	})
	locktest.InBubble(t, "ReadsNothingBeforeOwnWaiter", func(t *testing.T) {
		d := newDuel(t)
		own := locktest.LockBy(t, d.second)
		time.Sleep(turn)
		if sent := d.db.Counts().Sub(d.before)["GetItem"].Sent; sent > 0 { // its waiter's looks are queries
			t.Errorf("%d reads", sent)
		}
		locktest.Release(t, d.held)
		locktest.Release(t, locktest.Lock(t, <-own))
	})
	locktest.InBubble(t, "ReadsInLastTurnOfBlock", func(t *testing.T) {
		d := newDuel(t)
		ahead := locktest.LockBy(t, d.first)
		time.Sleep(turn / 4)
		one, other := locktest.LockBy(t, d.second), locktest.LockBy(t, d.second)
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
		behind := locktest.LockBy(t, d.first)
		d.held, d.began, d.before = of, time.Now(), d.db.Counts()
		d.end(t, turn, 0)
		d.held, d.began = locktest.Lock(t, <-one), time.Now()
		d.end(t, turn, 1)
		if named(t, d.table) == nil {
			t.Error("the release has named no waiter")
		}
		locktest.Release(t, locktest.Lock(t, <-behind))
	})
}
