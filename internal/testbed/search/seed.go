package search

import "github.com/queuelock/queuelock/queue"

// seeds sends the seed that follows a TAKE which a missing record has refused. It is one request of the wait with that TAKE.
func (s *search) seeds(w *world, m *msg) bool {
	take, ok := s.takes[m.write[0]]
	if !ok || m.reply != uint8(queue.ReplyRefused) {
		return false
	}
	next, err := take.Refused(s.items.all[m.rec])
	switch {
	case err == nil:
		seed := msg{role: byWait, node: m.node, clock: m.clock, order: m.order}
		seed.write[0] = s.items.send(next.Write, 0, s.items.writes[m.write[0]].say)
		s.takes[seed.write[0]] = next
		s.say("    %s sends %s", nameOf(int(m.node)), s.name(&seed))
		s.post(w, seed)
		return true
	case m.rec == none: // the record was deleted meanwhile
		m.reply = uint8(queue.ReplyFailed)
	}
	return false
}
