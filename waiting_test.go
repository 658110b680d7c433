package queuelock_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

// A lock that was lost before AcquireAll returned it opens its queue at once, also
// if the network was silent when it was lost.
func TestLockDelayOfLostMember(t *testing.T) {
	inBubble(t, "EndsOnceTheTableAnswers", func(t *testing.T) {
		table := queuelocktest.NewTable(t, queuelocktest.WithLatency(2*time.Millisecond))
		cfg := queuelock.Config{TTL: 3 * time.Second, Scope: queuelock.ScopeShared}
		a, _ := open(t, table, "a", cfg)
		b, db := open(t, table, "b", cfg)
		held := acquireAll(t, a, waitpolicy.NoWait, "b")
		done := make(chan severalOutcome, 1)
		go func() {
			locks, err := b.AcquireAll(t.Context(), keysOf("a", "b"), waitpolicy.Forever, queuelock.LockDelay(20*time.Second))
			done <- severalOutcome{locks, err, time.Now()}
		}()
		time.Sleep(10 * time.Second)
		db.Partition()
		time.Sleep(4 * time.Second)
		db.Heal()
		time.Sleep(3 * time.Second)
		state := must(a.Inspect(t.Context(), queuelock.Key{Entity: "a"}))
		if len(state.Serving) != 1 || state.Serving[0].Remaining > 24*time.Second || state.Serving[0].Age > 4*time.Second {
			t.Errorf("a is not held by the next round: %+v", state.Serving)
		}
		releaseAll(t, held)
		freed := time.Now()
		got := <-done
		if got.err != nil || got.at.Sub(freed) > 3*time.Second {
			t.Fatalf("%v after both were free: %+v", got.at.Sub(freed), got)
		}
		releaseAll(t, got.locks)
	})
	inBubble(t, "IsReportedIfTheTableStaysSilent", func(t *testing.T) {
		table := queuelocktest.NewTable(t, queuelocktest.WithLatency(2*time.Millisecond))
		cfg := queuelock.Config{TTL: 3 * time.Second, Scope: queuelock.ScopeShared}
		a, _ := open(t, table, "a", cfg)
		b, db := open(t, table, "b", cfg)
		acquireAll(t, a, waitpolicy.NoWait, "b")
		done := make(chan severalOutcome, 1)
		begun := time.Now()
		go func() {
			locks, err := b.AcquireAll(t.Context(), keysOf("a", "b"), waitpolicy.For(15*time.Second), queuelock.LockDelay(20*time.Second))
			done <- severalOutcome{locks, err, time.Now()}
		}()
		time.Sleep(10 * time.Second)
		db.Partition()
		got := <-done
		if !strings.Contains(fmt.Sprint(got.err), `"a" (lock) ticket 2 was lost before it was returned, and may keep its queue closed for its lock delay of 20s`) {
			t.Error(got.err)
		}
		if took := got.at.Sub(begun); !errors.Is(got.err, queuelock.ErrNotAcquired) || took > 25*time.Second {
			t.Errorf("after %v: %v", took, got.err)
		}
	})
}
