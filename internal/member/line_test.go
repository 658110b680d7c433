package member

import "testing"

// TestGivesUpTwice checks that a caller which gives up again does not hear before its lock was given back, which it was granted
// meanwhile.
func TestGivesUpTwice(t *testing.T) {
	b := &block{n: 1, ticketed: true, leaving: true, wait: waited, held: &held{}, callers: []turn{{id: 7}}}
	s := &step{Member: &Member{blocks: []*block{b}}}
	if (line{s}).givesUp(7); len(s.out) > 0 || b.callers[0].state != waits {
		t.Errorf("it hears %+v", s.out)
	}
}
