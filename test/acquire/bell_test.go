package acquire_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/bells"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
	"github.com/queuelock/queuelock/wake"
)

const ms = time.Millisecond

// pair are two clients with bells.
type pair struct {
	hub   bells.Hub
	table *queuelocktest.Table
	a, b  *queuelock.Client
	da    *queuelocktest.Client
}

func newPair(t *testing.T) *pair {
	p := &pair{table: queuelocktest.NewTable(t, queuelocktest.WithLatency(locktest.RoundTrip))}
	p.a, p.da = p.open(t, "a")
	p.b, _ = p.open(t, "b")
	return p
}

func (p *pair) open(t *testing.T, name string) (*queuelock.Client, *queuelocktest.Client) {
	return locktest.OpenMet(t, p.table, name, queuelock.Config{Wake: p.hub.Client(name)})
}

// granted returns the lock of b, which has waited for that of a, and was granted it by its bell.
func (p *pair) granted(t *testing.T) *queuelock.Lock {
	held := locktest.Acquire(t, p.a, waitpolicy.Forever)
	next := locktest.Waiting(t, p.b)
	locktest.Release(t, held)
	return locktest.Lock(t, <-next)
}

// TestRung checks which waiters are rung, and what that costs.
func TestRung(t *testing.T) {
	locktest.InBubble(t, "NoneOfTheSameClientOrIfNoneWaits", func(t *testing.T) {
		p := newPair(t)
		locktest.Release(t, locktest.Acquire(t, p.a, waitpolicy.NoWait))
		if cost := locktest.Cost(p.da, func() { locktest.Release(t, locktest.Acquire(t, p.a, waitpolicy.Forever)) }); cost.Sent != 2 {
			t.Errorf("an idle cycle sends %d requests", cost.Sent)
		}
		held := locktest.Acquire(t, p.a, waitpolicy.Forever)
		next := locktest.Waiting(t, p.a)
		locktest.Release(t, held)
		locktest.Release(t, locktest.Lock(t, <-next))
		if rung := p.hub.Rung(); len(rung) > 0 {
			t.Errorf("rung %v", rung)
		}
	})
	locktest.InBubble(t, "EachWaitHasItsOwnBell", func(t *testing.T) {
		p := newPair(t)
		for range 3 {
			locktest.Release(t, p.granted(t))
		}
		rung := slices.DeleteFunc(p.hub.Rung(), func(bell string) bool { return !strings.HasPrefix(bell, "b/") }) // a may meet the RESET of b
		if slices.Sort(rung); len(rung) != 3 || len(slices.Compact(rung)) != 3 {
			t.Errorf("rung %v", rung)
		}
	})
	locktest.InBubble(t, "NoneIsLeft", func(t *testing.T) {
		p := newPair(t)
		c := p.a
		ctx, cancel := context.WithCancel(t.Context())
		held := locktest.Acquire(t, c, waitpolicy.Forever)
		var all []<-chan locktest.Outcome
		for range 5 {
			for _, opts := range [][]queuelock.AcquireOption{{queuelock.WithData([]byte("alone"))}, nil} {
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
		if p.hub.Hung() != 0 {
			t.Errorf("%d bells are left", p.hub.Hung())
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

// TestForgedBells checks that a million forged bells, or copies of their datagrams, cost the next in line a CLAIM, and otherwise not
// much more than polls, and one behind others a few looks: a bell says that it is next.
func TestForgedBells(t *testing.T) {
	wait := func(ahead, forged int) (cost queuelocktest.Tally) { // of a waiter in a minute
		synctest.Test(t, func(t *testing.T) {
			p := newPair(t)
			held := p.granted(t)
			var waiting []<-chan locktest.Outcome
			var last *queuelocktest.Client
			for i := range ahead + 1 {
				c, db := p.open(t, fmt.Sprint(i))
				waiting, last = append(waiting, locktest.LockBy(t, c)), db
				time.Sleep(time.Second)
			}
			cost = locktest.Cost(last, func() {
				for range 10_000 {
					for range forged / 10_000 {
						p.hub.Forge()
					}
					time.Sleep(6 * ms)
				}
			})
			released := time.Now()
			locktest.Release(t, held)
			for i, next := range waiting {
				got := <-next
				if took := got.At.Sub(released); i == 0 && took > 2*time.Second {
					t.Errorf("handed over after %v", took)
				}
				locktest.Release(t, locktest.Lock(t, got))
			}
		})
		return cost
	}
	for ahead, claims := range map[int]float64{0: 1, 3: 0} {
		polls, flooded := wait(ahead, 0), wait(ahead, 1_000_000)
		if flooded.WriteUnits > polls.WriteUnits+claims || flooded.Sent > polls.Sent+60 {
			t.Errorf("behind %d: %+v without, %+v with forged bells, want at most %v CLAIMs and a look a second more", ahead, polls, flooded, claims)
		}
	}
}
