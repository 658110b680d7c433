package acquire_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/av"
	"github.com/queuelock/queuelock/internal/testbed/bells"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
	"github.com/queuelock/queuelock/wake"
)

// TestRungHandOver bounds the hand-over between hosts that learn of each other by their rows alone, from the call of Release to
// the next grant, in round trips. With three contenders or more, holders have mostly read the row of the next waiter before their
// turn. Of two, the holder reads it during its turn.
func TestRungHandOver(t *testing.T) {
	long, short := locktest.Scaled(96, 32), locktest.Scaled(480, 160) // a look under way delays some, so a mean needs many
	type measured struct {
		name        string
		contenders  int
		cycles      int
		hold        func(*rand.Rand) time.Duration
		trips       float64
		write, read float64
	}
	for _, test := range locktest.Some([]measured{
		{"3Of50ms", 3, short, always(50 * ms), 1.2, 4.5, 4.5},
		{"8Of5ms", 8, short, always(5 * ms), 1.2, 4.8, 4.5},
		{"32Of5ms", 32, short, always(5 * ms), 1.2, 4.5, 7.5},
		{"8Of50ms", 8, short, always(50 * ms), 1.2, 4.5, 5.5},
		{"32Of50ms", 32, short, always(50 * ms), 1.2, 4.5, 9},
		{"2Of50ms", 2, short, always(50 * ms), 1.35, 4.5, 3.5}, // the first look falls into the bell of some turns
		{"2Of200ms", 2, short, always(200 * ms), 1.2, 4.5, 3.5},
		{"2Of1s", 2, long, always(time.Second), 1.2, 4.5, 3.5},
		{"2Of10s", 2, long, always(10 * time.Second), 1.2, 6.5, 2.5}, // too long for a grant by name
		{"3Of1s", 3, long, always(time.Second), 1.2, 4.5, 5},
		{"3Of3s", 3, long, always(3 * time.Second), 1.2, 5.5, 3.5},
		{"8Of1s", 8, long, always(time.Second), 1.2, 5.5, 6},
		{"32Of1s", 32, long, always(time.Second), 1.2, 8.5, 9},
		{"8Of1sAtRandom", 8, long, exponential(time.Second), 1.2, 5.5, 10},
		{"4Of60s", 4, long, always(time.Minute), 1.2, 35, 14}, // a bell that is lost costs 15 s at most
	}) {
		t.Run(test.name, func(t *testing.T) {
			got := contest{
				contenders: test.contenders, cycles: max(6, test.cycles/test.contenders), hold: test.hold,
				hub: new(bells.Hub), warm: 2 * test.contenders,
			}.run(t)
			var sum time.Duration
			for _, d := range got.turns {
				sum += d
			}
			trips := float64(sum) / float64(len(got.turns)) / float64(roundTrip)
			t.Logf("%v; %.2f round trips", got, trips)
			write, read := got.units()
			if trips > test.trips || write > test.write || read > test.read {
				t.Errorf("want at most %v round trips, %v and %v units", test.trips, test.write, test.read)
			}
			if got.overtaken > 0 {
				t.Error("order was traded for speed")
			}
		})
	}
}

// TestLostBells checks that waiters poll soon after bells are not rung any more.
func TestLostBells(t *testing.T) {
	var sent atomic.Int64
	got := contest{contenders: 4, cycles: 12, hold: always(time.Second), hub: &bells.Hub{
		Fate: func(string, string, int64) []time.Duration {
			if sent.Add(1) > 16 {
				return nil
			}
			return []time.Duration{ms}
		},
	}}.run(t)
	t.Log(got)
	if late := got.handOvers[len(got.handOvers)-12:]; got.p99() > 270*ms || late[len(late)-1] > 100*ms {
		t.Errorf("the last hand-overs took %v, want at most a quarter of a turn, and then polls", late)
	}
}

// TestRung checks which waiters are rung, and what that costs.
func TestRung(t *testing.T) {
	locktest.InBubble(t, "NoneIfNoneWaits", func(t *testing.T) {
		var hub bells.Hub
		table := queuelocktest.NewTable(t)
		c, db := locktest.OpenMet(t, table, "a", queuelock.Config{Wake: hub.Client("a")})
		locktest.Release(t, locktest.Acquire(t, c, waitpolicy.NoWait))
		before := db.Counts()
		locktest.Release(t, locktest.Acquire(t, c, waitpolicy.Forever))
		synctest.Wait()
		if cost := db.Counts().Sub(before).Total(); cost.Sent != 2 || len(hub.Rung()) > 0 {
			t.Errorf("an idle cycle sends %d requests and rings %v", cost.Sent, hub.Rung())
		}
	})
	locktest.InBubble(t, "EachWaitHasItsOwnBell", func(t *testing.T) {
		var hub bells.Hub
		table := queuelocktest.NewTable(t)
		a, _ := locktest.OpenMet(t, table, "a", queuelock.Config{Wake: hub.Client("a")})
		b, _ := locktest.OpenMet(t, table, "b", queuelock.Config{Wake: hub.Client("b")})
		seen := map[string]bool{}
		for range 3 {
			held := locktest.Acquire(t, a, waitpolicy.Forever)
			next := locktest.QueueUp(t.Context(), b, waitpolicy.Forever)
			time.Sleep(time.Second)
			for _, row := range rowsAt(table) {
				bell := av.Text(row["bell"])
				if seen[bell] || !strings.HasPrefix(bell, "b/") {
					t.Errorf("the bell %q", bell)
				}
				seen[bell] = true
			}
			locktest.Release(t, held)
			locktest.Release(t, locktest.Lock(t, <-next))
		}
		rung := slices.DeleteFunc(hub.Rung(), func(bell string) bool { return !strings.HasPrefix(bell, "b/") }) // a may meet the RESET of b
		if len(seen) != 3 || len(rung) != 3 {
			t.Errorf("%d bells, rung %v", len(seen), rung)
		}
	})
	locktest.InBubble(t, "NotOfTheSameClient", func(t *testing.T) {
		var hub bells.Hub
		table := queuelocktest.NewTable(t)
		a, _ := locktest.OpenMet(t, table, "a", queuelock.Config{Wake: hub.Client("a")})
		held := locktest.Acquire(t, a, waitpolicy.Forever)
		next := locktest.QueueUp(t.Context(), a, waitpolicy.Forever)
		time.Sleep(time.Second)
		locktest.Release(t, held)
		locktest.Release(t, locktest.Lock(t, <-next))
		if rung := hub.Rung(); len(rung) > 0 {
			t.Errorf("rung %v", rung)
		}
	})
	locktest.InBubble(t, "NotByClientsWithoutBells", func(t *testing.T) {
		var hub bells.Hub
		table := queuelocktest.NewTable(t)
		a, da := locktest.OpenMet(t, table, "a", queuelock.Config{})
		b, _ := locktest.OpenMet(t, table, "b", queuelock.Config{Wake: hub.Client("b")})
		held := locktest.Acquire(t, a, waitpolicy.Forever)
		next := locktest.QueueUp(t.Context(), b, waitpolicy.Forever)
		time.Sleep(time.Second)
		before := da.Counts()
		locktest.Release(t, held)
		locktest.Release(t, locktest.Lock(t, <-next))
		if cost := da.Counts().Sub(before).Total(); len(hub.Rung()) > 0 || cost.ReadUnits > 0 {
			t.Errorf("rung %v, %+v", hub.Rung(), cost)
		}
	})
	locktest.InBubble(t, "NoneIsLeft", func(t *testing.T) {
		var hub bells.Hub
		table := queuelocktest.NewTable(t, queuelocktest.WithLatency(roundTrip))
		c, _ := locktest.OpenMet(t, table, "a", queuelock.Config{Wake: hub.Client("a"), TTL: locktest.TTL})
		ctx, cancel := context.WithCancel(t.Context())
		held := locktest.Acquire(t, c, waitpolicy.Forever)
		var all []<-chan locktest.Outcome
		for range 5 {
			for _, opts := range [][]queuelock.Option{{queuelock.WithData([]byte("alone"))}, nil} {
				all = append(all, locktest.QueueUp(ctx, c, waitpolicy.Forever, opts...))
				time.Sleep(20 * ms)
			}
		}
		_, err := c.Acquire(t.Context(), locktest.Order, waitpolicy.NoWait)
		locktest.Is(t, err, queuelock.ErrNotAcquired)
		_, err = c.Acquire(t.Context(), locktest.Order, waitpolicy.For(time.Second))
		locktest.Is(t, err, queuelock.ErrNotAcquired)
		locktest.Release(t, held)
		for _, one := range all[:4] {
			locktest.Release(t, locktest.Lock(t, <-one))
		}
		cancel()
		for _, one := range all[4:] {
			if got := <-one; got.Err == nil {
				locktest.Release(t, got.Lock)
			}
		}
		synctest.Wait()
		if hub.Hung() != 0 {
			t.Errorf("%d bells are left", hub.Hung())
		}
	})
}

// loud are the bells of a process. rung counts how often its waiters were rung.
type loud struct {
	*wake.UDP
	rung *atomic.Int64
}

func (l loud) Hang(rung func()) (bell string, stop func(), err error) {
	return l.UDP.Hang(func() {
		l.rung.Add(1)
		rung()
	})
}

// TestBellByUDP rings waiters by datagrams, in real time: one whose row the holder reads beside its release, and one whose row
// it has read before.
func TestBellByUDP(t *testing.T) {
	table := queuelocktest.NewTable(t, queuelocktest.WithLatency(5*ms))
	var clients []*queuelock.Client
	rung := make([]atomic.Int64, 3)
	for i := range rung {
		udp := locktest.Must(wake.New(wake.Config{}))
		t.Cleanup(func() { locktest.Check(t, udp.Close()) })
		c, _ := locktest.OpenMet(t, table, fmt.Sprint(i), queuelock.Config{Wake: loud{udp, &rung[i]}})
		clients = append(clients, c)
	}
	for range 10 { // a datagram may be lost, or later than a look
		held := locktest.Acquire(t, clients[0], waitpolicy.Forever)
		second := locktest.QueueUp(t.Context(), clients[1], waitpolicy.Forever)
		time.Sleep(100 * ms)
		third := locktest.QueueUp(t.Context(), clients[2], waitpolicy.Forever)
		time.Sleep(500 * ms)
		for _, next := range []<-chan locktest.Outcome{second, third} {
			locktest.Release(t, held)
			held = locktest.Lock(t, <-next)
		}
		locktest.Release(t, held)
		if rung[1].Load() > 0 && rung[2].Load() > 0 {
			break
		}
	}
	if rung[0].Load() > 0 || rung[1].Load() == 0 || rung[2].Load() == 0 {
		t.Errorf("the processes were rung %d, %d and %d times, want that the last two were", rung[0].Load(), rung[1].Load(), rung[2].Load())
	}
}

// TestBellsAreNoSlower checks that few contenders with short turns hand over with bells as fast as without: there the holder often
// has not read the next row, and the bell comes late. Turns differ by up to a millisecond, or both runs fall into some step.
func TestBellsAreNoSlower(t *testing.T) {
	for _, contenders := range []int{2, 3} {
		for _, turn := range []time.Duration{0, 5 * ms, 20 * ms} {
			about := func(rng *rand.Rand) time.Duration { return turn + time.Duration(rng.Int64N(int64(ms))) }
			c := contest{contenders: contenders, cycles: 120 / contenders, hold: about, warm: 2 * contenders}
			without := c.run(t)
			c.hub = new(bells.Hub)
			with := c.run(t)
			if with.mean() > without.mean()*9/8+ms/2 {
				t.Errorf("%d contenders, turns of %v: %v with bells, and %v without", contenders, turn, with, without)
			}
		}
	}
}
