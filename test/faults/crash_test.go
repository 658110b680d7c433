package faults_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

// What hurt other locks. The lessons on requests are in test/acquire.

// TestCrashedWaiters checks that any number of crashed waiters cost the waiters behind
// them one lease: that of the holder if it has crashed too, else a waiter's own, which is
// shorter. Redisson's fair lock made those behind dead waiters wait for each of them.
func TestCrashedWaiters(t *testing.T) {
	for name, most := range map[string]time.Duration{"HolderCrashesToo": locktest.TTL, "HolderReleases": locktest.TenSeconds.WaiterTTL} {
		locktest.InTable(t, name, func(t *testing.T, table *queuelocktest.Table) {
			holder, dbHolder := locktest.Open(t, table, "holder", locktest.TenSeconds)
			locktest.Release(t, locktest.Acquire(t, holder, waitpolicy.Forever))
			held := locktest.Acquire(t, holder, waitpolicy.Forever)
			ctx, cancel := context.WithCancel(t.Context())
			var dead []*queuelocktest.Client
			for i := range locktest.Scaled(40, 10) {
				c, db := locktest.Open(t, table, fmt.Sprint("dead-", i), locktest.TenSeconds)
				dead = append(dead, db)
				locktest.QueueUp(ctx, c, waitpolicy.Forever)
				time.Sleep(5 * time.Millisecond)
			}
			alive, _ := locktest.Open(t, table, "alive", locktest.TenSeconds)
			waiting := locktest.QueueUp(t.Context(), alive, waitpolicy.Forever)
			time.Sleep(3 * time.Second)
			for _, db := range dead {
				db.Partition()
			}
			died := time.Now()
			if name == "HolderReleases" {
				locktest.Release(t, held)
			} else {
				dbHolder.Partition()
			}
			got := <-waiting
			if took := got.At.Sub(died); got.Err != nil || took > most+1500*time.Millisecond {
				t.Errorf("served %v after 40 waiters had died (%v), want at most a lease of %v and 1.5s", took, got.Err, most)
			}
			if rows, _ := locktest.RowsAndHolders(t, alive); rows != 0 {
				t.Errorf("%d rows are left", rows)
			}
			cancel()
		}, queuelocktest.WithLatency(2*time.Millisecond))
	}
}

// TestCrashedHolder checks that a crashed holder is taken over without one more lease. Dynamolock and the Java client made
// a newcomer watch a dead holder for one more full lease. Without dates that is needed, and what the first request of a
// process leaves ends the same way.
func TestCrashedHolder(t *testing.T) {
	for _, arrives := range []time.Duration{0, time.Second, locktest.TTL / 2, locktest.TTL - time.Second, 2 * locktest.TTL} {
		for name, opts := range map[string][]queuelocktest.Option{"": nil, " without dates": {queuelocktest.WithoutDate()}} {
			for _, turns := range []int{0, 1} { // before the one in which it crashes
				locktest.InTable(t, fmt.Sprint("newcomer after ", arrives, ", turns before: ", turns, name), func(t *testing.T, table *queuelocktest.Table) {
					holder, db := locktest.Open(t, table, "holder", locktest.TenSeconds)
					for range turns {
						locktest.Release(t, locktest.Acquire(t, holder, waitpolicy.Forever))
					}
					locktest.Acquire(t, holder, waitpolicy.Forever)
					db.Partition()
					time.Sleep(arrives)
					newcomer, _ := locktest.Open(t, table, "newcomer", locktest.TenSeconds)
					begun, least, most := time.Now(), locktest.TTL-arrives-time.Second, max(0, locktest.TTL-arrives)
					if opts != nil {
						least, most = locktest.TTL, locktest.TTL
					}
					got := <-locktest.QueueUp(t.Context(), newcomer, waitpolicy.Forever)
					if took := got.At.Sub(begun); got.Err != nil || took < least || took > most+1500*time.Millisecond {
						t.Errorf("taken over after %v, want %v: %v", took, most, got.Err)
					}
				}, opts...)
			}
		}
	}
}

type trial func(*testing.T, *queuelock.Client) error

// job tries the lock once, as a new process, and reports whether it was granted.
func job(t *testing.T, table *queuelocktest.Table, try trial) (granted bool) {
	t.Helper()
	c, _ := locktest.Open(t, table, "job", locktest.TenSeconds)
	err := try(t, c)
	if err != nil && !errors.Is(err, queuelock.ErrNotAcquired) {
		t.Error(err)
	}
	locktest.Check(t, c.Close(t.Context()))
	return err == nil
}

// by returns a try with a wait, which releases the lock.
func by(wait waitpolicy.Wait, opts ...queuelock.AcquireOption) trial {
	return func(t *testing.T, c *queuelock.Client) error {
		return released(c.Acquire(t.Context(), locktest.Order, wait, opts...))
	}
}

// TestCrashAfterFirstTake checks that clients which give up early get past a process that
// crashed right after its first TAKE. None of them lives as long as its lease.
func TestCrashAfterFirstTake(t *testing.T) {
	sweeps := func(t *testing.T, c *queuelock.Client) error {
		swept, err := c.Operator().Sweep(t.Context(), locktest.Order)
		if err == nil && swept.Holders == 0 {
			err = queuelock.ErrNotAcquired
		}
		return err
	}
	all := func(t *testing.T, c *queuelock.Client) error {
		return released(c.AcquireAll(t.Context(), locktest.KeysOf(locktest.Order.Entity, "z"), waitpolicy.For(200*time.Millisecond)))
	}
	const holds = locktest.TTL
	for name, test := range map[string]struct {
		holders int                       // that crash; 0: one
		opts    []queuelock.AcquireOption // of the holders
		lease   time.Duration
		try     trial
	}{
		"NoWait":       {lease: holds, try: by(waitpolicy.NoWait)},
		"Attempts":     {lease: holds, try: by(waitpolicy.Attempts(2, 100*time.Millisecond))},
		"a short wait": {lease: holds, try: by(waitpolicy.For(300 * time.Millisecond))},
		"Sweep":        {lease: holds, try: sweeps},
		"AcquireAll":   {lease: holds, try: all},
		"lock delay":   {lease: holds + 3*time.Second, try: by(waitpolicy.NoWait), opts: []queuelock.AcquireOption{queuelock.LockDelay(3 * time.Second)}},
		"fails closed": {lease: 6 * time.Second, try: by(waitpolicy.NoWait), opts: []queuelock.AcquireOption{queuelock.FailClosed()}},
		"readers":      {holders: 3, lease: holds, try: by(waitpolicy.NoWait), opts: []queuelock.AcquireOption{queuelock.Shared()}},
		"permits":      {holders: 2, lease: holds, try: by(waitpolicy.NoWait, queuelock.Permits(2)), opts: []queuelock.AcquireOption{queuelock.Permits(2)}},
	} {
		locktest.InTable(t, name, func(t *testing.T, table *queuelocktest.Table) {
			seed, _ := locktest.Open(t, table, "seed", locktest.TenSeconds)
			for range max(1, test.holders) {
				crashes, db := locktest.Open(t, table, "crashes", locktest.TenSeconds)
				if name == "fails closed" {
					db.Inject(queuelocktest.LoseRequest().Mentioning("REMOVE holders")) // CONFIRM
					go func() { _, _ = crashes.Acquire(t.Context(), locktest.Order, waitpolicy.Forever, test.opts...) }()
					time.Sleep(10 * time.Millisecond)
				} else {
					locktest.Acquire(t, crashes, waitpolicy.For(time.Second), test.opts...)
				}
				db.Partition()
			}
			crashed := time.Now()
			for granted := false; !granted; time.Sleep(time.Second) {
				granted = job(t, table, test.try)
				switch after := time.Since(crashed); {
				case granted && after < test.lease:
					t.Fatalf("granted %v after the crash, before the lease of %v had ended", after, test.lease)
				case !granted && after > test.lease+2*time.Second+locktest.TakenOverWithin:
					t.Fatalf("refused %v after the crash, with a lease of %v\n%v", after, test.lease, locktest.Entries(table))
				}
			}
			_ = seed.Close(t.Context())
		}, queuelocktest.WithLatency(4*time.Millisecond))
	}
}

// TestDate checks that a process has its first lock although the read of DynamoDB's time
// fails, that the lease of that lock has an end, and that no read is made in vain.
func TestDate(t *testing.T) {
	refuses := func(code queuelocktest.Code) queuelocktest.Fault { return queuelocktest.Refuse(code).Of("GetItem") }
	for name, test := range map[string]struct {
		options []queuelocktest.Option
		fault   queuelocktest.Fault
		reads   int
		endless int // the first locks, which have no end
	}{
		"the request is lost": {fault: queuelocktest.LoseRequest().Of("GetItem").Times(2), reads: 3},
		"the answer is lost":  {fault: queuelocktest.LoseResponse().Of("GetItem").Times(1), reads: 2},
		"it never comes":      {fault: queuelocktest.SwallowResponse().Of("GetItem").Times(1), reads: 2},
		"twice":               {fault: queuelocktest.Duplicate(time.Second).Of("GetItem").Times(1), reads: 1},
		"access is denied":    {fault: refuses(queuelocktest.AccessDenied), reads: 1, endless: 1},
		"it is throttled":     {fault: refuses(queuelocktest.Throttling).Times(2), reads: 3},
		"it has no date":      {options: []queuelocktest.Option{queuelocktest.WithoutDate()}, fault: queuelocktest.DelayRequest(0).Of("GetItem"), reads: 1, endless: 3},
	} {
		for _, wait := range []waitpolicy.Wait{waitpolicy.NoWait, waitpolicy.Forever} {
			locktest.InTable(t, name+" "+wait.String(), func(t *testing.T, table *queuelocktest.Table) {
				c, db := locktest.Open(t, table, "first", locktest.TenSeconds)
				fault := db.Inject(test.fault)
				begun := time.Now()
				for i := range 3 {
					lock := locktest.Acquire(t, c, wait)
					if _, ends := locktest.Entries(table)[0]["until"]; ends != (i >= test.endless) {
						t.Errorf("lock %d has an end: %v", i, ends)
					}
					locktest.Release(t, lock)
				}
				if took := time.Since(begun); took > 3*time.Second {
					t.Errorf("it took %v", took)
				}
				if n := db.Counts()["GetItem"].Sent; n != test.reads || fault.Fired() == 0 {
					t.Errorf("%d reads, want %d; %d faults", n, test.reads, fault.Fired())
				}
			}, test.options...)
		}
	}
}

// TestWaitOverDuringRead checks that a wait that ends during the first read, which fails, is not followed by a try
// without waiting, as a wait is that was over before the first request.
func TestWaitOverDuringRead(t *testing.T) {
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		c, db := locktest.Open(t, table, "first", locktest.TenSeconds)
		db.Inject(queuelocktest.Refuse(queuelocktest.InternalError))
		begun := time.Now()
		_, err := c.Acquire(t.Context(), locktest.Order, waitpolicy.For(20*time.Millisecond))
		if took := time.Since(begun); err == nil || took > time.Second {
			t.Errorf("%v after %v", err, took)
		}
	}, queuelocktest.WithLatency(100*time.Millisecond))
}
