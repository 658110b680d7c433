package acquire_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

// TestBlockSilence lets more callers than a block has wait at a table that does not answer. Each fails once it has not answered for as
// long as a caller alone would wait, and none earlier.
func TestBlockSilence(t *testing.T) {
	open := func(t *testing.T) (*queuelock.Client, *queuelocktest.Client) {
		table := queuelocktest.NewTable(t, queuelocktest.WithLatency(2*time.Millisecond))
		return locktest.Open(t, table, "c", queuelock.Config{TTL: 10 * time.Second, Block: 2}) // so that callers wait 30 s
	}
	locktest.InBubble(t, "OfThoseThatComeLater", func(t *testing.T) {
		c, db := open(t)
		db.Inject(queuelocktest.SwallowRequest())
		var all sync.WaitGroup
		for after, n := range map[time.Duration]int{0: 7, 10 * time.Second: 2, 20 * time.Second: 3, 29 * time.Second: 1, 31 * time.Second: 4, 70 * time.Second: 1} {
			for i := range n {
				all.Go(func() {
					time.Sleep(after + time.Duration(i)*time.Microsecond)
					came := time.Now()
					_, err := c.Acquire(t.Context(), locktest.Order, waitpolicy.Forever)
					locktest.Is(t, err, queuelock.ErrUnavailable)
					if took := time.Since(came); took < 27*time.Second || took > 40*time.Second {
						t.Errorf("a caller that came after %v has failed after %v", after, took)
					}
				})
			}
		}
		all.Wait()
	})
	locktest.InBubble(t, "BehindAnswers", func(t *testing.T) { // those that have gathered for long count from the last answer
		c, db := open(t)
		held := locktest.Acquire(t, c, waitpolicy.Forever)
		slow := db.Inject(queuelocktest.DelayResponse(2300 * time.Millisecond).Of("UpdateItem").Mentioning("ticketNumber = "))
		ctx, leave := context.WithCancel(t.Context())
		var all []<-chan locktest.Outcome
		for range 60 {
			all = append(all, locktest.QueueUp(ctx, c, waitpolicy.Forever))
			time.Sleep(time.Microsecond)
		}
		time.Sleep(45 * time.Second) // two by two
		slow.Remove()
		silent := time.Now()
		cut := db.Inject(queuelocktest.SwallowRequest())
		for _, one := range all[58:] {
			r := locktest.Within(t, "one of the last", time.Minute, one)
			locktest.Is(t, r.Err, queuelock.ErrUnavailable)
			if took := time.Since(silent); took < 27*time.Second || took > 45*time.Second {
				t.Errorf("it has failed after %v of silence", took)
			}
		}
		cut.Remove()
		leave()
		_ = held.Release(t.Context())
	})
	locktest.InBubble(t, "AndServesAgain", func(t *testing.T) {
		c, db := open(t)
		cut := db.Inject(queuelocktest.SwallowRequest())
		begun := time.Now()
		early := locktest.LockBy(t, c)
		time.Sleep(20 * time.Second)
		var late []<-chan locktest.Outcome
		for range 5 {
			late = append(late, locktest.LockBy(t, c))
			time.Sleep(time.Microsecond)
		}
		locktest.Is(t, locktest.Within(t, "the first", time.Minute, early).Err, queuelock.ErrUnavailable)
		cut.Remove()
		for _, one := range late {
			locktest.Release(t, granted(t, one))
		}
		if took := time.Since(begun); took > 50*time.Second {
			t.Errorf("the last has waited until %v", took)
		}
	})
}
