package acquire_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/ticket"
	"github.com/queuelock/queuelock/waitpolicy"
)

// TestBlocks bounds the turns a second, and the writes of a turn, of goroutines of several clients. Tickets rise from turn to turn.
func TestBlocks(t *testing.T) {
	for name, g := range map[string]struct {
		clients, goroutines, turns int // turns of each goroutine
		hold                       time.Duration
		rate, writes               float64 // at least and at most
	}{
		"OneClient": {clients: 1, goroutines: 8, turns: 100, rate: 400, writes: 0.5},
		"Clients":   {clients: 20, goroutines: 32, turns: 5, hold: time.Millisecond, rate: 300, writes: 0.3},
	} {
		t.Run(name, func(t *testing.T) {
			withSlowTable(t, func(t *testing.T, table *queuelocktest.Table) {
				var last ticket.Number // guarded by the lock
				var all sync.WaitGroup
				began := time.Now()
				for i := range g.clients {
					client, _ := locktest.Open(t, table, fmt.Sprint(i), queuelock.Config{Block: 64})
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
				rate, writes := turns/time.Since(began).Seconds(), 0.0
				for op, n := range table.Counts() {
					if op != "GetItem" && op != "Query" {
						writes += float64(n.Applied) / turns
					}
				}
				if rate < g.rate || writes > g.writes {
					t.Errorf("%.0f turns/s and %.2f writes a turn, want %v and %v", rate, writes, g.rate, g.writes)
				}
			})
		})
	}
}

// inBlocks returns a client whose calls wait in blocks.
func inBlocks(t *testing.T, table *queuelocktest.Table, name string, cfg queuelock.Config) (*queuelock.Client, *queuelocktest.Client) {
	cfg.Block = 64
	return locktest.Open(t, table, name, cfg)
}

// gathered lets so many calls wait: the first with a ticket of its own, and the others as a block.
func gathered(ctx context.Context, c *queuelock.Client, n int, opts ...queuelock.AcquireOption) (all []<-chan locktest.Outcome) {
	for range n {
		all = append(all, locktest.QueueUp(ctx, c, waitpolicy.Forever, opts...))
		time.Sleep(time.Microsecond)
	}
	return all
}

// TestBlockFences checks that what a turn may write is refused in the next one of its block: a condition from before its release,
// and one from after it.
func TestBlockFences(t *testing.T) {
	withSlowTable(t, func(t *testing.T, table *queuelocktest.Table) {
		c, _ := inBlocks(t, table, "c", queuelock.Config{})
		other, _ := locktest.Open(t, table, "other", queuelock.Config{})
		held := locktest.Acquire(t, other, waitpolicy.Forever)
		mine := gathered(t.Context(), c, 5) // with tickets 2, and 3 to 6
		time.Sleep(time.Second)
		locktest.Release(t, held)
		locktest.Release(t, granted(t, mine[0]))
		first := granted(t, mine[1])
		early := first.Condition()
		locktest.OK(t, locktest.WithCondition(t, table, early))
		handle := first.Handle()
		locktest.Release(t, first)
		second := granted(t, mine[2])
		for _, check := range []types.ConditionCheck{early, first.Condition()} {
			if err := locktest.WithCondition(t, table, check); err == nil {
				t.Error("a write of the turn before is made")
			}
		}
		locktest.OK(t, second.Transact(t.Context(), locktest.Deposit(table, nil)))
		_, err := other.Resume(t.Context(), handle, waitpolicy.NoWait)
		locktest.Is(t, err, queuelock.ErrGone)
		locktest.OK(t, second.SetData(t.Context(), []byte("second")))
		locktest.Release(t, second)
		third := granted(t, mine[3])
		if data := locktest.Must(other.Viewer().Inspect(t.Context(), locktest.Order)).Serving[0].Data; data != nil {
			t.Errorf("the data %q of the turn before is shown", data)
		}
		locktest.OK(t, third.Downgrade(t.Context())) // ends the block
		time.Sleep(time.Second)
		locktest.Release(t, third)
		fourth := granted(t, mine[4])
		if fourth.Ticket().String() != "7" {
			t.Errorf("ticket %s after a downgrade", fourth.Ticket())
		}
		locktest.Release(t, fourth)
	})
}

// TestBlockHeartbeat lets turns of a block be shorter than a round trip.
func TestBlockHeartbeat(t *testing.T) {
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		c, _ := locktest.Open(t, table, "c", queuelock.Config{Block: 1000, TTL: 2 * time.Second})
		held := locktest.Acquire(t, c, waitpolicy.Forever)
		mine := gathered(t.Context(), c, 300)
		locktest.Release(t, held)
		for _, one := range mine {
			lock := granted(t, one)
			time.Sleep(20 * time.Millisecond)
			locktest.Release(t, lock)
		}
	}, queuelocktest.WithLatency(30*time.Millisecond))
}

// TestBlockAdvanceEnds lets the wait of a caller end, or the table refuse, as its turn in a block is about to begin.
func TestBlockAdvanceEnds(t *testing.T) {
	for name, test := range map[string]struct {
		fault queuelocktest.Fault
		ends  func(error) bool
	}{
		"late":   {queuelocktest.DelayRequest(800 * time.Millisecond), func(err error) bool { return err == nil }}, // within the grace of a request
		"silent": {queuelocktest.LoseRequest(), func(err error) bool { return errors.Is(err, queuelock.ErrUnavailable) }},
		"refused": {queuelocktest.Refuse("ValidationException").Times(1), func(err error) bool { // the third does not meet it
			return err != nil && strings.Contains(err.Error(), "ValidationException")
		}},
	} {
		locktest.InTable(t, name, func(t *testing.T, table *queuelocktest.Table) {
			c, db := inBlocks(t, table, "c", queuelock.Config{})
			held := locktest.Acquire(t, c, waitpolicy.Forever)
			mine := gathered(t.Context(), c, 1)
			mine = append(mine, locktest.QueueUp(t.Context(), c, waitpolicy.For(1500*time.Millisecond)))
			time.Sleep(time.Microsecond)
			mine = append(mine, gathered(t.Context(), c, 1)...)
			time.Sleep(time.Second)
			locktest.Release(t, held)
			first := granted(t, mine[0])
			_ = first.Condition()
			fails := db.Inject(test.fault.Of("UpdateItem").Mentioning("reached = "))
			locktest.Release(t, first)
			second := locktest.Within(t, "the second", 10*time.Second, mine[1])
			fails.Remove()
			if !test.ends(second.Err) {
				t.Errorf("the second: %v", second.Err)
			} else if second.Err == nil {
				locktest.Release(t, second.Lock)
			}
			third := locktest.Lock(t, locktest.Within(t, "the third", 10*time.Second, mine[2]))
			if third.Ticket() != first.Ticket().Plus(2) {
				t.Errorf("ticket %s after %s", third.Ticket(), first.Ticket())
			}
			locktest.Release(t, third)
		}, queuelocktest.WithLatency(2*time.Millisecond))
	}
}

// TestBlockPanicOfSeveral ends the goroutine of a block of several callers, by a panic or runtime.Goexit of the DynamoDB client. Its
// first caller ends like that, as one that waits alone, and the others are served.
func TestBlockPanicOfSeveral(t *testing.T) {
	for name, end := range map[string]func(){"Panic": func() { panic("mistake") }, "Goexit": runtime.Goexit} {
		for what, attribute := range map[string]string{"InTake": "ticketNumber", "InLook": "pk"} {
			locktest.InTable(t, name+what, func(t *testing.T, table *queuelocktest.Table) {
				db := &locktest.Breaking{Client: table.Client("c"), Attribute: attribute, End: end}
				c := locktest.Must(queuelock.New(db, table.Name(), queuelock.Config{TTL: 10 * time.Second}))
				other, _ := locktest.Open(t, table, "other", locktest.TenSeconds)
				held := locktest.Acquire(t, other, waitpolicy.Forever)
				leaves, leave := context.WithCancel(t.Context())
				alone := locktest.QueueUp(leaves, c, waitpolicy.Forever)
				time.Sleep(time.Microsecond)
				var calls sync.WaitGroup
				var turns, panics, exits atomic.Int64
				for range 5 {
					calls.Add(1)
					go func() {
						ended := &exits
						defer calls.Done()
						defer func() {
							if recover() == "mistake" {
								ended = &panics
							}
							ended.Add(1)
						}()
						lock := locktest.Must(c.Acquire(t.Context(), locktest.Order, waitpolicy.Forever))
						locktest.Check(t, lock.Release(t.Context()))
						ended = &turns
					}()
					time.Sleep(time.Microsecond)
				}
				if time.Sleep(3 * time.Millisecond); what == "InTake" { // the first has sent its TAKE
					db.Left.Store(2)
				}
				time.Sleep(5 * time.Second)
				leave()
				<-alone
				if what == "InLook" {
					db.Left.Store(2)
				}
				time.Sleep(20 * time.Second)
				locktest.Release(t, held)
				calls.Wait()
				if turns.Load() != 3 || panics.Load()+exits.Load() != 2 || (name == "Panic") != (panics.Load() == 2) {
					t.Errorf("%d turns, %d panics, %d exits", turns.Load(), panics.Load(), exits.Load())
				}
				locktest.OK(t, c.Close(t.Context()))
				time.Sleep(time.Minute)
				nothingIsLeft(t, other)
			}, queuelocktest.WithLatency(2*time.Millisecond))
		}
	}
}

// TestBlockSilence lets more callers than a block has wait at a table that does not answer. Each fails once it has not answered for as
// long as a caller alone would wait, and none earlier.
func TestBlockSilence(t *testing.T) {
	open := func(t *testing.T) (*queuelock.Client, *queuelocktest.Client) {
		table := queuelocktest.NewTable(t, queuelocktest.WithLatency(2*time.Millisecond))
		return locktest.Open(t, table, "c", queuelock.Config{TTL: 10 * time.Second, Block: 2}) // so that callers wait 30 s
	}
	locktest.InBubble(t, "OfThoseThatComeLater", func(t *testing.T) {
		c, db := open(t)
		db.Inject(queuelocktest.SwallowRequest())
		var all sync.WaitGroup
		for after, n := range map[time.Duration]int{0: 7, 10 * time.Second: 2, 20 * time.Second: 3, 29 * time.Second: 1, 31 * time.Second: 4, 70 * time.Second: 1} {
			for i := range n {
				all.Go(func() {
					time.Sleep(after + time.Duration(i)*time.Microsecond)
					came := time.Now()
					_, err := c.Acquire(t.Context(), locktest.Order, waitpolicy.Forever)
					locktest.Is(t, err, queuelock.ErrUnavailable)
					if took := time.Since(came); took < 27*time.Second || took > 40*time.Second {
						t.Errorf("a caller that came after %v has failed after %v", after, took)
					}
				})
			}
		}
		all.Wait()
	})
	locktest.InBubble(t, "BehindAnswers", func(t *testing.T) { // those that have gathered for long count from the last answer
		c, db := open(t)
		held := locktest.Acquire(t, c, waitpolicy.Forever)
		slow := db.Inject(queuelocktest.DelayResponse(2300 * time.Millisecond).Of("UpdateItem").Mentioning("ticketNumber = "))
		ctx, leave := context.WithCancel(t.Context())
		var all []<-chan locktest.Outcome
		for range 60 {
			all = append(all, locktest.QueueUp(ctx, c, waitpolicy.Forever))
			time.Sleep(time.Microsecond)
		}
		time.Sleep(45 * time.Second) // two by two
		slow.Remove()
		silent := time.Now()
		cut := db.Inject(queuelocktest.SwallowRequest())
		for _, one := range all[58:] {
			r := locktest.Within(t, "one of the last", time.Minute, one)
			locktest.Is(t, r.Err, queuelock.ErrUnavailable)
			if took := time.Since(silent); took < 27*time.Second || took > 45*time.Second {
				t.Errorf("it has failed after %v of silence", took)
			}
		}
		cut.Remove()
		leave()
		_ = held.Release(t.Context())
	})
	locktest.InBubble(t, "AndServesAgain", func(t *testing.T) {
		c, db := open(t)
		cut := db.Inject(queuelocktest.SwallowRequest())
		begun := time.Now()
		early := locktest.LockBy(t, c)
		time.Sleep(20 * time.Second)
		var late []<-chan locktest.Outcome
		for range 5 {
			late = append(late, locktest.LockBy(t, c))
			time.Sleep(time.Microsecond)
		}
		locktest.Is(t, locktest.Within(t, "the first", time.Minute, early).Err, queuelock.ErrUnavailable)
		cut.Remove()
		for _, one := range late {
			locktest.Release(t, granted(t, one))
		}
		if took := time.Since(begun); took > 50*time.Second {
			t.Errorf("the last has waited until %v", took)
		}
	})
}

// TestBlockClose closes a client while its goroutines gather, wait and hold.
func TestBlockClose(t *testing.T) {
	withSlowTable(t, func(t *testing.T, table *queuelocktest.Table) {
		c, _ := inBlocks(t, table, "c", queuelock.Config{})
		other, _ := locktest.Open(t, table, "other", queuelock.Config{})
		waiting := gathered(t.Context(), c, 3)
		lock := granted(t, waiting[0])
		waiting = append(waiting, gathered(t.Context(), c, 3)...)
		time.Sleep(time.Second)
		waiting = append(waiting, gathered(t.Context(), c, 1)...)
		locktest.OK(t, c.Close(t.Context()))
		locktest.Is(t, lock.Err(), queuelock.ErrReleased)
		for _, one := range waiting[1:] {
			locktest.Is(t, (<-one).Err, queuelock.ErrClosed)
		}
		locktest.Release(t, locktest.Acquire(t, other, waitpolicy.For(time.Minute)))
		nothingIsLeft(t, other)
	})
}
