package faults_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

func TestHoleLateRow(t *testing.T) {
	t.Run("published", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			_, a, b := publishedClients(t, time.Minute)
			ctx := t.Context()
			ta := locktest.Must(a.take(ctx)) // and stalls
			tb := locktest.Must(b.take(ctx))
			done(b.enqueue(ctx, tb))
			holdsB := locktest.Must(b.first(ctx, tb))
			done(a.enqueue(ctx, ta))
			holdsA := locktest.Must(a.first(ctx, ta))
			if !holdsA || !holdsB {
				t.Errorf("the schedule does not show the hole: A holds %v, B holds %v", holdsA, holdsB)
			}
		})
	})
	t.Run("queuelock", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			// Another client is served. A takes a number, and its row is held up. B takes
			// one and is served first, and then A's row arrives.
			table := queuelocktest.NewTable(t)
			first, _ := locktest.Open(t, table, "first", queuelock.Config{})
			a, dbA := locktest.OpenMet(t, table, "a", queuelock.Config{})
			b, _ := locktest.Open(t, table, "b", queuelock.Config{})
			held := locktest.Acquire(t, first, waitpolicy.Forever)

			row := dbA.Inject(queuelocktest.HoldRequest().Of("PutItem").LandingAnyway())
			look := dbA.Inject(queuelocktest.HoldRequest().Of("Query", "GetItem"))
			claim := dbA.Inject(queuelocktest.HoldRequest().Of("UpdateItem").Mentioning("granted = 2"))
			waitingA := locktest.QueueUp(t.Context(), a, waitpolicy.Forever)
			<-row.Reached()
			locktest.Release(t, held)
			lockB := locktest.Acquire(t, b, waitpolicy.Forever)
			row.Release()
			look.Release()
			claim.Release()
			time.Sleep(10 * time.Second)
			select {
			case got := <-waitingA:
				t.Fatalf("A was served (%v) beside B", got)
			default:
			}
			if err := lockB.Err(); err != nil {
				t.Fatalf("B lost its lock: %v", err)
			}
			locktest.Release(t, lockB)
			got := <-waitingA
			if got.Err != nil || !lockB.Ticket().Less(got.Lock.Ticket()) {
				t.Errorf("A after B (ticket %s): %v", lockB.Ticket(), got)
			}
		})
	})
}

func TestHoleRevivedRow(t *testing.T) {
	t.Run("published", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			_, a, b := publishedClients(t, 10*time.Second)
			ctx := t.Context()
			ta := locktest.Must(a.take(ctx))
			done(a.enqueue(ctx, ta))
			holdsA := locktest.Must(a.first(ctx, ta))
			tb := locktest.Must(b.take(ctx))
			done(b.enqueue(ctx, tb))
			time.Sleep(9 * time.Second)
			done(b.heartbeat(ctx, tb))
			time.Sleep(2 * time.Second) // A stalls past its lease
			holdsB := locktest.Must(b.first(ctx, tb))
			revived := a.heartbeat(ctx, ta)
			if !holdsA || !holdsB || revived != nil {
				t.Errorf("the schedule does not show the hole: A %v, B %v, A's heartbeat %v", holdsA, holdsB, revived)
			}
		})
	})
	t.Run("queuelock", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			// A's heartbeats hang; B is served; then they get through.
			table := queuelocktest.NewTable(t)
			a, dbA := locktest.Open(t, table, "a", queuelock.Config{TTL: 10 * time.Second})
			b, _ := locktest.Open(t, table, "b", queuelock.Config{TTL: 10 * time.Second})
			locktest.Release(t, locktest.Acquire(t, a, waitpolicy.Forever)) // A knows the clock
			lockA := locktest.Acquire(t, a, waitpolicy.Forever)
			beat := dbA.Inject(queuelocktest.HoldRequest().Of("UpdateItem").LandingAnyway())
			lockB := locktest.Acquire(t, b, waitpolicy.Forever)
			if err := lockA.Err(); !errors.Is(err, queuelock.ErrLost) {
				t.Fatalf("A still believes to hold the lock (%v) when B is served", err)
			}
			beat.Release()
			time.Sleep(20 * time.Second)
			if err := lockB.Err(); err != nil {
				t.Errorf("B lost its lock to a revived holder: %v", err)
			}
			if rows, holders := locktest.RowsAndHolders(t, b); rows != 0 || holders != 1 {
				t.Errorf("%d rows and %d holders, want B alone", rows, holders)
			}
		})
	})
}

func TestHoleLiveLockDeleted(t *testing.T) {
	t.Run("published", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			_, a, b := publishedClients(t, 10*time.Second)
			ctx := t.Context()
			ta := locktest.Must(a.take(ctx))
			done(a.enqueue(ctx, ta))
			time.Sleep(11 * time.Second) // B reads it expired, and stalls
			done(a.heartbeat(ctx, ta))   // A refreshes it
			holdsA := locktest.Must(a.first(ctx, ta))
			done(b.sweep(ctx, ta))
			tb := locktest.Must(b.take(ctx))
			done(b.enqueue(ctx, tb))
			holdsB := locktest.Must(b.first(ctx, tb))
			if !holdsA || !holdsB {
				t.Errorf("the schedule does not show the hole: A %v, B %v", holdsA, holdsB)
			}
		})
	})
	t.Run("queuelock", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			// B judges A's lease to be over; its eviction is held up; A's renewal,
			// which had been held up as well, gets through first.
			table := queuelocktest.NewTable(t)
			a, dbA := locktest.Open(t, table, "a", queuelock.Config{TTL: 10 * time.Second})
			b, dbB := locktest.Open(t, table, "b", queuelock.Config{TTL: 10 * time.Second})
			locktest.Release(t, locktest.Acquire(t, a, waitpolicy.Forever))
			lockA := locktest.Acquire(t, a, waitpolicy.Forever)
			beat := dbA.Inject(queuelocktest.HoldRequest().Of("UpdateItem").LandingAnyway())
			evict := dbB.Inject(queuelocktest.HoldRequest().Of("UpdateItem").Mentioning("REMOVE holders."))
			waitingB := locktest.QueueUp(t.Context(), b, waitpolicy.Forever)
			<-evict.Reached()
			beat.Release()
			time.Sleep(time.Millisecond) // A's renewal is applied
			evict.Release()
			time.Sleep(time.Millisecond)
			state := locktest.Must(b.Inspect(t.Context(), locktest.Order))
			if len(state.Serving) != 1 || state.Serving[0].Ticket != lockA.Ticket() {
				t.Errorf("serving %+v, want A, whose lease was renewed before the eviction arrived", state.Serving)
			}
			if got := <-waitingB; got.Err != nil {
				t.Error(got.Err)
			}
		})
	})
}

func TestHoleMisleadingRetry(t *testing.T) {
	t.Run("published", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			_, a, _ := publishedClients(t, 10*time.Second)
			ta := locktest.Must(a.take(t.Context()))
			a.db.Inject(queuelocktest.LoseResponse().Of("PutItem").Times(1))
			err := a.enqueue(t.Context(), ta)
			if _, refused := errors.AsType[*types.ConditionalCheckFailedException](err); !refused {
				t.Errorf("the schedule does not show the hole: %v", err)
			}
		})
	})
	for _, op := range []struct{ name, mentioning string }{
		{"UpdateItem", "servingAfter = if_not_exists"}, // TAKE
		{"PutItem", ""},                  // ENQUEUE
		{"UpdateItem", "granted = 2"},    // CLAIM
		{"UpdateItem", "beat = "},        // HEARTBEAT
		{"UpdateItem", "REMOVE holders"}, // RELEASE
		{"DeleteItem", ""},               // row delete
	} {
		t.Run("queuelock "+op.name+" "+op.mentioning, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				table := queuelocktest.NewTable(t)
				a, _ := locktest.Open(t, table, "a", queuelock.Config{TTL: 10 * time.Second})
				b, db := locktest.Open(t, table, "b", queuelock.Config{TTL: 10 * time.Second})
				held := locktest.Acquire(t, a, waitpolicy.Forever)
				lost := db.Inject(queuelocktest.LoseResponse().Of(op.name).Mentioning(op.mentioning).Times(1))
				waiting := locktest.QueueUp(t.Context(), b, waitpolicy.Forever)
				time.Sleep(time.Second)
				locktest.Release(t, held)
				got := <-waiting
				if got.Err != nil {
					t.Fatal(got.Err)
				}
				behind := uint64(1)
				if strings.Contains(op.mentioning, "servingAfter") {
					behind = 2 // the number that was issued unheard is burnt
				}
				if n := got.Lock.Ticket().After(held.Ticket()); n != behind {
					t.Errorf("served with the ticket %d after the holder's, want %d", n, behind)
				}
				time.Sleep(20 * time.Second) // heartbeats
				if err := got.Lock.Err(); err != nil {
					t.Fatalf("the lock was lost: %v", err)
				}
				locktest.Release(t, got.Lock)
				time.Sleep(time.Second)
				if lost.Fired() != 1 {
					t.Fatalf("the fault struck %d times, want once\n%s", lost.Fired(), table.Log())
				}
				if rows, holders := locktest.RowsAndHolders(t, a); rows != 0 || holders != 0 {
					t.Errorf("%d rows and %d holders are left", rows, holders)
				}
			})
		})
	}
}

func TestHoleTwoClocks(t *testing.T) {
	skewed := func(by time.Duration) func() time.Time { return func() time.Time { return time.Now().Add(by) } }
	t.Run("published", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			_, a, b := publishedClients(t, time.Minute)
			b.now = skewed(10 * time.Minute)
			ctx := t.Context()
			ta := locktest.Must(a.take(ctx))
			done(a.enqueue(ctx, ta))
			holdsA := locktest.Must(a.first(ctx, ta))
			tb := locktest.Must(b.take(ctx))
			done(b.enqueue(ctx, tb))
			holdsB := locktest.Must(b.first(ctx, tb))
			if !holdsA || !holdsB {
				t.Errorf("the schedule does not show the hole: A %v, B %v", holdsA, holdsB)
			}
		})
	})
	// A host's wall clock cannot differ from the test's own; but it is the
	// difference between host and database that counts.
	for _, by := range []time.Duration{-10 * time.Minute, 10 * time.Minute} {
		t.Run("queuelock "+by.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				table := queuelocktest.NewTable(t, queuelocktest.WithClock(skewed(by)))
				a, dbA := locktest.Open(t, table, "a", queuelock.Config{TTL: 10 * time.Second})
				b, _ := locktest.Open(t, table, "b", queuelock.Config{TTL: 10 * time.Second})
				locktest.Release(t, locktest.Acquire(t, a, waitpolicy.Forever))
				lock := locktest.Acquire(t, a, waitpolicy.Forever)
				waiting := locktest.QueueUp(t.Context(), b, waitpolicy.Forever)
				time.Sleep(time.Minute)
				if err := lock.Err(); err != nil {
					t.Fatalf("a holder that renews was evicted: %v", err)
				}
				dbA.Partition() // dies
				died := time.Now()
				got := <-waiting
				if took := got.At.Sub(died); got.Err != nil || took > 10*time.Second+1500*time.Millisecond {
					t.Errorf("take-over after %v, %v: want at most the lease and 1.5s", took, got.Err)
				}
				if lock.Err() == nil {
					t.Error("the killed holder believes past its lease")
				}
			})
		})
	}
}
