package faults_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

// TestNoWaitEnds checks that a caller that will not wait gets its answer within 3 s of each attempt, however the table
// fails. Nothing was queued, so that nothing is to leave.
func TestNoWaitEnds(t *testing.T) {
	for call, prepare := range callsThatAcquire {
		for outage, fault := range outages() {
			for name, c := range map[string]struct {
				wait waitpolicy.Wait
				most time.Duration
			}{
				"NoWait":   {wait: waitpolicy.NoWait, most: 3 * time.Second},
				"Attempts": {wait: waitpolicy.Attempts(3, time.Second), most: 3*3*time.Second + 2*time.Second},
			} {
				t.Run(call+"/"+outage+"/"+name, func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						table := queuelocktest.NewTable(t)
						acquire := prepare(t, table)
						table.Inject(fault)
						begun := time.Now()
						err := acquire(t.Context(), c.wait)
						if took := time.Since(begun); took > c.most || name == "NoWait" && outage == "NothingAnswers" && took != c.most {
							t.Errorf("it took %v, want %v", took, c.most)
						}
						if !errors.Is(err, queuelock.ErrUnavailable) || errors.Is(err, queuelock.ErrNotAcquired) {
							t.Errorf("error %v", err)
						}
					})
				})
			}
		}
	}
}

// TestNoWaitCleansUp checks that what a TAKE without an answer has left is removed after the return, and that Close waits
// for that. A TAKE that is applied after its removal was refused
// twice ends with its lease.
func TestNoWaitCleansUp(t *testing.T) {
	for name, c := range map[string]struct {
		fault queuelocktest.Fault
		close bool
		late  bool // only a lease ends it
	}{
		"AfterReturn":               {fault: queuelocktest.SwallowResponse()},
		"BeforeCloseReturns":        {fault: queuelocktest.SwallowResponse(), close: true},
		"AfterSeveralLostAnswers":   {fault: queuelocktest.LoseResponse()},
		"WhenRequestIsAppliedLater": {fault: queuelocktest.DelayRequest(3100 * time.Millisecond).LandingAnyway()},
		"WhenRequestIsVeryLate":     {fault: queuelocktest.DelayRequest(7 * time.Second).LandingAnyway(), late: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				table := queuelocktest.NewTable(t)
				a, _ := locktest.Open(t, table, "a", queuelock.Config{})
				b, _ := locktest.Open(t, table, "b", queuelock.Config{})
				locktest.Acquire(t, b, waitpolicy.NoWait).Release(t.Context())
				outage := table.Inject(c.fault.Where(func(r queuelocktest.Request) bool { return r.Client == "a" }))
				_, err := a.Acquire(t.Context(), locktest.Order, waitpolicy.NoWait)
				if !errors.Is(err, queuelock.ErrUnavailable) {
					t.Fatalf("error %v", err)
				}
				outage.Remove()
				if c.close {
					if err := a.Close(t.Context()); err != nil {
						t.Error(err)
					}
				} else {
					time.Sleep(8 * time.Second)
				}
				asked := time.Now()
				lock, err := b.Acquire(t.Context(), locktest.Order, waitpolicy.For(2*time.Minute))
				if err != nil {
					t.Fatal(err)
				}
				if w := time.Since(asked); (w > time.Second) != c.late {
					t.Errorf("the next lock took %v", w)
				}
				_ = lock.Release(t.Context())
			})
		})
	}
}

// TestAttemptAfterLostAnswer checks that an attempt is not refused by what the one before has left.
func TestAttemptAfterLostAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		a, _ := locktest.Open(t, table, "a", queuelock.Config{})
		locktest.Acquire(t, a, waitpolicy.NoWait).Release(t.Context())
		outage := table.Inject(queuelocktest.SwallowResponse())
		time.AfterFunc(2900*time.Millisecond, outage.Remove) // the request under way gets no answer
		late := table.Inject(queuelocktest.DelayRequest(500 * time.Millisecond).Of("UpdateItem").Mentioning("REMOVE holders").Times(1))
		lock, err := a.Acquire(t.Context(), locktest.Order, waitpolicy.Attempts(2, time.Millisecond))
		if err != nil || late.Fired() == 0 {
			t.Fatal(err, late.Fired())
		}
		_ = lock.Release(t.Context())
	})
}
