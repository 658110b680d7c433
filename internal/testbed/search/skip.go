package search

import (
	"unsafe"

	"github.com/queuelock/queuelock/internal/clause"
	"github.com/queuelock/queuelock/queue"
)

// skips reports whether a step is the transition that the planted mistake replaces.
func (s *search) skips(r *stepped) bool {
	return s.plant.Skips && r.from == s.plant.From && r.state == s.plant.To
}

// known returns the number of the record that a machine knows.
func (s *search) known(m int32) int32 {
	rec := &s.waits.all[m].Snapshot.Record
	return s.items.of(*(*clause.Item)(unsafe.Add(unsafe.Pointer(rec), recordItemField)))
}

// instead does what is done in place of a transition that is skipped:
//
//	CLEAN UP, RESET, CLAIM  not sent, and counts as refused by the record that is known
//	SWEEP                   not sent, and counts as applied
//	CONFIRM                 not sent, and counts as made
//	EVICT, RESUME, TAKE, …  not sent, and counts as failed
//	a look                  not sent: the record that is known counts as seen, without rows ahead
//	Joining                 no row is put
//	Putting                 the row is not awaited
//	Keeping                 the row is not kept
//	Resting                 it looks at once
//	Pausing                 a request that has failed, or has no answer, counts as refused by the record that is known
//	Granted                 a new ticket is taken
//	Ended                   it looks again
func (s *search) instead(w *world, i int, r *stepped) (e event, goes bool) {
	n := &w.nodes[i]
	switch known := s.known(r.m); r.state {
	case queue.Removing, queue.Resetting, queue.Claiming:
		return event{kind: evReplied, reply: queue.ReplyRefused, rec: known}, true
	case queue.Sweeping:
		return event{kind: evReplied, reply: queue.ReplyApplied, rec: known}, true
	case queue.Confirming:
		return event{kind: evReplied, reply: queue.ReplyMade, rec: known}, true
	case queue.Looking, queue.Checking:
		return event{kind: evSeen, rec: known}, true
	case queue.Joining:
		n.known = r.ticket
		return s.joins(i, r.m), true
	case queue.Putting:
		return event{kind: evPut}, true
	case queue.Keeping:
		return event{kind: evKept, flag: true}, true
	case queue.Resting, queue.Ended:
		return event{kind: evRested}, true
	case queue.Pausing:
		n.wait = r.before
		return event{kind: evReplied, reply: queue.ReplyRefused, rec: s.known(r.before)}, true
	case queue.Granted:
		s.ended(w, i, &stepped{why: queue.WhyNewTicket})
		return e, false
	case queue.Left:
		return event{kind: evGiveUp}, true
	}
	return event{kind: evReplied, reply: queue.ReplyFailed}, true
}
