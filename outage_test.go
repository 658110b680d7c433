package queuelock_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/ticket"
	"github.com/queuelock/queuelock/waitpolicy"
)

func TestATableThatDoesNotAnswerIsAnErrorAndNotABusyLock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		c, db := openMet(t, table, "a", queuelock.Config{})
		silent := db.Inject(queuelocktest.SwallowRequest())
		begun := time.Now()
		_, err := c.Acquire(t.Context(), order, waitpolicy.Forever)
		if took := time.Since(begun); err == nil || errors.Is(err, queuelock.ErrNotAcquired) || took > 80*time.Second {
			t.Errorf("after %v: %v, want the table's error after about a TTL", took, err)
		}
		says(t, err, "no answer within 3.75s", "UpdateItem")
		begun = time.Now()
		_, err = c.Acquire(t.Context(), order, waitpolicy.For(20*time.Second))
		if took := time.Since(begun); !errors.Is(err, queuelock.ErrUnavailable) || took > 30*time.Second {
			t.Errorf("after %v: %v", took, err)
		}
		says(t, err, "no answer within 3.75s")
		silent.Remove()
		db.Inject(queuelocktest.Refuse(queuelocktest.AccessDenied).Times(1))
		_, err = c.Acquire(t.Context(), order, waitpolicy.Forever)
		says(t, err, "AccessDenied", "order-7")
		if errors.Is(err, queuelock.ErrNotAcquired) {
			t.Errorf("%v counts as a busy lock", err)
		}
	})
}

// One who will not wait does not wait for the table either, whichever request it
// is that gets no answer.
func TestWhoWillNotWaitTriesATableThatDoesNotAnswerForThreeSeconds(t *testing.T) {
	// A waiter was there, and has left: NoWait takes a number, and looks.
	left := func(cfg queuelock.Config) item {
		record := with(recordKey(), item{"ticketNumber": num(3), "servingAfter": num(0), "granted": num(0), "holders": object(item{}), "holdMode": str("exclusive")})
		if cfg.Scope == queuelock.ScopeShared {
			record["scope"] = str("shared")
		}
		return record
	}
	for what, call := range map[string]func(*testing.T, *queuelocktest.Table, *queuelock.Client, *queuelocktest.Client) error{
		"Acquire, at its look": func(t *testing.T, table *queuelocktest.Table, c *queuelock.Client, db *queuelocktest.Client) error {
			write(t, table, left(queuelock.Config{}))
			db.Inject(queuelocktest.LoseRequest().Of("Query", "GetItem"))
			_, err := c.Acquire(t.Context(), order, waitpolicy.NoWait)
			return err
		},
		"Resume": func(t *testing.T, table *queuelocktest.Table, c *queuelock.Client, db *queuelocktest.Client) error {
			a, _ := open(t, table, "a", queuelock.Config{})
			held := acquire(t, a, waitpolicy.NoWait)
			db.Partition()
			_, err := c.Resume(t.Context(), held.Handle(), waitpolicy.NoWait)
			return err
		},
	} {
		inBubble(t, what, func(t *testing.T) {
			table := queuelocktest.NewTable(t)
			c, db := open(t, table, "c", queuelock.Config{})
			begun := time.Now()
			err := call(t, table, c, db)
			if took := time.Since(begun); err == nil || errors.Is(err, queuelock.ErrNotAcquired) || took < time.Second || took > 6*time.Second {
				t.Errorf("after %v: %v", took, err)
			}
		})
	}
	inBubble(t, "AcquireAll, at its look", func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		c, db := open(t, table, "c", shared)
		for range 3 {
			release(t, acquire(t, c, waitpolicy.NoWait)) // the counter knows of three tickets
		}
		write(t, table, left(shared))
		db.Inject(queuelocktest.LoseRequest().Of("Query", "GetItem"))
		begun := time.Now()
		_, err := c.AcquireAll(t.Context(), []queuelock.Key{order}, waitpolicy.NoWait)
		if took := time.Since(begun); err == nil || errors.Is(err, queuelock.ErrNotAcquired) || took < time.Second || took > 6*time.Second {
			t.Errorf("after %v: %v", took, err)
		}
	})
}

// Claims that fail while looks succeed must not be repeated for ever, and
// leaving must take no longer for it.
func TestClaimsThatFailAreGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t, queuelocktest.WithLatency(5*time.Millisecond))
		a, db := open(t, table, "a", tenSeconds)
		b, _ := open(t, table, "b", tenSeconds)
		held := acquire(t, b, waitpolicy.NoWait)
		waiting := queueUp(t.Context(), a, waitpolicy.Forever)
		time.Sleep(time.Second)
		broken := db.Inject(queuelocktest.Refuse(queuelocktest.InternalError).Of("UpdateItem").On(order.Entity, "lock/"+ticket.Number{}.Padded()))
		release(t, held)
		begun := time.Now()
		got := <-waiting
		if took := got.at.Sub(begun); got.err == nil || took > time.Minute {
			t.Errorf("after %v: %v", took, got.err)
		}
		if n := db.Counts()["UpdateItem"].Sent; n > 200 {
			t.Errorf("%d requests were sent in vain", n)
		}
		broken.Remove()
	})
}

// What a waiter has waited counts for nothing against its patience with a
// table that fails once.
func TestOneFailureAfterALongRestLosesNoPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t, queuelocktest.WithLatency(5*time.Millisecond))
		a, db := open(t, table, "a", tenSeconds)
		b, _ := open(t, table, "b", tenSeconds)
		held := acquire(t, b, waitpolicy.NoWait)
		ctx, cancel := context.WithCancel(t.Context())
		first := queueUp(ctx, a, waitpolicy.Forever)
		time.Sleep(time.Second)
		second := queueUp(t.Context(), a, waitpolicy.Forever)
		time.Sleep(5 * time.Minute)
		cancel()
		<-first
		db.Inject(queuelocktest.Refuse(queuelocktest.InternalError).Of("Query", "GetItem").Times(4))
		time.Sleep(30 * time.Second)
		release(t, held)
		if got := <-second; got.err != nil || got.lock.Ticket().After(held.Ticket()) != 2 {
			t.Errorf("%+v", got)
		}
	})
}
