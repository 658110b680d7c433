package acquire_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/bells"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

const ms = time.Millisecond

// pair are two clients with bells, of which the second has just been granted the lock of the first by its bell.
type pair struct {
	hub    bells.Hub
	table  *queuelocktest.Table
	a, b   *queuelock.Client
	da, db *queuelocktest.Client
	held   *queuelock.Lock // by b
}

func newPair(t *testing.T, cfg queuelock.Config) *pair {
	p := &pair{table: queuelocktest.NewTable(t, queuelocktest.WithLatency(locktest.RoundTrip))}
	open := func(name string) (*queuelock.Client, *queuelocktest.Client) {
		cfg.Wake = p.hub.Client(name)
		return locktest.OpenMet(t, p.table, name, cfg)
	}
	p.a, p.da = open("a")
	p.b, p.db = open("b")
	held := locktest.Acquire(t, p.a, waitpolicy.Forever)
	next := locktest.QueueUp(t.Context(), p.b, waitpolicy.Forever)
	time.Sleep(time.Second)
	locktest.Release(t, held)
	got := locktest.Lock(t, <-next)
	p.held = got
	return p
}

// TestForgedBells checks that a million forged bells, or copies of their datagrams, cost a CLAIM, and otherwise not much more than
// polls.
func TestForgedBells(t *testing.T) {
	wait := func(forged int) (cost queuelocktest.Tally) { // of a waiter in a minute
		synctest.Test(t, func(t *testing.T) {
			p := newPair(t, queuelock.Config{})
			next := locktest.QueueUp(t.Context(), p.a, waitpolicy.Forever)
			time.Sleep(time.Second)
			before := p.da.Counts()
			for range 10_000 {
				for range forged / 10_000 {
					p.hub.Forge()
				}
				time.Sleep(6 * ms)
			}
			cost = p.da.Counts().Sub(before).Total()
			released := time.Now()
			locktest.Release(t, p.held)
			if got := <-next; got.Err != nil || time.Since(released) > 2*time.Second {
				t.Errorf("handed over after %v, %v", time.Since(released), got.Err)
			}
		})
		return cost
	}
	polls, flooded := wait(0), wait(1_000_000)
	t.Logf("%+v without, %+v with forged bells", polls, flooded)
	if flooded.WriteUnits > polls.WriteUnits+1 || flooded.Sent > polls.Sent+60 {
		t.Error("want at most a CLAIM and a look a second more")
	}
}

// TestFloodBehindOthers checks that forged bells cost a waiter behind others a few looks, however many there are: a bell says that it
// is next.
func TestFloodBehindOthers(t *testing.T) {
	const most = 60
	wait := func(flood bool) (cost queuelocktest.Tally) { // of the third in line in a minute
		synctest.Test(t, func(t *testing.T) {
			p := newPair(t, queuelock.Config{})
			ctx, cancel := context.WithCancel(t.Context())
			var waiting []<-chan locktest.Outcome
			var last *queuelocktest.Client
			for i := range 4 {
				client, db := locktest.OpenMet(t, p.table, fmt.Sprint(i), queuelock.Config{Wake: p.hub.Client(fmt.Sprint(i))})
				waiting, last = append(waiting, locktest.QueueUp(ctx, client, waitpolicy.Forever)), db
				time.Sleep(time.Second)
			}
			before := last.Counts()
			for range 30_000 {
				if flood {
					p.hub.Forge()
				}
				time.Sleep(2 * ms)
			}
			cost = last.Counts().Sub(before).Total()
			cancel()
			for _, w := range waiting {
				<-w
			}
			locktest.Release(t, p.held)
		})
		return cost
	}
	polls, flooded := wait(false), wait(true)
	t.Logf("%+v without, %+v with forged bells", polls, flooded)
	if flooded.Sent > polls.Sent+most || flooded.WriteUnits > polls.WriteUnits {
		t.Errorf("want at most %d looks more", most)
	}
}

// TestCrashWithBells checks that a crash is noticed when the lease ends, although the waiter expects to be rung.
func TestCrashWithBells(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPair(t, locktest.TenSeconds)
		next := locktest.QueueUp(t.Context(), p.a, waitpolicy.Forever)
		time.Sleep(time.Second)
		p.db.Partition()
		crashed := time.Now()
		if got := <-next; got.Err != nil || time.Since(crashed) > locktest.TTL+time.Second {
			t.Errorf("granted %v after the crash, %v", time.Since(crashed), got.Err)
		}
	})
}

// TestEarlyBell checks that a bell that is faster than its release costs little, and does not count as a false one.
func TestEarlyBell(t *testing.T) {
	locktest.InBubble(t, "IsFollowedAgainIfReleaseIsLate", func(t *testing.T) {
		p := newPair(t, queuelock.Config{})
		next := locktest.QueueUp(t.Context(), p.a, waitpolicy.Forever)
		time.Sleep(time.Second)
		p.db.Inject(queuelocktest.DelayRequest(15 * ms).Mentioning("released = ").Times(1))
		locktest.Release(t, p.held)
		released := time.Now()
		if got := <-next; got.Err != nil || time.Since(released) > 30*ms {
			t.Errorf("granted %v after the release, %v", time.Since(released), got.Err)
		}
	})
	locktest.InBubble(t, "IsSentAgainWithRelease", func(t *testing.T) {
		p := newPair(t, queuelock.Config{})
		next := locktest.QueueUp(t.Context(), p.a, waitpolicy.Forever)
		time.Sleep(time.Second)
		p.db.Inject(queuelocktest.LoseRequest().Mentioning("released = ").Times(1))
		locktest.Release(t, p.held)
		released := time.Now()
		if got := <-next; got.Err != nil || time.Since(released) > 3*locktest.RoundTrip { // a look may be under way
			t.Errorf("granted %v after the release, %v", time.Since(released), got.Err)
		}
	})
	t.Run("OfProcessThatCrashesCostsFewRequests", func(t *testing.T) {
		wait := func(bell bool) (cost queuelocktest.Tally) { // of a waiter in a second, long before the turn usually ends
			synctest.Test(t, func(t *testing.T) {
				p := newPair(t, queuelock.Config{})
				next := locktest.QueueUp(t.Context(), p.a, waitpolicy.Forever)
				time.Sleep(time.Second)
				before := p.da.Counts()
				if p.db.Partition(); bell {
					p.hub.Forge()
				}
				time.Sleep(time.Second)
				cost = p.da.Counts().Sub(before).Total()
				p.db.Heal()
				locktest.Release(t, p.held)
				<-next
			})
			return cost
		}
		without, with := wait(false), wait(true)
		if with.Sent > without.Sent+4 || with.WriteUnits > without.WriteUnits+1 {
			t.Errorf("%+v with a bell, %+v without: want at most a CLAIM and three looks more", with, without)
		}
	})
}
