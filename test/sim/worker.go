package sim

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/random"
	"github.com/queuelock/queuelock/internal/testbed/story"
	"github.com/queuelock/queuelock/waitpolicy"
)

// work takes turns until the run's end or the process's death.
func (n *node) work(k int) {
	r := n.chances(n.name+" worker", int64(k))
	n.sleep(r, exp(r, n.plan.Think))
	for turn := 0; n.ctx.Err() == nil && !n.isRetired() && time.Now().Before(n.end); turn++ {
		if n.job && turn > 0 {
			return
		}
		n.waitOut(r.Float64())
		owner := fmt.Sprintf("%s/%d-%d", n.name, k, turn)
		key, what := n.keys[r.IntN(len(n.keys))], r.IntN(12)
		if n.plan.Several > 0 && r.Float64() < n.plan.Several {
			what = 2
		} else if n.job {
			what = max(what, 3)
		} else if n.plan.Contest && r.IntN(16) > 0 {
			what = 4 // a turn
		}
		switch what {
		case 0:
			state, err := n.client.Viewer().Inspect(n.with(r), key)
			n.add(n.name, "inspects %s: %v", key, err)
			n.ask(r, key, state)
		case 1:
			swept, err := n.client.Operator().Sweep(n.with(r), key)
			n.add(n.name, "sweeps %s: %+v %v", key, swept, err)
		case 2:
			n.severalTurns(r, owner)
		case 3:
			n.turnAtItem(r, owner)
		default:
			if saved, ok := n.takeSaved(r); ok {
				n.resume(r, owner, saved)
			} else if n.wantsResult(owner, key) {
				n.callOnce(r, owner, key)
			} else {
				n.turn(r, owner, key)
			}
		}
		n.sleep(r, exp(r, n.plan.Think))
	}
}

// sleep is for the process: it ends with its death, and with the run.
func (n *node) sleep(r *rand.Rand, d time.Duration) {
	timer := time.NewTimer(min(d, time.Until(n.end)+time.Duration(r.IntN(1e6))))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-n.ctx.Done():
	}
}

// with is a context of the process's life, whose chances the seed decides.
func (n *node) with(r *rand.Rand) context.Context {
	return random.Seed(n.ctx, n.plan.Seed, r.Uint64())
}

// turn is one Acquire, and what follows it.
func (n *node) turn(r *rand.Rand, owner string, key queuelock.Key) {
	a := n.newAttempt(r, owner)
	if n.plan.Blocks && n.kinds[key] == (Kind{}) && n.chances(owner+" waits as others", 0).IntN(4) > 0 {
		n.turnAsOthers(r, a, key)
		return
	}
	opts, shares := n.kinds[key].draw(r)
	if shares {
		a.owner += readerSuffix
	}
	if a.closed = r.Float64() < n.kinds[key].Closed; a.closed {
		opts = append(opts, queuelock.FailClosed())
	}
	if a.policy = n.newPolicy(r, a.owner, key); a.policy != nil {
		opts = append(opts, a.policy.options...)
	}
	a.keep = n.stays(a)
	n.add(n.name, "%s: Acquire %s, %v", a.owner, key, a)
	n.attempt(r, a, key, shares, append(opts, a.options(r, key, shares)...), func(ctx context.Context, opts []queuelock.AcquireOption) (*queuelock.Lock, error) {
		return n.client.Acquire(ctx, key, a.wait, opts...)
	})
}

// attempt is what one call that acquires a lock goes by.
type attempt struct {
	*node
	owner  string
	wait   waitpolicy.Wait
	limit  time.Duration // of its context
	ttl    time.Duration
	begun  int64
	policy *policy // nil: none
	saved  *saved  // what it goes on with; nil: it starts afresh

	closed bool          // it fails closed
	keep   time.Duration // for which it keeps its place; zero: it does not
	least  time.Duration // for which it keeps its queue closed
	real   time.Time     // begun, on the engine's clock
	plain  bool          // it has no options, so that its client may let it wait in a block
}

func (a *attempt) String() string {
	s := fmt.Sprintf("%v, at most %v, lease %v", a.wait, a.limit, a.ttl)
	if a.closed {
		s += ", fails closed"
	}
	if a.keep > 0 {
		s += fmt.Sprintf(", keeps its place for %v", a.keep)
	}
	if a.plain {
		s += ", as others of its client"
	}
	return s
}

func (n *node) newAttempt(r *rand.Rand, owner string) *attempt {
	n.begin()
	waits := []waitpolicy.Wait{waitpolicy.NoWait, waitpolicy.Attempts(3, time.Second), waitpolicy.For(3 * time.Second), waitpolicy.For(time.Minute), waitpolicy.Forever, waitpolicy.Forever}
	a := &attempt{node: n, owner: owner, wait: waits[r.IntN(len(waits))], limit: 20 * time.Minute, ttl: n.plan.TTL, begun: n.now(), real: n.engineClock()}
	if n.plan.Crowded && (r.IntN(8) > 0 || n.plan.Contest && r.IntN(4) > 0) {
		a.wait = waitpolicy.Forever
	}
	leaves := 6
	if n.plan.Contest {
		leaves = 16 // the ticket of a waiter that has left is in no row: the next grant is not by name
	}
	if r.IntN(leaves) == 0 {
		a.limit = exp(r, 1500*time.Millisecond)
	}
	if r.IntN(5) == 0 {
		a.ttl *= 2
	}
	return a
}

// options are those of one lock.
func (a *attempt) options(r *rand.Rand, key queuelock.Key, shares bool) []queuelock.AcquireOption {
	opts := []queuelock.AcquireOption{
		queuelock.WithOwner(a.owner), queuelock.WithTTL(a.ttl),
		queuelock.OnHandle(func(h queuelock.Handle) { a.save(a.owner, h, shares, a.begun) }),
	}
	special := 4
	if a.plan.Contest {
		special = 16 // such waiters are not named
	}
	if r.IntN(special) == 0 {
		opts = append(opts, queuelock.WithData([]byte(a.owner)), queuelock.OnProgress(func(p queuelock.Progress) {
			if p.Position < 1 || p.Ticket.IsZero() || p.Key != key {
				a.violate("%s: reported %+v", a.owner, p)
			}
		}))
	}
	if r.IntN(special) == 0 && !a.closed {
		opts = append(opts, queuelock.LockDelay(time.Duration(1+r.IntN(3))*time.Second))
	}
	if a.keep > 0 {
		opts = append(opts, queuelock.KeepPlace(a.keep))
	}
	if a.least = a.atLeast(r, shares); a.least > 0 {
		opts = append(opts, queuelock.HoldAtLeast(a.least))
	}
	return opts
}

// attempt acquires a lock, and uses it.
func (n *node) attempt(r *rand.Rand, a *attempt, key queuelock.Key, shares bool, opts []queuelock.AcquireOption, acquire func(context.Context, []queuelock.AcquireOption) (*queuelock.Lock, error)) {
	owner := a.owner
	n.diary.comes(key, owner)
	ctx, cancel := context.WithTimeout(of(n.with(r), owner), a.limit)
	defer cancel()
	loose, stood := n.loose.Load(), n.stood.Load()
	lock, err := acquire(ctx, opts)
	took := time.Duration(n.now() - a.begun - (n.stood.Load() - stood))
	if n.isDead() {
		return // no process is left to report it
	}
	n.forget(owner)
	if err != nil {
		n.add(n.name, "%s: %v", owner, err)
		n.diary.end(key, owner, string(story.NotServed))
		n.did("refused")
		n.leaves(key)
		n.judgeRefusal(owner, a.wait, a.limit, took, err)
		a.policy.judge(a, err)
		if _, stands := errors.AsType[*queuelock.UnreleasedError](err); stands {
			n.disown(owner)
		}
		if n.slices(r, a, key, shares, err) {
			return
		}
		judge := func() {
			if n.heard() == loose && isPlain(err) && n.runs() { // its timers go on while it is paused, and none of its requests
				// A Resume leaves a lock to its lock delay.
				n.judgeTraces(owner, "an Acquire that failed", a.saved == nil)
			}
		}
		if a.awaitsCleanUp(err) {
			judge()
		} else {
			n.judgeCleanUp(20, judge)
		}
		return
	}
	n.did("acquired")
	n.closes(key, a.real, a.least)
	token := lock.Ticket().String()
	n.add(n.name, "%s: holds %s with ticket %s", owner, key, token)
	n.diary.hear(key, owner, story.Holds.Of("%s", token))
	h := &hold{node: n, owner: owner, key: key, lock: lock, token: token, lease: a.ttl, begun: a.begun, closed: a.closed, plain: a.plain, id: grantID{name(key), token, a.inTable()}, doubt: a.saved != nil, watched: make(chan struct{})}
	if a.saved != nil {
		shares = lock.Shared()
	}
	h.shared.Store(shares)
	_, h.pauses = a.wait.Tries()
	grant := operation{node: n.name, kind: opGrant, token: token, shares: shares, call: a.begun, ret: n.now()}
	if a.saved != nil {
		seen, lost := n.visible.goesOn(key, token)
		switch {
		case lost:
			grant.kind = opResume
		case !seen:
			grant.call = a.saved.begun
		}
		if !seen || lost {
			n.visible.add(key, grant)
		}
	} else {
		n.visible.add(key, grant)
	}
	if !a.plain || n.chances(owner+" saves its handle", 0).IntN(3) == 0 { // after which the next turn of a block begins with a request
		n.save(owner, lock.Handle(), shares, n.now())
	}
	n.beliefs.begin(h)
	go func() { defer close(h.watched); h.watch() }()
	h.mayGiveWay()
	h.use(r)
	h.judgeAsked()
	h.release(r, loose)
	<-h.watched
	if !n.isDead() {
		n.forget(owner)
	}
	if r.Float64() < n.plan.Chances.Stale && !h.shares() {
		mean := n.plan.TTL
		if a.plain {
			mean = n.plan.Hold // while its block may hold
		}
		n.sleep(r, exp(r, mean))
		h.writeStale(r)
	}
}

// awaitsCleanUp reports whether an Acquire that failed has waited for the removal of what it had left. One that does not wait has not. For
// makes such an attempt, too, if the table was silent until its limit.
func (a *attempt) awaitsCleanUp(err error) bool {
	tries, _ := a.wait.Tries()
	_, limited := a.wait.Limit()
	return tries == 0 && !a.policy.refusesWait() && !(limited && errors.Is(err, queuelock.ErrUnavailable))
}

// judgeCleanUp judges what an Acquire has left that did not wait for its removal, once no request of the process has
// failed for a second and none is under way, or after so many seconds.
func (n *node) judgeCleanUp(seconds int, judge func()) {
	stood, failed := n.stood.Load(), n.failed.Load()
	time.AfterFunc(time.Second, func() {
		switch {
		case n.isDead() || n.stood.Load() != stood:
		case (n.failed.Load() != failed || n.flying.Load() != 0) && seconds > 1:
			n.judgeCleanUp(seconds-1, judge)
		default:
			judge()
		}
	})
}

// readerSuffix ends the names of owners that share.
const readerSuffix = "r"

// options are those that every Acquire of such a queue needs.
func (k Kind) options() []queuelock.AcquireOption {
	if k.Permits > 0 {
		return []queuelock.AcquireOption{queuelock.Permits(k.Permits)}
	}
	return nil
}

// draw draws the options of one Acquire, and says whether it shares.
func (k Kind) draw(r *rand.Rand) (opts []queuelock.AcquireOption, shares bool) {
	opts = k.options()
	if r.Float64() < k.Readers {
		return append(opts, queuelock.Shared()), true
	}
	return opts, false
}

// isPlain says that an Acquire which failed has nothing to say of a Release that
// failed too.
func isPlain(err error) bool {
	if _, own := err.(*queuelock.NotAcquiredError); own {
		return true
	}
	joined, several := err.(interface{ Unwrap() []error })
	return !several || len(joined.Unwrap()) == 1
}

// judgeRefusal looks at what an Acquire that failed says, and when.
func (n *node) judgeRefusal(owner string, wait waitpolicy.Wait, limit, took time.Duration, err error) {
	bound := limit
	if d, ok := wait.Limit(); ok {
		bound = min(bound, d)
	}
	if tries, _ := wait.Tries(); tries > 0 {
		// Each tries for at most 3 s, leaves, and pauses.
		bound = min(bound, time.Duration(tries)*20*time.Second)
	}
	// A table that does not answer, and leaving, take their time.
	bound += 4*n.plan.TTL + time.Minute
	if took > bound {
		n.violate("%s: Acquire gave up after %v, it should have after %v: %v", owner, took, bound, err)
	}
	_, busy := errors.AsType[*queuelock.NotAcquiredError](err)
	if !busy && !errors.Is(err, queuelock.ErrGone) && !errors.Is(err, queuelock.ErrClosed) && n.plan.calm() {
		n.violate("%s: Acquire failed although nothing had gone wrong: %v", owner, err)
	}
}

// judgeTraces: nothing is left of an owner that is done, whose requests have
// all been answered or did not arrive; of what has a lock delay only if asked for.
func (n *node) judgeTraces(owner, what string, delayed bool) {
	if traces := n.audit.Traces(owner, delayed); len(traces) > 0 {
		n.violate("%s: %s has left %v", owner, what, traces)
	}
}

// calm says that no fault is in the plan.
func (p Plan) calm() bool {
	c := p.Chances
	c.Stale, c.Anyway, c.Brownout, c.Stubborn = 0, 0, 0, 0
	return c == Chances{} && p.Means == Means{} && p.Split.Late == 0
}

// hold is a lock that a worker holds, or held.
type hold struct {
	*node
	owner  string
	key    queuelock.Key
	lock   *queuelock.Lock
	token  string
	lease  time.Duration
	begun  int64
	since  int64         // when it got the lock
	pauses time.Duration // between its tries at most; zero: it waited in the queue, or tried once
	closed bool          // it has none
	plain  bool          // it may be a turn of a block
	id     grantID
	n      int  // writes
	total  int  // writes to the register, as far as known
	known  bool // total is what was read
	// doubt says that a write of its own may have been made, or may yet become
	// visible.
	doubt bool
	// shared says that it holds together with others that do, or may do so by now.
	shared atomic.Bool
	// watched is closed when the lock's end has been noted.
	watched chan struct{}
	leave   <-chan struct{} // closed when it is to end its work; nil: never
}

// watch records in beliefs and the visible history when the lock is lost.
func (h *hold) watch() {
	select {
	case <-h.lock.Context().Done():
	case <-h.ctx.Done():
		return // it died with its process
	}
	err := h.lock.Err()
	if !h.beliefs.end(h) {
		return
	}
	if !errors.Is(err, queuelock.ErrLost) { // by Close
		h.visible.add(h.key, operation{node: h.name, kind: opEnd, token: h.token, call: h.endFrom(h.now()), ret: never})
		return
	}
	h.did("lost")
	h.add(h.name, "%s: %v", h.owner, err)
	h.diary.hear(h.key, h.owner, string(story.HasLost))
	h.judgeLoss(err)
	h.visible.add(h.key, operation{node: h.name, kind: opLoss, token: h.token, call: h.endFrom(h.now()), ret: h.now()})
}

// use is the work under the lock: reads and protected writes, some of it for
// longer than a lease.
func (h *hold) use(r *rand.Rand) {
	left, long := exp(r, h.plan.Hold), 10
	if h.plan.Contest {
		left, long = (left+h.plan.Hold)/2, 200 // rows are named only if turns are short
	}
	if h.plan.Lengths != Exponential {
		left = h.plan.lasts(h.chances(h.owner+" lasts", 0))
	}
	if r.IntN(long) == 0 {
		left += time.Duration(r.Float64() * 3 * float64(h.plan.TTL))
	}
	for {
		h.waitOut(r.Float64())
		if h.lock.Context().Err() != nil || h.ctx.Err() != nil {
			return
		}
		switch {
		case h.shares():
			h.read()
		case r.IntN(3) > 0:
			h.write(r)
		default:
			h.read()
		}
		switch {
		case r.IntN(12) == 0:
			h.diary.do(h.key, h.owner, story.SetsData)
			err := h.lock.SetData(h.with(r), fmt.Append(nil, h.n))
			h.add(h.name, "%s: sets its data: %v", h.owner, err)
		case r.IntN(12) == 0:
			err := h.lock.Extend(h.with(r))
			h.add(h.name, "%s: extends: %v", h.owner, err)
			if left := h.lock.Remaining(); err == nil && left > h.lease && !h.closed {
				h.violate("%s: %v remain of a lease of %v", h.owner, left, h.lease)
			}
		}
		if h.kinds[h.key].Readers > 0 && !h.shares() && r.IntN(4) == 0 {
			h.downgrade(r)
		}
		step := min(left, exp(r, 2*h.plan.Hold+h.plan.TTL/4)+10*time.Millisecond)
		if left -= step; left <= 0 {
			return
		}
		timer := time.NewTimer(step)
		select {
		case <-timer.C:
		case <-h.lock.Context().Done():
		case <-h.ctx.Done():
		case <-h.leave:
			timer.Stop()
			return
		}
		timer.Stop()
	}
}

func (h *hold) shares() bool { return h.shared.Load() }

// downgrade lets others that share join.
func (h *hold) downgrade(r *rand.Rand) {
	h.diary.do(h.key, h.owner, story.Downgrades)
	op := operation{node: h.name, kind: opDowngrade, token: h.token, call: h.now()}
	h.shared.Store(true) // from now on
	err := h.lock.Downgrade(h.with(r))
	h.add(h.name, "%s: downgrades: %v", h.owner, err)
	if op.ret = h.now(); err != nil || h.isDead() {
		op.ret = never
	}
	h.visible.add(h.key, op)
}

// release gives the lock back, twice now and then.
func (h *hold) release(r *rand.Rand, loose int64) {
	h.waitOut(r.Float64())
	if h.isDead() {
		return
	}
	if r.IntN(4) == 0 && !h.shares() {
		if h.write(r); h.isDead() {
			return
		}
	}
	ctx, cancel := context.WithTimeout(h.with(r), 10*time.Second)
	defer cancel()
	if h.lock.Err() != nil {
		<-h.watched // a loss at this very instant is a loss
	}
	begun := h.now()
	held := h.beliefs.end(h)
	was := h.lock.Err() == nil
	h.diary.do(h.key, h.owner, story.Releases)
	err := h.lock.Release(ctx)
	if h.closed {
		err = h.releaseAtLast(r, err)
	}
	if was {
		h.judgeRelease("Release", h.owner, h.id, err, h.plain)
	}
	dead := h.isDead()
	if err != nil || dead {
		h.idle.forget(h.key)
	}
	h.add(h.name, "%s: released: %v", h.owner, err)
	h.diary.end(h.key, h.owner, released(err))
	if held {
		op := operation{node: h.name, kind: opRelease, token: h.token, call: begun, ret: h.now()}
		if err != nil || dead {
			op.kind, op.call, op.ret = opEnd, h.endFrom(begun), never
		} else if op.ret == begun { // in memory, to the next turn of its block: the table was not asked
			op.call = h.endFrom(begun)
		}
		h.visible.add(h.key, op)
	}
	switch {
	case dead:
		return
	case err == nil && !h.plain && h.heard() == loose:
		h.judgeTracesOfHolder()
	case errors.Is(err, queuelock.ErrLost) && held:
		h.did("lost") // noticed by Release
	}
	if r.IntN(8) == 0 && err == nil && held {
		if err := h.lock.Release(ctx); err != nil {
			h.violate("%s: a second Release gave %v", h.owner, err)
		}
	}
}

// released is what a holder has heard of its release.
func released(err error) string {
	switch {
	case err == nil:
		return string(story.Released)
	case errors.Is(err, queuelock.ErrLost):
		return string(story.WasLost)
	}
	return string(story.Unknown)
}

// hasLeft reports whether the error of a Release says that the lock has left the
// table, though not how.
func hasLeft(err error) bool {
	_, ok := errors.AsType[*queuelock.UnknownOutcomeError](err)
	return ok
}

// releaseAtLast repeats a Release until it is known to be released: nothing else
// ends a lock without a lease while its process lives.
func (h *hold) releaseAtLast(r *rand.Rand, err error) error {
	for err != nil && !errors.Is(err, queuelock.ErrLost) && !hasLeft(err) && !h.isDead() {
		h.add(h.name, "%s: is not released yet: %v", h.owner, err)
		select {
		case <-time.After(5 * time.Second):
		case <-h.ctx.Done():
		}
		h.waitOut(r.Float64())
		ctx, cancel := context.WithTimeout(h.with(r), 10*time.Second)
		err = h.lock.Release(ctx)
		cancel()
	}
	return err
}

// judgeTracesOfHolder: a lock that was released is not in the record. (Its row
// is deleted in the background.)
func (h *hold) judgeTracesOfHolder() {
	if slices.Contains(h.audit.Holders(name(h.key)), h.token) {
		h.violate("%s: a lock that was released is still in the record", h.owner)
	}
}

// name is the audit's name of a queue.
func name(key queuelock.Key) string { return key.Entity + " " + key.Reason }

func number(n string) types.AttributeValue { return &types.AttributeValueMemberN{Value: n} }
