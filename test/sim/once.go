package sim

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/embedded/value"
	"github.com/queuelock/queuelock/internal/testbed/story"
	"github.com/queuelock/queuelock/once"
	"github.com/queuelock/queuelock/waitpolicy"
)

// compute draws whether some turns want a result.
func (p *Plan) compute(r *rand.Rand) {
	if r.IntN(6) == 0 && !p.Contest {
		p.Once = 0.3 + 0.6*r.Float64()
		p.Keep = []time.Duration{100 * time.Millisecond, 2 * time.Second, 20 * time.Second}[r.IntN(3)]
	}
}

// results are what is known of the results of package once.
type results struct {
	mu      sync.Mutex
	all     map[string]*computation // guarded by mu; by value
	present map[string]*computation // guarded by mu; by queue: what its record has; nil: nothing
	calls   map[string]*calls       // guarded by mu; by process and queue
	reads   map[string]int64        // guarded by mu; by owner: when its call last had an answer to a read of the record
}

// calls are those of a process for one key that overlap. So all of them may be one.
type calls struct {
	number int
	since  int64
}

func newResults() results {
	return results{all: map[string]*computation{}, present: map[string]*computation{}, calls: map[string]*calls{}, reads: map[string]int64{}}
}

func (s *results) read(owner string, at int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reads[owner] = at
}

// join notes that a call has begun. It returns when the first of those began that it may be one with.
func (s *results) join(id string, now int64) (since int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.calls[id]
	if c == nil || c.number == 0 {
		c = &calls{since: now}
		s.calls[id] = c
	}
	c.number++
	return c.since
}

func (s *results) leave(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls[id].number--
}

// computation is one call of a function.
type computation struct {
	owner, queue, value string
	token               string // of the lock
	ttl                 time.Duration
	left                int64 // when the record had its result first; zero: it has not
	failure             *failure
}

// failure is how a function ended without a result: by an error, or by a panic with it.
type failure struct {
	by    *node
	owner string
	ended int64
}

func (f *failure) Error() string { return "the function of " + f.owner + " has failed" }

// wantsResult draws whether a turn wants a result instead of the lock.
func (n *node) wantsResult(owner string, key queuelock.Key) bool {
	return n.plan.Once > 0 && n.kinds[key] == (Kind{}) && n.chances(owner+" wants a result", 0).Float64() < n.plan.Once
}

// caller is one call of once.Do.
type caller struct {
	*attempt
	key   queuelock.Key
	ttl   time.Duration
	begun int // functions
}

// callOnce is one call of once.Do, and what it must return.
func (n *node) callOnce(r *rand.Rand, owner string, key queuelock.Key) {
	c := &caller{attempt: n.newAttempt(r, owner), key: key}
	c.wait, c.ttl = waitpolicy.Forever, exp(r, n.plan.Keep).Truncate(time.Millisecond)+time.Millisecond
	opts := []queuelock.Option{queuelock.WithOwner(owner), queuelock.WithTTL(c.attempt.ttl)}
	if c.least = c.atLeast(r, false); c.least > 0 {
		opts = append(opts, queuelock.HoldAtLeast(c.least))
	}
	n.add(n.name, "%s: wants a result of %s for %v, at most %v", owner, key, c.ttl, c.limit)
	n.diary.comes(key, owner)
	ctx, cancel := context.WithTimeout(of(n.with(r), owner), c.limit)
	defer cancel()
	loose, stood, failed := n.loose.Load(), n.stood.Load(), n.failed.Load()
	id := n.name + " " + name(key)
	since := n.results.join(id, n.now())
	result, err := c.do(ctx, opts)
	n.results.leave(id)
	took := time.Duration(n.now() - c.attempt.begun - (n.stood.Load() - stood))
	n.diary.end(key, owner, string(story.NotServed))
	if n.isDead() {
		return
	}
	n.add(n.name, "%s: has %q, %v", owner, result, err)
	if c.begun == 0 { // those behind it had to wait until it had seen the result
		n.leaves(key)
	}
	if err != nil {
		n.did("refused")
		c.judgeError(ctx, took, err)
		return
	}
	n.did("answered")
	n.judgeResult(owner, name(key), string(result), since)
	n.judgeCleanUp(20, func() {
		if n.heard() == loose && n.failed.Load() == failed {
			n.judgeTraces(owner, "a call that has a result", false)
		}
	})
}

// do calls once.Do. A panic of the function is its error.
func (c *caller) do(ctx context.Context, opts []queuelock.Option) (result []byte, err error) {
	defer func() {
		if p := recover(); p != nil {
			f, ok := p.(*failure)
			if !ok {
				panic(p)
			}
			err = f
		}
	}()
	return once.Do(ctx, c.client, c.key, c.ttl, c.compute, opts...)
}

// compute is the function. It works under the lock, as any other turn, and may fail.
func (c *caller) compute(ctx context.Context, lock *queuelock.Lock) ([]byte, error) {
	r := c.chances(c.owner+" computes", int64(c.begun))
	c.begun++
	made := &computation{owner: c.owner, queue: name(c.key), value: fmt.Sprintf("%d of %s", c.begun, c.owner), token: lock.Ticket().String(), ttl: c.ttl}
	c.did("computed")
	c.add(c.name, "%s: computes %q with ticket %s", c.owner, made.value, made.token)
	c.diary.hear(c.key, c.owner, story.Holds.Of("%s", made.token))
	c.closes(c.key, c.real, c.least)
	c.judgeBegin(made)
	c.use(ctx, r, lock)
	switch what := r.IntN(10); {
	case what == 0:
		made.failure = &failure{by: c.node, owner: c.owner}
	case what == 1 && c.plan.Means.Kill > 0 && !c.clear.Load():
		c.harm("death as it computes")
		c.die("as it computes")
	}
	c.results.mu.Lock()
	defer c.results.mu.Unlock()
	c.results.all[made.value] = made
	c.add(c.name, "%s: has computed %q, failed: %t", c.owner, made.value, made.failure != nil)
	if made.failure == nil {
		return []byte(made.value), nil
	}
	made.failure.ended = c.now()
	if r.IntN(2) == 0 {
		panic(made.failure)
	}
	return []byte(made.value), made.failure
}

// use is the work of the function under the lock.
func (c *caller) use(ctx context.Context, r *rand.Rand, lock *queuelock.Lock) {
	h := &hold{node: c.node, owner: c.owner, key: c.key, lock: lock, token: lock.Ticket().String(), lease: c.attempt.ttl, begun: c.attempt.begun, watched: make(chan struct{}), leave: ctx.Done()}
	h.id = grantID{name(c.key), h.token, c.owner}
	c.visible.add(c.key, operation{node: c.name, kind: opGrant, token: h.token, call: h.begun, ret: c.now()})
	c.beliefs.begin(h)
	go func() { defer close(h.watched); h.watch() }()
	c.pause(ctx, exp(r, c.plan.Hold))
	h.use(r)
	h.waitOut(r.Float64())
	h.judgeAsked()
	if lock.Err() != nil {
		<-h.watched // a loss at this very instant is a loss
	}
	if c.beliefs.end(h) { // it is released, with the result or without it, or is not
		c.visible.add(c.key, operation{node: c.name, kind: opEnd, token: h.token, call: h.endFrom(c.now()), ret: never})
	}
}

// judgeBegin judges that a function is called: its caller had no result. One that was left after it had read the record is the
// answer, however short its life. A process that was suspended past its lease cannot know of it.
func (c *caller) judgeBegin(made *computation) {
	if !slices.Contains(c.audit.Holders(made.queue), made.token) {
		return
	}
	s := &c.results
	s.mu.Lock()
	defer s.mu.Unlock()
	read, ok := s.reads[c.owner]
	if left := s.present[made.queue]; ok && left != nil && left.left > read {
		c.violate("%s computes %s although %q was left %v after it had read the record", c.owner, made.queue, left.value, time.Duration(left.left-read))
	}
}

// judgeLeft judges the result that a change has left in a record.
func (w *world) judgeLeft(queue string, record value.Item) {
	s := &w.results
	s.mu.Lock()
	defer s.mu.Unlock()
	if record["result"].Kind == "" {
		delete(s.present, queue)
		return
	}
	text, token := record["result"].Fields["value"].Text, record["result"].Fields["ticket"].Number.String()
	if s.present[queue] != nil && s.present[queue].value == text {
		return
	}
	made := s.all[text]
	switch {
	case made == nil:
		w.violate("the record of %s has the result %q, which was not computed", queue, text)
		made = &computation{value: text}
	case made.failure != nil:
		w.violate("the record of %s has the result %q of a function that has failed", queue, text)
	case made.queue != queue || made.token != token:
		w.violate("the record of %s has the result %q of %s with ticket %s, which was computed with ticket %s", queue, text, made.queue, token, made.token)
	case made.left != 0:
		w.violate("the record of %s has the result %q once more", queue, text)
	}
	w.add("", "the record of %s has the result %q", queue, text)
	made.left = cmp.Or(made.left, w.now())
	s.present[queue] = made
}

// judgeResult judges what a caller was given. since is when it began, or a call of its process that it may be one with.
func (n *node) judgeResult(owner, queue, value string, since int64) {
	s := &n.results
	s.mu.Lock()
	defer s.mu.Unlock()
	made := s.all[value]
	switch {
	case made == nil || made.queue != queue:
		n.violate("%s was given the result %q of %s, which was not computed", owner, value, queue)
		return
	case made.failure != nil:
		n.violate("%s was given the result %q of a function that has failed", owner, value)
		return
	case made.left == 0:
		n.violate("%s was given the result %q, which was not left", owner, value)
		return
	}
	// Of what was left before it came. The dates of the engine's hosts differ, and the clocks drift.
	if age := time.Duration(since - made.left); age > made.ttl+made.ttl/500+2*n.plan.Skew {
		n.violate("%s was given the result %q, which was left for %v, %v later", owner, value, made.ttl, age)
	}
}

// judgeError judges what a caller was given that has no result.
func (c *caller) judgeError(ctx context.Context, took time.Duration, err error) {
	f, failed := errors.AsType[*failure](err)
	switch {
	case failed && (f.by != c.node || f.ended < c.attempt.begun):
		c.violate("%s was given an earlier error: %v, %v ago", c.owner, err, time.Duration(c.now()-f.ended))
	case failed, ctx.Err() != nil && took <= c.limit:
	default:
		c.judgeRefusal(c.owner, c.wait, c.limit, took, err)
	}
}

// computeTwice lets a newcomer want a result in the clear, and then once more: that costs one read.
func (w *world) computeTwice(ctx context.Context, c *queuelock.Client) error {
	ctx, cancel := context.WithTimeout(ctx, 40*w.plan.TTL+2*time.Minute)
	defer cancel()
	for _, key := range w.keys {
		if w.kinds[key] != (Kind{}) {
			continue
		}
		for turn := range 2 {
			before, computed := w.net.Counts("newcomer"), 0
			_, err := once.Do(ctx, c, key, time.Hour, func(_ context.Context, lock *queuelock.Lock) ([]byte, error) {
				computed++
				made := &computation{owner: "newcomer", queue: name(key), value: fmt.Sprintf("newcomer's %d of %s", turn, key), token: lock.Ticket().String(), ttl: time.Hour}
				w.results.mu.Lock()
				defer w.results.mu.Unlock()
				w.results.all[made.value] = made
				return []byte(made.value), nil
			})
			if err != nil {
				return fmt.Errorf("a result of %s: %w", key, err)
			}
			time.Sleep(time.Second) // for what runs in the background
			sent := 0
			for operation, tally := range w.net.Counts("newcomer") {
				sent += tally.Sent - before[operation].Sent
			}
			if turn == 1 && !w.plan.Dateless && !w.plan.Observe && (computed != 0 || sent != 1) {
				return fmt.Errorf("a result of %s that is there took %d requests, and %d computations", key, sent, computed)
			}
		}
	}
	return nil
}
