package once_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/embedded"
	"github.com/queuelock/queuelock/internal/testbed/audit"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/internal/testbed/transition"
	"github.com/queuelock/queuelock/once"
	"github.com/queuelock/queuelock/queuelocktest"
)

// fleet is some processes of which each has some callers of one key. At most one living process may compute at a time.
type fleet struct {
	*testing.T
	table *queuelocktest.Table
	takes time.Duration // to compute

	mu        sync.Mutex
	dead      map[string]bool // guarded by mu
	computing map[string]int  // guarded by mu; by process
	computed  []string        // guarded by mu; each value that was computed, in order
}

// process is one process of a fleet.
type process struct {
	name  string
	locks *queuelock.Client
	db    *queuelocktest.Client
}

func newFleet(t *testing.T, table *queuelocktest.Table, takes time.Duration) *fleet {
	return &fleet{T: t, table: table, takes: takes, dead: map[string]bool{}, computing: map[string]int{}}
}

func (f *fleet) start(name string) process {
	locks, db := locktest.Open(f.T, f.table, name, queuelock.Config{})
	db.Inject(queuelocktest.SwallowRequest().Where(func(queuelocktest.Request) bool { return !f.alive(name) }))
	return process{name, locks, db}
}

func (f *fleet) startAll(n int) (all []process) {
	for i := range n {
		all = append(all, f.start(fmt.Sprintf("p%02d", i)))
	}
	return all
}

// killAt kills a process when a fault meets its request.
func (f *fleet) killAt(p process, at *queuelocktest.Injection) {
	select {
	case <-at.Reached():
		f.kill(p)
	case <-f.Context().Done():
	}
}

// kill says that a process has crashed: what it does from now on does not count. It sends no more requests.
func (f *fleet) kill(p process) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.dead[p.name] = true
}

func (f *fleet) alive(name string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return !f.dead[name]
}

// compute returns the function of a process.
func (f *fleet) compute(p process) once.Func {
	return func(ctx context.Context, lock *queuelock.Lock) ([]byte, error) {
		f.mu.Lock()
		f.computing[p.name]++
		living := slices.DeleteFunc(slices.Sorted(maps.Keys(f.computing)), func(name string) bool {
			return f.dead[name] || f.computing[name] == 0
		})
		if len(living) > 1 || f.computing[p.name] > 1 {
			f.Errorf("computed at the same time by %v: %v", living, f.computing)
		}
		value := fmt.Sprintf("%d of %s, ticket %s", len(f.computed), p.name, lock.Ticket())
		f.computed = append(f.computed, value)
		f.mu.Unlock()
		defer func() {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.computing[p.name]--
		}()
		select {
		case <-time.After(f.takes):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		return []byte(value), nil
	}
}

// answers are what the callers got, by process.
type answers map[string][]string

// run lets each process have so many callers, and returns their answers once the callers of all living processes have one.
func (f *fleet) run(processes []process, callers int) answers {
	type answer struct{ process, text string }
	all := make(chan answer, len(processes)*callers)
	ctx, cancel := context.WithCancel(f.Context())
	for i, p := range processes {
		time.Sleep(time.Duration(min(i, 1)) * 50 * time.Millisecond) // the first one computes first
		for range callers {
			go func() {
				value, err := once.Do(ctx, p.locks, locktest.Order, time.Hour, f.compute(p))
				if err != nil {
					value = []byte("error: " + err.Error())
				}
				all <- answer{p.name, string(value)}
			}()
		}
	}
	got, left := answers{}, len(processes)*callers
	for enough := false; !enough; {
		select {
		case a := <-all:
			got[a.process] = append(got[a.process], a.text)
			left--
		case <-time.After(time.Second):
		}
		enough = !slices.ContainsFunc(processes, func(p process) bool { return f.alive(p.name) && len(got[p.name]) < callers })
	}
	cancel()
	for range left { // of those that have crashed
		<-all
	}
	return got
}

// judge checks that the living have one result.
func (f *fleet) judge(got answers) (value string) {
	f.Helper()
	values := map[string]bool{}
	for name, texts := range got {
		for _, text := range texts {
			if f.alive(name) {
				values[text] = true
			}
		}
	}
	if len(values) != 1 {
		f.Errorf("the living callers have %d results: %q\n%s", len(values), slices.Collect(maps.Keys(values)), f.table.Log())
	}
	for value = range values {
		if strings.HasPrefix(value, "error") {
			f.Errorf("the result is %q", value)
		}
	}
	living := 0
	for _, value := range f.computed {
		if of := strings.Fields(value)[2]; f.alive(strings.TrimSuffix(of, ",")) {
			living++
		}
	}
	if living > 1 {
		f.Errorf("living processes have computed %d results: %q", living, f.computed)
	}
	return value
}

// ways are how a process dies at a request, and how often that is tried with few processes. One that runs on meets the fault once.
var ways = map[string]struct {
	fault  queuelocktest.Fault
	runsOn bool
}{
	"NotSent":            {queuelocktest.SwallowRequest(), false},
	"Applied":            {queuelocktest.SwallowResponse(), false},
	"Arrives10sLater":    {queuelocktest.DelayRequest(10 * time.Second).LandingAnyway(), false},
	"ArrivesAfterLease":  {queuelocktest.DelayRequest(5 * time.Minute).LandingAnyway(), false},
	"LostAndRunsOn":      {queuelocktest.LoseRequest(), true},
	"AppliedAndRunsOn":   {queuelocktest.LoseResponse(), true},
	"StallsAndRunsOn":    {queuelocktest.SwallowResponse(), true},
	"RefusedAndRunsOn":   {queuelocktest.Refuse(queuelocktest.InternalError), true},
	"CopiedAndRunsOn":    {queuelocktest.Duplicate(20 * time.Second), true},
	"CopiedLate":         {queuelocktest.Duplicate(5 * time.Minute), true},
	"ArrivesLateRunsOn":  {queuelocktest.LandLate(5 * time.Minute), true},
	"ArrivesSoonRunsOn":  {queuelocktest.LandLate(20 * time.Second), true},
	"AnsweredLateRunsOn": {queuelocktest.DelayResponse(2 * time.Minute), true},
}

// TestKilled kills the process that computes at each of its requests in turn. Two processes show the same as twenty, but for the
// numbers: "NotSent" and "Applied" have all of them.
func TestKilled(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(ways)) {
		way, processes, callers := ways[name], 3, 2
		if name == "NotSent" || name == "Applied" {
			processes, callers = 20, 10
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for at, met := 1, true; met; at++ {
				locktest.InBubble(t, fmt.Sprint(at), func(t *testing.T) {
					table := judgedTable(t)
					f := newFleet(t, table, 40*time.Second)
					all := f.startAll(processes)
					first := all[0]
					last := first.db.Inject(way.fault.Nth(at))
					if !way.runsOn {
						go f.killAt(first, last)
					}
					value := f.judge(f.run(all, callers))
					met = last.Fired() > 0
					t.Logf("%q of %d computed, %d requests", value, len(f.computed), table.Counts().Total().Sent)
				})
			}
		})
	}
}

// TestKilledInTurn kills each process that computes as it publishes, but the last.
func TestKilledInTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := judgedTable(t)
		f := newFleet(t, table, 5*time.Second)
		all := f.startAll(5)
		for _, p := range all[1:] {
			go f.killAt(p, p.db.Inject(queuelocktest.SwallowRequest().Mentioning("result").Times(1)))
		}
		slices.Reverse(all)
		f.judge(f.run(all, 2))
		if len(f.computed) != len(all) {
			t.Errorf("%q were computed", f.computed)
		}
	})
}

type bodyKey struct{}

// judgedTable is a table whose changes are judged: by the rules of the protocol, and each as one of its writes.
func judgedTable(t *testing.T, opts ...queuelocktest.Option) *queuelocktest.Table {
	writes := transition.New("queuelock")
	watch := audit.New(embedded.Config{Applied: func(by *http.Request, changes []embedded.Change) {
		body, _ := by.Context().Value(bodyKey{}).([]byte)
		for _, problem := range writes.Judge(body, changes) {
			t.Error(problem)
		}
	}}, "queuelock", time.Now)
	t.Cleanup(func() {
		for _, violation := range watch.Violations() {
			t.Error(violation)
		}
		if writes.Made["RELEASE"] == 0 && !t.Failed() {
			t.Error("no RELEASE was judged")
		}
	})
	engine := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		r = r.WithContext(context.WithValue(r.Context(), bodyKey{}, body))
		r.Body = io.NopCloser(bytes.NewReader(body))
		watch.ServeHTTP(w, r)
	})
	return queuelocktest.NewTable(t, append(opts, queuelocktest.WithEngine(engine))...)
}

// TestBudget bounds the requests of 200 callers in 20 processes, and the time to the last answer. As locks that are taken one after
// the other they would cost six requests for each caller, and looks. The first time waiters do not know how long it takes.
func TestBudget(t *testing.T) {
	for _, c := range []struct {
		name         string
		takes, late  time.Duration
		first, later int
	}{
		{"Second", time.Second, 500 * time.Millisecond, 400, 300},
		{"FiveSeconds", 5 * time.Second, 2 * time.Second, 600, 360},
		{"Minute", time.Minute, 6 * time.Second, 1300, 900},
	} {
		locktest.InBubble(t, c.name, func(t *testing.T) {
			table := queuelocktest.NewTable(t, queuelocktest.WithLatency(4*time.Millisecond))
			f := newFleet(t, table, c.takes)
			all := f.startAll(20)
			for round, most := range []int{c.first, c.later, c.later} {
				begun := time.Now()
				spent := locktest.Cost(table, func() { f.judge(f.run(all, 10)) })
				late := time.Since(begun) - c.takes
				if len(f.computed) != 1 || spent.Sent > most || late > c.late {
					t.Errorf("round %d: %d computed, %+v, the last answer %v late", round, len(f.computed), spent, late)
				}
				t.Logf("%+v, the last answer %v late", spent, late)
				f.computed = nil
				time.Sleep(2 * time.Hour)
			}
		})
	}
}
