package queuelock_test

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
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

// What hurt other locks. The lessons on retries, sweeps and clocks are in
// published_test.go, those on requests in budget_test.go.

const ttl = 10 * time.Second

var tenSeconds = queuelock.Config{TTL: ttl, WaiterTTL: 4 * time.Second}

// A key of unpadded numbers sorts 10 before 9.
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
			inBubble(t, fmt.Sprint(name, ", ", wait), func(t *testing.T) {
				table := queuelocktest.NewTable(t)
				c, db := open(t, table, "c", tenSeconds)
				fired := db.Inject(fault.Of("GetItem").Times(1))
				lock := acquire(t, c, wait)
				if fired.Fired() != 1 {
					t.Error("there was no read")
				}
				if h := must(c.Inspect(t.Context(), order)).Serving; len(h) != 1 || h[0].Ticket != lock.Ticket() {
					t.Errorf("%+v, want the lock alone", h)
				}
				for _, e := range entries(table) {
					if e["until"] == nil {
						t.Errorf("%v has no end", e)
					}
				}
				release(t, lock)
				if err := table.Settle(t.Context()); err != nil {
					t.Fatal(err)
				}
			})
		}
	}
	inBubble(t, "refused for good", func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		c, db := open(t, table, "c", tenSeconds)
		db.Inject(queuelocktest.Refuse(queuelocktest.AccessDenied).Of("GetItem"))
		_, err := c.Acquire(t.Context(), order, waitpolicy.Forever)
		says(t, err, "AccessDenied", "GetItem")
		if n := db.Counts().Total().Sent; n != 1 || len(table.Items()) != 0 {
			t.Errorf("%d requests, %d items", n, len(table.Items()))
		}
	})
	inBubble(t, "its caller gives up", func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		c, db := open(t, table, "c", tenSeconds)
		db.Inject(queuelocktest.SwallowRequest().Of("GetItem"))
		begun := time.Now()
		_, err := c.Acquire(t.Context(), order, waitpolicy.For(2*time.Second))
		if took := time.Since(begun); !errors.Is(err, queuelock.ErrUnavailable) || took > 6*time.Second || len(table.Items()) != 0 {
			t.Errorf("%v after %v, %d items", err, took, len(table.Items()))
		}
	})
	for name, pauses := range map[string][]time.Duration{"before": {time.Hour}, "after": {0, time.Hour}} {
		inBubble(t, "the process stands still for an hour "+name+" it", func(t *testing.T) {
			table := queuelocktest.NewTable(t)
			late, err := queuelock.New(stalling{table.Client("late").Client, func() (pause time.Duration) {
				if len(pauses) > 0 {
					pause, pauses = pauses[0], pauses[1:]
				}
				return pause
			}}, table.Name(), tenSeconds)
			if err != nil {
				t.Fatal(err)
			}
			begun := time.Now()
			lock := acquire(t, late, waitpolicy.Forever)
			if took := time.Since(begun); took < time.Hour || took > time.Hour+time.Second || lock.Err() != nil || lock.Remaining() != 9*time.Second {
				t.Errorf("held after %v, with %v left: %v", took, lock.Remaining(), lock.Err())
			}
			other, _ := open(t, table, "other", tenSeconds)
			if _, err := other.Acquire(t.Context(), order, waitpolicy.NoWait); !errors.Is(err, queuelock.ErrNotAcquired) {
				t.Errorf("beside it: %v", err)
			}
			time.Sleep(time.Minute)
			if lock.Err() != nil {
				t.Error(lock.Err())
			}
			release(t, lock)
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
		inBubble(t, wait.String(), func(t *testing.T) {
			table := queuelocktest.NewTable(t, queuelocktest.WithLatency(5*time.Millisecond))
			a, db := open(t, table, "a", tenSeconds)
			acquire(t, a, wait)
			db.Partition()
			died := time.Now()
			for time.Since(died) < 30*time.Second {
				c, _ := open(t, table, "next", tenSeconds)
				lock, err := c.Acquire(t.Context(), order, wait)
				if err == nil {
					if after := time.Since(died); after < 9*time.Second {
						t.Errorf("served %v after the crash", after)
					}
					release(t, lock)
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

func TestWaitersAreServedInOrderOfTicketsAcrossPowersOfTen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t, queuelocktest.WithLatency(2*time.Millisecond))
		first, db := open(t, table, "first", queuelock.Config{})
		item := recordKey()
		item["ticketNumber"] = &types.AttributeValueMemberN{Value: "94"}
		item["granted"] = item["ticketNumber"]
		if _, err := db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(table.Name()), Item: item}); err != nil {
			t.Fatal(err)
		}
		held := acquire(t, first, waitpolicy.Forever)
		var waiting []<-chan outcome
		for i := range 12 {
			c, _ := open(t, table, fmt.Sprint(i), queuelock.Config{})
			waiting = append(waiting, queueUp(t.Context(), c, waitpolicy.Forever))
			time.Sleep(5 * time.Millisecond)
		}
		release(t, held)
		for i, w := range waiting {
			got := <-w
			if got.err != nil || got.lock.Ticket().After(held.Ticket()) != uint64(i+1) {
				t.Fatalf("waiter %d: %v %v", i, got.lock.Ticket(), got.err)
			}
			release(t, got.lock)
		}
	})
}

// A counter that expires, or is reset, issues tickets twice.
func TestTheCounterOutlivesTheTablesTTL(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t, queuelocktest.WithExpiry())
		c, _ := open(t, table, "a", tenSeconds)
		for i := range 3 {
			lock := acquire(t, c, waitpolicy.NoWait)
			if got := lock.Ticket().String(); got != fmt.Sprint(i+1) {
				t.Errorf("ticket %s after a year, want %d", got, i+1)
			}
			release(t, lock)
			time.Sleep(365 * 24 * time.Hour)
		}
	})
}

// Redisson's fair lock made those behind dead waiters wait for each of them.
func TestTheDeadCostThoseBehindThemOneLeaseHoweverMany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t, queuelocktest.WithLatency(2*time.Millisecond))
		holder, dbHolder := open(t, table, "holder", tenSeconds)
		release(t, acquire(t, holder, waitpolicy.Forever))
		acquire(t, holder, waitpolicy.Forever)
		ctx, cancel := context.WithCancel(t.Context())
		var dead []*queuelocktest.Client
		for i := range 40 {
			c, db := open(t, table, fmt.Sprint("dead-", i), tenSeconds)
			dead = append(dead, db)
			queueUp(ctx, c, waitpolicy.Forever)
			time.Sleep(5 * time.Millisecond)
		}
		alive, _ := open(t, table, "alive", tenSeconds)
		waiting := queueUp(t.Context(), alive, waitpolicy.Forever)
		time.Sleep(3 * time.Second)
		for _, db := range append(dead, dbHolder) {
			db.Partition()
		}
		died := time.Now()
		got := <-waiting
		if took := got.at.Sub(died); got.err != nil || took > ttl+1500*time.Millisecond {
			t.Errorf("served %v after holder and 40 waiters had died (%v), want at most the holder's lease of %v and 1.5s", took, got.err, ttl)
		}
		if rows, _ := rowsAndHolders(t, alive); rows != 0 {
			t.Errorf("%d rows are left", rows)
		}
		cancel()
	})
}

// A dead waiter in front of a live one delays it by its own lease at the most.
func TestADeadWaiterCostsItsOwnShortLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t, queuelocktest.WithLatency(2*time.Millisecond))
		holder, _ := open(t, table, "holder", tenSeconds)
		held := acquire(t, holder, waitpolicy.Forever)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		c, db := open(t, table, "dead", tenSeconds)
		queueUp(ctx, c, waitpolicy.Forever)
		time.Sleep(time.Second)
		alive, _ := open(t, table, "alive", tenSeconds)
		waiting := queueUp(t.Context(), alive, waitpolicy.Forever)
		time.Sleep(time.Second)
		db.Partition()
		died := time.Now()
		release(t, held)
		got := <-waiting
		if took := got.at.Sub(died); got.err != nil || took > tenSeconds.WaiterTTL+1500*time.Millisecond {
			t.Errorf("served %v after the waiter ahead had died (%v), want at most its lease of %v and 1.5s", took, got.err, tenSeconds.WaiterTTL)
		}
	})
}

// etcd's mutex let a waiter in whose session had expired.
func TestAWaiterThatStalledTakesItsPlaceAgainOrANewOne(t *testing.T) {
	t.Run("nobody overtook it", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			table := queuelocktest.NewTable(t)
			holder, _ := open(t, table, "holder", tenSeconds)
			held := acquire(t, holder, waitpolicy.Forever)
			c, db := open(t, table, "stalled", tenSeconds)
			waiting := queueUp(t.Context(), c, waitpolicy.Forever)
			time.Sleep(time.Second)
			db.Partition()
			time.Sleep(2 * tenSeconds.WaiterTTL)
			if swept := must(holder.Sweep(t.Context(), order)); swept.Rows != 1 {
				t.Fatalf("swept %+v, want the stalled row", swept)
			}
			db.Heal()
			time.Sleep(10 * time.Second)
			if rows, _ := rowsAndHolders(t, holder); rows != 1 {
				t.Errorf("%d rows, want its own again", rows)
			}
			release(t, held)
			if got := <-waiting; got.err != nil || got.lock.Ticket().After(held.Ticket()) != 1 {
				t.Errorf("%+v, want the same ticket", got)
			}
		})
	})
	t.Run("somebody overtook it", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			table := queuelocktest.NewTable(t)
			holder, _ := open(t, table, "holder", tenSeconds)
			held := acquire(t, holder, waitpolicy.Forever)
			c, db := open(t, table, "stalled", tenSeconds)
			waiting := queueUp(t.Context(), c, waitpolicy.Forever)
			time.Sleep(time.Second)
			next, _ := open(t, table, "next", tenSeconds)
			overtaker := queueUp(t.Context(), next, waitpolicy.Forever)
			time.Sleep(time.Second)
			db.Partition()
			time.Sleep(2 * tenSeconds.WaiterTTL)
			release(t, held)
			got := <-overtaker
			if got.err != nil {
				t.Fatal(got.err)
			}
			db.Heal()
			time.Sleep(10 * time.Second)
			select {
			case both := <-waiting:
				t.Fatalf("%+v beside %s", both, got.lock.Ticket())
			default:
			}
			release(t, got.lock)
			if last := <-waiting; last.err != nil || !got.lock.Ticket().Less(last.lock.Ticket()) {
				t.Errorf("%+v, want a ticket after %s", last, got.lock.Ticket())
			}
			if rows, _ := rowsAndHolders(t, holder); rows != 0 {
				t.Errorf("%d rows are left", rows)
			}
		})
	})
}

// Consul's lock waited for an answer that never came.
func TestLossFiresBeforeTheLeaseEndsWhileRequestsHang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		c, db := open(t, table, "a", tenSeconds)
		lock := acquire(t, c, waitpolicy.Forever)
		granted := time.Now()
		db.Inject(queuelocktest.SwallowRequest())
		<-lock.Done()
		if at := time.Since(granted); at > ttl-500*time.Millisecond || at < ttl/2 {
			t.Errorf("the loss was reported %v after the grant, want shortly before %v", at, ttl)
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
		c, db := open(t, table, "a", tenSeconds)
		lock := acquire(t, c, waitpolicy.Forever)
		// An operator takes it away.
		_, err := db.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
			TableName: aws.String(table.Name()), Key: recordKey(),
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

func recordKey() map[string]types.AttributeValue {
	return map[string]types.AttributeValue{
		"pk": &types.AttributeValueMemberS{Value: order.Entity},
		"sk": &types.AttributeValueMemberS{Value: "lock/00000000000000000000000000000000000000"},
	}
}

// Dynamolock and the Java client made a newcomer watch a dead holder for one
// more full lease.
func TestACrashedHolderIsTakenOverWithoutOneMoreLease(t *testing.T) {
	for _, arrives := range []time.Duration{0, ttl / 2, ttl - time.Second, 2 * ttl} {
		t.Run(fmt.Sprint("newcomer after ", arrives), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				table := queuelocktest.NewTable(t)
				holder, db := open(t, table, "holder", tenSeconds)
				release(t, acquire(t, holder, waitpolicy.Forever))
				acquire(t, holder, waitpolicy.Forever)
				db.Partition()
				died := time.Now()
				time.Sleep(arrives)
				newcomer, _ := open(t, table, "newcomer", tenSeconds)
				got := <-queueUp(t.Context(), newcomer, waitpolicy.Forever)
				if took := got.at.Sub(died); got.err != nil || took > max(arrives, ttl)+1500*time.Millisecond {
					t.Errorf("taken over %v after the crash: %v", took, got.err)
				}
			})
		})
	}
	t.Run("without waiting", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			table := queuelocktest.NewTable(t)
			holder, db := open(t, table, "holder", tenSeconds)
			release(t, acquire(t, holder, waitpolicy.Forever))
			acquire(t, holder, waitpolicy.Forever)
			db.Partition()
			time.Sleep(ttl + 2*time.Second)
			newcomer, _ := open(t, table, "newcomer", tenSeconds)
			release(t, acquire(t, newcomer, waitpolicy.Forever)) // knows the clock by its first answer
		})
	})
}

// What the very first request of a process leaves is judged by its end, or, where
// no time is to be had, by observation.
func TestAHolderThatDiesAtItsFirstRequestIsTakenOver(t *testing.T) {
	for _, opts := range [][]queuelocktest.Option{nil, {queuelocktest.WithoutDate()}, {queuelocktest.WithoutDate(), queuelocktest.WithoutFailedItem()}} {
		synctest.Test(t, func(t *testing.T) {
			table := queuelocktest.NewTable(t, opts...)
			holder, db := open(t, table, "holder", tenSeconds)
			acquire(t, holder, waitpolicy.Forever)
			db.Partition()
			time.Sleep(time.Second)
			newcomer, _ := open(t, table, "newcomer", tenSeconds)
			begun := time.Now()
			got := <-queueUp(t.Context(), newcomer, waitpolicy.Forever)
			if took := got.at.Sub(begun); got.err != nil || took > ttl+1500*time.Millisecond || took < ttl-time.Second {
				t.Errorf("taken over %v after the newcomer came: %v", took, got.err)
			}
		})
	}
}

// etcd left the keys of cancelled waiters behind.
func TestACancelledOrTimedOutWaiterLeavesNoRow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t, queuelocktest.WithLatency(10*time.Millisecond))
		holder, _ := open(t, table, "holder", queuelock.Config{})
		held := acquire(t, holder, waitpolicy.Forever)
		c, _ := open(t, table, "waiter", queuelock.Config{})
		for ms := range 60 { // at each moment of the first requests
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(ms)*time.Millisecond)
			_, err := c.Acquire(ctx, order, waitpolicy.Forever)
			cancel()
			if !errors.Is(err, queuelock.ErrNotAcquired) || !errors.Is(err, context.DeadlineExceeded) {
				t.Fatalf("after %dms: %v", ms, err)
			}
			_, err = c.Acquire(t.Context(), order, waitpolicy.For(time.Duration(ms+1)*time.Millisecond))
			if !errors.Is(err, queuelock.ErrNotAcquired) || errors.Is(err, context.DeadlineExceeded) {
				t.Fatalf("wait of %dms: %v", ms+1, err)
			}
			if rows, holders := rowsAndHolders(t, holder); rows != 0 || holders != 1 {
				t.Fatalf("cancelled after %dms: %d rows and %d holders, want the holder alone", ms, rows, holders)
			}
		}
		if n := len(table.Items()); n != 1 {
			t.Errorf("%d items, want the record alone", n)
		}
		release(t, held)
	})
}

func TestACancelledAcquireLeavesNoGhostHolder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t, queuelocktest.WithLatency(10*time.Millisecond))
		c, db := open(t, table, "a", queuelock.Config{})
		other, _ := open(t, table, "b", queuelock.Config{})
		release(t, acquire(t, c, waitpolicy.Forever))
		for ms := range 40 {
			for _, fault := range []queuelocktest.Fault{
				queuelocktest.LoseResponse().Of("UpdateItem").Times(1),
				queuelocktest.SwallowResponse().Of("UpdateItem").Times(1),
				queuelocktest.DelayResponse(500 * time.Millisecond).Of("UpdateItem").Times(1),
				queuelocktest.DelayResponse(0).Times(1),
			} {
				injected := db.Inject(fault)
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(ms)*time.Millisecond)
				lock, err := c.Acquire(ctx, order, waitpolicy.Forever)
				cancel()
				injected.Remove()
				if err == nil {
					release(t, lock)
				} else if !errors.Is(err, context.DeadlineExceeded) {
					t.Fatalf("%s, after %dms: %v", fault, ms, err)
				}
				// Nobody need wait for a lease to end, and the queue is quiet.
				lock, err = other.Acquire(t.Context(), order, waitpolicy.For(time.Second))
				if err != nil {
					t.Fatalf("%s, cancelled after %dms: %v\n%s", fault, ms, err, table.Log())
				}
				release(t, lock)
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
		c, db := open(t, table, "a", queuelock.Config{})
		var locks []*queuelock.Lock
		for i := range 5 {
			lock, err := c.Acquire(t.Context(), queuelock.Key{Entity: fmt.Sprint("entity-", i)}, waitpolicy.Forever)
			if err != nil {
				t.Fatal(err)
			}
			locks = append(locks, lock)
		}
		other, _ := open(t, table, "b", queuelock.Config{})
		busy, err := other.Acquire(t.Context(), order, waitpolicy.Forever)
		if err != nil {
			t.Fatal(err)
		}
		waiting := queueUp(t.Context(), c, waitpolicy.Forever)
		synctest.Wait()
		db.Inject(queuelocktest.Refuse(queuelocktest.AccessDenied).Of("UpdateItem").On("entity-2", ""))

		err = c.Close(t.Context())
		if err == nil {
			t.Error("Close says nothing of the release that failed")
		}
		if got := <-waiting; !errors.Is(got.err, queuelock.ErrClosed) {
			t.Errorf("the waiter got %v, want ErrClosed", got.err)
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
				release(t, free)
			}
		}
		for name, call := range map[string]func() error{
			"Acquire": func() error { _, err := c.Acquire(t.Context(), order, waitpolicy.NoWait); return err },
			"Do": func() error {
				return c.Do(t.Context(), order, waitpolicy.NoWait, func(context.Context, *queuelock.Lock) error { return nil })
			},
			"Inspect": func() error { _, err := c.Inspect(t.Context(), order); return err },
			"Sweep":   func() error { _, err := c.Sweep(t.Context(), order); return err },
		} {
			if err := call(); !errors.Is(err, queuelock.ErrClosed) {
				t.Errorf("%s after Close: %v", name, err)
			}
		}
		release(t, busy)
		if n := len(must(other.Inspect(t.Context(), order)).Waiting); n != 0 {
			t.Errorf("%d rows are left", n)
		}
	})
}

// Heartbeats, releases and sweeps that race deleted live locks of the Java
// client's.
func TestNothingOfALockIsSentAfterItsRelease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		c, db := open(t, table, "a", tenSeconds)
		lock := acquire(t, c, waitpolicy.Forever)
		beat := db.Inject(queuelocktest.HoldRequest().Of("UpdateItem").Mentioning("beat + 1").LandingAnyway())
		<-beat.Reached()
		release(t, lock)
		released := db.Counts()
		next := acquire(t, c, waitpolicy.NoWait)
		beat.Release()
		time.Sleep(time.Second)
		if err := next.Err(); err != nil {
			t.Errorf("a late heartbeat hurt the next holder: %v", err)
		}
		release(t, next)
		time.Sleep(time.Minute)
		if spent := db.Counts().Sub(released).Total(); spent.Sent > 3 {
			t.Errorf("%d requests after the release, want those of the next acquire and release", spent.Sent)
		}
	})
}
