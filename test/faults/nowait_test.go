package faults_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

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
		locktest.InTable(t, name, func(t *testing.T, table *queuelocktest.Table) {
			a, _ := locktest.OpenMet(t, table, "a", queuelock.Config{})
			b, _ := locktest.Open(t, table, "b", queuelock.Config{})
			locktest.Acquire(t, b, waitpolicy.NoWait).Release(t.Context())
			// Of TAKE alone: the removal begins at the moment at which Acquire returns.
			outage := table.Inject(c.fault.Mentioning("if_not_exists(ticketNumber").Where(func(r queuelocktest.Request) bool { return r.Client == "a" }))
			_, err := a.Acquire(t.Context(), locktest.Order, waitpolicy.NoWait)
			if !errors.Is(err, queuelock.ErrUnavailable) {
				t.Fatalf("error %v", err)
			}
			outage.Remove()
			if c.close {
				locktest.Check(t, a.Close(t.Context()))
			} else {
				time.Sleep(8 * time.Second)
			}
			asked := time.Now()
			lock := locktest.Must(b.Acquire(t.Context(), locktest.Order, waitpolicy.For(2*time.Minute)))
			if w := time.Since(asked); (w > time.Second) != c.late {
				t.Errorf("the next lock took %v", w)
			}
			_ = lock.Release(t.Context())
		})
	}
}

// TestAttemptAfterLostAnswer checks that an attempt is not refused by what the one before has left.
func TestAttemptAfterLostAnswer(t *testing.T) {
	for call, acquire := range acquiring {
		for scope, cfg := range scopes {
			for nth := range 4 {
				locktest.InTable(t, fmt.Sprintf("%s/%s/%d", call, scope, nth), func(t *testing.T, table *queuelocktest.Table) {
					a, _ := locktest.Open(t, table, "a", cfg)
					lock, err := acquire(t.Context(), a, waitpolicy.NoWait)
					if err == nil {
						err = lock.Release(t.Context())
					}
					if err != nil {
						t.Fatal(err)
					}
					table.Inject(queuelocktest.SwallowResponse().Of("UpdateItem").After(nth).Times(1))
					table.Inject(queuelocktest.DelayRequest(200 * time.Millisecond).Mentioning("REMOVE holders."))
					if lock, err = acquire(t.Context(), a, waitpolicy.Attempts(2, time.Millisecond)); err == nil {
						err = lock.Release(t.Context())
					}
					if err != nil {
						t.Fatal(err)
					}
				})
			}
		}
	}
}

// TestNoWaitGivesBack checks an AcquireAll that will not wait and was granted some of its locks when the table falls
// silent: it gives them back or reports them within a bound, and Close gives back what is left.
func TestNoWaitGivesBack(t *testing.T) {
	for scope, cfg := range scopes {
		for name, c := range map[string]struct {
			opts []queuelock.AcquireOption
			most time.Duration
		}{
			"Leased":     {most: 7 * time.Second},
			"LockDelay":  {opts: []queuelock.AcquireOption{queuelock.LockDelay(5 * time.Second)}, most: 10 * time.Second},
			"FailClosed": {opts: []queuelock.AcquireOption{queuelock.FailClosed()}, most: 10 * time.Second},
		} {
			for answers := range 7 {
				locktest.InTable(t, fmt.Sprintf("%s%sAfter%d", scope, name, answers), func(t *testing.T, table *queuelocktest.Table) {
					client, db := locktest.Open(t, table, "a", cfg)
					other, _ := locktest.Open(t, table, "b", cfg)
					silence := db.Inject(queuelocktest.SwallowRequest().After(answers))
					begun := time.Now()
					locks, err := client.AcquireAll(t.Context(), locktest.KeysOf("x", "y", "z"), waitpolicy.NoWait, c.opts...)
					took := time.Since(begun)
					if took > c.most {
						t.Errorf("it took %v, want at most %v", took, c.most)
					}
					silence.Remove()
					if err == nil {
						locktest.ReleaseAll(t, locks)
					} else if !errors.Is(err, queuelock.ErrUnavailable) || errors.Is(err, queuelock.ErrNotAcquired) {
						t.Errorf("error %v", err)
					}
					locktest.Check(t, client.Close(t.Context()))
					for _, entity := range []string{"x", "y", "z"} {
						state, inspectErr := other.Viewer().Inspect(t.Context(), queuelock.Key{Entity: entity})
						if inspectErr != nil {
							t.Error(inspectErr)
						}
						if len(state.Serving) > 0 && !reported(err, entity) {
							t.Errorf("the lock of %s is forgotten: %+v; error %v", entity, state.Serving, err)
						}
					}
				})
			}
		}
	}
}

// reported reports whether an error has an UnreleasedError for the lock of an entity.
func reported(err error, entity string) bool {
	switch e := err.(type) {
	case *queuelock.UnreleasedError:
		return e.Key.Entity == entity
	case interface{ Unwrap() []error }:
		return slices.ContainsFunc(e.Unwrap(), func(err error) bool { return reported(err, entity) })
	}
	return false
}
