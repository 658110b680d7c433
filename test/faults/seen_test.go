package faults_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

type trial func(*testing.T, *queuelock.Client) error

// job tries the lock once, as a new process, and reports whether it was granted.
func job(t *testing.T, table *queuelocktest.Table, try trial, faults ...queuelocktest.Fault) (granted bool) {
	t.Helper()
	c, db := locktest.Open(t, table, "job", locktest.TenSeconds)
	for _, fault := range faults {
		db.Inject(fault)
	}
	err := try(t, c)
	if err != nil && !errors.Is(err, queuelock.ErrNotAcquired) {
		t.Error(err)
	}
	if closed := c.Close(t.Context()); closed != nil {
		t.Error(closed)
	}
	return err == nil
}

// by returns a try with a wait, which releases the lock.
func by(wait waitpolicy.Wait, opts ...queuelock.Option) trial {
	return func(t *testing.T, c *queuelock.Client) error {
		lock, err := c.Acquire(t.Context(), locktest.Order, wait, opts...)
		if err != nil {
			return err
		}
		return lock.Release(t.Context())
	}
}

// TestCrashAfterFirstTake checks that clients which give up early get past a process that
// crashed right after its first TAKE. Its entry has no end, and none of them lives as long
// as its lease.
func TestCrashAfterFirstTake(t *testing.T) {
	sweeps := func(t *testing.T, c *queuelock.Client) error {
		swept, err := c.Sweep(t.Context(), locktest.Order)
		if err == nil && swept.Holders == 0 {
			err = queuelock.ErrNotAcquired
		}
		return err
	}
	all := func(t *testing.T, c *queuelock.Client) error {
		locks, err := c.AcquireAll(t.Context(), locktest.KeysOf(locktest.Order.Entity, "z"), waitpolicy.For(200*time.Millisecond))
		if err != nil {
			return err
		}
		return locks.Release(t.Context())
	}
	const holds = locktest.TTL
	for name, test := range map[string]struct {
		holders int                // that crash; 0: one
		opts    []queuelock.Option // of the holders
		lease   time.Duration
		try     trial
		late    time.Duration // more than the usual
		faults  []queuelocktest.Fault
	}{
		"NoWait":             {lease: holds, try: by(waitpolicy.NoWait)},
		"Attempts":           {lease: holds, try: by(waitpolicy.Attempts(2, 100*time.Millisecond))},
		"a short wait":       {lease: holds, try: by(waitpolicy.For(300 * time.Millisecond))},
		"Sweep":              {lease: holds, try: sweeps},
		"AcquireAll":         {lease: holds, try: all},
		"lock delay":         {lease: holds + 3*time.Second, try: by(waitpolicy.NoWait), opts: []queuelock.Option{queuelock.LockDelay(3 * time.Second)}},
		"fails closed":       {lease: 6 * time.Second, try: by(waitpolicy.NoWait), opts: []queuelock.Option{queuelock.FailClosed()}},
		"readers":            {holders: 3, lease: holds, try: by(waitpolicy.NoWait), opts: []queuelock.Option{queuelock.Shared()}},
		"permits":            {holders: 2, lease: holds, try: by(waitpolicy.NoWait, queuelock.Permits(2)), opts: []queuelock.Option{queuelock.Permits(2)}},
		"twice":              {lease: holds, try: by(waitpolicy.NoWait), faults: []queuelocktest.Fault{queuelocktest.Duplicate(time.Second).Mentioning("seenBeat")}},
		"the answer is lost": {lease: holds, try: by(waitpolicy.NoWait), faults: []queuelocktest.Fault{queuelocktest.LoseResponse().Mentioning("seenBeat")}},
		"it comes late":      {lease: holds, try: by(waitpolicy.NoWait), faults: []queuelocktest.Fault{queuelocktest.DelayRequest(3 * time.Second).LandingAnyway().Mentioning("seenBeat")}},
		"most are lost": {
			lease: holds, late: 5 * time.Second, try: by(waitpolicy.NoWait),
			faults: []queuelocktest.Fault{queuelocktest.LoseRequest().WithProbability(0.7, 1).Mentioning("seenBeat")},
		},
	} {
		locktest.InBubble(t, name, func(t *testing.T) {
			table := queuelocktest.NewTable(t, queuelocktest.WithLatency(4*time.Millisecond))
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
			for i := 0; ; i++ {
				// The probability of a fault is drawn again for each job.
				faults := test.faults
				if name == "most are lost" {
					faults = []queuelocktest.Fault{queuelocktest.LoseRequest().WithProbability(0.7, uint64(i)).Mentioning("seenBeat")}
				}
				granted, after := job(t, table, test.try, faults...), time.Since(crashed)
				if granted && after < test.lease {
					t.Fatalf("granted %v after the crash, before the lease of %v had ended", after, test.lease)
				}
				if granted {
					break
				}
				if after > test.lease+test.late+2*time.Second+locktest.TakenOverWithin {
					t.Fatalf("refused %v after the crash, with a lease of %v\n%v", after, test.lease, locktest.Entries(table))
				}
				time.Sleep(time.Second)
			}
			_ = seed.Close(t.Context())
		})
	}
}

// dateless is an HTTP client behind a proxy that removes the dates of answers.
type dateless struct{ inner dynamodb.HTTPClient }

func (d dateless) Do(req *http.Request) (*http.Response, error) {
	resp, err := d.inner.Do(req)
	if err == nil {
		resp.Header.Del("Date")
	}
	return resp, err
}

func withoutDates(o *dynamodb.Options) { o.HTTPClient = dateless{o.HTTPClient} }

// TestLiveHolderSeen checks that no observation ends the lease of a holder that relies on
// it, however slow its heartbeats are, and whether it knows DynamoDB's time or not. Others
// try all the time, and each eviction comes after the holder has noticed its loss.
func TestLiveHolderSeen(t *testing.T) {
	for name, options := range map[string][]func(*dynamodb.Options){"with dates": nil, "without dates": {withoutDates}} {
		for seed := range uint64(12) {
			locktest.InBubble(t, fmt.Sprint(name, " ", seed), func(t *testing.T) {
				table := queuelocktest.NewTable(t, queuelocktest.WithLatency(4*time.Millisecond))
				db := table.Client("holder", options...)
				holder, err := queuelock.New(db, table.Name(), locktest.TenSeconds)
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = holder.Close(t.Context()) }()
				r := rand.New(rand.NewPCG(seed, 0))
				if seed > 3 { // otherwise its network works
					db.Inject(queuelocktest.LoseRequest().Mentioning("beat + 1").WithProbability(0.4, seed))
					db.Inject(queuelocktest.DelayRequest(time.Duration(1+r.IntN(4))*time.Second).Mentioning("beat + 1").WithProbability(0.6, seed+100))
					db.Inject(queuelocktest.LoseResponse().Mentioning("beat + 1").WithProbability(0.3, seed+200))
				}
				held := locktest.Acquire(t, holder, waitpolicy.NoWait)
				for begun := time.Now(); time.Since(begun) < 6*locktest.TTL; {
					if job(t, table, func(t *testing.T, c *queuelock.Client) error {
						lock, err := c.Acquire(t.Context(), locktest.Order, waitpolicy.NoWait)
						if err != nil {
							return err
						}
						if held.Err() == nil {
							t.Error("the lock was granted to another client, and its holder relies on its lease")
						}
						return lock.Release(t.Context())
					}) {
						if seed <= 3 {
							t.Error("the lock was lost on a network that works")
						}
						return
					}
					time.Sleep(time.Duration(r.IntN(2000)) * time.Millisecond)
				}
				db.Partition() // and it ends when the holder has crashed
				crashed := time.Now()
				for !job(t, table, by(waitpolicy.NoWait)) {
					if time.Since(crashed) > locktest.TTL+2*time.Second+locktest.TakenOverWithin {
						t.Fatalf("refused %v after the crash", time.Since(crashed))
					}
					time.Sleep(time.Second)
				}
			})
		}
	}
}

// TestPausedAtFirstTake checks that a process which is paused before or after its first
// request does not take the lock from a client that has ended its lease meanwhile.
func TestPausedAtFirstTake(t *testing.T) {
	for name, pauses := range map[string][]time.Duration{"before": {time.Hour}, "after": {0, time.Hour}} {
		locktest.InBubble(t, name, func(t *testing.T) {
			table := queuelocktest.NewTable(t)
			late, err := queuelock.New(locktest.Stalling{Client: table.Client("late").Client, Pause: func() (pause time.Duration) {
				if len(pauses) > 0 {
					pause, pauses = pauses[0], pauses[1:]
				}
				return pause
			}}, table.Name(), locktest.TenSeconds)
			if err != nil {
				t.Fatal(err)
			}
			begun := time.Now()
			paused := locktest.QueueUp(t.Context(), late, waitpolicy.Forever)
			time.Sleep(time.Second)
			for time.Since(begun) < 30*time.Second {
				job(t, table, by(waitpolicy.NoWait))
				time.Sleep(time.Second)
			}
			other, _ := locktest.Open(t, table, "other", locktest.TenSeconds)
			held := locktest.Acquire(t, other, waitpolicy.NoWait)
			time.Sleep(time.Until(begun.Add(time.Hour + time.Minute)))
			locktest.StillWaits(t, "the paused process", paused)
			locktest.Release(t, held)
			got := locktest.Within(t, "the paused process", 2*time.Second, paused)
			if got.Err != nil {
				t.Fatal(got.Err)
			}
			lock := got.Lock
			if err := other.Close(t.Context()); err != nil {
				t.Error(err)
			}
			time.Sleep(time.Minute)
			if lock.Err() != nil {
				t.Error(lock.Err())
			}
			locktest.Release(t, lock)
			if err := late.Close(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}
