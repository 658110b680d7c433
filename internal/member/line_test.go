package member

import (
	"testing"

	"github.com/queuelock/queuelock/internal/machine"
	"github.com/queuelock/queuelock/ticket"
)

// TestJoins checks that a block which takes a ticket while another takes a new one comes after those with lower tickets: else it would
// lead the line, and the one that is next would never look.
func TestJoins(t *testing.T) {
	waits := func(n int32, number uint64, ticketed bool) *block {
		b := &block{n: n, ticketed: ticketed, wait: &machine.Wait{}}
		b.wait.Ticket = ticket.Number{}.Plus(number)
		return b
	}
	overtaken, joins := waits(2, 6, false), waits(1, 31, false)
	m := &Member{blocks: []*block{joins, overtaken, waits(3, 28, true)}}
	line{&step{Member: m}}.joins(joins)
	var last ticket.Number
	for _, b := range m.blocks {
		if !b.ticketed {
			continue
		}
		if !last.Less(b.wait.Ticket) {
			t.Errorf("ticket %s comes after %s", b.wait.Ticket, last)
		}
		last = b.wait.Ticket
	}
}

// TestGivesUpTwice checks that a caller which gives up again does not hear before its lock was given back, which it was granted
// meanwhile.
func TestGivesUpTwice(t *testing.T) {
	b := &block{n: 1, ticketed: true, leaving: true, wait: waited, held: &held{}, callers: []turn{{id: 7}}}
	s := &step{Member: &Member{blocks: []*block{b}}}
	if (line{s}).givesUp(7); len(s.out) > 0 || b.callers[0].state != waits {
		t.Errorf("it hears %+v", s.out)
	}
}
