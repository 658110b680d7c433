package acquire_test

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

// TestPass bounds the hand-over between goroutines of one client, and its cost: TAKE, ENQUEUE, PASS, which releases
// the lock and grants it to the next, and the delete of the row. Beside long holds the row is renewed as well.
func TestPass(t *testing.T) {
	for _, hold := range []time.Duration{0, 5 * time.Millisecond, time.Second} {
		locktest.InBubble(t, hold.String(), func(t *testing.T) {
			table := queuelocktest.NewTable(t, queuelocktest.WithLatency(locktest.RoundTrip))
			c, _ := locktest.OpenMet(t, table, "c", queuelock.Config{})
			const contenders, cycles = 8, 12
			var workers sync.WaitGroup
			var mu sync.Mutex
			var asked []int // the contenders that wait, in the order of their calls
			var releasing time.Time
			var slow int // grants that took more than a request
			before := table.Counts()
			for i := range contenders {
				workers.Go(func() {
					time.Sleep(time.Duration(i) * time.Millisecond)
					for range cycles {
						mu.Lock()
						asked = append(asked, i)
						since := time.Now()
						mu.Unlock()
						lock := locktest.Acquire(t, c, waitpolicy.Forever)
						mu.Lock()
						if asked[0] != i {
							t.Errorf("contender %d was granted the lock before %d", i, asked[0])
						}
						asked = asked[1:]
						if releasing.Sub(since) > 4*locktest.RoundTrip && time.Since(releasing) > locktest.RoundTrip*11/10 {
							slow++ // it may have met a look
						}
						mu.Unlock()
						time.Sleep(hold)
						mu.Lock()
						releasing = time.Now()
						mu.Unlock()
						locktest.Release(t, lock)
					}
				})
			}
			workers.Wait()
			synctest.Wait()
			const turns = contenders * cycles
			cost := table.Counts().Sub(before).Total()
			renewals := hold.Seconds() * contenders / 7 // of the rows
			if requests := float64(cost.Sent) / turns; requests > 4.5+1.5*renewals {
				t.Errorf("%.2f requests a cycle", requests)
			}
			if slow > turns/2 { // those whose look is under way at that time
				t.Errorf("%d of %d hand-overs took more than one request", slow, turns)
			}
		})
	}
}

// passes narrows a fault down to PASS.
func passes(f queuelocktest.Fault) queuelocktest.Fault {
	return f.Where(func(r queuelocktest.Request) bool {
		e := r.Expression()
		return strings.Contains(e, "granted") && strings.Contains(e, "released")
	})
}

// untilAsleep waits until a waiter of the client has looked, and sleeps. A release passes the lock to no waiter that is
// looking.
func untilAsleep(db *queuelocktest.Client) {
	looks := func() float64 { return db.Counts().Total().ReadUnits }
	for before := looks(); looks() == before; {
		time.Sleep(time.Millisecond)
	}
	time.Sleep(2 * locktest.RoundTrip)
}

// passFaults are the ways in which a PASS fails, and the limits of the time from the release to the next grant.
var passFaults = []struct {
	name  string
	fault queuelocktest.Fault
	limit time.Duration
}{
	{"LostRequest", queuelocktest.LoseRequest(), 3 * time.Second},
	{"LostResponse", queuelocktest.LoseResponse(), time.Second},
	{"SwallowedRequest", queuelocktest.SwallowRequest(), 10 * time.Second},
	{"SwallowedResponse", queuelocktest.SwallowResponse(), 10 * time.Second},
	{"Throttled", queuelocktest.Refuse(queuelocktest.ThroughputExceeded), 3 * time.Second},
	{"Rejected", queuelocktest.Refuse("ValidationException"), 100 * time.Millisecond},
	{"Forbidden", queuelocktest.Refuse(queuelocktest.AccessDenied), 100 * time.Millisecond},
	{"Twice", queuelocktest.Duplicate(20 * time.Millisecond), 100 * time.Millisecond},
	{"Late", queuelocktest.SwallowRequest().LandingAnyway(), 10 * time.Second},
}

// finish checks that a lock is held by one for a minute, after a fault, and that the third gets it then.
func finish(t *testing.T, table *queuelocktest.Table, lock *queuelock.Lock, fault *queuelocktest.Injection,
	third <-chan locktest.Outcome, limit time.Duration) {
	t.Helper()
	time.Sleep(time.Minute) // the lock is renewed, and late requests arrive
	locktest.StillWaits(t, "the third", third)
	locktest.OK(t, lock.Err())
	locktest.Release(t, lock)
	locktest.Release(t, locktest.Within(t, "the third", limit, third).Lock)
	if fault.Fired() == 0 {
		t.Error("no PASS met the fault")
	}
	time.Sleep(time.Second) // rows are deleted in the background
	locktest.NothingLeft(t, table)
}

// isPass reports whether a request releases a lock and grants it.
func isPass(in *dynamodb.UpdateItemInput) bool {
	names := slices.Collect(maps.Values(in.ExpressionAttributeNames))
	return slices.Contains(names, "granted") && slices.Contains(names, "released")
}

// TestPanicDuringPass checks that an SDK client which panics does not leave the waiter waiting for its answer.
func TestPanicDuringPass(t *testing.T) {
	locktest.InBubble(t, "all", func(t *testing.T) {
		table := queuelocktest.NewTable(t, queuelocktest.WithLatency(locktest.RoundTrip))
		db := table.Client("c")
		c := locktest.Must(queuelock.New(locktest.Repeating{Client: db, Again: func(in *dynamodb.UpdateItemInput) bool {
			if isPass(in) {
				panic("out of order")
			}
			return false
		}}, table.Name(), queuelock.Config{}))
		t.Cleanup(func() { _ = c.Close(context.Background()) })
		first := locktest.Acquire(t, c, waitpolicy.Forever)
		second := locktest.LockBy(t, c)
		untilAsleep(db)
		func() {
			defer func() {
				if recover() == nil {
					t.Error("the client did not panic")
				}
			}()
			_ = first.Release(t.Context())
		}()
		locktest.Release(t, locktest.Within(t, "the second", 10*time.Second, second).Lock)
		locktest.Release(t, first)
	})
}

// TestWakeDuringTake lets a lock be released while the answer to the TAKE of the next in line is under way. No release
// wakes a waiter that has not joined the line of its client yet: it looks once.
func TestWakeDuringTake(t *testing.T) {
	locktest.InBubble(t, "all", func(t *testing.T) {
		table := queuelocktest.NewTable(t, queuelocktest.WithLatency(locktest.RoundTrip))
		c, db := locktest.OpenMet(t, table, "c", queuelock.Config{})
		for range 3 { // so that turns of a minute are known
			lock := locktest.Acquire(t, c, waitpolicy.Forever)
			time.Sleep(time.Minute)
			locktest.Release(t, lock)
		}
		first := locktest.Acquire(t, c, waitpolicy.Forever)
		db.Inject(queuelocktest.DelayResponse(time.Second).Of("UpdateItem").Times(1))
		second := locktest.LockBy(t, c)
		time.Sleep(500 * time.Millisecond)
		locktest.Release(t, first)
		locktest.Release(t, locktest.Within(t, "the second", time.Second, second).Lock)
	})
}

// TestNoPass checks that a release passes nothing over a waiter of another client, to a waiter with other needs, or
// after the lock was lost.
func TestNoPass(t *testing.T) {
	locktest.InBubble(t, "AnotherClientIsBetween", func(t *testing.T) {
		table := queuelocktest.NewTable(t, queuelocktest.WithLatency(locktest.RoundTrip))
		a, _ := locktest.OpenMet(t, table, "a", queuelock.Config{})
		b, _ := locktest.OpenMet(t, table, "b", queuelock.Config{})
		first := locktest.Acquire(t, a, waitpolicy.Forever)
		other := locktest.LockBy(t, b)
		time.Sleep(time.Second)
		own := locktest.LockBy(t, a)
		time.Sleep(time.Second)
		locktest.Release(t, first)
		got := locktest.Within(t, "the other client", 3*time.Second, other)
		locktest.StillWaits(t, "the waiter behind it", own)
		locktest.Release(t, got.Lock)
		locktest.Release(t, locktest.Within(t, "the waiter behind it", 3*time.Second, own).Lock)
	})
	locktest.InBubble(t, "Evicted", func(t *testing.T) {
		table := queuelocktest.NewTable(t, queuelocktest.WithLatency(locktest.RoundTrip))
		c, _ := locktest.OpenMet(t, table, "c", queuelock.Config{})
		first := locktest.Acquire(t, c, waitpolicy.Forever)
		second := locktest.LockBy(t, c)
		time.Sleep(500 * time.Millisecond)
		locktest.Evict(t, table, locktest.Order.Entity)
		locktest.Is(t, first.Release(t.Context()), queuelock.ErrLost)
		locktest.Release(t, locktest.Within(t, "the second", 3*time.Second, second).Lock)
	})
	locktest.InBubble(t, "AnotherReaderHolds", func(t *testing.T) {
		table := queuelocktest.NewTable(t, queuelocktest.WithLatency(locktest.RoundTrip))
		c, db := locktest.OpenMet(t, table, "c", queuelock.Config{})
		releases := db.Inject(queuelocktest.DelayRequest(0).Mentioning("released"))
		locktest.Acquire(t, c, waitpolicy.Forever, queuelock.Shared())
		second := locktest.Acquire(t, c, waitpolicy.Forever, queuelock.Shared())
		writer := locktest.LockBy(t, c)
		time.Sleep(time.Second)
		locktest.Release(t, second)
		if sent := releases.Fired(); sent != 1 {
			t.Errorf("%d requests released a reader", sent)
		}
		locktest.StillWaits(t, "the writer", writer)
	})
	for name, opts := range map[string][2][]queuelock.AcquireOption{
		"Readers":         {{queuelock.Shared()}, {queuelock.Shared()}},
		"ReaderToWriter":  {{queuelock.Shared()}, nil},
		"WriterToReader":  {nil, {queuelock.Shared()}},
		"Permits":         {{queuelock.Permits(1)}, {queuelock.Permits(1)}},
		"FailClosed":      {{queuelock.FailClosed()}, {queuelock.FailClosed()}},
		"LockDelay":       {{queuelock.LockDelay(time.Minute)}, {queuelock.LockDelay(time.Minute)}},
		"ToOneWithoutIts": {nil, {queuelock.FailClosed()}},
	} {
		locktest.InBubble(t, name, func(t *testing.T) {
			table := queuelocktest.NewTable(t, queuelocktest.WithLatency(locktest.RoundTrip))
			c, _ := locktest.OpenMet(t, table, "c", queuelock.Config{})
			first := locktest.Acquire(t, c, waitpolicy.Forever, opts[0]...)
			second := locktest.LockBy(t, c, opts[1]...)
			time.Sleep(time.Second)
			locktest.Release(t, first)
			got := locktest.Lock(t, locktest.Within(t, "the second", 3*time.Second, second))
			time.Sleep(2 * time.Minute)
			locktest.Check(t, got.Err())
			locktest.Release(t, got)
			time.Sleep(time.Second) // rows are deleted in the background
			locktest.NothingLeft(t, table)
		})
	}
}
