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
	"github.com/queuelock/queuelock/internal/testbed/av"
	"github.com/queuelock/queuelock/internal/testbed/bells"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
	"github.com/queuelock/queuelock/wake"
)

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
		table := queuelocktest.NewTable(t, queuelocktest.WithLatency(locktest.RoundTrip))
		c, _ := locktest.OpenMet(t, table, "a", queuelock.Config{Wake: hub.Client("a"), TTL: locktest.TTL})
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
