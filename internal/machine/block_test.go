package machine_test

import (
	"testing"
	"time"

	"github.com/queuelock/queuelock/clause"
	"github.com/queuelock/queuelock/internal/attr"
	"github.com/queuelock/queuelock/internal/machine"
	"github.com/queuelock/queuelock/queue"
)

// newBlock returns a turn of tickets 5 to 7, which TAKE has granted.
func newBlock(g machine.Grant) *turn {
	t := &turn{item: holdItems.RecordKey()}
	for name, value := range map[string]clause.Value{attr.TicketNumber: clause.Int(4), attr.Granted: clause.Int(4)} {
		t.item[name] = value
	}
	entry := queue.Entry{ID: "me", Lease: queue.Lease{TTL: time.Minute}, Turns: 3}
	t.apply(take(entry, false))
	g.ID, g.Ticket, g.Turns, g.Sent = "me", n(5), 3, epoch.Add(-time.Minute)
	g.TTL, g.Patience = time.Minute, time.Second
	t.hold = machine.NewHold(g, queue.Mode{}, t.record())
	return t
}

// follow lets the next turn of the block begin, and returns whether ADVANCE must come before.
func (t *turn) follow(tb testing.TB) (stale bool) {
	tb.Helper()
	t.do = t.hold.Step(holdNow, machine.HoldEvent{Kind: machine.HoldRelease, Deadline: epoch.Add(time.Minute), Delivered: true})
	if t.do.Do != machine.HoldSettle {
		tb.Fatalf("a release begins with %d", t.do.Do)
	}
	if t.do = t.hold.Step(holdNow, machine.HoldEvent{Deadline: epoch.Add(time.Minute), Delivered: true}); t.do.Do != machine.HoldFollow {
		tb.Fatalf("and goes on with %d", t.do.Do)
	}
	t.do = t.hold.Step(holdNow, machine.HoldEvent{Followed: true})
	if t.do.Do != machine.HoldDone || t.hold.Phase() != machine.PhaseReleased {
		tb.Fatalf("the turn is %s", t.hold.Phase())
	}
	t.hold, stale = t.hold.Follow(t.hold.Turn().Plus(1))
	return stale
}

func (t *turn) advance(tb testing.TB) clause.Write {
	tb.Helper()
	w := t.hold.Advance()
	e := t.apply(w)
	e.Kind = machine.HoldAdvanced
	if do := t.hold.Step(holdNow, e); do.Result != machine.HoldMade {
		tb.Fatalf("ADVANCE is answered by %d: %v", do.Result, do.Err)
	}
	return w
}

func TestBlockTurns(t *testing.T) {
	b := newBlock(machine.Grant{})
	if rec := b.record(); rec.TicketNumber != n(7) || rec.Floor() != n(5) || rec.Reach() != n(7) || rec.Holders[0].Last() != n(7) {
		t.Fatalf("the record is %+v", rec)
	}
	if b.follow(t) {
		t.Error("a turn without a protected write makes the next one stale")
	}
	fence := b.hold.Fence()
	if !b.follow(t) {
		t.Error("a turn with a protected write does not make the next one stale")
	}
	if e := b.apply(fence); e.Reply != machine.ReplyApplied {
		t.Error("before ADVANCE a fence of the turn before is refused")
	}
	b.advance(t)
	if e := b.apply(fence); e.Reply == machine.ReplyApplied {
		t.Error("after ADVANCE a fence of the turn before is applied")
	}
	if h := b.record().Holders[0]; h.Reached != n(7) || h.Turns != 3 {
		t.Errorf("the entry is %+v", h)
	}
	if e := b.apply(b.hold.Fence()); e.Reply != machine.ReplyApplied {
		t.Error("a fence of the present turn is refused")
	}
}

// TestBlockOpen checks that a transaction of which a copy may be under way is open in later turns.
func TestBlockOpen(t *testing.T) {
	for state, open := range map[machine.TransactionState]bool{
		machine.TransactionSettled: false, machine.TransactionRefused: true, machine.TransactionUnsettled: true,
	} {
		b := newBlock(machine.Grant{})
		b.hold.Transact()
		b.hold.LeaveTransaction(state)
		b.follow(t)
		if b.follow(t); b.hold.Open() != open {
			t.Errorf("after %d, a later turn is open: %v", state, b.hold.Open())
		}
	}
}

// TestBlockResume checks that RESUME of a turn ends the block, and that the floor never falls.
func TestBlockResume(t *testing.T) {
	for _, shared := range []bool{false, true} {
		b := newBlock(machine.Grant{})
		b.follow(t)
		if shared {
			b.apply(b.hold.Downgrade())
			b.apply(take(queue.Entry{ID: "reader", Mode: queue.Mode{Shared: true}}, false))
			b.apply(queue.Claim(queue.Entry{ID: "reader", Mode: queue.Mode{Shared: true}}, n(8)))
		}
		old, _ := b.record().Mine("me")
		before := b.record().Floor()
		w := queue.Resume(queue.Entry{ID: "new", Mode: queue.Mode{Shared: shared}}, n(6), old, queue.Eviction{ID: "me", Ticket: n(5)})
		e := b.apply(w)
		if h, ok := e.Record.Mine("new"); !ok || h.Ticket != n(6) || h.Last() != n(6) {
			t.Errorf("RESUME is answered by %d, and leaves %+v", e.Reply, e.Record.Holders)
		}
		if e.Record.Floor().Less(before) || !shared && e.Record.Floor() != n(6) {
			t.Errorf("the floor goes from %s to %s", before, e.Record.Floor())
		}
	}
}
