package sim

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/random"
	"github.com/queuelock/queuelock/internal/testbed/faultnet"
	"github.com/queuelock/queuelock/internal/testbed/story"
)

// node is one process, from its start to its end.
type node struct {
	*world
	name    string
	workers int
	conn    *faultnet.Connection
	db      *dynamodb.Client
	client  *queuelock.Client
	ctx     context.Context // ends with the process's death
	cancel  context.CancelCauseFunc

	// loose counts what makes a request arrive when its sender no longer waits for it,
	// and the failed requests of leaving. If it moved during an Acquire, the rows and
	// entries of that Acquire prove nothing.
	loose atomic.Int64

	failed atomic.Int64 // its requests that had no answer, or a refusal of any kind
	flying atomic.Int64 // its requests under way, with the repetitions that its HTTP client keeps to itself

	// How long it was paused in all, in nanoseconds.
	stood atomic.Int64

	stubborn bool // its HTTP client sends requests again on its own
	undated  bool // its answers have no dates
	job      bool // it takes one turn

	ending atomic.Bool // its client is being closed

	closing sync.WaitGroup // a Close in the middle of the work

	mu      sync.Mutex
	dead    bool      // guarded by mu
	retired bool      // guarded by mu; it has been asked to end in order
	frozen  time.Time // guarded by mu; is paused until then
	broken  string    // guarded by mu; the operation that fails
	until   time.Time // guarded by mu; until when it does
	stop    stop      // guarded by mu; to come
	doom    string    // guarded by mu; the operation at which it dies
	after   bool      // guarded by mu; it dies after that request was applied
	// Its requests are throttled between these. Guarded by mu.
	brownFrom, brown time.Time
	hang             time.Duration    // guarded by mu; of its next read
	looked           map[string]int64 // guarded by mu; when it last looked at an entity, less how long it was paused
	renewed          map[string]bool  // guarded by mu; the rows that it has renewed
	answered         map[string]bool  // guarded by mu; the operations of which it has had an answer

	counts  map[string]int64 // guarded by mu; requests, by their names
	second  int64            // guarded by mu; the one that is counted
	inIt    int              // guarded by mu; requests sent in it
	begun   int              // guarded by mu; attempts that began in it
	peak    int              // guarded by mu; most requests in one
	flooded bool             // guarded by mu; said so already
}

var errDied = errors.New("the process died")

// live is the life of one host's process, and of those that replace it.
func (w *world) live(i int) {
	r := w.chances("host", int64(i))
	time.Sleep(exp(r, 2*time.Second))
	for generation := 0; ; generation++ {
		n, err := w.boot(fmt.Sprintf("n%d.%d", i, generation), i)
		if err != nil {
			w.violate("%v", err)
			return
		}
		if n.job = i < w.plan.Jobs; n.job && w.plan.Means.Kill > 0 && !w.clear.Load() && r.IntN(3) == 0 {
			w.harm("crash of a job")
			n.mu.Lock()
			n.doom, n.after = "UpdateItem", true // TAKE, or a later one
			n.mu.Unlock()
		}
		var workers sync.WaitGroup
		for k := range n.workers {
			workers.Go(func() { n.work(k) })
		}
		workers.Wait()
		n.closing.Wait()
		n.shutDown()
		n.disown(n.name)
		if !n.job && !n.isDead() && !n.isRetired() || !time.Now().Before(w.end) {
			return
		}
		time.Sleep(exp(r, 5*time.Second))
	}
}

func (w *world) boot(name string, i int) (*node, error) {
	n := &node{world: w, name: name, workers: w.plan.workers(i), counts: map[string]int64{}, looked: map[string]int64{}, renewed: map[string]bool{}, answered: map[string]bool{}}
	n.stubborn = w.chances(name+" is stubborn", 0).Float64() < w.plan.Chances.Stubborn
	n.undated = w.chances(name+" has no dates", 0).Float64() < w.plan.Chances.Undated
	n.conn = w.net.Connect(name, n.fate)
	n.db = faultnet.SDK(n, func(o *dynamodb.Options) {
		// The SDK's own retries, with a pause that the seed decides.
		o.Retryer = retry.NewStandard(func(s *retry.StandardOptions) {
			s.Backoff = retry.BackoffDelayerFunc(func(attempt int, _ error) (time.Duration, error) {
				return time.Duration(attempt) * 70 * time.Millisecond, nil
			})
		})
	})
	n.ctx, n.cancel = context.WithCancelCause(context.Background())
	cfg := queuelock.Config{
		TTL: w.plan.TTL, ObserveExpiry: w.plan.Observe, Scope: w.plan.Scope, Owner: name,
		Logger: slog.New(listener{n}),
	}
	if w.plan.Bells {
		cfg.Wake = rung{n, w.hub.Client(name)}
	}
	cfg.Poll = w.plan.schedule()
	if w.plan.Forget > 0 {
		cfg.Forget = forget
	}
	var err error
	n.client, err = queuelock.New(n.db, tableName, cfg)
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(w.nodes) <= i {
		w.nodes = append(w.nodes, nil)
	}
	w.nodes[i] = n
	return n, err
}

// shutDown closes the client, as a process that ends well does. One that has
// died is only tidied up, so that no goroutine of it is left: nothing that it
// sends arrives.
func (n *node) shutDown() {
	n.ending.Store(true)
	limit, dead, stood := 2*n.plan.TTL+time.Minute, n.isDead(), n.stood.Load()
	ctx, cancel := context.WithTimeout(random.Seed(context.Background(), n.plan.Seed, 99), limit)
	defer cancel()
	err := n.client.Close(ctx)
	if dead && err != nil {
		n.world.mu.Lock()
		n.undead = append(n.undead, n)
		n.world.mu.Unlock()
	} else if ctx.Err() != nil && n.stood.Load() == stood { // it was not paused meanwhile
		n.violate("%s: Close took more than %v: %v", n.name, limit, err)
	}
	n.mu.Lock()
	peak := n.peak
	n.mu.Unlock()
	n.most(peak)
	n.add(n.name, "closed, after at most %d requests in a second: %v", peak, err)
}

// bury ends what still runs in a process that has crashed, once nothing of it is in the
// table any more. A fail-closed lock believes until then that it is held.
func (n *node) bury() {
	ctx, cancel := context.WithTimeout(random.Seed(context.Background(), n.plan.Seed, 96), 2*n.plan.TTL+time.Minute)
	defer cancel()
	n.conn.Heal()
	if err := n.client.Close(ctx); err != nil && !errors.Is(err, queuelock.ErrLost) && outcomeOf(err) != saidUnknown {
		n.violate("%s: what is left of it does not end: %v", n.name, err)
	}
}

func (n *node) isDead() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.dead
}

func (n *node) isRetired() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.retired
}

// retire ends a process well, in the middle of its work.
func (n *node) retire(r *rand.Rand) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.retired || n.dead {
		return
	}
	n.retired = true
	ctx := n.with(r)
	n.closing.Go(func() { n.add(n.name, "is asked to end: %v", n.client.Close(ctx)) })
}

// die ends a process at once: nothing of it is ever sent again.
func (n *node) die(why string) {
	n.mu.Lock()
	dead := n.dead
	n.dead = true
	n.mu.Unlock()
	if dead {
		return
	}
	n.add(n.name, "dies: %s", why)
	n.diary.harm(n.name, story.Crashes, "")
	n.disown(n.name)
	n.conn.Cut()
	n.beliefs.die(n)
	n.cancel(errDied)
}

// heal ends what ails a process that lives.
func (n *node) heal() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.frozen, n.stop, n.broken, n.doom = time.Time{}, stop{}, "", ""
	if !n.dead {
		n.conn.Heal()
	}
}

// RoundTrip is the process's network stack. A process is paused before and after each
// request.
func (n *node) RoundTrip(req *http.Request) (*http.Response, error) {
	n.flying.Add(1)
	defer n.flying.Add(-1)
	name, body := n.count(req), read(req)
	r := n.chances("stands still at "+name, 0)
	n.looks(req, body)
	// Of requests that are sent at the same instant, which is first is up to the
	// goroutine scheduler; here it is up to the seed.
	time.Sleep(time.Duration(1 + r.IntN(1<<16)))
	stalls := n.chances("stalls at "+name, 0)
	if (n.waitOut(r.Float64()) || n.stall(stalls)) && r.IntN(2) == 0 {
		// It was about to send: its time-out fires at the same moment, and
		// comes too late to keep it from that.
		if req.Context().Err() != nil { // or its sender took it for hung long ago: its timers went on
			n.loose.Add(1)
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(req.Context()), patience)
		defer cancel()
		req = req.Clone(ctx)
	}
	req.Header.Set(actorHeader, n.name)
	first := n.isFirst(req)
	resp, err := n.send(req)
	n.waitOut(r.Float64())
	n.stall(stalls)
	for again := 0; n.stubborn && n.broke(req, resp, err) && again < 3; again++ {
		// It says nothing of this to the SDK.
		n.harm("request sent again")
		n.pause(req.Context(), time.Duration(r.ExpFloat64()*float64([]time.Duration{50 * time.Millisecond, 2 * time.Second, n.plan.TTL}[again])))
		next := req.Clone(req.Context())
		next.Body = io.NopCloser(bytes.NewReader(body))
		resp, err = n.send(next)
		n.waitOut(r.Float64())
		if first && denied(resp, err) {
			n.loose.Add(1) // the library does not know of the request before, and takes the right to be missing from the start
		}
	}
	if err != nil || resp.StatusCode != http.StatusOK {
		n.failed.Add(1)
	}
	return resp, err
}

// send sends a request once.
func (n *node) send(req *http.Request) (*http.Response, error) {
	req, asked := n.diary.asks(n.name, req, read(req))
	n.judgeSent(req, asked)
	resp, err := n.conn.RoundTrip(req)
	n.diary.answers(asked, resp, err)
	n.learns(req, asked, resp, err)
	if err == nil && resp.StatusCode == http.StatusOK {
		n.mu.Lock()
		n.answered[req.Header.Get("X-Amz-Target")] = true
		n.mu.Unlock()
	}
	if err == nil && n.undated {
		resp.Header.Del("Date")
	}
	return resp, err
}

// broke reports whether an HTTP client may send a request again: its connection
// failed, or the server did.
func (n *node) broke(req *http.Request, resp *http.Response, err error) bool {
	return req.Context().Err() == nil && !n.isDead() && (err != nil || resp.StatusCode >= http.StatusInternalServerError)
}

// isFirst reports whether the process has had no answer yet to the operation of a request.
func (n *node) isFirst(req *http.Request) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return !n.answered[req.Header.Get("X-Amz-Target")]
}

// denied reports whether a right was missing, or the refusal is of no kind that the library knows: see table.Kinds.
func denied(resp *http.Response, err error) bool {
	if err != nil || resp.StatusCode != http.StatusBadRequest {
		return false
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		panic(err) // it is in memory
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return bytes.Contains(body, []byte("AccessDeniedException")) || bytes.Contains(body, []byte("SomethingNewException"))
}

// pause waits for d, or until ctx ends.
func (n *node) pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// count names a request, and counts how many there are in a second.
func (n *node) count(req *http.Request) string {
	name := n.nameOf(req)
	n.did("requests")
	n.mu.Lock()
	defer n.mu.Unlock()
	n.turnOver()
	n.inIt++
	n.peak = max(n.peak, n.inIt)
	// A waiter polls four times a second in each queue, and each of a process's
	// workers has a few writes of its own. A sweep of many rows is rare.
	locks := min(2, len(n.keys)) // a worker takes two at once now and then
	if n.plan.Several > 0 {
		locks = len(n.keys)
	}
	limit := 20 + 20*n.workers*locks
	if n.plan.Lengths != Exponential { // waiters look more often
		limit *= 3
	}
	if n.plan.Crowded || n.plan.Lengths != Exponential { // turns are so short that a worker has many in a second
		limit += 10 * n.begun
	}
	if n.inIt > limit && !n.flooded {
		n.flooded = true
		n.violate("%s sent more than %d requests within a second", n.name, limit)
	}
	if n.inIt > 5000 {
		panic(fmt.Sprintf("seed %d: %s sends requests without end", n.plan.Seed, n.name))
	}
	return name
}

// turnOver begins to count a new second, if it is one. n.mu is held.
func (n *node) turnOver() {
	if second := n.now() / int64(time.Second); second != n.second {
		n.second, n.inIt, n.begun = second, 0, 0
	}
}

// begin counts an attempt.
func (n *node) begin() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.turnOver()
	n.begun++
}

// nameOf names a request by its content and by how many times that was sent. Of several
// that are sent at the same instant, which is first is up to the goroutine scheduler, and
// no chance may depend on it.
func (n *node) nameOf(req *http.Request) string {
	var body map[string]any
	if err := json.Unmarshal(read(req), &body); err != nil {
		panic(err) // the SDK wrote it
	}
	return n.nameOfBody(req.Header.Get("X-Amz-Target"), "sent", body)
}

func (n *node) nameOfBody(operation, where string, body map[string]any) string {
	text, err := json.Marshal(body) // in the order of keys
	if err != nil {
		panic(err)
	}
	h := fnv.New64a()
	_, _ = h.Write(text)
	name := fmt.Sprintf("%s %s %s %x", n.name, where, operation, h.Sum64())
	n.mu.Lock()
	defer n.mu.Unlock()
	n.counts[name]++
	return fmt.Sprint(name, " ", n.counts[name])
}

// waitOut waits while the process is paused, and a little longer, as not all of its
// requests go on at the same instant. It reports whether it waited.
func (n *node) waitOut(jitter float64) bool {
	waited := false
	for {
		n.mu.Lock()
		left := time.Until(n.frozen)
		n.mu.Unlock()
		if left <= 0 {
			return waited
		}
		waited = true
		time.Sleep(left + time.Duration(jitter*float64(5*time.Millisecond)))
	}
}

// heard is loose, once the listener has what was logged: it is called in a goroutine
// of the library's.
func (n *node) heard() int64 {
	time.Sleep(time.Nanosecond)
	return n.loose.Load()
}

// listener writes what the library says of itself into the history.
type listener struct{ n *node }

func (l listener) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelInfo }
func (l listener) WithAttrs([]slog.Attr) slog.Handler               { return l }
func (l listener) WithGroup(string) slog.Handler                    { return l }

func (l listener) Handle(_ context.Context, r slog.Record) error {
	if strings.Contains(r.Message, "could not be") {
		l.n.loose.Add(1)
	}
	var b strings.Builder
	b.WriteString(r.Message)
	r.Attrs(func(a slog.Attr) bool { fmt.Fprintf(&b, " %s=%v", a.Key, a.Value); return true })
	l.n.add(l.n.name, "%s", b.String())
	return nil
}
