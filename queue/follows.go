package queue

import (
	"cmp"
	"time"
)

// Timed returns the record with the times at which the request that returned it was sent, or an earlier one, and its
// answer arrived.
func (r Record) Timed(sent, read time.Time) Record {
	r.sent, r.read = sent, read
	return r
}

// Follows reports whether the record shows a later state than before, or the same one and arrived later. Where the
// records of several goroutines meet, it decides which of them is kept: answers may arrive in another order than that
// in which their requests were applied. A goroutine that sends one request after the other needs no comparison.
//
//   - A request that was sent after the answer to another one had arrived shows a later state, whatever that is, as
//     reads are consistent. Nothing else proves that the record was deleted and seeded again, with lower numbers.
//   - Of two requests that overlapped, the later state is that in which something has risen that never falls.
//   - If one number has risen and another has fallen, the two are not states of one record. None is proven to be later,
//     and before is kept until the answer to a later request.
func (r Record) Follows(before Record) bool {
	risen, fallen := r.since(before)
	switch {
	case r.sent.After(before.read):
		return true
	case before.sent.After(r.read), fallen:
		return false
	}
	return risen || r.read.After(before.read)
}

// since compares what never falls while a record exists: the last ticket, the floor, and the beats of a holder. Each
// grant raises the floor, so with the same numbers holders only leave, and then holders itself.
func (r Record) since(before Record) (risen, fallen bool) {
	note := func(change int) { risen, fallen = risen || change > 0, fallen || change < 0 }
	note(r.TicketNumber.Compare(before.TicketNumber))
	note(r.Floor().Compare(before.Floor()))
	if !risen && !fallen {
		note(cmp.Compare(before.size(), r.size()))
	}
	for _, h := range r.Holders {
		if old, ok := before.Mine(h.ID); ok && old.Ticket == h.Ticket {
			note(cmp.Compare(h.Lease.Beat, old.Lease.Beat))
		}
	}
	return risen, fallen
}

// size is 0 for an idle record, and 1 for one without holders.
func (r Record) size() int {
	if !r.Present {
		return 0
	}
	return 1 + len(r.Holders)
}
