package queue

import (
	"cmp"
	"time"

	"github.com/queuelock/queuelock/ticket"
)

// Timed returns the record with two times: when the request that returned it was sent, or an earlier time, and when
// its answer arrived.
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
	return r.FollowsStage(before.Stage(), func(h Holder) (int64, bool) {
		old, ok := before.Mine(h.ID)
		return old.Lease.Beat, ok && old.Ticket == h.Ticket
	})
}

// Stage is what Follows compares of a record, besides the beats of its holders.
type Stage struct {
	sent, read  time.Time // see Timed
	last, floor ticket.Number
	size        int32 // 0 of an idle record, and 1 without holders
}

// Stage returns that of a record.
func (r Record) Stage() Stage {
	s := Stage{sent: r.sent, read: r.read, last: r.TicketNumber, floor: r.Floor()}
	if r.Present {
		s.size = 1 + int32(len(r.Holders))
	}
	return s
}

// FollowsStage is Follows of the stage of a record. beat returns the beat of a holder before, if it is known.
func (r Record) FollowsStage(before Stage, beat func(Holder) (int64, bool)) bool {
	risen, fallen := r.since(before, beat)
	switch {
	case r.sent.After(before.read):
		return true
	case before.sent.After(r.read), fallen:
		return false
	}
	return risen || r.read.After(before.read)
}

// since compares what never falls while a record exists: the last ticket, the floor, and the beats of a holder. Each
// grant raises the floor. So while the numbers stay the same, holders can only leave, until the attribute holders
// itself is gone.
func (r Record) since(before Stage, beat func(Holder) (int64, bool)) (risen, fallen bool) {
	now := r.Stage()
	note := func(change int) { risen, fallen = risen || change > 0, fallen || change < 0 }
	note(now.last.Compare(before.last))
	note(now.floor.Compare(before.floor))
	if !risen && !fallen {
		note(cmp.Compare(before.size, now.size))
	}
	for _, h := range r.Holders {
		if old, ok := beat(h); ok {
			note(cmp.Compare(h.Lease.Beat, old))
		}
	}
	return risen, fallen
}
