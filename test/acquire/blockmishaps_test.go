package acquire_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/attr"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

// caught makes a call, and returns what it has panicked with.
func caught(f func()) (value any) {
	defer func() { value = recover() }()
	f()
	return nil
}

// TestBlockPanic lets a DynamoDB client panic in a request of one caller, which recovers. The others are served all the same.
func TestBlockPanic(t *testing.T) {
	locktest.InBubble(t, "InTake", func(t *testing.T) {
		table := queuelocktest.NewTable(t, queuelocktest.WithLatency(2*time.Millisecond))
		p := &locktest.Breaking{Client: table.Client("c")}
		c, err := queuelock.New(p, table.Name(), queuelock.Config{TTL: 10 * time.Second})
		locktest.OK(t, err)
		defer func() { locktest.OK(t, c.Close(t.Context())) }()
		p.Left.Store(1)
		if v := caught(func() { _, _ = c.Acquire(t.Context(), locktest.Order, waitpolicy.Forever) }); v != "mistake" {
			t.Errorf("%v", v)
		}
		got := locktest.Within(t, "the next", time.Minute, locktest.QueueUp(t.Context(), c, waitpolicy.Forever))
		locktest.OK(t, got.Err)
		locktest.Release(t, got.Lock)
	})
	locktest.InBubble(t, "InAdvance", func(t *testing.T) {
		table := queuelocktest.NewTable(t, queuelocktest.WithLatency(2*time.Millisecond))
		p := &locktest.Breaking{Client: table.Client("c")}
		c, err := queuelock.New(p, table.Name(), queuelock.Config{TTL: 10 * time.Second})
		locktest.OK(t, err)
		defer func() { locktest.OK(t, c.Close(t.Context())) }()
		held := locktest.Acquire(t, c, waitpolicy.Forever)
		mine := gathered(t.Context(), c, 1)
		time.Sleep(time.Microsecond)
		var recovered any
		fails := make(chan struct{})
		go func() {
			defer close(fails)
			recovered = caught(func() { _, _ = c.Acquire(t.Context(), locktest.Order, waitpolicy.Forever) })
		}()
		time.Sleep(time.Microsecond)
		mine = append(mine, gathered(t.Context(), c, 2)...)
		time.Sleep(time.Second)
		locktest.Release(t, held)
		first := lockOf(t, mine[0])
		_ = first.Condition()
		p.Left.Store(1)
		locktest.Release(t, first)
		<-fails
		if recovered != "mistake" {
			t.Errorf("%v", recovered)
		}
		for _, one := range mine[1:] {
			got := locktest.Within(t, "a caller", time.Minute, one)
			locktest.OK(t, got.Err)
			locktest.Release(t, got.Lock)
		}
	})
}

// TestBlockUnavailable lets a block wait at a table that does not answer.
func TestBlockUnavailable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t, queuelocktest.WithLatency(2*time.Millisecond))
		c, db := locktest.Open(t, table, "c", queuelock.Config{Block: 64})
		other, _ := locktest.Open(t, table, "other", queuelock.Config{})
		held := locktest.Acquire(t, other, waitpolicy.Forever)
		ctx, leave := context.WithCancel(t.Context())
		first := gathered(ctx, c, 1) // the others wait behind it, as a block
		var mine []<-chan locktest.Outcome
		for range 4 {
			mine = append(mine, locktest.QueueUp(t.Context(), c, waitpolicy.For(30*time.Second)))
			time.Sleep(time.Microsecond)
		}
		time.Sleep(time.Second)
		leave()
		<-first[0]
		cut := db.Inject(queuelocktest.SwallowRequest())
		mine = append(mine, locktest.QueueUp(t.Context(), c, waitpolicy.For(20*time.Second))) // it takes a ticket
		time.Sleep(time.Microsecond)
		mine = append(mine, locktest.QueueUp(t.Context(), c, waitpolicy.For(15*time.Second))) // it cannot
		for i, one := range mine {
			if r := locktest.Within(t, "a caller", time.Minute, one); !errors.Is(r.Err, queuelock.ErrUnavailable) {
				t.Errorf("caller %d: %v", i, r.Err)
			}
		}
		cut.Remove()
		locktest.Release(t, held)
	})
}

// TestBlockTakesOn lets a caller's first TAKE have no answer for longer than its lease. Those that come after it take tickets all the
// same, once it has one.
func TestBlockTakesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t, queuelocktest.WithLatency(2*time.Millisecond))
		c, db := locktest.Open(t, table, "c", queuelock.Config{Block: 64, TTL: 10 * time.Second, RequestTimeout: 3 * time.Second})
		other, _ := locktest.Open(t, table, "other", queuelock.Config{})
		locktest.Release(t, locktest.Acquire(t, c, waitpolicy.Forever))
		lost := db.Inject(queuelocktest.SwallowResponse().Of("UpdateItem").Mentioning("ticketNumber = ").Times(1))
		first := locktest.QueueUp(t.Context(), c, waitpolicy.Forever)
		<-lost.Reached()
		begun := time.Now()
		theirs := locktest.QueueUp(t.Context(), other, waitpolicy.Forever)
		mine := gathered(t.Context(), c, 3)
		stopped := db.Inject(queuelocktest.HoldRequest().Of("UpdateItem").Mentioning("ticketNumber = "))
		time.Sleep(time.Until(begun.Add(locktest.TTL - 50*time.Millisecond))) // its grant has ended, and is not evicted yet
		stopped.Release()
		held := lockOf(t, theirs)
		time.Sleep(20 * time.Second)
		if rows, _ := locktest.RowsAndHolders(t, c); rows != 2 {
			t.Errorf("%d rows", rows)
		}
		locktest.Release(t, held)
		for _, one := range append([]<-chan locktest.Outcome{first}, mine...) {
			locktest.Release(t, lockOf(t, one))
		}
	})
}

// TestBlockHeartbeat lets turns of a block be shorter than a round trip.
func TestBlockHeartbeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t, queuelocktest.WithLatency(30*time.Millisecond))
		c, _ := locktest.Open(t, table, "c", queuelock.Config{Block: 1000, TTL: 2 * time.Second})
		held := locktest.Acquire(t, c, waitpolicy.Forever)
		mine := gathered(t.Context(), c, 300)
		locktest.Release(t, held)
		begun := time.Now()
		before := table.Counts()["UpdateItem"].Applied
		for i, one := range mine {
			lock := lockOf(t, one)
			time.Sleep(20 * time.Millisecond)
			if err := lock.Release(t.Context()); err != nil {
				t.Fatalf("turn %d, after %v: %v", i, time.Since(begun), err)
			}
		}
		t.Logf("%d writes in %v", table.Counts()["UpdateItem"].Applied-before, time.Since(begun))
	})
}

// TestBlockAdvanceEnds lets the wait of a caller end, or the table refuse, as its turn in a block is about to begin.
func TestBlockAdvanceEnds(t *testing.T) {
	for name, f := range map[string]queuelocktest.Fault{
		"late":    queuelocktest.DelayRequest(800 * time.Millisecond),
		"silent":  queuelocktest.LoseRequest(),
		"refused": queuelocktest.Refuse("ValidationException").Times(1), // the third does not meet it
	} {
		locktest.InBubble(t, name, func(t *testing.T) {
			blocksOf(t, func(table *queuelocktest.Table, c *queuelock.Client, db *queuelocktest.Client) {
				held := locktest.Acquire(t, c, waitpolicy.Forever)
				mine := gathered(t.Context(), c, 1)
				mine = append(mine, locktest.QueueUp(t.Context(), c, waitpolicy.For(1500*time.Millisecond)))
				time.Sleep(time.Microsecond)
				mine = append(mine, gathered(t.Context(), c, 1)...)
				time.Sleep(time.Second)
				locktest.Release(t, held)
				first := lockOf(t, mine[0])
				_ = first.Condition()
				fails := db.Inject(f.Of("UpdateItem").Mentioning("reached = "))
				locktest.Release(t, first)
				second := locktest.Within(t, "the second", 10*time.Second, mine[1])
				fails.Remove()
				switch {
				case name == "late": // the answer came within the grace of a request
					locktest.OK(t, second.Err)
					locktest.Release(t, second.Lock)
				case name == "silent" && !errors.Is(second.Err, queuelock.ErrUnavailable):
					t.Errorf("the table does not answer: %v", second.Err)
				case name == "refused" && (second.Err == nil || !strings.Contains(second.Err.Error(), "ValidationException")):
					t.Errorf("it is refused: %v", second.Err)
				}
				third := locktest.Within(t, "the third", 10*time.Second, mine[2])
				locktest.OK(t, third.Err)
				if third.Lock.Ticket() != first.Ticket().Plus(2) {
					t.Errorf("ticket %s after %s", third.Lock.Ticket(), first.Ticket())
				}
				locktest.Release(t, third.Lock)
			})
		})
	}
}

func blocksOf(t *testing.T, f func(table *queuelocktest.Table, c *queuelock.Client, db *queuelocktest.Client)) {
	table := queuelocktest.NewTable(t, queuelocktest.WithLatency(2*time.Millisecond))
	c, db := locktest.Open(t, table, "c", queuelock.Config{Block: 64})
	f(table, c, db)
}

// paused is a DynamoDB client whose process is paused after an ADVANCE, before its answer is seen.
type paused struct {
	*queuelocktest.Client
	by atomic.Int64 // zero: it is not
}

func (p *paused) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, opts ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	out, err := p.Client.UpdateItem(context.WithoutCancel(ctx), in, opts...)
	if slices.Contains(slices.Collect(maps.Values(in.ExpressionAttributeNames)), attr.Reached) {
		time.Sleep(time.Duration(p.by.Load()))
		p.by.Store(0)
	}
	return out, err
}

// TestBlockPausedAdvance pauses a process past its lease as a turn of a block begins: its caller gets a lock that it still has.
func TestBlockPausedAdvance(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t, queuelocktest.WithLatency(2*time.Millisecond))
		db := &paused{Client: table.Client("c")}
		c, err := queuelock.New(db, table.Name(), queuelock.Config{Block: 64, TTL: locktest.TTL})
		locktest.OK(t, err)
		t.Cleanup(func() { _ = c.Close(context.Background()) })
		held := locktest.Acquire(t, c, waitpolicy.Forever)
		mine := gathered(t.Context(), c, 2)
		time.Sleep(time.Second)
		locktest.Release(t, held)
		first := lockOf(t, mine[0])
		_ = first.Condition()
		db.by.Store(int64(2 * locktest.TTL))
		locktest.Release(t, first)
		second := lockOf(t, mine[1])
		if err := second.Err(); err != nil || !first.Ticket().Plus(1).Less(second.Ticket()) {
			t.Errorf("ticket %s after %s: %v", second.Ticket(), first.Ticket(), err)
		}
		locktest.Release(t, second)
	})
}
