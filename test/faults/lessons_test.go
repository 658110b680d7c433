package faults_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

// What hurt other locks. The lessons on retries, sweeps and clocks are in
// published_test.go, those on requests in test/budget.

// The read before a process's first TAKE is a request like the others: it is
// tried again if it failed in passing, it is told of if it failed for good, and
// nothing is left of it whatever becomes of it or of its process.
func TestTheReadBeforeTheFirstTakeMayFail(t *testing.T) {
	for name, fault := range map[string]queuelocktest.Fault{
		"lost":          queuelocktest.LoseRequest(),
		"answer lost":   queuelocktest.LoseResponse(),
		"throttled":     queuelocktest.Refuse(queuelocktest.Throttling),
		"arrives twice": queuelocktest.Duplicate(time.Minute),
		"stalled":       queuelocktest.DelayRequest(3 * time.Second),
	} {
		for _, wait := range []waitpolicy.Wait{waitpolicy.NoWait, waitpolicy.Forever} {
			locktest.InBubble(t, fmt.Sprint(name, ", ", wait), func(t *testing.T) {
				table := queuelocktest.NewTable(t)
				c, db := locktest.Open(t, table, "c", locktest.TenSeconds)
				fired := db.Inject(fault.Of("GetItem").Times(1))
				lock := locktest.Acquire(t, c, wait)
				if fired.Fired() != 1 {
					t.Error("there was no read")
				}
				if h := locktest.Must(c.Inspect(t.Context(), locktest.Order)).Serving; len(h) != 1 || h[0].Ticket != lock.Ticket() {
					t.Errorf("%+v, want the lock alone", h)
				}
				for _, e := range locktest.Entries(table) {
					if e["until"] == nil {
						t.Errorf("%v has no end", e)
					}
				}
				locktest.Release(t, lock)
				if err := table.Settle(t.Context()); err != nil {
					t.Fatal(err)
				}
			})
		}
	}
	locktest.InBubble(t, "refused for good", func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		c, db := locktest.Open(t, table, "c", locktest.TenSeconds)
		db.Inject(queuelocktest.Refuse(queuelocktest.AccessDenied).Of("GetItem"))
		_, err := c.Acquire(t.Context(), locktest.Order, waitpolicy.Forever)
		locktest.Says(t, err, "AccessDenied", "GetItem")
		if n := db.Counts().Total().Sent; n != 1 || len(table.Items()) != 0 {
			t.Errorf("%d requests, %d items", n, len(table.Items()))
		}
	})
	locktest.InBubble(t, "its caller gives up", func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		c, db := locktest.Open(t, table, "c", locktest.TenSeconds)
		db.Inject(queuelocktest.SwallowRequest().Of("GetItem"))
		begun := time.Now()
		_, err := c.Acquire(t.Context(), locktest.Order, waitpolicy.For(2*time.Second))
		if took := time.Since(begun); !errors.Is(err, queuelock.ErrUnavailable) || took > 6*time.Second || len(table.Items()) != 0 {
			t.Errorf("%v after %v, %d items", err, took, len(table.Items()))
		}
	})
	for name, pauses := range map[string][]time.Duration{"before": {time.Hour}, "after": {0, time.Hour}} {
		locktest.InBubble(t, "the process stands still for an hour "+name+" it", func(t *testing.T) {
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
			lock := locktest.Acquire(t, late, waitpolicy.Forever)
			if took := time.Since(begun); took < time.Hour || took > time.Hour+time.Second || lock.Err() != nil || lock.Remaining() != 9*time.Second {
				t.Errorf("held after %v, with %v left: %v", took, lock.Remaining(), lock.Err())
			}
			other, _ := locktest.Open(t, table, "other", locktest.TenSeconds)
			if _, err := other.Acquire(t.Context(), locktest.Order, waitpolicy.NoWait); !errors.Is(err, queuelock.ErrNotAcquired) {
				t.Errorf("beside it: %v", err)
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

// A process dies in its very first turn, and those after it wait for less than its
// lease, each in a process of its own: a job that is started each minute, or one
// that crashes in a loop.
func TestACrashInTheFirstTurnIsGotPastByProcessesThatHardlyWait(t *testing.T) {
	for _, wait := range []waitpolicy.Wait{waitpolicy.NoWait, waitpolicy.For(4 * time.Second), waitpolicy.Attempts(3, time.Second)} {
		locktest.InBubble(t, wait.String(), func(t *testing.T) {
			table := queuelocktest.NewTable(t, queuelocktest.WithLatency(5*time.Millisecond))
			a, db := locktest.Open(t, table, "a", locktest.TenSeconds)
			locktest.Acquire(t, a, wait)
			db.Partition()
			died := time.Now()
			for time.Since(died) < 30*time.Second {
				c, _ := locktest.Open(t, table, "next", locktest.TenSeconds)
				lock, err := c.Acquire(t.Context(), locktest.Order, wait)
				if err == nil {
					if after := time.Since(died); after < 9*time.Second {
						t.Errorf("served %v after the crash", after)
					}
					locktest.Release(t, lock)
					return
				}
				if !errors.Is(err, queuelock.ErrNotAcquired) {
					t.Fatal(err)
				}
				time.Sleep(time.Second)
			}
			t.Error("nobody gets past it")
		})
	}
}

// A key of unpadded numbers sorts 10 before 9.
func TestWaitersAreServedInOrderOfTicketsAcrossPowersOfTen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t, queuelocktest.WithLatency(2*time.Millisecond))
		first, db := locktest.Open(t, table, "first", queuelock.Config{})
		item := locktest.RecordKey()
		item["ticketNumber"] = &types.AttributeValueMemberN{Value: "94"}
		item["granted"] = item["ticketNumber"]
		if _, err := db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(table.Name()), Item: item}); err != nil {
			t.Fatal(err)
		}
		held := locktest.Acquire(t, first, waitpolicy.Forever)
		var waiting []<-chan locktest.Outcome
		for i := range 12 {
			c, _ := locktest.Open(t, table, fmt.Sprint(i), queuelock.Config{})
			waiting = append(waiting, locktest.QueueUp(t.Context(), c, waitpolicy.Forever))
			time.Sleep(5 * time.Millisecond)
		}
		locktest.Release(t, held)
		for i, w := range waiting {
			got := <-w
			if got.Err != nil || got.Lock.Ticket().After(held.Ticket()) != uint64(i+1) {
				t.Fatalf("waiter %d: %v %v", i, got.Lock.Ticket(), got.Err)
			}
			locktest.Release(t, got.Lock)
		}
	})
}

// A counter that expires, or is reset, issues tickets twice.
func TestTheCounterOutlivesTheTablesTTL(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t, queuelocktest.WithExpiry())
		c, _ := locktest.Open(t, table, "a", locktest.TenSeconds)
		for i := range 3 {
			lock := locktest.Acquire(t, c, waitpolicy.NoWait)
			if got := lock.Ticket().String(); got != fmt.Sprint(i+1) {
				t.Errorf("ticket %s after a year, want %d", got, i+1)
			}
			locktest.Release(t, lock)
			time.Sleep(365 * 24 * time.Hour)
		}
	})
}

// Redisson's fair lock made those behind dead waiters wait for each of them.
func TestTheDeadCostThoseBehindThemOneLeaseHoweverMany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t, queuelocktest.WithLatency(2*time.Millisecond))
		holder, dbHolder := locktest.Open(t, table, "holder", locktest.TenSeconds)
		locktest.Release(t, locktest.Acquire(t, holder, waitpolicy.Forever))
		locktest.Acquire(t, holder, waitpolicy.Forever)
		ctx, cancel := context.WithCancel(t.Context())
		var dead []*queuelocktest.Client
		for i := range 40 {
			c, db := locktest.Open(t, table, fmt.Sprint("dead-", i), locktest.TenSeconds)
			dead = append(dead, db)
			locktest.QueueUp(ctx, c, waitpolicy.Forever)
			time.Sleep(5 * time.Millisecond)
		}
		alive, _ := locktest.Open(t, table, "alive", locktest.TenSeconds)
		waiting := locktest.QueueUp(t.Context(), alive, waitpolicy.Forever)
		time.Sleep(3 * time.Second)
		for _, db := range append(dead, dbHolder) {
			db.Partition()
		}
		died := time.Now()
		got := <-waiting
		if took := got.At.Sub(died); got.Err != nil || took > locktest.TTL+1500*time.Millisecond {
			t.Errorf("served %v after holder and 40 waiters had died (%v), want at most the holder's lease of %v and 1.5s", took, got.Err, locktest.TTL)
		}
		if rows, _ := locktest.RowsAndHolders(t, alive); rows != 0 {
			t.Errorf("%d rows are left", rows)
		}
		cancel()
	})
}

// A dead waiter in front of a live one delays it by its own lease at the most.
func TestADeadWaiterCostsItsOwnShortLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t, queuelocktest.WithLatency(2*time.Millisecond))
		holder, _ := locktest.Open(t, table, "holder", locktest.TenSeconds)
		held := locktest.Acquire(t, holder, waitpolicy.Forever)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		c, db := locktest.Open(t, table, "dead", locktest.TenSeconds)
		locktest.QueueUp(ctx, c, waitpolicy.Forever)
		time.Sleep(time.Second)
		alive, _ := locktest.Open(t, table, "alive", locktest.TenSeconds)
		waiting := locktest.QueueUp(t.Context(), alive, waitpolicy.Forever)
		time.Sleep(time.Second)
		db.Partition()
		died := time.Now()
		locktest.Release(t, held)
		got := <-waiting
		if took := got.At.Sub(died); got.Err != nil || took > locktest.TenSeconds.WaiterTTL+1500*time.Millisecond {
			t.Errorf("served %v after the waiter ahead had died (%v), want at most its lease of %v and 1.5s", took, got.Err, locktest.TenSeconds.WaiterTTL)
		}
	})
}

// etcd's mutex let a waiter in whose session had expired.
func TestAWaiterThatStalledTakesItsPlaceAgainOrANewOne(t *testing.T) {
	t.Run("nobody overtook it", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			table := queuelocktest.NewTable(t)
			holder, _ := locktest.Open(t, table, "holder", locktest.TenSeconds)
			held := locktest.Acquire(t, holder, waitpolicy.Forever)
			c, db := locktest.Open(t, table, "stalled", locktest.TenSeconds)
			waiting := locktest.QueueUp(t.Context(), c, waitpolicy.Forever)
			time.Sleep(time.Second)
			db.Partition()
			time.Sleep(2 * locktest.TenSeconds.WaiterTTL)
			if swept := locktest.Must(holder.Sweep(t.Context(), locktest.Order)); swept.Rows != 1 {
				t.Fatalf("swept %+v, want the stalled row", swept)
			}
			db.Heal()
			time.Sleep(10 * time.Second)
			if rows, _ := locktest.RowsAndHolders(t, holder); rows != 1 {
				t.Errorf("%d rows, want its own again", rows)
			}
			locktest.Release(t, held)
			if got := <-waiting; got.Err != nil || got.Lock.Ticket().After(held.Ticket()) != 1 {
				t.Errorf("%+v, want the same ticket", got)
			}
		})
	})
	t.Run("somebody overtook it", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			table := queuelocktest.NewTable(t)
			holder, _ := locktest.Open(t, table, "holder", locktest.TenSeconds)
			held := locktest.Acquire(t, holder, waitpolicy.Forever)
			c, db := locktest.Open(t, table, "stalled", locktest.TenSeconds)
			waiting := locktest.QueueUp(t.Context(), c, waitpolicy.Forever)
			time.Sleep(time.Second)
			next, _ := locktest.Open(t, table, "next", locktest.TenSeconds)
			overtaker := locktest.QueueUp(t.Context(), next, waitpolicy.Forever)
			time.Sleep(time.Second)
			db.Partition()
			time.Sleep(2 * locktest.TenSeconds.WaiterTTL)
			locktest.Release(t, held)
			got := <-overtaker
			if got.Err != nil {
				t.Fatal(got.Err)
			}
			db.Heal()
			time.Sleep(10 * time.Second)
			select {
			case both := <-waiting:
				t.Fatalf("%+v beside %s", both, got.Lock.Ticket())
			default:
			}
			locktest.Release(t, got.Lock)
			if last := <-waiting; last.Err != nil || !got.Lock.Ticket().Less(last.Lock.Ticket()) {
				t.Errorf("%+v, want a ticket after %s", last, got.Lock.Ticket())
			}
			if rows, _ := locktest.RowsAndHolders(t, holder); rows != 0 {
				t.Errorf("%d rows are left", rows)
			}
		})
	})
}

// Consul's lock waited for an answer that never came.
func TestLossFiresBeforeTheLeaseEndsWhileRequestsHang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		c, db := locktest.Open(t, table, "a", locktest.TenSeconds)
		lock := locktest.Acquire(t, c, waitpolicy.Forever)
		granted := time.Now()
		db.Inject(queuelocktest.SwallowRequest())
		<-lock.Done()
		if at := time.Since(granted); at > locktest.TTL-500*time.Millisecond || at < locktest.TTL/2 {
			t.Errorf("the loss was reported %v after the grant, want shortly before %v", at, locktest.TTL)
		}
		lost, ok := errors.AsType[*queuelock.LostError](context.Cause(lock.Context()))
		if !ok || lost.Cause != queuelock.Unreachable || !errors.Is(lost, queuelock.ErrLost) {
			t.Errorf("cause %v, want unreachable", context.Cause(lock.Context()))
		}
	})
}

func TestEveryLossSaysHow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		c, db := locktest.Open(t, table, "a", locktest.TenSeconds)
		lock := locktest.Acquire(t, c, waitpolicy.Forever)
		// An operator takes it away.
		_, err := db.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
			TableName: aws.String(table.Name()), Key: locktest.RecordKey(),
			UpdateExpression:          aws.String("SET holders = :none"),
			ExpressionAttributeValues: map[string]types.AttributeValue{":none": &types.AttributeValueMemberM{}},
		})
		if err != nil {
			t.Fatal(err)
		}
		<-lock.Done()
		for _, err := range []error{lock.Err(), context.Cause(lock.Context()), lock.Release(t.Context()), lock.Release(t.Context())} {
			lost, ok := errors.AsType[*queuelock.LostError](err)
			if !ok || lost.Cause != queuelock.Evicted || lost.Ticket != lock.Ticket() || !errors.Is(err, queuelock.ErrLost) {
				t.Errorf("%v, want evicted", err)
			}
		}
	})
}

// Dynamolock and the Java client made a newcomer watch a dead holder for one
// more full lease.
func TestACrashedHolderIsTakenOverWithoutOneMoreLease(t *testing.T) {
	for _, arrives := range []time.Duration{0, locktest.TTL / 2, locktest.TTL - time.Second, 2 * locktest.TTL} {
		t.Run(fmt.Sprint("newcomer after ", arrives), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				table := queuelocktest.NewTable(t)
				holder, db := locktest.Open(t, table, "holder", locktest.TenSeconds)
				locktest.Release(t, locktest.Acquire(t, holder, waitpolicy.Forever))
				locktest.Acquire(t, holder, waitpolicy.Forever)
				db.Partition()
				died := time.Now()
				time.Sleep(arrives)
				newcomer, _ := locktest.Open(t, table, "newcomer", locktest.TenSeconds)
				got := <-locktest.QueueUp(t.Context(), newcomer, waitpolicy.Forever)
				if took := got.At.Sub(died); got.Err != nil || took > max(arrives, locktest.TTL)+1500*time.Millisecond {
					t.Errorf("taken over %v after the crash: %v", took, got.Err)
				}
			})
		})
	}
	t.Run("without waiting", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			table := queuelocktest.NewTable(t)
			holder, db := locktest.Open(t, table, "holder", locktest.TenSeconds)
			locktest.Release(t, locktest.Acquire(t, holder, waitpolicy.Forever))
			locktest.Acquire(t, holder, waitpolicy.Forever)
			db.Partition()
			time.Sleep(locktest.TTL + 2*time.Second)
			newcomer, _ := locktest.Open(t, table, "newcomer", locktest.TenSeconds)
			locktest.Release(t, locktest.Acquire(t, newcomer, waitpolicy.Forever)) // knows the clock by its first answer
		})
	})
}

// What the very first request of a process leaves is judged by its end, or, where
// no time is to be had, by observation.
func TestAHolderThatDiesAtItsFirstRequestIsTakenOver(t *testing.T) {
	for _, opts := range [][]queuelocktest.Option{nil, {queuelocktest.WithoutDate()}, {queuelocktest.WithoutDate(), queuelocktest.WithoutFailedItem()}} {
		synctest.Test(t, func(t *testing.T) {
			table := queuelocktest.NewTable(t, opts...)
			holder, db := locktest.Open(t, table, "holder", locktest.TenSeconds)
			locktest.Acquire(t, holder, waitpolicy.Forever)
			db.Partition()
			time.Sleep(time.Second)
			newcomer, _ := locktest.Open(t, table, "newcomer", locktest.TenSeconds)
			begun := time.Now()
			got := <-locktest.QueueUp(t.Context(), newcomer, waitpolicy.Forever)
			if took := got.At.Sub(begun); got.Err != nil || took > locktest.TTL+1500*time.Millisecond || took < locktest.TTL-time.Second {
				t.Errorf("taken over %v after the newcomer came: %v", took, got.Err)
			}
		})
	}
}

// etcd left the keys of cancelled waiters behind.
func TestACancelledOrTimedOutWaiterLeavesNoRow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t, queuelocktest.WithLatency(10*time.Millisecond))
		holder, _ := locktest.Open(t, table, "holder", queuelock.Config{})
		held := locktest.Acquire(t, holder, waitpolicy.Forever)
		c, _ := locktest.Open(t, table, "waiter", queuelock.Config{})
		for ms := range 60 { // at each moment of the first requests
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(ms)*time.Millisecond)
			_, err := c.Acquire(ctx, locktest.Order, waitpolicy.Forever)
			cancel()
			if !errors.Is(err, queuelock.ErrNotAcquired) || !errors.Is(err, context.DeadlineExceeded) {
				t.Fatalf("after %dms: %v", ms, err)
			}
			_, err = c.Acquire(t.Context(), locktest.Order, waitpolicy.For(time.Duration(ms+1)*time.Millisecond))
			if !errors.Is(err, queuelock.ErrNotAcquired) || errors.Is(err, context.DeadlineExceeded) {
				t.Fatalf("wait of %dms: %v", ms+1, err)
			}
			if rows, holders := locktest.RowsAndHolders(t, holder); rows != 0 || holders != 1 {
				t.Fatalf("cancelled after %dms: %d rows and %d holders, want the holder alone", ms, rows, holders)
			}
		}
		if n := len(table.Items()); n != 1 {
			t.Errorf("%d items, want the record alone", n)
		}
		locktest.Release(t, held)
	})
}

func TestACancelledAcquireLeavesNoGhostHolder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t, queuelocktest.WithLatency(10*time.Millisecond))
		c, db := locktest.Open(t, table, "a", queuelock.Config{})
		other, _ := locktest.Open(t, table, "b", queuelock.Config{})
		locktest.Release(t, locktest.Acquire(t, c, waitpolicy.Forever))
		for ms := range 40 {
			for _, fault := range []queuelocktest.Fault{
				queuelocktest.LoseResponse().Of("UpdateItem").Times(1),
				queuelocktest.SwallowResponse().Of("UpdateItem").Times(1),
				queuelocktest.DelayResponse(500 * time.Millisecond).Of("UpdateItem").Times(1),
				queuelocktest.DelayResponse(0).Times(1),
			} {
				injected := db.Inject(fault)
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(ms)*time.Millisecond)
				lock, err := c.Acquire(ctx, locktest.Order, waitpolicy.Forever)
				cancel()
				injected.Remove()
				if err == nil {
					locktest.Release(t, lock)
				} else if !errors.Is(err, context.DeadlineExceeded) {
					t.Fatalf("%s, after %dms: %v", fault, ms, err)
				}
				// Nobody need wait for a lease to end, and the queue is quiet.
				lock, err = other.Acquire(t.Context(), locktest.Order, waitpolicy.For(time.Second))
				if err != nil {
					t.Fatalf("%s, cancelled after %dms: %v\n%s", fault, ms, err, table.Log())
				}
				locktest.Release(t, lock)
				time.Sleep(time.Second)
				if n := len(table.Items()); n != 1 {
					t.Fatalf("%s, after %dms: %d items, want the record alone", fault, ms, n)
				}
			}
		}
	})
}

// The Java client's close gave up at the first release that failed.
func TestCloseTriesEveryReleaseAndCancelsWaiters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		c, db := locktest.Open(t, table, "a", queuelock.Config{})
		var locks []*queuelock.Lock
		for i := range 5 {
			lock, err := c.Acquire(t.Context(), queuelock.Key{Entity: fmt.Sprint("entity-", i)}, waitpolicy.Forever)
			if err != nil {
				t.Fatal(err)
			}
			locks = append(locks, lock)
		}
		other, _ := locktest.Open(t, table, "b", queuelock.Config{})
		busy, err := other.Acquire(t.Context(), locktest.Order, waitpolicy.Forever)
		if err != nil {
			t.Fatal(err)
		}
		waiting := locktest.QueueUp(t.Context(), c, waitpolicy.Forever)
		synctest.Wait()
		db.Inject(queuelocktest.Refuse(queuelocktest.AccessDenied).Of("UpdateItem").On("entity-2", ""))

		err = c.Close(t.Context())
		if err == nil {
			t.Error("Close says nothing of the release that failed")
		}
		if got := <-waiting; !errors.Is(got.Err, queuelock.ErrClosed) {
			t.Errorf("the waiter got %v, want ErrClosed", got.Err)
		}
		for i, lock := range locks {
			if !errors.Is(lock.Err(), queuelock.ErrReleased) {
				t.Errorf("lock %d: %v", i, lock.Err())
			}
			free, err := other.Acquire(t.Context(), lock.Key(), waitpolicy.NoWait)
			if (err == nil) != (i != 2) {
				t.Errorf("entity-%d after Close: %v", i, err)
			}
			if err == nil {
				locktest.Release(t, free)
			}
		}
		for name, call := range map[string]func() error{
			"Acquire": func() error { _, err := c.Acquire(t.Context(), locktest.Order, waitpolicy.NoWait); return err },
			"Do": func() error {
				return c.Do(t.Context(), locktest.Order, waitpolicy.NoWait, func(context.Context, *queuelock.Lock) error { return nil })
			},
			"Inspect": func() error { _, err := c.Inspect(t.Context(), locktest.Order); return err },
			"Sweep":   func() error { _, err := c.Sweep(t.Context(), locktest.Order); return err },
		} {
			if err := call(); !errors.Is(err, queuelock.ErrClosed) {
				t.Errorf("%s after Close: %v", name, err)
			}
		}
		locktest.Release(t, busy)
		if n := len(locktest.Must(other.Inspect(t.Context(), locktest.Order)).Waiting); n != 0 {
			t.Errorf("%d rows are left", n)
		}
	})
}

// Heartbeats, releases and sweeps that race deleted live locks of the Java
// client's.
func TestNothingOfALockIsSentAfterItsRelease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		c, db := locktest.Open(t, table, "a", locktest.TenSeconds)
		lock := locktest.Acquire(t, c, waitpolicy.Forever)
		beat := db.Inject(queuelocktest.HoldRequest().Of("UpdateItem").Mentioning("beat + 1").LandingAnyway())
		<-beat.Reached()
		locktest.Release(t, lock)
		released := db.Counts()
		next := locktest.Acquire(t, c, waitpolicy.NoWait)
		beat.Release()
		time.Sleep(time.Second)
		if err := next.Err(); err != nil {
			t.Errorf("a late heartbeat hurt the next holder: %v", err)
		}
		locktest.Release(t, next)
		time.Sleep(time.Minute)
		if spent := db.Counts().Sub(released).Total(); spent.Sent > 3 {
			t.Errorf("%d requests after the release, want those of the next acquire and release", spent.Sent)
		}
	})
}
