package acquire_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/hints"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
	"github.com/queuelock/queuelock/wake"
)

const ms = time.Millisecond

// TestLostHints checks that without hints that arrive all is as without hints.
func TestLostHints(t *testing.T) {
	t.Run("All", func(t *testing.T) {
		hub := &hints.Hub{Fate: func(string, string, int64) []time.Duration { return nil }}
		got := contest{contenders: 8, cycles: 6, hold: always(50 * ms), hub: hub}.run(t)
		t.Log(got)
		if write, read := got.units(); got.mean() > 14*ms || got.p99() > 80*ms || write > 8 || read > 14 {
			t.Error("want at most the times and costs of TestHandOver")
		}
		if hub.Sent() == 0 {
			t.Error("no hint was sent")
		}
	})
	t.Run("AfterSomeArrived", func(t *testing.T) {
		var sent atomic.Int64
		got := contest{contenders: 2, cycles: 12, hold: always(time.Second), hub: &hints.Hub{
			Fate: func(string, string, int64) []time.Duration {
				if sent.Add(1) > 12 {
					return nil
				}
				return []time.Duration{ms}
			},
		}}.run(t)
		t.Log(got)
		if late := got.handOvers[len(got.handOvers)-12:]; got.p99() > 270*ms || late[len(late)-1] > 100*ms {
			t.Errorf("the last hand-overs took %v, want at most a quarter of a turn, and then polls", late)
		}
	})
}

// pair are two clients with hints, of which the second has just been granted the lock of the first by a hint.
type pair struct {
	hub    hints.Hub
	table  *queuelocktest.Table
	a, b   *queuelock.Client
	da, db *queuelocktest.Client
	held   *queuelock.Lock // by b
}

func newPair(t *testing.T, cfg queuelock.Config) *pair {
	return newPairOf(t, cfg, hinted)
}

// hinted is a client that sends and receives hints, and rung one that rings and is rung.
func hinted(hub *hints.Hub, name string) wake.Hints { return hub.Client(name) }
func rung(hub *hints.Hub, name string) wake.Hints   { return hub.Far(name) }

func newPairOf(t *testing.T, cfg queuelock.Config, kind func(*hints.Hub, string) wake.Hints) *pair {
	p := &pair{table: queuelocktest.NewTable(t, queuelocktest.WithLatency(roundTrip))}
	open := func(name string) (*queuelock.Client, *queuelocktest.Client) {
		cfg.Wake = kind(&p.hub, name)
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

// TestForgedHints checks that a million forged hints, or copies of a bell's datagram, cost a CLAIM, and otherwise not much more
// than polls.
func TestForgedHints(t *testing.T) {
	t.Run("Hints", func(t *testing.T) { testForged(t, hinted) })
	t.Run("Bells", func(t *testing.T) { testForged(t, rung) })
}

func testForged(t *testing.T, kind func(*hints.Hub, string) wake.Hints) {
	wait := func(forged int) (cost queuelocktest.Tally) { // of a waiter in a minute
		synctest.Test(t, func(t *testing.T) {
			p := newPairOf(t, queuelock.Config{}, kind)
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
	t.Logf("%+v without, %+v with forged hints", polls, flooded)
	if flooded.WriteUnits > polls.WriteUnits+1 || flooded.Sent > polls.Sent+60 {
		t.Error("want at most a CLAIM and a look a second more")
	}
}

// TestFloodBehindOthers checks that forged hints cost a waiter behind others a few looks, however many there are. A bell says
// that it is next, so it costs looks, as the next in line's do.
func TestFloodBehindOthers(t *testing.T) {
	t.Run("Hints", func(t *testing.T) { testFlood(t, hinted, 8) })
	t.Run("Bells", func(t *testing.T) { testFlood(t, rung, 60) })
}

func testFlood(t *testing.T, kind func(*hints.Hub, string) wake.Hints, most int) {
	wait := func(flood bool) (cost queuelocktest.Tally) { // of the third in line in a minute
		synctest.Test(t, func(t *testing.T) {
			p := newPairOf(t, queuelock.Config{}, kind)
			ctx, cancel := context.WithCancel(t.Context())
			var waiting []<-chan locktest.Outcome
			var last *queuelocktest.Client
			for i := range 4 {
				client, db := locktest.OpenMet(t, p.table, fmt.Sprint(i), queuelock.Config{Wake: kind(&p.hub, fmt.Sprint(i))})
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
	t.Logf("%+v without, %+v with forged hints", polls, flooded)
	if flooded.Sent > polls.Sent+most || flooded.WriteUnits > polls.WriteUnits {
		t.Errorf("want at most %d looks more", most)
	}
}

// TestCrashWithHints checks that a crash is noticed when the lease ends, although the waiter expects a hint.
func TestCrashWithHints(t *testing.T) {
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

// TestNoHintWithoutWaiters checks that a release of a lock that was idle sends no hint if no client waits.
func TestNoHintWithoutWaiters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPair(t, queuelock.Config{})
		locktest.Release(t, p.held)
		time.Sleep(time.Second) // RESET
		sent := p.hub.Sent()
		locktest.Release(t, locktest.Acquire(t, p.a, waitpolicy.NoWait))
		if n := p.hub.Sent() - sent; sent == 0 || n > 0 {
			t.Errorf("%d hints without waiters, %d before", n, sent)
		}
	})
}

// TestEarlyHint checks that a hint that is faster than its release costs little, and does not count as a false one.
func TestEarlyHint(t *testing.T) {
	t.Run("IsFollowedLaterNextTime", func(t *testing.T) {
		for _, contenders := range locktest.Some([]int{2, 8}) { // a CLAIM or a look follows the hint
			got := contest{
				contenders: contenders, cycles: 24, hold: always(200 * ms), hub: new(hints.Hub), warm: 2 * contenders,
				slow: func(db *queuelocktest.Client) {
					db.Inject(queuelocktest.DelayRequest(3 * ms).Mentioning("released = "))
				},
			}.run(t)
			t.Log(got)
			if write, read := got.units(); got.mean() > 4*ms || write > 5.5 || read > 5 {
				t.Error("want at most 4 ms, 5.5 write and 5 read units")
			}
		}
	})
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
		if got := <-next; got.Err != nil || time.Since(released) > 3*roundTrip { // a look may be under way
			t.Errorf("granted %v after the release, %v", time.Since(released), got.Err)
		}
	})
	t.Run("OfProcessThatCrashesCostsFewRequests", func(t *testing.T) {
		wait := func(hint bool) (cost queuelocktest.Tally) { // of a waiter in a second, long before the turn usually ends
			synctest.Test(t, func(t *testing.T) {
				p := newPair(t, queuelock.Config{})
				next := locktest.QueueUp(t.Context(), p.a, waitpolicy.Forever)
				time.Sleep(time.Second)
				before := p.da.Counts()
				if p.db.Partition(); hint {
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
			t.Errorf("%+v with a hint, %+v without: want at most a CLAIM and three looks more", with, without)
		}
	})
}

// deaf are hints that cannot be received.
type deaf struct{}

func (deaf) Send(wake.Digest) {}

func (deaf) Listen(func(wake.Digest)) (func(), error) {
	return func() {}, errors.New("the address is in use")
}

// TestNoListener checks that hints that cannot be received are logged once, and change nothing else.
func TestNoListener(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		table := queuelocktest.NewTable(t)
		a, _ := locktest.Open(t, table, "a", queuelock.Config{})
		b, _ := locktest.Open(t, table, "b", queuelock.Config{Wake: deaf{}, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		for range 2 {
			held := locktest.Acquire(t, a, waitpolicy.Forever)
			next := locktest.QueueUp(t.Context(), b, waitpolicy.Forever)
			time.Sleep(time.Second)
			locktest.Release(t, held)
			locktest.Release(t, locktest.Lock(t, <-next))
		}
		locktest.OK(t, b.Close(t.Context()))
		if n := strings.Count(log.String(), "hints cannot be received"); n != 1 || !strings.Contains(log.String(), "in use") {
			t.Errorf("logged %d times:\n%s", n, log.String())
		}
	})
}
