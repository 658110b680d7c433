package sim

import (
	"sync"
	"time"

	"github.com/queuelock/queuelock"
)

// idle judges for how long a lock was free while a live process waited for it: docs/configuration.md says how long at most.
type idle struct {
	mu     sync.Mutex
	queues map[queuelock.Key]*pause // guarded by mu
	gather int                      // guarded by mu; callers that wait for several locks, and may have one of them
	judged int                      // guarded by mu
	most   float64                  // guarded by mu; the longest, as a part of what was allowed
}

// pause is what is known of a queue between two turns.
type pause struct {
	free    int64         // since when it is free; zero: it is held, or that is not known
	even    bool          // turns were, when the last began or ended
	longest time.Duration // turn
	left    int           // waiters that have left since then
	kept    int64         // until when a place of the queue may be kept, for which the others wait
}

// pauseOf returns what is known of an exclusive lock; nil: it is not judged.
func (w *world) pauseOf(key queuelock.Key) *pause {
	if w.kinds[key] != (Kind{}) || w.plan.Several > 0 || w.plan.Closes {
		return nil
	}
	p := w.idle.queues[key]
	if p == nil {
		p = &pause{}
		w.idle.queues[key] = p
	}
	return p
}

// ends notes that a turn of a queue ends: by a release, or else the lock is lost, and what follows is not judged.
func (h *hold) ends() {
	even := h.isEven(h.key)
	h.idle.mu.Lock()
	defer h.idle.mu.Unlock()
	if p := h.pauseOf(h.key); p != nil {
		p.free, p.left, p.even = h.now(), 0, p.even || even
		p.longest = max(p.longest, time.Duration(p.free-h.since))
		if h.lock.Err() != nil || h.idle.gather > 0 {
			p.free = 0
		}
	}
}

// forget leaves the present pause unjudged.
func (i *idle) forget(key queuelock.Key) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if p := i.queues[key]; p != nil {
		p.free = 0
	}
}

// gathers notes that so many callers more wait for several locks.
func (i *idle) gathers(n int) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.gather += n
	for _, p := range i.queues {
		p.free = 0
	}
}

// leaves notes that a waiter has left, so that those behind it are rung in vain, or are not named.
func (w *world) leaves(key queuelock.Key) {
	w.idle.mu.Lock()
	defer w.idle.mu.Unlock()
	if p := w.pauseOf(key); p != nil {
		p.left++
	}
}

// keeps notes that a waiter has left, and keeps its place for d.
func (w *world) keeps(key queuelock.Key, d time.Duration) {
	w.idle.mu.Lock()
	defer w.idle.mu.Unlock()
	if p := w.pauseOf(key); p != nil {
		p.kept = max(p.kept, w.now()+int64(d))
	}
}

// judgeIdle judges the time before a turn. Nothing is judged soon after a fault.
func (w *world) judgeIdle(h *hold) {
	even := w.isEven(h.key)
	h.since = w.now()
	w.idle.mu.Lock()
	defer w.idle.mu.Unlock()
	p := w.pauseOf(h.key)
	if p == nil {
		return
	}
	even, p.even = even || p.even, even
	from, longest, left := p.free, p.longest, p.left+1
	p.free = 0
	if from == 0 || from < p.kept || w.wasDisturbed(from-int64(6*w.plan.TTL+30*time.Second)) {
		return
	}
	free := time.Duration(h.since - max(from, h.begun))
	s, trips := w.plan.schedule(), 2*time.Duration(w.plan.Nodes*w.plan.Workers+8)*2*w.plan.Latency
	most := max(s.Fastest, min(longest, max(s.SlowestNext, longest/60)))
	switch {
	case even:
		most = s.Slowest
	case w.plan.Bells:
		most = 4 * s.SlowestNext
	}
	most = time.Duration(left)*most + h.pauses + trips // a caller that tries a few times is not there between two tries
	w.idle.judged++
	w.idle.most = max(w.idle.most, float64(free)/float64(most))
	if free > most {
		w.violate("%s: %s was free for %v, and a live process waited: %v at most after a turn of %v", h.owner, h.key, free, most, longest)
	}
}

// isEven reports whether waiters may expect that turns are even.
func (w *world) isEven(key queuelock.Key) bool {
	mean, deviation := w.audit.HoldTime(name(key))
	return deviation <= mean/4
}
