package acquire_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/av"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

// relay is a lock that one client holds, and that a second one is next to get, with a third behind it. Each has a
// network of its own. The holder has seen the row of the second one.
type relay struct {
	table  *queuelocktest.Table
	holder *queuelock.Lock
	next   *queuelocktest.Client
	client *queuelock.Client              // of the next
	cancel context.CancelFunc             // of the next
	second <-chan locktest.Outcome        // of the next
	third  func() <-chan locktest.Outcome // queues up behind it
}

// newRelay returns a relay whose next has that Config.
func newRelay(t *testing.T, ofNext queuelock.Config) *relay {
	t.Helper()
	table := queuelocktest.NewTable(t, queuelocktest.WithLatency(locktest.RoundTrip))
	a, _ := locktest.OpenMet(t, table, "a", queuelock.Config{})
	b, _ := locktest.OpenMet(t, table, "b", queuelock.Config{})
	c, next := locktest.OpenMet(t, table, "c", ofNext)
	d, _ := locktest.OpenMet(t, table, "d", queuelock.Config{})
	first := locktest.Acquire(t, a, waitpolicy.Forever)
	holder := locktest.LockBy(t, b)
	time.Sleep(300 * time.Millisecond)
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	r := &relay{table: table, next: next, client: c, cancel: cancel, second: locktest.QueueUp(ctx, c, waitpolicy.Forever)}
	r.third = func() <-chan locktest.Outcome {
		done := locktest.LockBy(t, d)
		time.Sleep(300 * time.Millisecond)
		return done
	}
	time.Sleep(300 * time.Millisecond)
	locktest.Release(t, first)
	r.holder = locktest.Within(t, "the holder", 3*time.Second, holder).Lock
	return r
}

// named returns the entry by which the lock was granted by name; nil if it was not.
func named(t *testing.T, table *queuelocktest.Table) av.Item {
	t.Helper()
	_, holders := locktest.Record(t, table)
	for _, entry := range holders {
		if e := entry.(*types.AttributeValueMemberM).Value; e["named"] != nil {
			return e
		}
	}
	return nil
}

func number(v types.AttributeValue) string { return v.(*types.AttributeValueMemberN).Value }

func rowsAt(table *queuelocktest.Table) (rows []av.Item) {
	for _, item := range table.Items() {
		if sk := av.Text(item["sk"]); strings.HasPrefix(sk, "lock/") && sk != av.Text(locktest.RecordKey()["sk"]) {
			rows = append(rows, item)
		}
	}
	return rows
}

// TestNamed hands over by name: one request of the releaser, and no write of the next holder. It accepts the grant by
// its first heartbeat, which gives the entry the whole lease, and then deletes its row.
func TestNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRelay(t, queuelock.Config{})
		before, writes := r.table.Counts(), r.next.Counts().Total().WriteUnits
		locktest.Release(t, r.holder)
		if cost := r.table.Counts().Sub(before)["UpdateItem"]; cost.Sent != 1 {
			t.Errorf("the release took %d writes", cost.Sent)
		}
		got := locktest.Within(t, "the second", 1100*time.Millisecond, r.second).Lock
		if r.next.Counts().Total().WriteUnits != writes {
			t.Error("the next holder wrote to the table")
		}
		if got.Ticket().Previous() != r.holder.Ticket() {
			t.Errorf("ticket %s was granted after %s", got.Ticket(), r.holder.Ticket())
		}
		if e := named(t, r.table); e == nil || number(e["ttl"]) != "15000" || number(e["beat"]) != "0" || len(rowsAt(r.table)) != 1 {
			t.Fatalf("the entry is %s, beside rows %v", locktest.PlainItem(e), rowsAt(r.table))
		}
		if left := got.Remaining(); left > 13500*time.Millisecond || left < 6*time.Second {
			t.Errorf("%v of the lease are left", left)
		}
		time.Sleep(3 * time.Second)
		if e := named(t, r.table); number(e["ttl"]) != "60000" || number(e["beat"]) != "1" || len(rowsAt(r.table)) != 0 {
			t.Errorf("the entry is %s, beside rows %v", locktest.PlainItem(e), rowsAt(r.table))
		}
		time.Sleep(10 * time.Minute)
		locktest.OK(t, got.Err())
		locktest.Release(t, got)
		time.Sleep(time.Second)
		locktest.NothingLeft(t, r.table)
	})
}

// TestNamedFaults checks that a hand-over by name that fails in any way leaves the lock neither to two holders nor to
// none, and that the releaser learns the outcome.
func TestNamedFaults(t *testing.T) {
	for _, test := range locktest.Some([]struct {
		name  string
		fault queuelocktest.Fault
		limit time.Duration // of the time from the release to the next grant
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
	}) {
		locktest.InBubble(t, test.name, func(t *testing.T) {
			r := newRelay(t, queuelock.Config{})
			third := r.third()
			fault := r.table.Inject(test.fault.Times(1).Mentioning("granted").Mentioning("released"))
			limit := test.limit + time.Second // a look comes within a second
			began := time.Now()
			locktest.Release(t, r.holder)
			got := locktest.Lock(t, locktest.Within(t, "the second", limit-time.Since(began), r.second))
			if !r.holder.Ticket().Less(got.Ticket()) || fault.Fired() == 0 {
				t.Fatalf("got %s after %s", got, r.holder)
			}
			time.Sleep(time.Minute) // the lock is renewed, and late requests arrive
			locktest.StillWaits(t, "the third", third)
			locktest.OK(t, got.Err())
			locktest.Release(t, got)
			locktest.Release(t, locktest.Within(t, "the third", limit, third).Lock)
			time.Sleep(time.Second) // rows are deleted in the background
			locktest.NothingLeft(t, r.table)
		})
	}
}

// TestNamedWaiterHasLeft names a row that was deleted after the holder had read it: it delays others by two looks, and
// a caller that does not wait by a few seconds.
func TestNamedWaiterHasLeft(t *testing.T) {
	leave := func(t *testing.T, r *relay) {
		t.Helper()
		r.cancel()
		if got := locktest.Within(t, "the second", time.Second, r.second); !errors.Is(got.Err, context.Canceled) {
			t.Fatalf("got %+v", got)
		}
		if n := len(rowsAt(r.table)); n > 1 {
			t.Fatalf("%d rows are left", n)
		}
	}
	locktest.InBubble(t, "WithThird", func(t *testing.T) {
		r := newRelay(t, queuelock.Config{})
		third := r.third()
		leave(t, r)
		locktest.Release(t, r.holder)
		locktest.Release(t, locktest.Lock(t, locktest.Within(t, "the third", 2*time.Second, third)))
	})
	locktest.InBubble(t, "WithoutWaiting", func(t *testing.T) {
		r := newRelay(t, queuelock.Config{})
		leave(t, r)
		locktest.Release(t, r.holder)
		if named(t, r.table) == nil {
			t.Fatal("the row was not named")
		}
		_, err := r.client.Acquire(t.Context(), locktest.Order, waitpolicy.NoWait)
		locktest.Is(t, err, queuelock.ErrNotAcquired)
		time.Sleep(4 * time.Second)
		locktest.Release(t, locktest.Acquire(t, r.client, waitpolicy.NoWait))
	})
}

// TestNamedHolderLives checks that a holder that was named, and has not accepted, is not taken for one that has left.
func TestNamedHolderLives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRelay(t, queuelock.Config{})
		r.next.Inject(queuelocktest.LoseRequest().Of("UpdateItem").Mentioning("beat + 1")) // ACCEPT
		third := r.third()
		locktest.Release(t, r.holder)
		got := locktest.Within(t, "the second", 2*time.Second, r.second).Lock
		for range 5 {
			time.Sleep(time.Second)
			_, err := r.client.Acquire(t.Context(), locktest.Order, waitpolicy.NoWait)
			locktest.Is(t, err, queuelock.ErrNotAcquired)
			locktest.StillWaits(t, "the third", third)
			locktest.OK(t, got.Err())
		}
		<-got.Context().Done() // it could not renew the lease of its row
		locktest.StillWaits(t, "the third", third)
		if got := locktest.Within(t, "the third", 15*time.Second, third); got.Err != nil {
			t.Fatal(got.Err)
		}
	})
}

// TestNamedTooLate cuts the next waiter off until the lease of its row has ended. It must not take the grant that it
// finds then for its own.
func TestNamedTooLate(t *testing.T) {
	for name, wait := range map[string]time.Duration{"BeforeAnother": 15 * time.Second, "AfterAnother": 40 * time.Second} {
		locktest.InBubble(t, name, func(t *testing.T) {
			r := newRelay(t, queuelock.Config{})
			third := r.third()
			r.next.Partition()
			locktest.Release(t, r.holder)
			released := time.Now()
			time.Sleep(wait)
			r.next.Heal()
			got := locktest.Within(t, "the third", time.Minute, third)
			if got.Err != nil || got.At.Sub(released) > 20*time.Second {
				t.Fatalf("got %+v after %v", got, got.At.Sub(released))
			}
			time.Sleep(5 * time.Second)
			locktest.StillWaits(t, "the second", r.second)
			locktest.Release(t, got.Lock)
			second := locktest.Within(t, "the second", 10*time.Second, r.second)
			if second.Err != nil || second.Lock.Ticket().Compare(got.Lock.Ticket()) <= 0 {
				t.Fatalf("got %+v", second)
			}
		})
	}
}

// TestNamedMalformed reads a row behind the holder that the library does not write. It is not named, and the holder
// before it releases by one request.
func TestNamedMalformed(t *testing.T) {
	text := func(n int) types.AttributeValue { return &types.AttributeValueMemberS{Value: strings.Repeat("x", n)} }
	for name, change := range map[string]func(row av.Item, holder string){
		"HoldersID":  func(row av.Item, holder string) { row["entryId"] = &types.AttributeValueMemberS{Value: holder} },
		"EmptyID":    func(row av.Item, _ string) { row["entryId"] = text(0) },
		"LongID":     func(row av.Item, _ string) { row["entryId"] = text(70_000) },
		"NumericID":  func(row av.Item, _ string) { row["entryId"] = &types.AttributeValueMemberN{Value: "1"} },
		"LongOwner":  func(row av.Item, _ string) { row["owner"] = text(399_000) },
		"SharedMode": func(row av.Item, _ string) { row["mode"] = &types.AttributeValueMemberS{Value: "shared"} },
	} {
		locktest.InBubble(t, name, func(t *testing.T) {
			r := newRelay(t, queuelock.Config{})
			third := r.third()
			rows := rowsAt(r.table)
			change(rows[1], av.Text(rows[0]["entryId"])) // by which the second will hold the lock
			tableName := r.table.Name()
			locktest.Must(r.table.Client("slip").PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &tableName, Item: rows[1]}))
			time.Sleep(300 * time.Millisecond) // the second looks
			locktest.Release(t, r.holder)
			second := locktest.Within(t, "the second", 1100*time.Millisecond, r.second).Lock
			before := r.table.Counts()
			locktest.Release(t, second)
			if cost := r.table.Counts().Sub(before)["UpdateItem"]; cost.Sent != 1 || named(t, r.table) != nil {
				t.Errorf("the release took %d writes, and left %v", cost.Sent, named(t, r.table))
			}
			got := locktest.Within(t, "the third", 1100*time.Millisecond, third)
			if got.Err != nil || got.Lock.Ticket().Previous() != second.Ticket() {
				t.Errorf("got %+v after %s", got, second.Ticket())
			}
		})
	}
}

// TestNamedSleeper ends turns much earlier than usual, when the waiters probably sleep. None loses its place by that.
func TestNamedSleeper(t *testing.T) {
	for _, test := range []struct {
		name                 string
		usual, present, turn time.Duration
	}{
		{"AfterLongTurns", time.Minute, time.Minute, 1700 * time.Millisecond},
		{"AfterShortTurns", time.Second, 6 * time.Second, 5 * time.Millisecond},
	} {
		for i := range locktest.Scaled(8, 2) {
			locktest.InTable(t, fmt.Sprint(test.name, "/", i), func(t *testing.T, table *queuelocktest.Table) {
				var clients []*queuelock.Client
				for _, name := range []string{"a", "b", "c", "d"} {
					c, _ := locktest.OpenMet(t, table, name, queuelock.Config{})
					clients = append(clients, c)
				}
				for range 14 {
					lock := locktest.Acquire(t, clients[0], waitpolicy.Forever)
					time.Sleep(test.usual)
					locktest.Release(t, lock)
				}
				first := locktest.Acquire(t, clients[0], waitpolicy.Forever)
				var waiting []<-chan locktest.Outcome
				for _, c := range clients[1:] {
					time.Sleep(test.present/4 + time.Duration(i)*test.present/80)
					waiting = append(waiting, locktest.LockBy(t, c))
				}
				time.Sleep(test.present / 8)
				locktest.Release(t, first)
				before := locktest.Within(t, "the first waiter", 16*time.Second, waiting[0]).Lock
				time.Sleep(test.turn)
				locktest.Release(t, before)
				if named(t, table) == nil {
					t.Error("the lock was not granted by name")
				}
				got := locktest.Within(t, "the second", 16*time.Second, waiting[1])
				if got.Err != nil || got.Lock.Ticket().Previous() != before.Ticket() {
					t.Fatalf("got %+v after %s", got, before.Ticket())
				}
				time.Sleep(5 * time.Second)
				locktest.OK(t, got.Lock.Err())
				locktest.StillWaits(t, "the third", waiting[2])
				locktest.Release(t, got.Lock)
			}, queuelocktest.WithLatency(locktest.RoundTrip))
		}
	}
}

// slowLooks lets a waiter sleep for longer than the lease of its row, which is renewed meanwhile.
var slowLooks = queuelock.Config{Poll: waitpolicy.Schedule{Fastest: 40 * time.Second, SlowestNext: 40 * time.Second, Slowest: 40 * time.Second}}

// sleeper is a lock that was granted by name to the second of three clients, which sleeps until long after the lease that its row
// had then. The third client waits behind it. All have their network of their own.
type sleeper struct {
	*relay
	third    <-chan locktest.Outcome
	released time.Time
}

func newSleeper(t *testing.T) *sleeper {
	t.Helper()
	s := &sleeper{relay: newRelay(t, slowLooks)}
	s.third = s.relay.third()
	locktest.Release(t, s.holder)
	s.released = time.Now()
	if named(t, s.table) == nil {
		t.Fatal("the lock was not granted by name")
	}
	return s
}

// TestNamedLate lets a waiter see a grant by name after the lease of its row has ended that the entry has. It accepts first, with
// the whole lease, and has its turn before all others.
func TestNamedLate(t *testing.T) {
	locktest.InBubble(t, "HasItsTurn", func(t *testing.T) {
		s := newSleeper(t)
		writes := s.next.Counts()["UpdateItem"].Sent
		got := locktest.Within(t, "the second", time.Minute, s.second)
		if got.Err != nil || got.Lock.Ticket().Previous() != s.holder.Ticket() {
			t.Fatalf("got %+v after %s", got, s.holder.Ticket())
		}
		if late := got.At.Sub(s.released); late < 16*time.Second {
			t.Fatalf("it has looked after %v already", late)
		}
		if left := got.Lock.Remaining(); left < 50*time.Second || s.next.Counts()["UpdateItem"].Sent == writes {
			t.Errorf("%v of the lease are left, after %d writes", left, s.next.Counts()["UpdateItem"].Sent-writes)
		}
		synctest.Wait()
		time.Sleep(time.Second)
		if e := named(t, s.table); number(e["beat"]) != "1" || number(e["ttl"]) != "60000" || len(rowsAt(s.table)) != 1 {
			t.Errorf("the entry is %s, beside rows %v", locktest.PlainItem(e), rowsAt(s.table))
		}
		time.Sleep(10 * time.Minute)
		locktest.OK(t, got.Lock.Err())
		locktest.StillWaits(t, "the third", s.third)
		locktest.Release(t, got.Lock)
		locktest.Release(t, locktest.Lock(t, locktest.Within(t, "the third", 2*time.Second, s.third)))
	})
	for name, fault := range map[string]queuelocktest.Fault{
		"AnswerIsLost": queuelocktest.LoseResponse(), "AppliedLater": queuelocktest.LandLate(3 * time.Second), "AnsweredTooLate": queuelocktest.DelayResponse(2 * time.Minute),
	} {
		locktest.InBubble(t, name, func(t *testing.T) {
			s := newSleeper(t)
			s.next.Inject(fault.Of("UpdateItem").Mentioning("beat + 1").Mentioning("holders").Times(1))
			got := locktest.Lock(t, locktest.Within(t, "the second", 4*time.Minute, s.second))
			time.Sleep(5 * time.Minute)
			if got.Err() != nil || got.Ticket().Previous() != s.holder.Ticket() {
				t.Errorf("got %s after %s: %v", got, s.holder, got.Err())
			}
			locktest.StillWaits(t, "the third", s.third)
			locktest.Release(t, got)
		})
	}
	locktest.InBubble(t, "TakenWhileItAccepts", func(t *testing.T) { // the ticket is over, and its row must not stay
		s := newSleeper(t)
		held := s.next.Inject(queuelocktest.HoldRequest().Of("UpdateItem").Mentioning("beat + 1").Mentioning("holders").Times(1))
		<-held.Reached()
		locktest.Evict(t, s.table, locktest.Order.Entity)
		held.Release()
		locktest.Release(t, locktest.Lock(t, locktest.Within(t, "the third", 2*time.Minute, s.third)))
		locktest.Release(t, locktest.Lock(t, locktest.Within(t, "the second", 2*time.Minute, s.second)))
		time.Sleep(time.Second)
		locktest.NothingLeft(t, s.table)
	})
	locktest.InBubble(t, "OthersSeeIt", func(t *testing.T) {
		s := newSleeper(t)
		other, _ := locktest.OpenMet(t, s.table, "other", queuelock.Config{})
		time.Sleep(20 * time.Second)
		state := locktest.Must(other.Viewer().Inspect(t.Context(), locktest.Order))
		locked := locktest.Must(other.IsLocked(t.Context(), locktest.Order))
		swept := locktest.Must(other.Operator().Sweep(t.Context(), locktest.Order))
		_, err := other.Acquire(t.Context(), locktest.Order, waitpolicy.NoWait)
		if state.Serving[0].Expired() || !locked || swept.Holders+swept.Waiters > 0 || !errors.Is(err, queuelock.ErrNotAcquired) {
			t.Errorf("serving %+v, locked %v, swept %+v, %v", state.Serving, locked, swept, err)
		}
		locktest.Release(t, locktest.Lock(t, locktest.Within(t, "the second", time.Minute, s.second)))
	})
}
