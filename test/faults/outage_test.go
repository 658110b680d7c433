package faults_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/attr"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/ticket"
	"github.com/queuelock/queuelock/waitpolicy"
)

// TestUnresponsiveTable checks that a table that does not answer is an error and not a
// busy lock.
func TestUnresponsiveTable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		c, db := locktest.OpenMet(t, table, "a", queuelock.Config{})
		silent := db.Inject(queuelocktest.SwallowRequest())
		begun := time.Now()
		_, err := c.Acquire(t.Context(), locktest.Order, waitpolicy.Forever)
		if took := time.Since(begun); err == nil || errors.Is(err, queuelock.ErrNotAcquired) || took > 80*time.Second {
			t.Errorf("after %v: %v, want the table's error after about a TTL", took, err)
		}
		locktest.Says(t, err, "no answer within 3.75s", "UpdateItem")
		begun = time.Now()
		_, err = c.Acquire(t.Context(), locktest.Order, waitpolicy.For(20*time.Second))
		if took := time.Since(begun); !errors.Is(err, queuelock.ErrUnavailable) || took > 30*time.Second {
			t.Errorf("after %v: %v", took, err)
		}
		locktest.Says(t, err, "no answer within 3.75s")
		silent.Remove()
		db.Inject(queuelocktest.Refuse(queuelocktest.AccessDenied).Times(1))
		_, err = c.Acquire(t.Context(), locktest.Order, waitpolicy.Forever)
		locktest.Says(t, err, "AccessDenied", "order-7")
		if errors.Is(err, queuelock.ErrNotAcquired) {
			t.Errorf("%v counts as a busy lock", err)
		}
	})
}

// TestNoWait checks that a client with NoWait tries a table that does not answer for
// three seconds. It does not wait for the table any longer, whichever request gets no
// answer.
func TestNoWait(t *testing.T) {
	const least = 700 * time.Millisecond // the next pause may go beyond three seconds after the shortest ones before it
	// A waiter was there, and has left: NoWait takes a number, and looks.
	left := func(cfg queuelock.Config) attr.Item {
		record := attr.With(locktest.RecordKey(), attr.Item{"ticketNumber": attr.Num(3), "servingAfter": attr.Num(0), "granted": attr.Num(0), "holders": attr.Object(attr.Item{}), "holdMode": attr.Str("exclusive")})
		if cfg.Scope == ticket.ScopeTable {
			record["scope"] = attr.Str("shared")
		}
		return record
	}
	for what, call := range map[string]func(*testing.T, *queuelocktest.Table, *queuelock.Client, *queuelocktest.Client) error{
		"Acquire, at its look": func(t *testing.T, table *queuelocktest.Table, c *queuelock.Client, db *queuelocktest.Client) error {
			locktest.Write(t, table, left(queuelock.Config{}))
			db.Inject(queuelocktest.LoseRequest().Of("Query", "GetItem"))
			_, err := c.Acquire(t.Context(), locktest.Order, waitpolicy.NoWait)
			return err
		},
		"Resume": func(t *testing.T, table *queuelocktest.Table, c *queuelock.Client, db *queuelocktest.Client) error {
			a, _ := locktest.Open(t, table, "a", queuelock.Config{})
			held := locktest.Acquire(t, a, waitpolicy.NoWait)
			db.Partition()
			_, err := c.Resume(t.Context(), held.Handle(), waitpolicy.NoWait)
			return err
		},
	} {
		locktest.InBubble(t, what, func(t *testing.T) {
			table := queuelocktest.NewTable(t)
			c, db := locktest.Open(t, table, "c", queuelock.Config{})
			begun := time.Now()
			err := call(t, table, c, db)
			if took := time.Since(begun); err == nil || errors.Is(err, queuelock.ErrNotAcquired) || took < least || took > 6*time.Second {
				t.Errorf("after %v: %v", took, err)
			}
		})
	}
	locktest.InBubble(t, "AcquireAll, at its look", func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		c, db := locktest.Open(t, table, "c", locktest.SharedScope)
		for range 3 {
			locktest.Release(t, locktest.Acquire(t, c, waitpolicy.NoWait)) // the counter knows of three tickets
		}
		locktest.Write(t, table, left(locktest.SharedScope))
		db.Inject(queuelocktest.LoseRequest().Of("Query", "GetItem"))
		begun := time.Now()
		_, err := c.AcquireAll(t.Context(), []queuelock.Key{locktest.Order}, waitpolicy.NoWait)
		if took := time.Since(begun); err == nil || errors.Is(err, queuelock.ErrNotAcquired) || took < least || took > 6*time.Second {
			t.Errorf("after %v: %v", took, err)
		}
	})
}

// TestFailingClaims checks that claims that fail are given up. Claims that fail while
// looks succeed must not be repeated for ever, and leaving must take no longer for it.
func TestFailingClaims(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t, queuelocktest.WithLatency(5*time.Millisecond))
		a, db := locktest.Open(t, table, "a", locktest.TenSeconds)
		b, _ := locktest.Open(t, table, "b", locktest.TenSeconds)
		held := locktest.Acquire(t, b, waitpolicy.NoWait)
		waiting := locktest.QueueUp(t.Context(), a, waitpolicy.Forever)
		time.Sleep(time.Second)
		refuse := queuelocktest.Refuse(queuelocktest.InternalError).Of("UpdateItem").On(locktest.Order.Entity, "lock/"+ticket.Number{}.Padded())
		claims := db.Inject(refuse.Mentioning("size (holders) = 0"))
		removals := db.Inject(refuse.Mentioning("REMOVE holders."))
		locktest.Release(t, held)
		begun := time.Now()
		got := <-waiting
		if took := got.At.Sub(begun); got.Err == nil || took > time.Minute {
			t.Errorf("after %v: %v", took, got.Err)
		}
		// Pauses double from 50 ms to 2 s, each shortened or lengthened by up to a half, for 30 s.
		if n := claims.Fired(); n < 15 || n > 30 {
			t.Errorf("%d claims were sent in vain, want some 20", n)
		}
		// Leaving takes 3 s, and each call is three requests of the SDK.
		if n := removals.Fired(); n < 9 || n > 30 {
			t.Errorf("%d removals were sent in vain, want some 20", n)
		}
	})
}

// TestFailureAfterRest checks that one failure after a long wait loses no place in the
// queue. What a waiter has waited counts for nothing against its patience with a table
// that fails once.
func TestFailureAfterRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t, queuelocktest.WithLatency(5*time.Millisecond))
		a, db := locktest.Open(t, table, "a", locktest.TenSeconds)
		b, _ := locktest.Open(t, table, "b", locktest.TenSeconds)
		held := locktest.Acquire(t, b, waitpolicy.NoWait)
		ctx, cancel := context.WithCancel(t.Context())
		first := locktest.QueueUp(ctx, a, waitpolicy.Forever)
		time.Sleep(time.Second)
		second := locktest.QueueUp(t.Context(), a, waitpolicy.Forever)
		time.Sleep(5 * time.Minute)
		cancel()
		<-first
		db.Inject(queuelocktest.Refuse(queuelocktest.InternalError).Of("Query", "GetItem").Times(4))
		time.Sleep(30 * time.Second)
		locktest.Release(t, held)
		if got := <-second; got.Err != nil || got.Lock.Ticket().After(held.Ticket()) != 2 {
			t.Errorf("%+v", got)
		}
	})
}
