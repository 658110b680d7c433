package failclosed_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/attr"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

const (
	confirmation = ".ttl SET holders." // what the expression of CONFIRM has and no other
	claimed      = "size (holders) = 0) AND (granted <"
	// grace is the lease of a grant that is not confirmed yet, under tenSeconds:
	// four times RequestTimeout, which is a second.
	grace = 4 * time.Second
)

// holderEntries are the entries of holders, as they stand in the table.
func holderEntries(t *testing.T, table *queuelocktest.Table) []attr.Item {
	t.Helper()
	var all []attr.Item
	for _, record := range table.Items() {
		if holders, ok := record["holders"].(*types.AttributeValueMemberM); ok {
			for _, entry := range holders.Value {
				all = append(all, entry.(*types.AttributeValueMemberM).Value)
			}
		}
	}
	return all
}

// confirmed checks that there is one holder, which has no lease.
func confirmed(t *testing.T, table *queuelocktest.Table) {
	t.Helper()
	all := holderEntries(t, table)
	if len(all) != 1 || all[0]["failClosed"] == nil || all[0]["ttl"] != nil || all[0]["until"] != nil {
		t.Errorf("holders %v, want one without a lease", all)
	}
}

// takenWithin has another client acquire a lease, and returns how long it took.
func takenWithin(t *testing.T, c *queuelock.Client, most time.Duration) {
	t.Helper()
	begun := time.Now()
	lock, err := c.Acquire(t.Context(), locktest.Order, waitpolicy.For(24*time.Hour))
	if took := time.Since(begun); err != nil || took > most {
		t.Fatalf("served after %v, %v, want %v at most", took, err, most)
	}
	locktest.Release(t, lock)
}

func TestAFailClosedLockHasNoDeadline(t *testing.T) {
	locktest.InBubble(t, "at all", func(t *testing.T) {
		table := locktest.Watched(t)
		c, db := locktest.Open(t, table, "a", locktest.TenSeconds)
		locktest.Release(t, locktest.Acquire(t, c, waitpolicy.NoWait))
		var lock *queuelock.Lock
		if spent := locktest.Cost(table, func() { lock = locktest.Acquire(t, c, waitpolicy.Forever, queuelock.FailClosed()) }); spent.Sent != 2 || spent.WriteUnits != 2 {
			t.Errorf("an idle lock cost %+v, want two requests", spent)
		}
		confirmed(t, table)
		beats := locktest.Cost(table, func() { time.Sleep(time.Hour) })
		if beats.Sent < 719 || beats.Sent > 801 { // none late, each up to half a second early
			t.Errorf("%d requests in an hour, want a heartbeat each five seconds", beats.Sent)
		}
		db.Partition()
		time.Sleep(4 * time.Hour)
		if err := lock.Err(); err != nil || lock.Context().Err() != nil || lock.Remaining() != math.MaxInt64 {
			t.Errorf("after four hours without a table: %v, %v left", err, lock.Remaining())
		}
		db.Heal()
		if err := lock.Extend(t.Context()); err != nil {
			t.Error(err)
		}
		h := locktest.Must(c.Inspect(t.Context(), locktest.Order)).Serving[0]
		if !h.FailClosed || h.TTL != 0 || h.Remaining != math.MaxInt64 || h.Age < 5*time.Hour-time.Second {
			t.Errorf("Inspect says %+v", h)
		}
		if locked, err := c.IsLocked(t.Context(), locktest.Order); err != nil || !locked {
			t.Errorf("%t, %v", locked, err)
		}
		if spent := locktest.Cost(table, func() { locktest.Release(t, lock) }); spent.Sent != 1 {
			t.Errorf("its release cost %+v, want one request", spent)
		}
		if lock.Remaining() != 0 || !errors.Is(lock.Err(), queuelock.ErrReleased) {
			t.Errorf("released: %v, %v left", lock.Err(), lock.Remaining())
		}
		locktest.Release(t, locktest.Acquire(t, c, waitpolicy.NoWait))
	})
}

func TestACrashedFailClosedHolderIsWaitedForUntilItIsEvicted(t *testing.T) {
	for how, options := range locktest.Judged {
		locktest.InBubble(t, how, func(t *testing.T) {
			table := queuelocktest.NewTable(t, options...)
			c, db := locktest.Open(t, table, "holder", locktest.TenSeconds)
			other, _ := locktest.Open(t, table, "other", locktest.TenSeconds)
			operator, _ := locktest.Open(t, table, "operator", locktest.TenSeconds)
			lock := locktest.Acquire(t, c, waitpolicy.Forever, queuelock.FailClosed())
			db.Partition()
			waiting := locktest.QueueUp(t.Context(), other, waitpolicy.Forever)
			for range locktest.Scaled(10, 4) {
				time.Sleep(3 * time.Minute)
				if swept, err := operator.Sweep(t.Context(), locktest.Order); err != nil || swept.Holders != 0 {
					t.Errorf("swept %+v, %v", swept, err)
				}
				if _, err := operator.Acquire(t.Context(), locktest.Order, waitpolicy.NoWait); !errors.Is(err, queuelock.ErrNotAcquired) {
					t.Fatal(err)
				}
			}
			select {
			case got := <-waiting:
				t.Fatalf("the waiter came back with %v", got.Err)
			default:
			}
			if err := lock.Err(); err != nil {
				t.Errorf("the holder lost it: %v", err)
			}
			evicted := time.Now()
			if err := operator.Evict(t.Context(), locktest.Order, lock.Ticket()); err != nil {
				t.Fatal(err)
			}
			got := <-waiting
			if took := got.At.Sub(evicted); got.Err != nil || took > 1500*time.Millisecond || !lock.Ticket().Less(got.Lock.Ticket()) {
				t.Errorf("served %v after the eviction: %+v", took, got)
			}
			db.Heal()
			<-lock.Done()
			if loss, ok := errors.AsType[*queuelock.LostError](lock.Release(t.Context())); !ok || loss.Cause != queuelock.Evicted {
				t.Errorf("%v, want evicted", lock.Err())
			}
			if err := got.Lock.Err(); err != nil {
				t.Error(err)
			}
			locktest.Release(t, got.Lock)
		})
	}
}

func TestAFailClosedHolderThatLivesLearnsOfItsEviction(t *testing.T) {
	locktest.InBubble(t, "by its next heartbeat", func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		c, _ := locktest.Open(t, table, "a", locktest.TenSeconds)
		operator, _ := locktest.Open(t, table, "operator", locktest.TenSeconds)
		lock := locktest.Acquire(t, c, waitpolicy.Forever, queuelock.FailClosed())
		time.Sleep(time.Minute + time.Second)
		if err := operator.Evict(t.Context(), locktest.Order, lock.Ticket()); err != nil {
			t.Fatal(err)
		}
		evicted := time.Now()
		<-lock.Done()
		if took := time.Since(evicted); took > locktest.TTL/2 {
			t.Errorf("it learned of it after %v", took)
		}
		if loss, ok := errors.AsType[*queuelock.LostError](context.Cause(lock.Context())); !ok || loss.Cause != queuelock.Evicted {
			t.Errorf("%v", context.Cause(lock.Context()))
		}
	})
	locktest.InBubble(t, "by a protected write", func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		c, _ := locktest.Open(t, table, "a", locktest.TenSeconds)
		operator, _ := locktest.Open(t, table, "operator", locktest.TenSeconds)
		lock := locktest.Acquire(t, c, waitpolicy.Forever, queuelock.FailClosed())
		if err := lock.Transact(t.Context(), locktest.Deposit(table, nil)); err != nil {
			t.Fatal(err)
		}
		if err := operator.Evict(t.Context(), locktest.Order, lock.Ticket()); err != nil {
			t.Fatal(err)
		}
		if err := lock.Transact(t.Context(), locktest.Deposit(table, nil)); !errors.Is(err, queuelock.ErrLost) || locktest.Balance(table) != "1" {
			t.Errorf("after the eviction: %v, and the account holds %s", err, locktest.Balance(table))
		}
	})
	locktest.InBubble(t, "by its release", func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		c, db := locktest.Open(t, table, "a", locktest.TenSeconds)
		operator, _ := locktest.Open(t, table, "operator", locktest.TenSeconds)
		lock := locktest.Acquire(t, c, waitpolicy.Forever, queuelock.FailClosed())
		if err := operator.Evict(t.Context(), locktest.Order, lock.Ticket()); err != nil {
			t.Fatal(err)
		}
		db.Inject(queuelocktest.Refuse(queuelocktest.Throttling).Times(2)) // which tells that nothing was done
		db.Inject(queuelocktest.DelayRequest(time.Millisecond))
		for range 2 {
			if loss, ok := errors.AsType[*queuelock.LostError](lock.Release(t.Context())); !ok || loss.Cause != queuelock.Evicted {
				t.Errorf("%v, want evicted", lock.Release(t.Context()))
			}
		}
	})
}

// Every grant is confirmed, whatever becomes of the requests and answers.
func TestAConfirmationGetsThrough(t *testing.T) {
	for name, fault := range map[string]queuelocktest.Fault{
		"no fault":             queuelocktest.DelayRequest(0),
		"request lost":         queuelocktest.LoseRequest().Times(5),
		"response lost":        queuelocktest.LoseResponse().Times(1),
		"all responses lost":   queuelocktest.LoseResponse().Times(5),
		"response never comes": queuelocktest.SwallowResponse().Times(1),
		"throttled":            queuelocktest.Refuse(queuelocktest.Throttling).Times(5),
		"twice":                queuelocktest.Duplicate(500 * time.Millisecond),
		"lands late":           queuelocktest.LandLate(300 * time.Millisecond).Times(1),
		"lands later":          queuelocktest.LandLate(20 * time.Second).Times(1),
	} {
		for _, queued := range []bool{false, true} {
			locktest.InBubble(t, fmt.Sprint(name, ", queued: ", queued), func(t *testing.T) {
				table := locktest.Watched(t)
				c, db := locktest.Open(t, table, "a", locktest.TenSeconds)
				other, _ := locktest.Open(t, table, "other", locktest.TenSeconds)
				first := locktest.Acquire(t, other, waitpolicy.NoWait)
				if !queued {
					locktest.Release(t, first)
				}
				injected := db.Inject(fault.Mentioning(confirmation))
				done := make(chan *queuelock.Lock, 1)
				go func() {
					lock, err := c.Acquire(t.Context(), locktest.Order, waitpolicy.Forever, queuelock.FailClosed())
					if err != nil {
						t.Error(err)
					}
					done <- lock
				}()
				time.Sleep(time.Second)
				if queued {
					locktest.Release(t, first)
				}
				lock := <-done
				if injected.Fired() == 0 {
					t.Error("no confirmation met the fault")
				}
				confirmed(t, table)
				time.Sleep(time.Minute)
				confirmed(t, table)
				locktest.Release(t, lock)
				time.Sleep(time.Second)
				takenWithin(t, other, time.Second)
			})
		}
	}
}

// One that dies, or is cut off, between its grant and its confirmation holds up
// others for the grant's short lease. Then it takes a new number.
func TestAGrantThatIsNotConfirmedEndsByItsLease(t *testing.T) {
	for how, options := range locktest.Judged {
		for _, late := range []bool{false, true} {
			locktest.InBubble(t, fmt.Sprint(how, ", the confirmation lands late: ", late), func(t *testing.T) {
				table := queuelocktest.NewTable(t, options...)
				c, db := locktest.Open(t, table, "a", locktest.TenSeconds)
				other, _ := locktest.Open(t, table, "other", locktest.TenSeconds)
				locktest.Release(t, locktest.Acquire(t, c, waitpolicy.NoWait))
				lost := queuelocktest.SwallowRequest()
				if late {
					lost = queuelocktest.HoldRequest().LandingAnyway()
				}
				held := db.Inject(lost.Mentioning(confirmation))
				waiting := make(chan locktest.Outcome, 1)
				go func() {
					lock, err := c.Acquire(t.Context(), locktest.Order, waitpolicy.Forever, queuelock.FailClosed())
					waiting <- locktest.Outcome{Lock: lock, Err: err, At: time.Now()}
				}()
				<-held.Reached()
				begun := time.Now()
				lock := locktest.Acquire(t, other, waitpolicy.Forever)
				if took := time.Since(begun); took > grace+1500*time.Millisecond || took < grace-time.Second {
					t.Errorf("served %v after the grant, want %v", took, grace)
				}
				held.Release()
				held.Remove()
				time.Sleep(3 * time.Second)
				if err := lock.Err(); err != nil || len(holderEntries(t, table)) != 1 {
					t.Errorf("%v; %v", err, holderEntries(t, table))
				}
				locktest.Release(t, lock)
				got := <-waiting
				if got.Err != nil || !lock.Ticket().Less(got.Lock.Ticket()) {
					t.Fatalf("%+v, want a ticket after %s", got, lock.Ticket())
				}
				confirmed(t, table)
				locktest.Release(t, got.Lock)
				if err := c.Close(t.Context()); err != nil {
					t.Error(err)
				}
				if rows, holders := locktest.RowsAndHolders(t, other); rows != 0 || holders != 0 {
					t.Errorf("%d rows and %d holders are left", rows, holders)
				}
			})
		}
	}
}

// Whenever a waiter gives up, and whatever of its requests lands after that, no
// holder without a lease is left.
func TestAWaiterThatGaveUpLeavesNothingForAnOperator(t *testing.T) {
	for _, what := range []struct{ name, part string }{{"TAKE", "SET ticketNumber"}, {"CLAIM", claimed}, {"CONFIRM", confirmation}} {
		for name, fault := range map[string]queuelocktest.Fault{
			"applied when it has left":   queuelocktest.HoldRequest().LandingAnyway(),
			"answered when it has left":  queuelocktest.HoldResponse(),
			"applied, and never heard":   queuelocktest.SwallowResponse(),
			"applied twice, late":        queuelocktest.HoldDuplicate(),
			"answered as it gives up":    queuelocktest.DelayResponse(1500 * time.Millisecond),
			"lost, and lands much later": queuelocktest.LandLate(30 * time.Second),
		} {
			locktest.InBubble(t, what.name+" "+name, func(t *testing.T) {
				table := locktest.Watched(t)
				c, db := locktest.Open(t, table, "a", locktest.TenSeconds)
				other, _ := locktest.Open(t, table, "other", locktest.TenSeconds)
				first := locktest.Acquire(t, other, waitpolicy.NoWait)
				if what.name != "CLAIM" {
					locktest.Release(t, first)
				}
				met := db.Inject(fault.Mentioning(what.part))
				ctx, cancel := context.WithCancel(t.Context())
				done := make(chan error, 1)
				go func() {
					lock, err := c.Acquire(ctx, locktest.Order, waitpolicy.Forever, queuelock.FailClosed())
					if err == nil {
						err = lock.Release(t.Context())
					}
					done <- err
				}()
				if what.name == "CLAIM" {
					time.Sleep(2 * time.Second)
					locktest.Release(t, first)
				}
				<-met.Reached()
				time.Sleep(time.Second)
				cancel()
				if _, orphan := errors.AsType[*queuelock.UnreleasedError](<-done); orphan {
					t.Error("it asks for an operator")
				}
				met.Release()
				time.Sleep(100 * time.Millisecond)
				takenWithin(t, other, grace+1500*time.Millisecond)
				time.Sleep(time.Minute)
				takenWithin(t, other, grace+1500*time.Millisecond)
				if all := holderEntries(t, table); len(all) != 0 {
					t.Errorf("left %v", all)
				}
			})
		}
	}
}

// An id that comes back by a TAKE that arrives twice is nobody's, and a
// confirmation that arrives twice does not make it a holder for ever.
func TestAConfirmationThatArrivesTwiceConfirmsNoGhost(t *testing.T) {
	locktest.InBubble(t, "all", func(t *testing.T) {
		table := locktest.Watched(t)
		c, db := locktest.Open(t, table, "a", locktest.TenSeconds)
		other, _ := locktest.Open(t, table, "other", locktest.TenSeconds)
		locktest.Release(t, locktest.Acquire(t, c, waitpolicy.NoWait))
		takes := db.Inject(queuelocktest.HoldDuplicate().Mentioning("SET ticketNumber").Times(1))
		confirms := db.Inject(queuelocktest.HoldDuplicate().Mentioning(confirmation).Times(1))
		lock := locktest.Acquire(t, c, waitpolicy.NoWait, queuelock.FailClosed())
		locktest.Release(t, lock)
		takes.Release()
		synctest.Wait()
		time.Sleep(100 * time.Millisecond)
		if n := len(holderEntries(t, table)); n != 1 {
			t.Fatalf("%d holders: the ghost was to be there", n)
		}
		confirms.Release()
		time.Sleep(100 * time.Millisecond)
		takenWithin(t, other, grace+1500*time.Millisecond)
	})
}

// The confirmation was made, its answer was lost, and the table is gone: nothing
// but an operator is left.
func TestAnUnknownConfirmationThatCannotBeTakenBackIsTold(t *testing.T) {
	for name, wait := range map[string]waitpolicy.Wait{
		"no wait": waitpolicy.NoWait, "attempts": waitpolicy.Attempts(20, time.Second), "a time": waitpolicy.For(20 * time.Second), "for ever": waitpolicy.Forever,
	} {
		locktest.InBubble(t, name, func(t *testing.T) {
			table := queuelocktest.NewTable(t)
			c, db := locktest.Open(t, table, "a", locktest.TenSeconds)
			operator, _ := locktest.Open(t, table, "operator", locktest.TenSeconds)
			locktest.Release(t, locktest.Acquire(t, c, waitpolicy.NoWait))
			db.Inject(queuelocktest.SwallowResponse().Mentioning(confirmation))
			db.Inject(queuelocktest.LoseRequest().Mentioning("REMOVE holders"))
			_, err := c.Acquire(t.Context(), locktest.Order, wait, queuelock.FailClosed())
			orphan, ok := errors.AsType[*queuelock.UnreleasedError](err)
			if !ok {
				t.Fatalf("%v, want an *UnreleasedError", err)
			}
			locktest.Says(t, orphan, "order-7", "ticket 2", "may still stand", "evict")
			if limit, limited := wait.Limit(); limited && limit > 0 && !errors.Is(err, queuelock.ErrUnavailable) {
				t.Errorf("%v, want ErrUnavailable", err)
			}
			confirmed(t, table)
			time.Sleep(time.Hour)
			if _, err := operator.Acquire(t.Context(), locktest.Order, waitpolicy.NoWait); !errors.Is(err, queuelock.ErrNotAcquired) {
				t.Errorf("an orphan does not fail closed: %v", err)
			}
			if err := operator.Evict(t.Context(), locktest.Order, orphan.Ticket); err != nil {
				t.Error(err)
			}
			locktest.Release(t, locktest.Acquire(t, operator, waitpolicy.NoWait))
		})
	}
	locktest.InBubble(t, "taken back", func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		c, db := locktest.Open(t, table, "a", locktest.TenSeconds)
		locktest.Release(t, locktest.Acquire(t, c, waitpolicy.NoWait))
		db.Inject(queuelocktest.SwallowResponse().Mentioning(confirmation).Times(20))
		_, err := c.Acquire(t.Context(), locktest.Order, waitpolicy.For(10*time.Second), queuelock.FailClosed())
		if _, orphan := errors.AsType[*queuelock.UnreleasedError](err); orphan || !errors.Is(err, queuelock.ErrUnavailable) {
			t.Errorf("%v", err)
		}
		if spent := locktest.Cost(table, func() { locktest.Release(t, locktest.Acquire(t, c, waitpolicy.NoWait)) }); spent.Sent != 2 {
			t.Errorf("after that a cycle cost %+v", spent)
		}
	})
}

func TestAFailClosedReleaseIsTriedUntilItIsAnswered(t *testing.T) {
	const releasing = "turn ="
	for name, test := range map[string]struct {
		fault queuelocktest.Fault
		err   bool
	}{
		"no fault":             {queuelocktest.DelayRequest(0), false},
		"request lost":         {queuelocktest.LoseRequest().Times(3), false},
		"response lost":        {queuelocktest.LoseResponse().Times(1), false},
		"responses lost":       {queuelocktest.LoseResponse().Times(4), false},
		"response never comes": {queuelocktest.SwallowResponse().Times(2), false},
		"throttled":            {queuelocktest.Refuse(queuelocktest.Throttling).Times(4), false},
		"lands late":           {queuelocktest.LandLate(20 * time.Millisecond).Times(1), false},
		"for minutes":          {queuelocktest.LoseRequest(), true},
		"unheard for minutes":  {queuelocktest.LoseResponse(), true},
	} {
		for _, queued := range []bool{false, true} {
			locktest.InBubble(t, fmt.Sprint(name, ", others wait: ", queued), func(t *testing.T) {
				table := locktest.Watched(t)
				c, db := locktest.Open(t, table, "a", locktest.TenSeconds)
				other, _ := locktest.Open(t, table, "other", locktest.TenSeconds)
				lock := locktest.Acquire(t, c, waitpolicy.NoWait, queuelock.FailClosed())
				var waiting <-chan locktest.Outcome
				if queued {
					waiting = locktest.QueueUp(t.Context(), other, waitpolicy.Forever)
					time.Sleep(time.Minute)
				}
				injected := db.Inject(test.fault.Mentioning(releasing))
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
				defer cancel()
				begun := time.Now()
				err := lock.Release(ctx)
				if test.err {
					unreleased, ok := errors.AsType[*queuelock.UnreleasedError](err)
					if took := time.Since(begun); !ok || unreleased.Ticket != lock.Ticket() || took < 5*time.Minute || took > 5*time.Minute+2*time.Second {
						t.Fatalf("after %v: %v", took, err)
					}
					locktest.Says(t, err, "order-7", "release it again", "evict it")
					if !errors.Is(lock.Err(), queuelock.ErrReleased) {
						t.Errorf("%v", lock.Err())
					}
					injected.Remove()
					err = c.Close(t.Context()) // which tries it again
				}
				if err != nil {
					t.Error(err)
				}
				locktest.Release(t, lock)
				if queued {
					got := <-waiting
					if got.Err != nil {
						t.Fatal(got.Err)
					}
					locktest.Release(t, got.Lock)
				}
				takenWithin(t, other, time.Second)
			})
		}
	}
	locktest.InBubble(t, "the context has ended", func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		c, db := locktest.Open(t, table, "a", locktest.TenSeconds)
		lock := locktest.Acquire(t, c, waitpolicy.NoWait, queuelock.FailClosed())
		db.Partition()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		begun := time.Now()
		if _, ok := errors.AsType[*queuelock.UnreleasedError](lock.Release(ctx)); !ok || time.Since(begun) > 2*time.Second {
			t.Errorf("after %v: %v", time.Since(begun), lock.Err())
		}
		db.Heal()
		locktest.Release(t, lock)
	})
}

// Where an engine does not show the record that refused, a read that fails is no
// release of unknown outcome: the operator's eviction is told all the same.
func TestAReleaseOfAnEvictedFailClosedLockTellsSoWhateverBecomesOfItsReads(t *testing.T) {
	for _, fails := range []int{0, 1, 3, 6} { // the SDK makes three attempts
		locktest.InBubble(t, fmt.Sprint("reads that fail: ", fails), func(t *testing.T) {
			table := queuelocktest.NewTable(t, queuelocktest.WithoutFailedItem())
			c, db := locktest.Open(t, table, "c", queuelock.Config{})
			operator, _ := locktest.Open(t, table, "operator", queuelock.Config{})
			lock := locktest.Acquire(t, c, waitpolicy.NoWait, queuelock.FailClosed())
			if err := operator.Evict(t.Context(), locktest.Order, lock.Ticket()); err != nil {
				t.Fatal(err)
			}
			if fails > 0 {
				db.Inject(queuelocktest.LoseRequest().Of("GetItem").Times(fails))
			}
			if err := lock.Release(t.Context()); !errors.Is(err, queuelock.ErrLost) {
				t.Errorf("%v", err)
			}
		})
	}
}

// A lock that was lost, and could not be removed, may stand all the same: a late
// TAKE brings an id back. That is said beside the loss, and Release may be called
// again.
func TestALostFailClosedLockThatCouldNotBeRemovedIsTold(t *testing.T) {
	locktest.InBubble(t, "by its Release", func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		c, db := locktest.Open(t, table, "c", locktest.TenSeconds)
		lock := locktest.Acquire(t, c, waitpolicy.NoWait, queuelock.FailClosed())
		locktest.Evict(t, table, locktest.Order.Entity)
		<-lock.Done()
		db.Partition()
		for range 2 {
			err := lock.Release(t.Context())
			if _, stands := errors.AsType[*queuelock.UnreleasedError](err); !stands || !errors.Is(err, queuelock.ErrLost) {
				t.Errorf("%v", err)
			}
		}
		db.Heal()
		for range 2 {
			err := lock.Release(t.Context())
			if _, stands := errors.AsType[*queuelock.UnreleasedError](err); stands || !errors.Is(err, queuelock.ErrLost) {
				t.Errorf("%v", err)
			}
		}
	})
	locktest.InBubble(t, "by an AcquireAll that waited for others", func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		a, _ := locktest.Open(t, table, "a", locktest.SharedScope)
		c, db := locktest.Open(t, table, "c", locktest.SharedScope)
		held := locktest.AcquireAll(t, a, waitpolicy.NoWait, "b")
		done := make(chan error, 1)
		go func() {
			_, err := c.AcquireAll(t.Context(), locktest.KeysOf("a", "b"), waitpolicy.For(5*time.Minute), queuelock.FailClosed())
			done <- err
		}()
		time.Sleep(time.Second)
		locktest.Evict(t, table, "a")
		db.Inject(queuelocktest.LoseRequest().Of("UpdateItem").On("a", "").Mentioning("REMOVE").Times(3)) // the SDK's attempts
		err := <-done
		if unreleased, ok := errors.AsType[*queuelock.UnreleasedError](err); !ok || unreleased.Key.Entity != "a" {
			t.Errorf("%v", err)
		}
		locktest.ReleaseAll(t, held)
	})
}

func TestFailClosedMakesNoSenseWithADeadline(t *testing.T) {
	locktest.InBubble(t, "all", func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		c, db := locktest.Open(t, table, "a", queuelock.Config{})
		_, err := c.Acquire(t.Context(), locktest.Order, waitpolicy.NoWait, queuelock.FailClosed(), queuelock.OnDanger(time.Second, func(*queuelock.Lock) {}))
		locktest.Says(t, err, "FailClosed", "OnDanger", "no deadline")
		_, err = c.Acquire(t.Context(), locktest.Order, waitpolicy.NoWait, queuelock.LockDelay(time.Second), queuelock.FailClosed())
		locktest.Says(t, err, "FailClosed", "LockDelay")
		if n := db.Counts().Total().Sent; n != 0 {
			t.Errorf("%d requests were sent", n)
		}
		lock := locktest.Acquire(t, c, waitpolicy.NoWait, queuelock.FailClosed(), queuelock.LockDelay(0), queuelock.WithTTL(20*time.Second))
		if beats := locktest.Cost(table, func() { time.Sleep(101 * time.Second) }); beats.Sent < 10 || beats.Sent > 11 { // none late, each up to a second early
			t.Errorf("%d heartbeats in 101 s, want one each ten", beats.Sent)
		}
		locktest.Release(t, lock)
	})
}

func TestFailClosedHoldersShareAndCount(t *testing.T) {
	for name, opt := range map[string]queuelock.Option{"shared": queuelock.Shared(), "permits": queuelock.Permits(2)} {
		locktest.InBubble(t, name, func(t *testing.T) {
			table := queuelocktest.NewTable(t)
			c, _ := locktest.Open(t, table, "a", locktest.TenSeconds)
			other, _ := locktest.Open(t, table, "b", locktest.TenSeconds)
			first := locktest.Acquire(t, c, waitpolicy.Forever, opt, queuelock.FailClosed())
			second := locktest.Acquire(t, other, waitpolicy.Forever, opt, queuelock.FailClosed())
			for _, e := range holderEntries(t, table) {
				if e["ttl"] != nil || e["until"] != nil {
					t.Errorf("%v has a lease", e)
				}
			}
			if err := c.Evict(t.Context(), locktest.Order, second.Ticket()); err != nil {
				t.Error(err)
			}
			time.Sleep(time.Minute)
			if first.Err() != nil || !errors.Is(second.Err(), queuelock.ErrLost) {
				t.Errorf("%v, %v, want that the second was evicted", first.Err(), second.Err())
			}
			locktest.Release(t, first)
		})
	}
}

func TestAFailClosedLockIsNotResumed(t *testing.T) {
	locktest.InBubble(t, "all", func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		c, db := locktest.Open(t, table, "a", locktest.TenSeconds)
		other, _ := locktest.Open(t, table, "b", locktest.TenSeconds)
		lock := locktest.Acquire(t, c, waitpolicy.NoWait, queuelock.FailClosed())
		db.Partition()
		_, err := other.Resume(t.Context(), lock.Handle(), waitpolicy.NoWait, queuelock.FailClosed())
		locktest.Says(t, err, "Resume", "FailClosed")
		_, err = other.Resume(t.Context(), lock.Handle(), waitpolicy.Forever)
		locktest.Says(t, err, "ticket 1", "without a lease", "evict")
		confirmed(t, table)
		db.Heal()
		if err := lock.Extend(t.Context()); err != nil {
			t.Errorf("the holder has lost it: %v", err)
		}
		locktest.Release(t, lock)
	})
}

// Several locks of one call are confirmed each.
func TestSeveralFailClosedLocksAreAllConfirmed(t *testing.T) {
	for _, scope := range []queuelock.Scope{queuelock.ScopeQueue, queuelock.ScopeShared} {
		locktest.InBubble(t, fmt.Sprint("scope ", scope), func(t *testing.T) {
			cfg := locktest.TenSeconds
			cfg.Scope = scope
			table := queuelocktest.NewTable(t)
			c, db := locktest.Open(t, table, "a", cfg)
			other, _ := locktest.Open(t, table, "b", cfg)
			keys := []queuelock.Key{{Entity: "x"}, {Entity: "y"}, {Entity: "z"}}
			busy, err := other.Acquire(t.Context(), keys[1], waitpolicy.NoWait)
			if err != nil {
				t.Fatal(err)
			}
			db.Inject(queuelocktest.LoseResponse().Mentioning(confirmation).Times(2))
			done := make(chan *queuelock.Locks, 1)
			go func() {
				locks, err := c.AcquireAll(t.Context(), keys, waitpolicy.Forever, queuelock.FailClosed())
				if err != nil {
					t.Error(err)
				}
				done <- locks
			}()
			time.Sleep(time.Minute)
			locktest.Release(t, busy)
			locks := <-done
			db.Partition()
			time.Sleep(time.Minute)
			all := holderEntries(t, table)
			for _, e := range all {
				if e["ttl"] != nil || e["until"] != nil {
					t.Errorf("%v has a lease", e)
				}
			}
			if len(all) != 3 {
				t.Errorf("%d holders, want three", len(all))
			}
			db.Heal()
			if err := locks.Release(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	locktest.InBubble(t, "one that cannot be taken back", func(t *testing.T) {
		cfg := locktest.TenSeconds
		cfg.Scope = queuelock.ScopeShared
		table := queuelocktest.NewTable(t)
		c, db := locktest.Open(t, table, "a", cfg)
		db.Inject(queuelocktest.SwallowResponse().Mentioning(confirmation))
		db.Inject(queuelocktest.LoseRequest().Mentioning("REMOVE holders"))
		_, err := c.AcquireAll(t.Context(), []queuelock.Key{{Entity: "x"}, {Entity: "y"}}, waitpolicy.For(20*time.Second), queuelock.FailClosed())
		if orphan, ok := errors.AsType[*queuelock.UnreleasedError](err); !ok || orphan.Key.Entity != "x" {
			t.Errorf("%v, want an *UnreleasedError of x", err)
		}
	})
}

// The caller's writes and the release are one.
func TestAFailClosedLockIsReleasedWithWrites(t *testing.T) {
	for name, fault := range map[string]queuelocktest.Fault{
		"no fault":       queuelocktest.DelayRequest(0),
		"response lost":  queuelocktest.LoseResponse().Of("TransactWriteItems").Times(1),
		"responses lost": queuelocktest.LoseResponse().Of("TransactWriteItems"),
	} {
		locktest.InBubble(t, name, func(t *testing.T) {
			table := queuelocktest.NewTable(t)
			c, db := locktest.Open(t, table, "a", locktest.TenSeconds)
			other, _ := locktest.Open(t, table, "b", locktest.TenSeconds)
			lock := locktest.Acquire(t, c, waitpolicy.NoWait, queuelock.FailClosed())
			db.Inject(fault)
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			err := lock.ReleaseWith(ctx, locktest.Deposit(table, nil))
			if _, unknown := errors.AsType[*queuelock.UnknownOutcomeError](err); unknown != (name == "responses lost") || !unknown && err != nil {
				t.Errorf("%v", err)
			}
			locktest.Release(t, lock) // of an unknown outcome: it was made, and that is no loss
			if locktest.Balance(table) != "1" {
				t.Errorf("the account holds %s", locktest.Balance(table))
			}
			takenWithin(t, other, time.Second)
		})
	}
}

func TestEvictSaysWhyItDoesNothing(t *testing.T) {
	locktest.InBubble(t, "all", func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		c, db := locktest.Open(t, table, "a", locktest.TenSeconds)
		operator, _ := locktest.Open(t, table, "operator", locktest.TenSeconds)
		refused := func(lock *queuelock.Lock, why error, words ...string) {
			t.Helper()
			number := lock.Ticket()
			spent := locktest.Cost(table, func() {
				err := operator.Evict(t.Context(), locktest.Order, number)
				e, ok := errors.AsType[*queuelock.EvictError](err)
				if !ok || !errors.Is(err, why) || e.Ticket != number || e.Key.Entity != locktest.Order.Entity {
					t.Errorf("%v, want %v", err, why)
				}
				locktest.Says(t, err, append(words, "order-7", "ticket "+number.String())...)
				if n := strings.Count(err.Error(), "queuelock: "); n != 1 {
					t.Errorf("%q has the package's name %d times", err, n)
				}
			})
			if spent.Sent != 1 || spent.WriteUnits != 0 {
				t.Errorf("it cost %+v, want a read", spent)
			}
		}
		gone := locktest.Acquire(t, c, waitpolicy.NoWait)
		refused(gone, queuelock.ErrLeased, "a lease, which ends by itself: a, in ")
		locktest.Release(t, gone)
		refused(gone, queuelock.ErrNotServed, "nobody", "nor with another")

		lock := locktest.Acquire(t, c, waitpolicy.NoWait, queuelock.FailClosed())
		refused(gone, queuelock.ErrNotServed, "nobody", "served: a (ticket 2)")
		spent := locktest.Cost(table, func() {
			if err := operator.Evict(t.Context(), locktest.Order, lock.Ticket()); err != nil {
				t.Error(err)
			}
		})
		if spent.Sent > 3 || spent.ReadUnits != 1 {
			t.Errorf("it cost %+v, want a read and a write, and one to quieten the queue", spent)
		}
		<-lock.Done() // meanwhile the queue is quiet
		refused(lock, queuelock.ErrNotServed, "nobody")
		if spent := locktest.Cost(table, func() { locktest.Release(t, locktest.Acquire(t, operator, waitpolicy.NoWait)) }); spent.Sent != 2 {
			t.Errorf("the queue is off the path of one request: %+v", spent)
		}

		// Before it is confirmed it has a lease.
		held := db.Inject(queuelocktest.HoldRequest().Mentioning(confirmation))
		acquiring := make(chan *queuelock.Lock, 1)
		go func() {
			lock, err := c.Acquire(t.Context(), locktest.Order, waitpolicy.NoWait, queuelock.FailClosed())
			if err != nil {
				t.Error(err)
			}
			acquiring <- lock
		}()
		<-held.Reached()
		serving := locktest.Must(operator.Inspect(t.Context(), locktest.Order)).Serving
		if len(serving) != 1 || serving[0].FailClosed || serving[0].TTL != grace {
			t.Fatalf("%+v", serving)
		}
		if err := operator.Evict(t.Context(), locktest.Order, serving[0].Ticket); !errors.Is(err, queuelock.ErrLeased) {
			t.Errorf("%v", err)
		}
		held.Release()
		lock = <-acquiring

		if _, err := operator.Acquire(t.Context(), locktest.Order, waitpolicy.NoWait); err == nil {
			t.Error("two holders")
		} else {
			locktest.Says(t, err, "without a lease")
		}
		if err := operator.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if err := operator.Evict(t.Context(), locktest.Order, lock.Ticket()); !errors.Is(err, queuelock.ErrClosed) {
			t.Errorf("%v", err)
		}
		if err := c.Evict(t.Context(), queuelock.Key{}, lock.Ticket()); err == nil {
			t.Error("no key is a key")
		}
		if err := c.Evict(t.Context(), queuelock.Key{Entity: "never used"}, lock.Ticket()); !errors.Is(err, queuelock.ErrNotServed) {
			t.Errorf("%v", err)
		}
		locktest.Release(t, lock)
	})
}

func TestEvictOutlastsWhatPasses(t *testing.T) {
	for name, fault := range map[string]queuelocktest.Fault{
		"request lost":         queuelocktest.LoseRequest().Times(5),
		"response lost":        queuelocktest.LoseResponse().Times(5),
		"response never comes": queuelocktest.SwallowResponse().Times(3),
		"throttled":            queuelocktest.Refuse(queuelocktest.Throttling).Times(5),
		"twice":                queuelocktest.Duplicate(10 * time.Second),
	} {
		locktest.InBubble(t, name, func(t *testing.T) {
			table := queuelocktest.NewTable(t)
			c, db := locktest.Open(t, table, "a", locktest.TenSeconds)
			operator, dbOperator := locktest.Open(t, table, "operator", locktest.TenSeconds)
			lock := locktest.Acquire(t, c, waitpolicy.NoWait, queuelock.FailClosed())
			db.Partition()
			waiting := locktest.QueueUp(t.Context(), operator, waitpolicy.Forever) // of the same process
			time.Sleep(time.Minute)
			dbOperator.Inject(fault.Mentioning("failClosed"))
			if err := operator.Evict(t.Context(), locktest.Order, lock.Ticket()); err != nil {
				t.Fatal(err)
			}
			evicted := time.Now()
			got := <-waiting
			if took := got.At.Sub(evicted); got.Err != nil || took > 100*time.Millisecond {
				t.Errorf("the waiter was served %v after (%v), want at once", took, got.Err)
			}
			time.Sleep(time.Minute)
			if err := got.Lock.Err(); err != nil {
				t.Error(err)
			}
		})
	}
	locktest.InBubble(t, "no table", func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		c, db := locktest.Open(t, table, "a", locktest.TenSeconds)
		lock := locktest.Acquire(t, c, waitpolicy.NoWait, queuelock.FailClosed())
		db.Inject(queuelocktest.LoseRequest().Mentioning("failClosed"))
		begun := time.Now()
		err := c.Evict(t.Context(), locktest.Order, lock.Ticket())
		locktest.Says(t, err, "may be gone", "ticket 1")
		if took := time.Since(begun); took > 40*time.Second {
			t.Errorf("after %v", took)
		}
		locktest.Release(t, lock)
	})
}

func TestEngineFailClosedLocksAreKeptAndEvicted(t *testing.T) {
	locktest.OnEveryEngine(t, func(t *testing.T, table *queuelocktest.Table) {
		c, db := locktest.Open(t, table, "a", locktest.Fast)
		other, _ := locktest.Open(t, table, "b", locktest.Fast)
		locktest.Release(t, locktest.Acquire(t, c, waitpolicy.NoWait))
		var lock *queuelock.Lock
		if spent := locktest.Cost(table, func() { lock = locktest.Acquire(t, c, waitpolicy.NoWait, queuelock.FailClosed()) }); spent.Sent != 2 {
			t.Errorf("an idle lock took %d requests, want 2", spent.Sent)
		}
		if spent := locktest.Cost(table, func() { locktest.Release(t, lock) }); spent.Sent != 1 {
			t.Errorf("its release took %d requests, want 1", spent.Sent)
		}

		// Once more, with answers that are lost, and by the queue.
		held := locktest.Acquire(t, other, waitpolicy.Forever)
		db.Inject(queuelocktest.LoseResponse().Mentioning(confirmation).Times(1))
		acquired := make(chan *queuelock.Lock, 1)
		go func() {
			lock, err := c.Acquire(t.Context(), locktest.Order, waitpolicy.Forever, queuelock.FailClosed())
			if err != nil {
				t.Error(err)
			}
			acquired <- lock
		}()
		locktest.Release(t, held)
		lock = <-acquired
		db.Partition()
		_, err := other.Acquire(t.Context(), locktest.Order, waitpolicy.For(2*locktest.Fast.TTL))
		if !errors.Is(err, queuelock.ErrNotAcquired) {
			t.Fatalf("a dead holder without a lease was passed: %v", err)
		}
		waiting := locktest.QueueUp(t.Context(), other, waitpolicy.Forever)
		if err := other.Evict(t.Context(), locktest.Order, lock.Ticket().Previous()); !errors.Is(err, queuelock.ErrNotServed) {
			t.Errorf("%v", err)
		}
		if err := other.Evict(t.Context(), locktest.Order, lock.Ticket()); err != nil {
			t.Fatal(err)
		}
		got := <-waiting
		if got.Err != nil {
			t.Fatal(got.Err)
		}
		if err := other.Evict(t.Context(), locktest.Order, got.Lock.Ticket()); !errors.Is(err, queuelock.ErrLeased) {
			t.Errorf("%v", err)
		}
		db.Heal()
		<-lock.Done()
		if err := lock.Release(t.Context()); !errors.Is(err, queuelock.ErrLost) {
			t.Errorf("%v", err)
		}
		locktest.Release(t, got.Lock)
	})
}
