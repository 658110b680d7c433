package sim

import (
	"slices"
	"strings"
	"sync"

	"github.com/queuelock/queuelock"
)

// beliefs are the locks that workers hold, as far as they know.
type beliefs struct {
	*world

	mu   sync.Mutex
	held []*hold // guarded by mu
}

// begin notes that a worker holds a lock from now on.
func (b *beliefs) begin(h *hold) {
	if !h.sleptOver() {
		b.judge(h.key, h.token, h.owner, h.shares())
	}
	b.judgeIdle(h)
	b.judgeSlot(h)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held = append(b.held, h)
}

// end notes that it does not any more. It reports whether it did.
func (b *beliefs) end(h *hold) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i := range b.held {
		if b.held[i] == h {
			b.held = append(b.held[:i:i], b.held[i+1:]...)
			h.ends()
			return true
		}
	}
	return false
}

// die ends the beliefs of a process that has died.
func (b *beliefs) die(n *node) {
	b.mu.Lock()
	var dead []*hold
	for i := 0; i < len(b.held); {
		if b.held[i].node == n {
			dead = append(dead, b.held[i])
			b.held = append(b.held[:i:i], b.held[i+1:]...)
		} else {
			i++
		}
	}
	b.mu.Unlock()
	for _, h := range dead {
		b.idle.forget(h.key)
		b.visible.add(h.key, operation{node: n.name, kind: opEnd, token: h.token, call: h.endFrom(h.now()), ret: never})
	}
}

// judgeSlot checks that a permit has a number, which no other worker believes to have. All processes have this version.
func (b *beliefs) judgeSlot(h *hold) {
	slot, ok := h.lock.Slot()
	if n := b.kinds[h.key].Permits; ok != (n > 0) || ok && (slot < 0 || slot >= n) {
		b.violate("%s holds %s with number %d (%v) of %d permits", h.owner, h.key, slot, ok, n)
	}
	b.mu.Lock()
	held := slices.Clone(b.held)
	b.mu.Unlock()
	for _, o := range held {
		theirs, has := o.lock.Slot()
		same := ok && has && o.key == h.key && theirs == slot
		if same && !o.sleptOver() && o.lock.Err() == nil && !h.sleptOver() && h.lock.Err() == nil {
			b.violate("%s and %s hold %s with number %d", o.owner, h.owner, h.key, slot)
		}
	}
}

// granted is called at the instant at which an owner gets into a record. The holders
// before it must know by now that they have lost the lock.
func (b *beliefs) granted(queue, ticket, owner string) {
	b.add("", "the record of %s grants ticket %s to %s", queue, ticket, owner)
	b.judgeOpen(queue, ticket)
	entity, reason, _ := strings.Cut(queue, " ")
	b.judge(queuelock.Key{Entity: entity, Reason: reason}, ticket, owner, strings.HasSuffix(owner, readerSuffix))
}

// judge asks everybody else who holds that lock whether they do: all of whom may
// if all share, and of a semaphore all but one of as many as there are permits.
func (b *beliefs) judge(key queuelock.Key, ticket, owner string, shares bool) {
	b.mu.Lock()
	var others []*hold
	for _, h := range b.held {
		if h.key == key && h.token != ticket && !(shares && h.shares()) {
			others = append(others, h)
		}
	}
	b.mu.Unlock()
	room := max(0, b.kinds[key].Permits-1)
	for _, h := range others {
		if h.lock.Err() != nil || h.sleptOver() {
			continue
		}
		if room--; room < 0 {
			b.violate("%s got %s with ticket %s while %s believed to hold it with ticket %s", owner, key, ticket, h.owner, h.token)
		}
	}
}
