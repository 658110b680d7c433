package sim

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/story"
	"github.com/queuelock/queuelock/ticket"
)

// most is how many locks of several are used: each takes its time.
const most = 2

// severalTurns takes several locks at once, and uses them.
func (n *node) severalTurns(r *rand.Rand, owner string) {
	keys := n.drawKeys(r)
	if keys == nil {
		return
	}
	a := n.newAttempt(r, owner)
	ctx, cancel := context.WithTimeout(n.with(r), a.limit)
	defer cancel()
	n.add(n.name, "%s: AcquireAll %v, %v", owner, keys, a)
	n.world.gather(owner)
	for _, key := range keys {
		n.diary.comes(key, owner)
	}
	loose, stood := n.loose.Load(), n.stood.Load()
	n.idle.gathers(1)
	locks, err := n.client.AcquireAll(ctx, keys, a.wait, queuelock.WithOwner(owner), queuelock.WithTTL(a.ttl))
	n.idle.gathers(-1)
	took := time.Duration(n.now() - a.begun - (n.stood.Load() - stood))
	if n.isDead() {
		return
	}
	if err != nil {
		n.add(n.name, "%s: %v", owner, err)
		for _, key := range keys {
			n.diary.end(key, owner, string(story.NotServed))
		}
		n.did("refused")
		n.judgeRefusal(owner, a.wait, a.limit, took, err)
		// Of a lock that was lost while others were waited for, one request to remove
		// what is left of it may have failed: its lease ends it.
		if n.heard() == loose && isPlain(err) && n.plan.calm() {
			n.judgeTraces(owner, "an AcquireAll that failed", true)
		}
		return
	}
	if len(locks.All()) != len(keys) {
		n.violate("%s: AcquireAll of %d keys returned %d locks", owner, len(keys), len(locks.All()))
	}
	var holds []*hold
	for i, lock := range locks.All() {
		n.did("acquired")
		h := &hold{node: n, owner: fmt.Sprintf("%s+%d", owner, i), key: lock.Key(), lock: lock, token: lock.Ticket().String(), lease: a.ttl, begun: a.begun, id: grantID{name(lock.Key()), lock.Ticket().String(), owner}, watched: make(chan struct{})}
		n.add(n.name, "%s: holds %s with ticket %s", owner, h.key, h.token)
		n.diary.hear(h.key, owner, story.Holds.Of("%s", h.token))
		n.visible.add(h.key, operation{node: n.name, kind: opGrant, token: h.token, call: a.begun, ret: n.now()})
		n.beliefs.begin(h)
		go func() { defer close(h.watched); h.watch() }()
		holds = append(holds, h)
	}
	for _, h := range holds[:min(len(holds), most)] {
		h.use(r)
		if locks.Err() != nil {
			break
		}
	}
	n.releaseAll(r, locks, holds)
	for _, h := range holds {
		<-h.watched
	}
}

// drawKeys draws the locks of one AcquireAll, in any order; nil: there are too few.
func (n *node) drawKeys(r *rand.Rand) (keys []queuelock.Key) {
	for _, key := range n.keys {
		if n.kinds[key].Permits == 0 && (n.plan.Scope != ticket.ScopeEntity || key.Entity == n.keys[0].Entity) {
			keys = append(keys, key)
		}
	}
	r.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
	switch {
	case n.plan.Several > 0:
		return keys[:1+r.IntN(len(keys))]
	case len(keys) < 2:
		return nil
	}
	return keys
}

// releaseAll gives all back by one call.
func (n *node) releaseAll(r *rand.Rand, locks *queuelock.Locks, holds []*hold) {
	n.waitOut(r.Float64())
	if n.isDead() {
		return
	}
	ctx, cancel := context.WithTimeout(n.with(r), 10*time.Second)
	defer cancel()
	held := map[*hold]bool{}
	for _, h := range holds {
		if h.lock.Err() != nil {
			<-h.watched
		}
		held[h] = n.beliefs.end(h)
	}
	begun := n.now()
	for _, h := range holds {
		n.diary.do(h.key, h.owner, story.Releases)
	}
	err := locks.Release(ctx)
	dead := n.isDead()
	n.add(n.name, "%s: released all: %v", holds[0].owner, err)
	for _, h := range holds {
		n.diary.end(h.key, h.id.owner, released(err))
		if !held[h] {
			continue
		}
		op := operation{node: n.name, kind: opRelease, token: h.token, call: begun, ret: n.now()}
		if err != nil || dead {
			op.kind, op.call, op.ret = opEnd, h.endFrom(begun), never
		}
		n.visible.add(h.key, op)
		if errors.Is(err, queuelock.ErrLost) {
			n.did("lost")
		}
	}
}

// gather notes that an owner waits for several locks. It leaves all queues when it was overtaken in one.
func (w *world) gather(owner string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.gathering[owner] = true
}

func (w *world) isGathering(owner string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.gathering[owner]
}
