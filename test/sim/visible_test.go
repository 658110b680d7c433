package sim

import (
	"testing"

	"github.com/queuelock/queuelock"
)

// TestResumedTwice checks that a lock may be resumed again and again: after a loss, and after the death of a process
// that had resumed it.
func TestResumedTwice(t *testing.T) {
	key := queuelock.Key{Entity: "order-0", Reason: "lock"}
	v := visible{queues: map[string][]operation{}, locks: map[string]bool{name(key): true}}
	now := int64(0)
	add := func(node string, kind kind, ends bool) {
		now += 2
		op := operation{node: node, kind: kind, token: "1", call: now, ret: now + 1}
		if !ends {
			op.ret = never
		}
		v.add(key, op)
	}
	resume := func(node string) {
		if seen, lost := v.goesOn(key, "1"); lost {
			add(node, opResume, true)
		} else if !seen {
			t.Fatal("no client saw the grant")
		}
	}
	add("n0.0", opGrant, true)
	add("n0.0", opLoss, true)
	resume("n0.1")
	add("n0.1", opEnd, false)
	resume("n0.2")
	add("n0.2", opLoss, true)
	resume("n0.3")
	add("n0.3", opRelease, true)
	if violations, unchecked := v.check(); len(violations) > 0 || unchecked > 0 {
		t.Errorf("%v, %d not checked", violations, unchecked)
	}
	resume("n0.4")
	if violations, _ := v.check(); len(violations) != 1 {
		t.Errorf("a lock was resumed after its release: %v", violations)
	}
}
