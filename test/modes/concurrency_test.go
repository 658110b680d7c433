package modes_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

// The cases of the pages of three schedulers, so far as a lock has them:
//
//	GitHub     docs.github.com/actions "Control the concurrency of workflows and jobs", and the changelog of 2026-05-07
//	Buildkite  buildkite.com/docs/pipelines "Controlling concurrency" and "Skipping builds"
//	GitLab     docs.gitlab.com/ci/resource_groups "Process modes", and "Prevent outdated deployment jobs"
//
// A run of a table is an Acquire that comes ten seconds after the one before, in a process of its own. Each holds the lock for a
// minute. want are the runs in the order in which they end, or start for those that run.
var schedulerCases = []struct {
	pages, name string
	runs        []queuelock.AcquireOption // of each run, in the order in which they come; nil: none
	want        string
}{
	{"GitHub, GitLab", "a pending run is canceled by a new one, which takes its place", latestOf("", "", ""), "1 runs, 2 superseded, 3 runs"},
	{"GitHub", "of many pushes the last is left, and the one in progress goes on", latestOf("", "", "", "", ""), "1 runs, 2 superseded, 3 superseded, 4 superseded, 5 runs"},
	{"GitHub, Buildkite", "a group is of its name alone", latestOf("main", "main", "dev", "main", "dev"), "1 runs, 2 superseded, 3 superseded, 4 runs, 5 runs"},
	{"GitHub", "queue: max keeps pending runs, in the order in which they began to wait", limited(100, 4), "1 runs, 2 runs, 3 runs, 4 runs"},
	{"GitHub", "queue: max of a limit, here of 2, refuses those beyond it", limited(2, 5), "1 runs, 4 full, 5 full, 2 runs, 3 runs"},
	{"GitHub, GitLab", "cancel-in-progress cancels the one in progress, and what is pending", canceling("", "", ""), "1 runs, 2 superseded, 1 canceled, 3 runs"},
	{"GitHub, Buildkite", "cancel-in-progress of the same workflow only cancels no other", canceling("web", "api", "web"), "1 runs, 1 canceled, 2 runs, 3 runs"},
	{"GitHub", "cancel-in-progress is that of the new run", append(latestOf(""), canceling("")...), "1 runs, 1 canceled, 2 runs"},
	{"GitHub", "and a new run without it cancels none in progress", append(canceling(""), latestOf("")...), "1 runs, 2 runs"},
	{"Buildkite, GitLab", "a concurrency group starts jobs in the order in which they were created", make([]queuelock.AcquireOption, 4), "1 runs, 2 runs, 3 runs, 4 runs"},
	{"GitLab", "a job of another kind in the same resource group is not outdated", []queuelock.AcquireOption{queuelock.Supersede(), nil, queuelock.Supersede(), queuelock.Supersede()}, "1 runs, 3 superseded, 2 runs, 4 runs"},
}

// latestOf returns Supersede with groups; empty: the default.
func latestOf(groups ...string) (runs []queuelock.AcquireOption) {
	for _, group := range groups {
		if group == "" {
			runs = append(runs, queuelock.Supersede())
		} else {
			runs = append(runs, queuelock.Supersede(queuelock.Group(group)))
		}
	}
	return runs
}

// canceling is latestOf with CancelHolder.
func canceling(groups ...string) (runs []queuelock.AcquireOption) {
	for _, group := range groups {
		runs = append(runs, queuelock.Supersede(queuelock.Group(cmp.Or(group, "all")), queuelock.CancelHolder))
	}
	return runs
}

func limited(n, runs int) []queuelock.AcquireOption {
	return slices.Repeat([]queuelock.AcquireOption{queuelock.MaxWaiters(n)}, runs)
}

func TestSchedulerCases(t *testing.T) {
	for _, c := range schedulerCases {
		locktest.InTable(t, c.pages+"/"+strings.ReplaceAll(c.name, " ", "_"), func(t *testing.T, table *queuelocktest.Table) {
			var mu sync.Mutex
			var got []string
			note := func(run int, what string) {
				mu.Lock()
				defer mu.Unlock()
				got = append(got, fmt.Sprintf("%d %s", run, what))
			}
			var runs sync.WaitGroup
			for i, option := range c.runs {
				client, _ := locktest.Open(t, table, fmt.Sprint("run ", i+1), queuelock.Config{})
				runs.Go(func() {
					err := client.Do(t.Context(), locktest.Order, waitpolicy.Forever, func(_ context.Context, lock *queuelock.Lock) error {
						note(i+1, "runs")
						select {
						case <-lock.Revoked():
							note(i+1, "canceled")
						case <-time.After(time.Minute):
						}
						return nil
					}, option)
					switch {
					case errors.Is(err, queuelock.ErrSuperseded):
						note(i+1, "superseded")
					case errors.Is(err, queuelock.ErrQueueFull):
						note(i+1, "full")
					case err != nil:
						t.Errorf("run %d: %v", i+1, err)
					}
				})
				time.Sleep(10 * time.Second)
			}
			runs.Wait()
			if said := strings.Join(got, ", "); said != c.want {
				t.Errorf("got  %s\nwant %s", said, c.want)
			}
		})
	}
}

// asking counts the requests to give way that a client sends, without what the SDK repeats. It faults none.
func asking(db *queuelocktest.Client) (sent func() int) {
	n := 0
	db.Inject(queuelocktest.LoseRequest().Of("UpdateItem").Where(func(r queuelocktest.Request) bool {
		if r.Attempt == 1 && strings.Contains(r.Expression(), "revoked") {
			n++
		}
		return false
	}))
	return func() int { return n }
}

// TestCancelHolder checks that the latest waiter asks the holder of its group to give way, once, and never fails by that.
func TestCancelHolder(t *testing.T) {
	const attempts = 4 // of the SDK, at DynamoDB
	latest, cancels := queuelock.Supersede(), queuelock.Supersede(queuelock.CancelHolder)
	for name, c := range map[string]struct {
		fault       queuelocktest.Fault
		times, sent int
	}{
		"no fault":       {queuelocktest.DelayRequest(0), 1, 1},
		"response lost":  {queuelocktest.LoseResponse(), attempts, 1},
		"request lost":   {queuelocktest.LoseRequest(), attempts, 2},
		"denied":         {queuelocktest.Refuse("AccessDeniedException"), 2, 3},
		"comes again":    {queuelocktest.Duplicate(3 * time.Second), 1, 1},
		"comes too late": {queuelocktest.LandLate(2 * time.Minute), attempts, 2},
	} {
		locktest.InTable(t, name, func(t *testing.T, table *queuelocktest.Table) {
			b, db, a := locktest.Pair(t, table, locktest.TenSeconds, "b", "a")
			held := locktest.Acquire(t, a, waitpolicy.Forever, latest)
			sent := asking(db)
			db.Inject(c.fault.Mentioning("revoked").Times(c.times))
			waiting := locktest.LockBy(t, b, cancels)
			askedWithin(t, held, time.Minute)
			if r, _ := held.Revocation(); r.By != "b" || r.Why != "superseded by ticket 2" || r.At.IsZero() {
				t.Errorf("%+v", r)
			}
			time.Sleep(time.Minute) // many looks
			locktest.StillWaits(t, "the latest", waiting)
			if n := sent(); n != c.sent {
				t.Errorf("%d requests to give way, want %d", n, c.sent)
			}
			locktest.Release(t, held)
			next := locktest.Within(t, "the latest", time.Minute, waiting).Lock
			time.Sleep(2 * time.Minute)
			notAsked(t, next)
			locktest.Release(t, next)
		})
	}
	locktest.InTable(t, "NoWait", func(t *testing.T, table *queuelocktest.Table) {
		a, b := locktest.Two(t, table, locktest.TenSeconds, "a", "b")
		held := locktest.Acquire(t, a, waitpolicy.Forever, latest)
		_, err := b.Acquire(t.Context(), locktest.Order, waitpolicy.NoWait, cancels)
		if !errors.Is(err, queuelock.ErrNotAcquired) || errors.Is(err, queuelock.ErrSuperseded) {
			t.Errorf("%v, want that the lock is busy", err)
		}
		time.Sleep(time.Minute)
		notAsked(t, held)
		locktest.Release(t, held)
	})
}
