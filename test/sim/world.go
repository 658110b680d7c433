package sim

import (
	"context"
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/embedded"
	"github.com/queuelock/queuelock/internal/random"
	"github.com/queuelock/queuelock/internal/testbed/audit"
	"github.com/queuelock/queuelock/internal/testbed/bells"
	"github.com/queuelock/queuelock/internal/testbed/fault"
	"github.com/queuelock/queuelock/internal/testbed/faultnet"
	"github.com/queuelock/queuelock/internal/testbed/transition"
	"github.com/queuelock/queuelock/ticket"
	"github.com/queuelock/queuelock/waitpolicy"
)

// Report is what came of a run.
type Report struct {
	Plan       Plan
	Violations []string
	Tally      map[string]int // what workers and the audit have counted
	Operations map[string]int // requests, by operation
	Changes    map[string]int // of the items of locks, by the write that describes them
	Faults     map[string]int // by kind
	Peak       int            // most requests of one process within a second
	Idle       float64        // the longest time for which a lock was free, as a part of what was allowed
	History    string
	Network    string // the latest requests
	Story      string // of the queue with the first violation, as a transcript of package search
}

const tableName = "queuelock"

// world is one run.
type world struct {
	*history
	plan     Plan
	end      time.Time
	audit    *audit.Audit
	writes   *transition.Judge // guarded by the engine
	net      *faultnet.Network
	hub      bells.Hub        // with plan.Bells
	direct   *dynamodb.Client // around all faults
	keys     []queuelock.Key
	kinds    map[queuelock.Key]Kind
	entities []string // of keys, and the account

	clear    atomic.Bool // the weather has cleared: no more faults
	beliefs  beliefs
	policies policies
	results  results
	visible  visible
	idle     idle

	mu          sync.Mutex
	nodes       []*node             // guarded by mu; of the present generation
	throttled   time.Time           // guarded by mu; until when the table is
	served      map[string][]string // guarded by mu; who held when a protected write arrived, by its value
	logged      map[string]int      // guarded by mu; the length of each log
	values      map[string]bool     // guarded by mu; all that logs have
	removals    map[grantID]removal // guarded by mu; how grants ended
	notMade     map[string]string   // guarded by mu; values that were not written, by word of a call
	itemHolders map[grantID]bool    // of the account; guarded by the engine
	saved       map[string]saved    // guarded by mu; handles, by their owners
	quits       sync.Map            // the processes of owners that leave a place
	undead      []*node             // guarded by mu; that have died, and could not be closed
	gathering   map[string]bool     // guarded by mu; owners that wait for several locks
	disowned    map[string]bool     // guarded by mu; processes that have ended, and owners that gave up
	lags        map[string]lag      // guarded by mu; of processes that were suspended
	sleeps      map[string][]int64  // guarded by mu; when they were
}

// Run plays a plan and judges it.
func Run(t *testing.T, plan Plan) (report Report) {
	var w *world
	synctest.Test(t, func(t *testing.T) {
		w = newWorld(plan)
		w.run()
	})
	bad, unchecked := w.visible.check()
	report = Report{
		Plan: plan, Violations: slices.Concat(w.audit.Violations(), w.violations, bad), Tally: w.tally, Operations: map[string]int{},
		Changes: w.writes.Made, Faults: w.faults, Peak: w.peak, Idle: w.idle.most, History: w.text(), Network: w.net.Log(),
	}
	named, abandoned := w.audit.Named()
	maps.Copy(w.tally, map[string]int{
		"grants": w.audit.Grants(), "by name": named, "to waiters that had left": abandoned,
		"free times judged": w.idle.judged, "unchecked histories": unchecked,
	})
	for operation, tally := range w.net.Counts("") {
		report.Operations[operation] = tally.Sent
	}
	for _, violation := range bad {
		w.diary.violated(violation)
	}
	report.Story = w.diary.tell()
	return report
}

func newWorld(plan Plan) *world {
	if plan.Forget > 0 {
		time.Sleep(time.Until(time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC))) // tickets begin at the time
	}
	w := &world{history: newHistory(), plan: plan, end: time.Now().Add(plan.Length), served: map[string][]string{}, logged: map[string]int{}, values: map[string]bool{}, removals: map[grantID]removal{}, notMade: map[string]string{}, kinds: map[queuelock.Key]Kind{}, saved: map[string]saved{}, gathering: map[string]bool{}, disowned: map[string]bool{}, lags: map[string]lag{}, sleeps: map[string][]int64{}}
	w.diary, w.policies, w.results = newDiary(w), newPolicies(), newResults()
	w.idle.queues = map[queuelock.Key]*pause{}
	w.beliefs.world, w.visible.queues, w.visible.locks = w, map[string][]operation{}, map[string]bool{}
	for i := range plan.Queues {
		// Two reasons on one entity, and then another entity.
		w.keys = append(w.keys, queuelock.Key{Entity: fmt.Sprintf("order-%d", i/2), Reason: []string{"lock", "audit"}[i%2]})
		w.kinds[w.keys[i]] = plan.Kinds[i]
		if i%2 == 0 {
			w.entities = append(w.entities, w.keys[i].Entity)
		}
		w.visible.locks[name(w.keys[i])] = plan.Kinds[i].Permits == 0
	}
	w.entities = append(w.entities, text(account["pk"]))
	w.writes = transition.New(tableName)
	w.audit = audit.New(embedded.Config{Now: w.engineDate, OmitDate: plan.Dateless, Applied: w.changed}, tableName, w.engineClock)
	w.audit.Actor = func(r *http.Request) string { return r.Header.Get(actorHeader) }
	w.audit.Places = func(owner string) bool { return !w.isGathering(owner) && strings.Contains(owner, "/") } // else of several callers
	w.audit.IgnoreLives = plan.Observe || plan.Dateless || plan.Chances.Undated > 0
	w.audit.Removed = w.removed
	w.audit.Resumes = w.resumes
	w.audit.Granted = w.beliefs.granted
	w.net = faultnet.New(http.HandlerFunc(w.serve), faultnet.Config{LogLimit: 600, WithoutCapacity: true})
	w.direct = faultnet.SDK(straight{w.audit})
	return w
}

// straight is the way to an engine without a network.
type straight struct{ http.Handler }

// RoundTrip sends a request, and is answered, in the same goroutine.
func (s straight) RoundTrip(r *http.Request) (*http.Response, error) {
	answer := httptest.NewRecorder()
	s.ServeHTTP(answer, r)
	return answer.Result(), nil
}

// actorHeader names the process that sent a request.
const actorHeader = "X-Sim-Actor"

// engineClock is DynamoDB's time.
func (w *world) engineClock() time.Time {
	passed := time.Since(w.start)
	return w.start.Add(passed + time.Duration(float64(passed)*w.plan.Drift))
}

// engineDate is the time by which one of DynamoDB's hosts dates an answer.
func (w *world) engineDate() time.Time {
	if w.plan.Skew == 0 {
		return w.engineClock()
	}
	r := w.chances("date", w.now())
	return w.engineClock().Add(time.Duration((r.Float64()*2 - 1) * float64(w.plan.Skew)))
}

// chances are those of one event, which its name and number tell from all
// others of the run.
func (w *world) chances(name string, number int64) *rand.Rand {
	h := fnv.New64a()
	_, _ = fmt.Fprintf(h, "%s/%d", name, number)
	return rand.New(rand.NewPCG(w.plan.Seed, h.Sum64()))
}

// exp draws from an exponential distribution, limited to six times its mean.
func exp(r *rand.Rand, mean time.Duration) time.Duration {
	return min(time.Duration(r.ExpFloat64()*float64(mean)), 6*mean)
}

func (w *world) run() {
	ctx := context.Background()
	if err := queuelock.CreateTable(ctx, w.direct, tableName, queuelock.Config{}); err != nil {
		w.violate("the table could not be created: %v", err)
		return
	}
	var all sync.WaitGroup
	for i := range w.plan.Nodes {
		all.Go(func() { w.live(i) })
	}
	weather, stop := context.WithCancel(ctx)
	var sky sync.WaitGroup
	sky.Go(func() { w.weather(weather) })
	if w.plan.Bells {
		w.hub.Fate = w.ring
		sky.Go(func() { w.forge(weather) })
	}
	watch, leave := context.WithCancel(ctx)
	var office sync.WaitGroup
	office.Go(func() { w.operator(watch) })

	time.Sleep(time.Until(w.end))
	stop()
	sky.Wait()
	w.clearUp()
	// All waiters are served now, one after the other, behind what
	// crashed processes have left.
	turns := time.Duration(0)
	for i := range w.plan.Nodes {
		turns += time.Duration(w.plan.workers(i)) * (w.longestTurn() + time.Second)
	}
	bound := turns + 4*w.plan.TTL + time.Minute
	served := make(chan struct{})
	go func() { all.Wait(); close(served) }()
	select {
	case <-served:
	case <-time.After(bound):
		w.violate("some still wait %v after the weather has cleared", bound)
		w.kill()
		<-served
	}
	if err := w.net.Settle(ctx); err != nil {
		w.violate("requests are still under way: %v", err)
	}
	time.Sleep(15 * time.Second) // for the operator's last round
	leave()
	office.Wait()
	for _, n := range w.undead {
		n.bury()
	}
	w.judgeTheEnd(random.Seed(ctx, w.plan.Seed, 98))
	w.net.Close()
}

// longestTurn is what a worker may keep a lock for.
func (w *world) longestTurn() time.Duration {
	one := w.plan.longest() + 3*w.plan.TTL
	if w.plan.Several > 0 {
		return most * one // it uses one after the other
	}
	return one
}

// clearUp ends all faults.
func (w *world) clearUp() {
	w.add("", "the weather clears")
	w.clear.Store(true)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.throttled = time.Time{}
	for _, n := range w.nodes {
		if n != nil {
			n.heal()
		}
	}
}

// kill ends all processes.
func (w *world) kill() {
	w.mu.Lock()
	nodes := slices.Clone(w.nodes)
	w.mu.Unlock()
	for _, n := range nodes {
		if n != nil {
			n.die("the end")
		}
	}
}

// judgeTheEnd lets a newcomer use each queue, and looks at what is left.
func (w *world) judgeTheEnd(ctx context.Context) {
	time.Sleep(2 * w.plan.TTL) // orphaned entries of late requests end with their leases
	db := faultnet.SDK(w.net.Connect("newcomer", func(faultnet.Request) fault.Fate { return w.distance() }))
	c, err := queuelock.New(db, tableName, queuelock.Config{TTL: w.plan.TTL, ObserveExpiry: w.plan.Observe, Scope: w.plan.Scope, Owner: "newcomer"})
	if err != nil {
		w.violate("newcomer: %v", err)
		return
	}
	for _, key := range w.keys {
		if err := w.useTwice(ctx, c, key); err != nil {
			w.violate("newcomer at %s: %v", key, err)
		}
	}
	if w.plan.Several > 0 {
		if err := w.useAll(ctx, c); err != nil {
			w.violate("newcomer at all locks: %v", err)
		}
	}
	if w.plan.Once > 0 {
		if err := w.computeTwice(ctx, c); err != nil {
			w.violate("newcomer: %v", err)
		}
	}
	for _, key := range w.keys {
		if state, err := c.Viewer().Inspect(ctx, key); err != nil || len(state.Serving)+len(state.Waiting) > 0 {
			w.violate("%s was left with %+v, %v", key, state, err)
		}
	}
	if err := w.useItem(ctx, c); err != nil {
		w.violate("newcomer at the item: %v", err)
	}
	if err := c.Close(ctx); err != nil {
		w.violate("newcomer: close: %v", err)
	}
	w.judgeNotMade()
	if err := w.judgeItem(ctx); err != nil {
		w.violate("%v", err)
	}
	if err := w.judgeLeftovers(ctx); err != nil {
		w.violate("%v", err)
	}
}

func (w *world) distance() fault.Fate {
	half := fault.Leg{Delay: w.plan.Latency}
	return fault.Fate{There: half, Back: half}
}

// useTwice takes a lock in the clear, and then once more: after one quiet
// cycle it costs one request, and its release one.
func (w *world) useTwice(ctx context.Context, c *queuelock.Client, key queuelock.Key) error {
	ctx, cancel := context.WithTimeout(ctx, 40*w.plan.TTL+2*time.Minute)
	defer cancel()
	if w.kinds[key] != (Kind{}) {
		// An orphaned entry that leaves room for others delays no client: it ends when a
		// client has observed it for long enough.
		if err := w.sweep(ctx, c, key); err != nil {
			return err
		}
	}
	for turn := range 2 {
		before := w.net.Counts("newcomer")
		err := c.Do(ctx, key, waitpolicy.Forever, func(context.Context, *queuelock.Lock) error { return nil }, w.kinds[key].options()...)
		if err != nil {
			return fmt.Errorf("turn %d: %w", turn+1, err)
		}
		time.Sleep(time.Second) // for what runs in the background
		sent := 0
		for operation, tally := range w.net.Counts("newcomer") {
			sent += tally.Sent - before[operation].Sent
		}
		want := 2
		if w.plan.Scope != ticket.ScopeQueue {
			want++ // the number is one of its own
		}
		if turn == 1 && sent != want {
			return fmt.Errorf("an idle lock and its release took %d requests, want %d", sent, want)
		}
	}
	return w.sweep(ctx, c, key)
}

// useAll takes all locks at once.
func (w *world) useAll(ctx context.Context, c *queuelock.Client) error {
	ctx, cancel := context.WithTimeout(ctx, 40*w.plan.TTL+2*time.Minute)
	defer cancel()
	locks, err := c.AcquireAll(ctx, w.keys, waitpolicy.Forever)
	if err != nil {
		return err
	}
	if n := len(locks.All()); n != len(w.keys) {
		return fmt.Errorf("%d locks of %d", n, len(w.keys))
	}
	if err := locks.Release(ctx); err != nil {
		return err
	}
	time.Sleep(time.Second) // for what runs in the background
	return nil
}

// sweep removes all that has expired. By observation it takes two looks, a lease
// apart.
func (w *world) sweep(ctx context.Context, c *queuelock.Client, key queuelock.Key) error {
	for range 2 {
		if _, err := c.Operator().Sweep(ctx, key); err != nil {
			return err
		}
		if w.plan.Closes {
			time.Sleep(maxLeast * w.plan.TTL)
		}
		time.Sleep(2*w.plan.TTL + 4*time.Second) // the longest lease, and lock delay
	}
	_, err := c.Operator().Sweep(ctx, key)
	return err
}

// counters is the largest number of counters, for two entities.
func counters(s ticket.Scope) int {
	return map[ticket.Scope]int{ticket.ScopeEntity: 2, ticket.ScopeTable: 1}[s]
}

// judgeLeftovers counts the items: a record for each queue, and a register; and
// the counters of wider scopes.
func (w *world) judgeLeftovers(ctx context.Context) error {
	name := tableName
	out, err := w.direct.Scan(ctx, &dynamodb.ScanInput{TableName: &name})
	if err != nil {
		return err
	}
	records, registers, others, most := 0, 0, 0, len(w.keys)
	for _, item := range out.Items {
		switch _, record := item["ticketNumber"]; {
		case record && item["granted"] == nil: // a counter
			records++
			most++
		case record:
			records++
		case item["amount"] != nil || item["lock_ticketNumber"] != nil || isRowOfItem(item):
			// Rows of waiters that crashed while waiting for the item are swept by other
			// waiters for it, or else by the table's TTL.
		case item["value"] != nil:
			registers++
		default:
			others++
		}
	}
	if records > most || counters(w.plan.Scope) < most-len(w.keys) || registers > len(w.keys) || others > 0 {
		return fmt.Errorf("the table holds %d records, %d registers and %d other items, for %d queues", records, registers, others, len(w.keys))
	}
	return nil
}
