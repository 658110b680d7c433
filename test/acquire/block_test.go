package acquire_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/ticket"
	"github.com/queuelock/queuelock/waitpolicy"
)

// gang is goroutines of several clients that take turns.
type gang struct {
	clients, goroutines, turns int // turns of each goroutine
	hold                       time.Duration
	cfg                        queuelock.Config
}

// run returns turns a second, and writes a turn. Tickets rise from turn to turn.
func (g gang) run(t *testing.T) (rate, writes float64) {
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t, queuelocktest.WithLatency(locktest.RoundTrip))
		var last ticket.Number // guarded by the lock
		var all sync.WaitGroup
		var clients []*queuelock.Client
		for i := range g.clients {
			client, _ := locktest.Open(t, table, fmt.Sprint(i), g.cfg)
			clients = append(clients, client)
		}
		count := func() (writes int, units float64) {
			for op, n := range table.Counts() {
				if op != "GetItem" && op != "Query" {
					writes += n.Applied
				}
				units += n.WriteUnits
			}
			return writes, units
		}
		before, _ := count()
		began := time.Now()
		for i, client := range clients {
			for j := range g.goroutines {
				all.Go(func() {
					time.Sleep(time.Duration(i)*137*time.Microsecond + time.Duration(j)*time.Microsecond)
					for range g.turns {
						lock := locktest.Acquire(t, client, waitpolicy.Forever)
						if !last.Less(lock.Ticket()) {
							t.Errorf("ticket %s after %s", lock.Ticket(), last)
						}
						last = lock.Ticket()
						time.Sleep(g.hold)
						locktest.Release(t, lock)
					}
				})
			}
		}
		all.Wait()
		turns := float64(g.clients * g.goroutines * g.turns)
		after, units := count()
		rate, writes = turns/time.Since(began).Seconds(), float64(after-before)/turns
		t.Logf("%.0f turns/s, %.2f writes and %.2f units a turn: %+v", rate, writes, units/turns, table.Counts())
	})
	return rate, writes
}

func TestBlocks(t *testing.T) {
	t.Run("OneClient", func(t *testing.T) {
		rate, writes := gang{clients: 1, goroutines: 8, turns: 100, cfg: queuelock.Config{Block: 64}}.run(t)
		if rate < 400 || writes > 0.5 {
			t.Errorf("%.0f turns/s and %.2f writes a turn, want 400 and 0.5", rate, writes)
		}
	})
	t.Run("Clients", func(t *testing.T) {
		rate, writes := gang{clients: 20, goroutines: 32, turns: 5, hold: time.Millisecond, cfg: queuelock.Config{Block: 64}}.run(t)
		if rate < 300 || writes > 0.3 {
			t.Errorf("%.0f turns/s and %.2f writes a turn, want 300 and 0.3", rate, writes)
		}
	})
}

// blocks has a client whose goroutines wait in blocks, and another.
func blocks(t *testing.T, f func(t *testing.T, table *queuelocktest.Table, c, other *queuelock.Client)) {
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t, queuelocktest.WithLatency(locktest.RoundTrip))
		c, _ := locktest.Open(t, table, "c", queuelock.Config{Block: 64})
		other, _ := locktest.Open(t, table, "other", queuelock.Config{Block: 64})
		f(t, table, c, other)
	})
}

// queued lets n goroutines of a client wait as a block behind a holder, and returns what becomes of them.
func queued(t *testing.T, ctx context.Context, c *queuelock.Client, n int) (all []<-chan locktest.Result[*queuelock.Lock]) {
	for range n {
		all = append(all, locktest.QueueUp(ctx, c, waitpolicy.Forever))
		time.Sleep(time.Microsecond)
	}
	time.Sleep(time.Second)
	return all
}

// lockOf returns the lock of one that waits.
func lockOf(t *testing.T, one <-chan locktest.Result[*queuelock.Lock]) *queuelock.Lock {
	t.Helper()
	r := <-one
	if r.Err != nil {
		t.Fatal(r.Err)
	}
	return r.Lock
}

// tickets returns the tickets of locks that are acquired and released one after the other.
func inTurn(t *testing.T, all []<-chan locktest.Result[*queuelock.Lock]) (tickets []string) {
	t.Helper()
	var lock *queuelock.Lock
	for range all {
		for _, one := range all {
			select {
			case r := <-one:
				if r.Err != nil {
					t.Fatal(r.Err)
				}
				lock = r.Lock
			default:
			}
		}
		if lock == nil {
			t.Fatal("none is granted")
		}
		tickets = append(tickets, lock.Ticket().String())
		locktest.Release(t, lock)
		lock = nil
		time.Sleep(time.Second)
	}
	return tickets
}

// TestBlockInOrder lets goroutines of two clients queue up. Those of each have adjacent tickets, one row and one heartbeat.
func TestBlockInOrder(t *testing.T) {
	blocks(t, func(t *testing.T, table *queuelocktest.Table, c, other *queuelock.Client) {
		held := locktest.Acquire(t, other, waitpolicy.Forever)
		mine := queued(t, t.Context(), c, 5)
		theirs := queued(t, t.Context(), other, 3)
		if rows, _ := locktest.RowsAndHolders(t, c); rows > 4 {
			t.Errorf("%d rows", rows)
		}
		locktest.Release(t, held)
		time.Sleep(time.Second)
		got := inTurn(t, slices.Concat(mine, theirs))
		if want := []string{"2", "3", "4", "5", "6", "7", "8", "9"}; !slices.Equal(got, want) {
			t.Errorf("tickets %v, want %v", got, want)
		}
		if rows, holders := locktest.RowsAndHolders(t, c); rows+holders > 0 {
			t.Errorf("%d rows and %d holders are left", rows, holders)
		}
	})
}

// TestBlockNotJoined lets a goroutine come while a block of its client holds the lock, and another client waits.
func TestBlockNotJoined(t *testing.T) {
	blocks(t, func(t *testing.T, _ *queuelocktest.Table, c, other *queuelock.Client) {
		held := locktest.Acquire(t, other, waitpolicy.Forever)
		mine := queued(t, t.Context(), c, 4)
		locktest.Release(t, held)
		first := lockOf(t, mine[0])
		theirs := queued(t, t.Context(), other, 1)
		late := queued(t, t.Context(), c, 1)
		locktest.Release(t, first)
		time.Sleep(time.Second)
		got := inTurn(t, slices.Concat(mine[1:], theirs, late))
		if want := []string{"3", "4", "5", "6", "7"}; !slices.Equal(got, want) {
			t.Errorf("tickets %v, want %v", got, want)
		}
	})
}

// TestBlockGivesUp lets goroutines of a block give up before its turn and in it.
func TestBlockGivesUp(t *testing.T) {
	for _, test := range []struct {
		name          string
		before, after []int // of four: those that give up before the first turn, and in it
		want          []string
	}{
		{"none", nil, nil, []string{"2", "3", "4", "5"}},
		{"the first", []int{0}, nil, []string{"3", "4", "5"}},
		{"in the turn", nil, []int{1, 2}, []string{"2", "5"}},
		{"the last", []int{2}, []int{3}, []string{"2", "3"}},
		{"the others", nil, []int{1, 2, 3}, []string{"2"}},
		{"all", []int{0, 1, 2, 3}, nil, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			blocks(t, func(t *testing.T, table *queuelocktest.Table, c, other *queuelock.Client) {
				held := locktest.Acquire(t, other, waitpolicy.Forever)
				var cancels []context.CancelFunc
				var mine []<-chan locktest.Result[*queuelock.Lock]
				for range 4 {
					ctx, cancel := context.WithCancel(t.Context())
					cancels = append(cancels, cancel)
					mine = append(mine, locktest.QueueUp(ctx, c, waitpolicy.Forever))
					time.Sleep(time.Microsecond)
				}
				time.Sleep(time.Second)
				leave := func(all []int) {
					for _, i := range all {
						cancels[i]()
						r := <-mine[i]
						locktest.Is(t, r.Err, queuelock.ErrNotAcquired)
						locktest.Is(t, r.Err, context.Canceled)
					}
					time.Sleep(time.Second)
				}
				leave(test.before)
				locktest.Release(t, held)
				time.Sleep(time.Second)
				var rest []<-chan locktest.Result[*queuelock.Lock]
				var first *queuelock.Lock
				for i, one := range mine {
					switch {
					case slices.Contains(test.before, i), slices.Contains(test.after, i):
					case first == nil:
						first = lockOf(t, one)
					default:
						rest = append(rest, one)
					}
				}
				leave(test.after)
				var got []string
				if first != nil {
					got = []string{first.Ticket().String()}
					locktest.Release(t, first)
					time.Sleep(time.Second)
				}
				if got = append(got, inTurn(t, rest)...); !slices.Equal(got, test.want) {
					t.Errorf("tickets %v, want %v", got, test.want)
				}
				again := locktest.Acquire(t, other, waitpolicy.NoWait)
				locktest.Release(t, again)
				if rows, holders := locktest.RowsAndHolders(t, c); rows+holders > 0 {
					t.Errorf("%d rows and %d holders are left", rows, holders)
				}
			})
		})
	}
}

// TestBlockLost loses the lease of a block in its second turn. The others are served with new tickets, once each.
func TestBlockLost(t *testing.T) {
	blocks(t, func(t *testing.T, table *queuelocktest.Table, c, other *queuelock.Client) {
		held := locktest.Acquire(t, other, waitpolicy.Forever)
		mine := queued(t, t.Context(), c, 5)
		locktest.Release(t, held)
		locktest.Release(t, lockOf(t, mine[0]))
		second := lockOf(t, mine[1])
		locktest.OK(t, other.Operator().Evict(t.Context(), locktest.Order, locktest.Must(other.Viewer().Inspect(t.Context(), locktest.Order)).Serving[0]))
		<-second.Context().Done()
		locktest.Is(t, second.Err(), queuelock.ErrLost)
		locktest.Is(t, second.Release(t.Context()), queuelock.ErrLost)
		time.Sleep(time.Minute)
		got := inTurn(t, mine[2:])
		if len(got) != 3 || got[0] <= "6" {
			t.Errorf("tickets %v after a loss", got)
		}
		if rows, holders := locktest.RowsAndHolders(t, c); rows+holders > 0 {
			t.Errorf("%d rows and %d holders are left", rows, holders)
		}
	})
}

// TestBlockFences checks that what a turn may write is refused in the next one of its block: a condition from before its release,
// and one from after it.
func TestBlockFences(t *testing.T) {
	blocks(t, func(t *testing.T, table *queuelocktest.Table, c, other *queuelock.Client) {
		held := locktest.Acquire(t, other, waitpolicy.Forever)
		mine := queued(t, t.Context(), c, 5) // with tickets 2, and 3 to 6
		locktest.Release(t, held)
		locktest.Release(t, lockOf(t, mine[0]))
		mine = mine[1:]
		first := lockOf(t, mine[0])
		early := first.Condition()
		locktest.OK(t, locktest.WithCondition(t, table, early))
		handle := first.Handle()
		locktest.Release(t, first)
		second := lockOf(t, mine[1])
		for _, check := range []types.ConditionCheck{early, first.Condition()} {
			if err := locktest.WithCondition(t, table, check); err == nil {
				t.Error("a write of the turn before is made")
			}
		}
		locktest.OK(t, second.Transact(t.Context(), locktest.Deposit(table, nil)))
		if _, err := other.Resume(t.Context(), handle, waitpolicy.NoWait); !errors.Is(err, queuelock.ErrGone) {
			t.Errorf("the handle of the turn before: %v", err)
		}
		locktest.OK(t, second.SetData(t.Context(), []byte("second")))
		locktest.Release(t, second)
		third := lockOf(t, mine[2])
		if data := locktest.Must(other.Viewer().Inspect(t.Context(), locktest.Order)).Serving[0].Data; data != nil {
			t.Errorf("the data %q of the turn before is shown", data)
		}
		locktest.OK(t, third.Downgrade(t.Context())) // ends the block
		time.Sleep(time.Second)
		locktest.Release(t, third)
		if fourth := lockOf(t, mine[3]); fourth.Ticket().String() != "7" {
			t.Errorf("ticket %s after a downgrade", fourth.Ticket())
		} else {
			locktest.Release(t, fourth)
		}
	})
}

// TestBlockClose closes a client while its goroutines gather, wait and hold.
func TestBlockClose(t *testing.T) {
	blocks(t, func(t *testing.T, table *queuelocktest.Table, c, other *queuelock.Client) {
		first := queued(t, t.Context(), c, 3)
		lock := lockOf(t, first[0])
		more := append(queued(t, t.Context(), c, 3), locktest.QueueUp(t.Context(), c, waitpolicy.Forever))
		locktest.OK(t, c.Close(t.Context()))
		locktest.Is(t, lock.Err(), queuelock.ErrReleased)
		for _, one := range append(first[1:], more...) {
			if r := <-one; !errors.Is(r.Err, queuelock.ErrClosed) {
				t.Errorf("%v", r.Err)
			}
		}
		locktest.Release(t, locktest.Acquire(t, other, waitpolicy.For(time.Minute)))
		if rows, holders := locktest.RowsAndHolders(t, other); rows+holders > 0 {
			t.Errorf("%d rows and %d holders are left", rows, holders)
		}
	})
}
