package faults_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/av"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

// attempting is one call that acquires a lock that another client holds.
type attempting func(ctx context.Context, wait waitpolicy.Wait) error

// acquiring are calls for the lock of Order; of several locks, with another one.
var acquiring = map[string]func(context.Context, *queuelock.Client, waitpolicy.Wait) (releaser, error){
	"Acquire": func(ctx context.Context, c *queuelock.Client, wait waitpolicy.Wait) (releaser, error) {
		return c.Acquire(ctx, locktest.Order, wait)
	},
	"AcquireAll": func(ctx context.Context, c *queuelock.Client, wait waitpolicy.Wait) (releaser, error) {
		return c.AcquireAll(ctx, []queuelock.Key{{Entity: "idle"}, locktest.Order}, wait)
	},
}

// scopes are the configurations with a counter for each queue, and with one for the table.
var scopes = map[string]queuelock.Config{"Queue": {}, "Table": locktest.SharedScope}

// callsThatAcquire make calls by a client named a, for locks that client b holds.
var callsThatAcquire = func() map[string]func(*testing.T, *queuelocktest.Table) attempting {
	calls := maps.Clone(otherCalls)
	for call, acquire := range acquiring {
		for scope, cfg := range scopes {
			calls[call+scope] = func(t *testing.T, table *queuelocktest.Table) attempting {
				c := another(t, table, cfg)
				return func(ctx context.Context, wait waitpolicy.Wait) error {
					_, err := acquire(ctx, c, wait)
					return err
				}
			}
		}
	}
	return calls
}()

var otherCalls = map[string]func(*testing.T, *queuelocktest.Table) attempting{
	"LockItem": func(t *testing.T, table *queuelocktest.Table) attempting {
		u, key, _ := locktest.NewOrder(t, table)
		b, _ := locktest.Open(t, table, "b", queuelock.Config{})
		locktest.LockItem(t, b, u.Key(key), waitpolicy.NoWait)
		c, _ := locktest.Open(t, table, "a", queuelock.Config{})
		return func(ctx context.Context, wait waitpolicy.Wait) error {
			_, err := c.LockItem(ctx, u.Key(key), wait)
			return err
		}
	},
	"Resume": func(t *testing.T, table *queuelocktest.Table) attempting {
		c := another(t, table, queuelock.Config{})
		former, _ := locktest.Open(t, table, "former", queuelock.Config{})
		var handle queuelock.Handle
		_, err := former.Acquire(limited(t, time.Second), locktest.Order, waitpolicy.Forever, queuelock.OnHandle(func(h queuelock.Handle) { handle = h }))
		busy(t, err)
		return func(ctx context.Context, wait waitpolicy.Wait) error {
			_, err := c.Resume(ctx, handle, wait)
			return err
		}
	},
}

// another makes client a, beside client b that holds the lock.
func another(t *testing.T, table *queuelocktest.Table, cfg queuelock.Config) *queuelock.Client {
	t.Helper()
	b, _ := locktest.Open(t, table, "b", cfg)
	locktest.Acquire(t, b, waitpolicy.NoWait)
	c, _ := locktest.Open(t, table, "a", cfg)
	return c
}

// outages are faults of client a, each under which the table does not answer.
func outages() map[string]queuelocktest.Fault {
	ofA := func(r queuelocktest.Request) bool { return r.Client == "a" }
	return map[string]queuelocktest.Fault{
		"ConnectionsBreak": queuelocktest.LoseRequest().Where(ofA),
		"NothingAnswers":   queuelocktest.SwallowRequest().Where(ofA),
		"AnswersAreLost":   queuelocktest.LoseResponse().Where(ofA),
		"TableThrottles":   queuelocktest.Refuse(queuelocktest.Throttling).Where(ofA),
		"TableFails":       queuelocktest.Refuse(queuelocktest.InternalError).Where(ofA),
	}
}

// wanted is an attempt's wait, and what ends it.
type wanted struct {
	wait          waitpolicy.Wait
	limit, cancel time.Duration // of the context; zero: none
	forever       bool          // nothing ends the wait for a busy lock
}

var allWaits = map[string]wanted{
	"NoWait":   {wait: waitpolicy.NoWait},
	"Short":    {wait: waitpolicy.For(300 * time.Millisecond)},
	"For":      {wait: waitpolicy.For(20 * time.Second)},
	"Attempts": {wait: waitpolicy.Attempts(3, time.Second)},
	"Forever":  {wait: waitpolicy.Forever, forever: true},
	"Deadline": {wait: waitpolicy.Forever, limit: 20 * time.Second},
	"Cancel":   {wait: waitpolicy.Forever, cancel: 20 * time.Second},
}

// try makes one attempt, beside what happens after a time.
func (w wanted) try(t *testing.T, call attempting, after time.Duration, happens func()) error {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if w.limit > 0 {
		ctx = limited(t, w.limit)
	}
	if w.cancel > 0 {
		time.AfterFunc(w.cancel, cancel)
	}
	if after == 0 {
		happens()
	} else if happens != nil {
		defer time.AfterFunc(after, happens).Stop()
	}
	return call(ctx, w.wait)
}

// ends checks that an error reports the end of the caller's context, and of no
// other.
func (w wanted) ends(t *testing.T, err error) {
	t.Helper()
	if errors.Is(err, context.DeadlineExceeded) != (w.limit > 0) || errors.Is(err, context.Canceled) != (w.cancel > 0) {
		t.Errorf("%v: want the end of the caller's context, if it ended", err)
	}
}

// TestErrUnavailable checks which errors say that the table did not answer, and that a caller which will not wait has them soon.
func TestErrUnavailable(t *testing.T) {
	for outage := range outages() {
		for wait, w := range allWaits {
			for call, calls := range callsThatAcquire {
				tries, every := w.wait.Tries()
				if outage != "NothingAnswers" && tries == 0 && (call != "AcquireQueue" || wait != "For") {
					continue // the one that is the hardest to find out
				}
				for when, after := range map[string]time.Duration{"FromTheStart": 0, "WhileWaiting": 100 * time.Millisecond} {
					if after > 0 && tries > 0 {
						continue
					}
					locktest.InTable(t, "MatchesUnder"+outage+wait+call+when, func(t *testing.T, table *queuelocktest.Table) {
						attempt, begun := calls(t, table), time.Now()
						err := w.try(t, attempt, after, func() { table.Inject(outages()[outage]) })
						// One that will not wait has its answer within 3 s of each try.
						most := time.Duration(tries)*3*time.Second + time.Duration(max(0, tries-1))*every
						if took := time.Since(begun); tries > 0 && took > most || tries == 1 && outage == "NothingAnswers" && took != most {
							t.Errorf("it took %v, want %v", took, most)
						}
						if !errors.Is(err, queuelock.ErrUnavailable) || errors.Is(err, queuelock.ErrNotAcquired) {
							t.Errorf("%v: want ErrUnavailable, and not ErrNotAcquired", err)
						}
						if !strings.HasPrefix(call, "AcquireAll") { // which adds the locks that it could not release
							w.ends(t, err)
						}
					})
				}
			}
		}
	}
	for wait, w := range allWaits {
		failures := 4 // the SDK client makes three attempts
		if wait == "Short" {
			// A look comes after a tenth of a second, and the SDK pauses for up to 150 ms after each failure.
			failures, w.wait = 2, waitpolicy.For(600*time.Millisecond)
		}
		for call, calls := range callsThatAcquire {
			if w.forever {
				continue
			}
			locktest.InTable(t, "DoesNotMatchBusyLockUnder"+wait+call, func(t *testing.T, table *queuelocktest.Table) {
				err := w.try(t, calls(t, table), time.Millisecond, func() { table.Inject(outages()["TableFails"].Times(failures)) })
				busy(t, err)
				w.ends(t, err)
			})
		}
	}
	// Whatever request is under way when the wait ends, a slow answer is one.
	for call, calls := range callsThatAcquire {
		locktest.InBubble(t, "DoesNotMatchSlowTableUnder"+call, func(t *testing.T) {
			table := queuelocktest.NewTable(t, queuelocktest.WithLatency(300*time.Millisecond))
			attempt := calls(t, table)
			for end := 10 * time.Millisecond; end < 4*time.Second; end += 130 * time.Millisecond {
				w := wanted{wait: waitpolicy.Forever, cancel: end}
				if call == "Resume" && end > 10*time.Millisecond {
					break // one that gave up has given the place back
				}
				err := w.try(t, attempt, time.Hour, nil)
				busy(t, err)
				w.ends(t, err)
			}
		})
	}
	// A waiter was there, and has left: NoWait takes a number, looks, and claims.
	left := av.With(locktest.RecordKey(), av.Item{"ticketNumber": av.Num(3), "servingAfter": av.Num(0), "granted": av.Num(0), "holders": av.Object(av.Item{}), "holdMode": av.Str("exclusive")})
	for name, fault := range map[string]queuelocktest.Fault{
		"Fail":           queuelocktest.Refuse(queuelocktest.InternalError),
		"GetNoAnswer":    queuelocktest.SwallowRequest(),
		"LoseConnection": queuelocktest.LoseRequest(),
	} {
		for end, w := range map[string]wanted{"ItsPatience": {wait: waitpolicy.NoWait}, "Deadline": {wait: waitpolicy.NoWait, limit: 100 * time.Millisecond}} {
			for request, fault := range map[string]queuelocktest.Fault{
				"Claims": fault.Of("UpdateItem").After(1), // after the TAKE
				"Looks":  fault.Of("GetItem", "Query"),
			} {
				locktest.InTable(t, "MatchesIf"+request+name+"Until"+end, func(t *testing.T, table *queuelocktest.Table) {
					locktest.Write(t, table, left)
					c, db := locktest.OpenMet(t, table, "a", queuelock.Config{})
					failing := db.Inject(fault)
					err := w.try(t, func(ctx context.Context, wait waitpolicy.Wait) error {
						_, err := c.Acquire(ctx, locktest.Order, wait)
						return err
					}, time.Hour, nil)
					if !errors.Is(err, queuelock.ErrUnavailable) || errors.Is(err, queuelock.ErrNotAcquired) || failing.Fired() == 0 {
						t.Errorf("%v: want ErrUnavailable, and not ErrNotAcquired", err)
					}
					w.ends(t, err)
				})
			}
		}
	}
	locktest.InTable(t, "DoesNotHideRefusalWhenWaitEndsMeanwhile", func(t *testing.T, table *queuelocktest.Table) {
		b, _ := locktest.Open(t, table, "b", queuelock.Config{})
		locktest.Acquire(t, b, waitpolicy.NoWait)
		c, db := locktest.OpenMet(t, table, "a", queuelock.Config{})
		time.AfterFunc(time.Second, func() {
			db.Inject(queuelocktest.Refuse(queuelocktest.AccessDenied).Of("Query", "GetItem"))
			db.Inject(queuelocktest.SwallowRequest().Of("DeleteItem"))
		})
		_, err := c.Acquire(t.Context(), locktest.Order, waitpolicy.For(3*time.Second))
		locktest.Says(t, err, "AccessDenied")
		if errors.Is(err, queuelock.ErrNotAcquired) || !errors.Is(err, queuelock.ErrUnavailable) {
			t.Errorf("%v: want ErrUnavailable, with the table's own error", err) // a right that was there is waited for
		}
	})
}

// busy checks the error of an attempt at a busy lock, which the table answered.
func busy(t *testing.T, err error) {
	t.Helper()
	if !errors.Is(err, queuelock.ErrNotAcquired) || errors.Is(err, queuelock.ErrUnavailable) {
		t.Errorf("%v: want ErrNotAcquired, and not ErrUnavailable", err)
	}
}

// TestAnswerAfterEnd checks what an Acquire reports whose caller has given up before its only request failed: that, and not
// a lock that is busy.
func TestAnswerAfterEnd(t *testing.T) {
	for name, c := range map[string]struct {
		code        queuelocktest.Code
		unavailable bool
	}{
		"Throttled": {code: queuelocktest.Throttling, unavailable: true},
		"Failed":    {code: queuelocktest.InternalError, unavailable: true},
		"Refused":   {code: "ValidationException"},
	} {
		for scope, cfg := range scopes {
			locktest.InTable(t, name+"/"+scope, func(t *testing.T, table *queuelocktest.Table) {
				a, _ := locktest.OpenMet(t, table, "a", cfg)
				ctx, cancel := context.WithCancel(t.Context())
				table.Inject(queuelocktest.Refuse(c.code).Mentioning("holdMode").Where(func(queuelocktest.Request) bool {
					cancel()
					return true
				}))
				_, err := a.Acquire(ctx, locktest.Order, waitpolicy.Forever)
				if errors.Is(err, queuelock.ErrUnavailable) != c.unavailable || errors.Is(err, queuelock.ErrNotAcquired) || !errors.Is(err, context.Canceled) {
					t.Errorf("error %v", err)
				}
			})
		}
	}
}

// TestNoWaitCleansUp checks that what a TAKE without an answer has left is removed after the return, and that Close waits
// for that. A TAKE that is applied after its removal was refused twice ends with its lease.
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
			locktest.Is(t, released(a.Acquire(t.Context(), locktest.Order, waitpolicy.NoWait)), queuelock.ErrUnavailable)
			outage.Remove()
			if c.close {
				locktest.Check(t, a.Close(t.Context()))
			} else {
				time.Sleep(8 * time.Second)
			}
			asked := time.Now()
			lock := locktest.Acquire(t, b, waitpolicy.For(2*time.Minute))
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
					locktest.OK(t, released(acquire(t.Context(), a, waitpolicy.NoWait)))
					table.Inject(queuelocktest.SwallowResponse().Of("UpdateItem").After(nth).Times(1))
					table.Inject(queuelocktest.DelayRequest(200 * time.Millisecond).Mentioning("REMOVE holders."))
					locktest.OK(t, released(acquire(t.Context(), a, waitpolicy.Attempts(2, time.Millisecond))))
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
						locktest.Release(t, locks)
					} else if !errors.Is(err, queuelock.ErrUnavailable) || errors.Is(err, queuelock.ErrNotAcquired) {
						t.Errorf("error %v", err)
					}
					locktest.Check(t, client.Close(t.Context()))
					for _, entity := range []string{"x", "y", "z"} {
						state := locktest.Must(other.Viewer().Inspect(t.Context(), queuelock.Key{Entity: entity}))
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
