package member

import (
	"slices"
	"testing"
	"time"

	"github.com/queuelock/queuelock/internal/machine"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
)

// leases is a clock of leases of a minute, whose renewals are repeated after a second.
type leases struct {
	Clock
	now time.Time
}

func (c leases) Begin(*Kind, bool) (queue.Lease, time.Time) {
	return queue.Lease{TTL: time.Minute, Until: c.now.Add(time.Minute)}, c.now
}
func (c leases) Ends(_ *Kind, sent time.Time, _ bool) time.Time { return sent.Add(time.Minute) }
func (c leases) Beats(Timer, *Kind, time.Time, bool, bool) time.Time {
	return c.now.Add(time.Second)
}

// TestFoundRow checks that a row which an ENQUEUE has found in the table is renewed before its waiter relies on it, and that a renewal
// without an answer is repeated after a while: it is not put again, which would find it again, and so on without a pause.
func TestFoundRow(t *testing.T) {
	now := time.Now()
	m := &Member{}
	s := &step{Member: m, c: leases{now: now}, now: now}
	r := &row{n: 1, of: 1, kind: &Kind{}, place: machine.NewPlace(&queue.Items{}, queue.Waiter{Ticket: ticket.FromUint64(1)}, "id", nil)}
	m.rows = []*row{r}
	answer := func(reply machine.Reply) {
		s.out = nil
		keeping{s, r}.answered(ask{what: byRow, of: 1, sent: now}, Answer{Reply: reply, Row: "of an earlier one"})
	}
	keeping{s, r}.put()
	if answer(machine.ReplyMade); len(s.out) != 1 || !r.renewing || r.ends.After(now) {
		t.Fatalf("%+v is asked for once it was found", s.out)
	}
	answer(machine.ReplyUnknown)
	ends := slices.ContainsFunc(m.Timers(), func(t Timed) bool { return t.Kind == RowEnds })
	if len(s.out) > 0 || ends || r.renews != now.Add(time.Second) {
		t.Errorf("%+v is asked for after a renewal without an answer, which is to be repeated at %v", s.out, r.renews)
	}
	keeping{s, r}.due(Renews)
	if answer(machine.ReplyApplied); r.confirms || r.ends != now.Add(time.Minute) {
		t.Errorf("a renewed row ends at %v", r.ends)
	}
	keeping{s, r}.due(Renews)
	if answer(machine.ReplyRefusedForGood); len(s.out) != 1 {
		t.Errorf("a row that was swept: %+v", s.out)
	}
}

// TestWithdraws checks that a row is its caller's until it is deleted, also if a heartbeat of it is under way as the block ends.
func TestWithdraws(t *testing.T) {
	now := time.Now()
	b := &block{n: 1, held: &held{}, callers: []turn{{id: 7}}}
	m := &Member{} // the block is not asked
	s := &step{Member: m, c: leases{now: now}, now: now}
	r := &row{n: 1, of: 1, kind: &Kind{}, place: machine.NewPlace(&queue.Items{}, queue.Waiter{Ticket: ticket.FromUint64(1)}, "id", nil)}
	m.rows = []*row{r}
	answer := func() {
		s.out = nil
		keeping{s, r}.answered(ask{what: byRow, of: 1, sent: now}, Answer{Reply: machine.ReplyApplied})
	}
	keeping{s, r}.put()
	answer()
	keeping{s, r}.renew()
	if m.Withdraws(7) {
		t.Error("a row that is kept is to be deleted")
	}
	s.out = nil
	waiting{s, b}.withdraw()
	if len(s.out) > 0 || !m.Withdraws(7) || m.Withdraws(8) {
		t.Errorf("beside its heartbeat %+v is asked for, and the row is to be deleted: %t", s.out, m.Withdraws(7))
	}
	if answer(); len(s.out) != 1 || !m.Withdraws(7) {
		t.Errorf("after its heartbeat %+v is asked for, and the row is to be deleted: %t", s.out, m.Withdraws(7))
	}
	if answer(); m.Withdraws(7) {
		t.Error("a row that was deleted is to be")
	}
}
