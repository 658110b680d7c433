package modes_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/ticket"
	"github.com/queuelock/queuelock/waitpolicy"
)

// TestLossWhileWaiting checks that AcquireAll starts again when a lock is lost while it waits for the others. That was
// never returned, so it has no lock delay, for which the call would wait.
func TestLossWhileWaiting(t *testing.T) {
	for name, test := range map[string]struct {
		scope ticket.Scope
		opts  []queuelock.AcquireOption
	}{
		"one after the other": {scope: ticket.ScopeQueue}, "a common ticket": {scope: ticket.ScopeTable},
		"with a lock delay": {scope: ticket.ScopeTable, opts: []queuelock.AcquireOption{queuelock.LockDelay(time.Hour)}},
	} {
		locktest.InTable(t, name, func(t *testing.T, table *queuelocktest.Table) {
			b, db, a := locktest.Pair(t, table, queuelock.Config{TTL: locktest.TTL, Scope: test.scope}, "b", "a")
			held := locktest.AcquireAll(t, a, waitpolicy.NoWait, "b")
			waiting := locktest.Background(func() (*queuelock.Locks, error) {
				return b.AcquireAll(t.Context(), locktest.KeysOf("a", "b"), waitpolicy.Forever, test.opts...)
			})
			time.Sleep(time.Second)
			if test.opts == nil {
				locktest.Evict(t, table, "a")
			} else {
				cut := db.Inject(queuelocktest.LoseRequest().Of("UpdateItem").On("a", "").Mentioning("beat + 1"))
				time.AfterFunc(15*time.Second, cut.Remove)
			}
			time.Sleep(16 * time.Second)
			locktest.Release(t, held)
			got := locktest.Lock(t, locktest.Within(t, "the call", time.Minute, waiting))
			locktest.OK(t, got.Err())
			if n, ok := got.Ticket(); ok && n != ticket.FromUint64(3) {
				t.Errorf("ticket %s, want a new one", n)
			}
			locktest.Release(t, got)
			locktest.NothingLeft(t, table)
		}, queuelocktest.WithLatency(time.Millisecond))
	}
}

func TestContextEndsWithLoss(t *testing.T) {
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		c, _ := locktest.Open(t, table, "a", locktest.SharedScope)
		locks := locktest.AcquireAll(t, c, waitpolicy.NoWait, "a", "b", "c")
		locktest.Evict(t, table, "b")
		select {
		case <-locks.Context().Done():
		case <-time.After(time.Minute):
			t.Error("the context goes on, with a lock that was lost a minute ago")
		}
		lost, ok := errors.AsType[*queuelock.LostError](locks.Err())
		if !ok || lost.Key.Entity != "b" || !errors.Is(context.Cause(locks.Context()), queuelock.ErrLost) || locks.All()[0].Err() != nil {
			t.Errorf("%v, %v", locks.Err(), context.Cause(locks.Context()))
		}
		for range 2 {
			err := locks.Release(t.Context())
			if lost, ok := errors.AsType[*queuelock.LostError](err); !ok || lost.Key.Entity != "b" {
				t.Errorf("%v, want that b was lost", err)
			}
		}
		locktest.NothingLeft(t, table)

		// One that is released by itself ends it as well.
		locks = locktest.AcquireAll(t, c, waitpolicy.NoWait, "a", "b")
		locktest.Release(t, locks.All()[0])
		<-locks.Context().Done()
		locktest.Is(t, locks.Err(), queuelock.ErrReleased)
		locktest.Release(t, locks)
	})
}

// TestExtendAll checks that Extend renews each lease by one request, also beside a lock that is lost.
func TestExtendAll(t *testing.T) {
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		c, _ := locktest.Open(t, table, "a", locktest.SharedScope)
		locks, err := c.AcquireAll(t.Context(), locktest.KeysOf("a", "b", "c"), waitpolicy.NoWait, queuelock.NoHeartbeat())
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			time.Sleep(40 * time.Second)
			spent := locktest.Cost(table, func() {
				locktest.Check(t, locks.Extend(t.Context()))
			})
			if spent.Sent != 3 || locks.Err() != nil {
				t.Errorf("%+v, %v", spent, locks.Err())
			}
		}
		locktest.Evict(t, table, "b")
		time.Sleep(40 * time.Second)
		err = locks.Extend(t.Context())
		if lost, ok := errors.AsType[*queuelock.LostError](err); !ok || lost.Key.Entity != "b" || !errors.Is(locks.Err(), queuelock.ErrLost) {
			t.Errorf("%v, want that b was lost", err)
		}
		for _, i := range []int{0, 2} {
			if left := locks.All()[i].Remaining(); left < 50*time.Second {
				t.Errorf("lock %d was not extended: %v", i, left)
			}
		}
		locktest.Is(t, locks.Release(t.Context()), queuelock.ErrLost)
	})
}

// TestReleaseTriesEach checks that Release tries each of several locks, also beside one that cannot be released.
func TestReleaseTriesEach(t *testing.T) {
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		c, db := locktest.Open(t, table, "a", locktest.SharedScope)
		locks := locktest.AcquireAll(t, c, waitpolicy.NoWait, "a", "b", "c")
		time.Sleep(2 * time.Second)
		bad := db.Inject(queuelocktest.Refuse(queuelocktest.AccessDenied).On("b", ""))
		err := locks.Release(t.Context())
		if err == nil || errors.Is(err, queuelock.ErrLost) || strings.Contains(err.Error(), `"a"`) || !strings.Contains(err.Error(), `"b"`) {
			t.Errorf("%v, want that b could not be released", err)
		}
		other, _ := locktest.Open(t, table, "b", locktest.SharedScope)
		locktest.Release(t, locktest.AcquireAll(t, other, waitpolicy.NoWait, "a", "c"))
		bad.Remove()
		locktest.Release(t, locks)
		locktest.NothingLeft(t, table)
	})
}

// TestReleaseBesideTransactOfSeveral releases one of several locks while a transaction under all of them is being committed, which is
// not the lock that sends it. The next holder learns that the writes may not be visible yet.
func TestReleaseBesideTransactOfSeveral(t *testing.T) {
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		a, db := locktest.OpenMet(t, table, "a", locktest.SharedScope)
		b, _ := locktest.OpenMet(t, table, "b", locktest.SharedScope)
		locks := locktest.AcquireAll(t, a, waitpolicy.Forever, "x", "y")
		db.Inject(queuelocktest.SplitTransaction(15*time.Second, 0, 0).Times(1))
		done := make(chan error, 1)
		go func() { done <- locks.Transact(t.Context(), locktest.Deposit(table, nil)) }()
		time.Sleep(time.Second)
		locktest.Release(t, locks.All()[1])
		next := locktest.Must(b.Acquire(t.Context(), queuelock.Key{Entity: "y"}, waitpolicy.NoWait))
		before := locktest.Balance(table)
		if _, unknown := errors.AsType[*queuelock.UnknownOutcomeError](<-done); !unknown {
			t.Error("the transaction was answered")
		}
		time.Sleep(20 * time.Second)
		if after := locktest.Balance(table); before == after || !next.Unsettled() {
			t.Errorf("the account held %s at the grant, and holds %s: unsettled %t", before, after, next.Unsettled())
		}
		locktest.Release(t, next)
		_ = locks.Release(t.Context())
	})
}

// TestTransactOfSeveral checks that Transact is conditional on all locks.
func TestTransactOfSeveral(t *testing.T) {
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		c, _ := locktest.Open(t, table, "a", locktest.SharedScope)
		locks := locktest.AcquireAll(t, c, waitpolicy.Forever, "a", "b", "c")
		note := func(n string) types.TransactWriteItem {
			return types.TransactWriteItem{Put: &types.Put{TableName: aws.String(table.Name()), Item: map[string]types.AttributeValue{
				"pk": &types.AttributeValueMemberS{Value: "note"}, "sk": &types.AttributeValueMemberS{Value: n},
			}}}
		}
		locktest.OK(t, locks.Transact(t.Context(), note("1")))
		many := make([]types.TransactWriteItem, 98)
		for _, items := range [][]types.TransactWriteItem{nil, many} {
			if err := locks.Transact(t.Context(), items...); err == nil || !strings.Contains(err.Error(), "100 in all") {
				t.Errorf("%d items: %v", len(items), err)
			}
		}
		locktest.Evict(t, table, "b")
		err := locks.Transact(t.Context(), note("2"))
		if lost, ok := errors.AsType[*queuelock.LostError](err); !ok || lost.Key.Entity != "b" {
			t.Errorf("%v, want that b was lost", err)
		}
		locktest.Is(t, locks.Transact(t.Context(), note("3")), queuelock.ErrLost)
		for _, item := range table.Items() {
			if sk := item["sk"].(*types.AttributeValueMemberS).Value; sk == "2" || sk == "3" {
				t.Errorf("written without the lock: %v", item)
			}
		}
		locktest.Is(t, locks.Release(t.Context()), queuelock.ErrLost)
	})
}
