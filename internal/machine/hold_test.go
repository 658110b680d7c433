package machine_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/queuelock/queuelock/clause"
	"github.com/queuelock/queuelock/internal/attr"
	"github.com/queuelock/queuelock/internal/machine"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
)

var epoch = time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC)

func n(i int) ticket.Number { return ticket.FromUint64(uint64(i)) }

// take is TAKE of a record's own counter.
func take(e queue.Entry, noWait bool) clause.Write {
	return ticket.Master{Attribute: attr.TicketNumber}.Take(queue.Take(e, noWait), n(3)).Write
}

// turn is a Hold with the record that it was granted from. The record is an item in memory, on which writes are applied.
type turn struct {
	hold *machine.Hold
	item clause.Item
	do   machine.HoldDo // the last
}

var (
	holdItems = queue.Items{PK: "pk", SK: "sk", Entity: "e", Reason: "lock"}
	holdNow   = machine.HoldTimes{Local: epoch, Earliest: epoch, Latest: epoch.Add(time.Second), Began: epoch.Add(-time.Minute)}
)

// newTurn returns an exclusive turn of ticket 5, with the grant's other fields.
func newTurn(g machine.Grant) *turn { return newTurnOf(queue.Mode{}, g) }

// newTurnOf is newTurn in any mode.
func newTurnOf(mode queue.Mode, g machine.Grant) *turn {
	t := &turn{item: holdItems.RecordKey()}
	for name, value := range map[string]clause.Value{
		attr.TicketNumber: clause.Int(5), attr.Granted: clause.Int(4), attr.ServingAfter: clause.Int(3),
		attr.Holders: clause.Map(clause.Item{}), attr.HoldMode: clause.String(attr.Exclusive),
	} {
		t.item[name] = value
	}
	t.apply(forced(queue.Evict(queue.Eviction{ID: "before", Ticket: n(4)}, queue.Holder{ID: "before", Ticket: n(4)})))
	g.ID, g.Ticket, g.Sent = "me", n(5), epoch.Add(-time.Minute)
	g.TTL, g.Margin, g.Patience = time.Minute, time.Second, time.Second
	t.apply(queue.Claim(queue.Entry{ID: g.ID, Lease: queue.Lease{TTL: g.TTL}}, g.Ticket))
	t.hold = machine.NewHold(g, mode, t.record())
	return t
}

// apply applies a write, and returns what its sender learns.
func (t *turn) apply(w clause.Write) machine.HoldEvent {
	item, fate := w.Apply(holdItems.Names(), t.item)
	if fate == clause.Applied {
		t.item = item
		return machine.HoldEvent{Record: t.record()}
	}
	e := machine.HoldEvent{Record: t.record(), Reply: machine.ReplyRefused}
	switch w.Refused(holdItems.Names(), t.item) {
	case clause.Made:
		e.Reply = machine.ReplyMade
	case clause.Lost:
		e.Reply = machine.ReplyRefusedForGood
	}
	return e
}

// forced returns a write without its conditions.
func forced(w clause.Write) clause.Write { return clause.Write{Name: w.Name, Do: w.Do} }

func (t *turn) record() queue.Record {
	rec, err := queue.DecodeRecord(holdItems, t.item)
	if err != nil {
		panic(err)
	}
	return rec
}

func (t *turn) step(e machine.HoldEvent) machine.HoldDo {
	t.do = t.hold.Step(holdNow, e)
	return t.do
}

// evict removes the holder, as an operator does.
func (t *turn) evict() {
	if me, ok := t.record().Mine("me"); ok {
		t.apply(queue.Evict(queue.Eviction{ID: "me", Ticket: n(5), Made: me.Made}, me))
	}
}

// call begins a call, and sends its first request.
func (t *turn) call(kind string) *turn {
	switch kind {
	case "lost":
		t.step(machine.HoldEvent{Kind: machine.HoldEnded})
		fallthrough
	case "Release":
		t.step(machine.HoldEvent{Kind: machine.HoldRelease})
	default:
		t.step(machine.HoldEvent{Kind: machine.HoldUpdate, Asks: kind == "update with a condition"})
	}
	t.step(machine.HoldEvent{Delivered: true, Deadline: epoch.Add(time.Minute)})
	if t.do.Do == machine.HoldOffer {
		t.step(machine.HoldEvent{})
	}
	return t
}

// refused is the answer of a record that refuses the request of the call, whatever that is.
func (t *turn) refused() string {
	t.step(machine.HoldEvent{Reply: machine.ReplyRefused, Record: t.record()})
	return t.said()
}

// said describes the last thing to do, and the phase.
func (t *turn) said() string {
	switch t.do.Do {
	case machine.HoldSend:
		return fmt.Sprintf("%s: %s", t.hold.Phase(), t.do.Write.Name)
	case machine.HoldShow:
		return fmt.Sprintf("%s: show", t.hold.Phase())
	}
	results := []string{"", "failed", "earlier", "declined", "lost", "unreachable", "overwritten"}
	return strings.Trim(fmt.Sprintf("%s, %s", t.hold.Phase(), results[t.do.Result]), ", ")
}

// TestHoldVerdicts checks what a record means that refuses a call which releases the lock.
func TestHoldVerdicts(t *testing.T) {
	later := func(w *turn) { // a turn after an eviction, which a release ends
		w.evict()
		w.item[attr.TicketNumber] = clause.Int(9)
		w.apply(queue.Claim(queue.Entry{ID: "next"}, n(6)))
		w.apply(queue.Ending{ID: "next", Ticket: n(6), Call: 1}.Release(queue.FormHandOff, time.Time{}))
		w.apply(forced(queue.Evict(queue.Eviction{ID: "last", Ticket: n(7)}, queue.Holder{ID: "last", Ticket: n(7)})))
	}
	release := func(call int64) func(*turn) {
		return func(w *turn) {
			w.apply(queue.Ending{ID: "me", Ticket: n(5), Call: call}.Release(queue.FormHandOff, time.Time{}))
		}
	}
	orphan := func(w *turn) {
		w.item[attr.TicketNumber] = clause.Int(9)
		w.apply(forced(queue.Claim(queue.Entry{ID: "me"}, n(8))))
	}
	next := func(w *turn) { // a turn that begins and ends
		w.item[attr.TicketNumber] = clause.Int(6)
		w.apply(queue.Claim(queue.Entry{ID: "next"}, n(6)))
		w.apply(queue.Ending{ID: "next", Ticket: n(6), Call: 1}.Release(queue.FormHandOff, time.Time{}))
	}
	denied := func(w *turn) { // a call that was not applied
		w.call("update").step(machine.HoldEvent{Reply: machine.ReplyFailed, Err: errors.New("denied")})
		w.step(machine.HoldEvent{Err: errors.New("denied")})
	}
	both := func(of ...func(*turn)) func(*turn) {
		return func(w *turn) {
			for _, f := range of {
				f(w)
			}
		}
	}
	for name, c := range map[string]struct {
		before func(*turn) // the call
		then   func(*turn) // before the refusal
		says   [3]string   // of Release, of Release of a lost lock, of UpdateAndRelease
	}{
		"Held":                 {nil, nil, [3]string{"releasing: RELEASE", "lost: CLEAN UP", "updating: RELEASE"}},
		"ReleasedByThisCall":   {nil, release(1), [3]string{"released", "cleared, lost", "released"}},
		"ReleasedEarlier":      {nil, release(9), [3]string{"released", "cleared, lost", "released, earlier"}},
		"ReleasedBySomeCall":   {nil, both(release(1), next), [3]string{"released", "cleared, lost", "released"}},
		"ReleasedBySomeOfTwo":  {denied, both(release(1), next), [3]string{"released", "cleared, lost", "lost, overwritten"}},
		"ReleasedAndOrphaned":  {nil, both(release(1), orphan), [3]string{"released", "lost: CLEAN UP", "released"}},
		"Evicted":              {nil, (*turn).evict, [3]string{"cleared, lost", "cleared, lost", "lost, lost"}},
		"EvictedAndOrphaned":   {nil, both((*turn).evict, orphan), [3]string{"releasing: CLEAN UP", "lost: CLEAN UP", "lost, lost"}},
		"MarksReplaced":        {nil, later, [3]string{"unknown, overwritten", "cleared, lost", "lost, overwritten"}},
		"NoRecord":             {nil, func(w *turn) { w.item = nil }, [3]string{"unknown, overwritten", "cleared, lost", "lost, overwritten"}},
		"RemovedByHand":        {nil, func(w *turn) { w.apply(queue.Remove("me")) }, [3]string{"cleared, lost", "cleared, lost", "lost, lost"}},
		"LateCopy":             {refusedTransaction, lateCopy, [3]string{"releasing: show", "lost: show", "updating: show"}},
		"LateCopyOfEvictedOne": {refusedTransaction, both(lateCopy, (*turn).evict), [3]string{"releasing: show", "lost: show", "updating: show"}},
		"EntryCannotBeRead":    {nil, (*turn).spoil, [3]string{"releasing: CLEAN UP", "lost: CLEAN UP", "held, failed"}},
	} {
		for i, kind := range []string{"Release", "lost", "update"} {
			t.Run(name+"/"+kind, func(t *testing.T) {
				w := newTurn(machine.Grant{})
				if c.before != nil {
					c.before(w)
				}
				if w.call(kind); c.then != nil {
					c.then(w)
				}
				if says := w.refused(); says != c.says[i] {
					t.Errorf("%q, want %q", says, c.says[i])
				}
			})
		}
	}
}

// refusedTransaction is the state after a fenced transaction that was refused; lateCopy makes it.
func refusedTransaction(w *turn) {
	w.hold.Transact()
	w.hold.LeaveTransaction(machine.TransactionRefused)
}

func lateCopy(w *turn) { w.apply(queue.NumberedFence("me", n(5), true, machine.NextTransaction(0))) }

// spoil makes the entry unreadable.
func (t *turn) spoil() {
	t.item[attr.Holders] = clause.Map(clause.Item{"me": clause.Map(clause.Item{attr.Ticket: clause.String("x")})})
}

// TestHoldAgain checks what a second refusal, or one after a lost answer, means.
func TestHoldAgain(t *testing.T) {
	is := func(w *turn, says, want string) {
		t.Helper()
		if says != want {
			t.Errorf("%q, want %q", says, want)
		}
	}
	w := newTurn(machine.Grant{}).call("Release")
	w.refused()
	is(w, w.refused(), "releasing: CLEAN UP") // the hand-off was refused by a record that holds the lock
	w = newTurn(machine.Grant{}).call("update with a condition")
	is(w, w.refused(), "held, declined")
	if w.do.Open {
		t.Error("an update that was declined may have been made")
	}
	w.call("update with a condition").step(machine.HoldEvent{Reply: machine.ReplyUnknown, Err: errors.New("lost")})
	if w.step(machine.HoldEvent{}); w.do.Do != machine.HoldSend {
		t.Errorf("%q", w.said())
	}
	if is(w, w.refused(), "held, declined"); !w.do.Open {
		t.Error("an update whose answer was lost cannot have been made")
	}
	w = newTurn(machine.Grant{Home: true}).call("Release")
	w.item = nil
	is(w, w.refused(), "released")
	w = newTurn(machine.Grant{}).call("Release")
	w.step(machine.HoldEvent{Reply: machine.ReplyContradicted, Err: errors.New("contradicted")})
	is(w, w.said(), "releasing: RELEASE")
	if w.step(machine.HoldEvent{Reply: machine.ReplyContradicted, Err: errors.New("contradicted")}); w.do.Do != machine.HoldPause {
		t.Errorf("the hand-off was contradicted: %q", w.said())
	}
}

// TestHoldSaw checks that an answer which arrives late does not replace what a later one has shown.
func TestHoldSaw(t *testing.T) {
	w := newTurn(machine.Grant{})
	first, second := w.apply(w.hold.Heartbeat(epoch, epoch)), w.apply(w.hold.Heartbeat(epoch, epoch))
	for i, e := range []machine.HoldEvent{second, first} {
		e.Kind, e.Record = machine.HoldBeaten, e.Record.Timed(epoch, epoch.Add(time.Duration(1+i)*time.Second))
		if w.step(e); w.hold.Beat() != 2 {
			t.Errorf("answer %d: beat %d is known", i, w.hold.Beat())
		}
	}
}

// TestHoldFast checks that a holder which has seen that others queue sends no fast RELEASE, which they would make be refused.
func TestHoldFast(t *testing.T) {
	for _, seen := range []bool{false, true} {
		w := newTurn(machine.Grant{})
		w.item[attr.TicketNumber] = clause.Int(6)
		if e := w.apply(w.hold.Heartbeat(epoch, epoch)); seen {
			e.Kind, e.Record = machine.HoldBeaten, e.Record.Timed(epoch, epoch.Add(time.Second))
			w.step(e)
		}
		w.call("Release")
		if applied := w.apply(w.do.Write).Reply == machine.ReplyApplied; applied != seen {
			t.Errorf("the other is seen: %t; the first RELEASE is applied: %t", seen, applied)
		}
	}
}

// TestHoldPhases checks the table of phases. A lock that is not held never becomes held again, and a final phase stays.
func TestHoldPhases(t *testing.T) {
	moves := machine.Moves()
	for from := machine.PhaseHeld; from <= machine.PhaseUnknown; from++ {
		for to := machine.PhaseHeld; to <= machine.PhaseUnknown; to++ {
			possible := slices.ContainsFunc(moves, func(m machine.Move) bool { return m.From == from && m.To == to })
			switch {
			case possible && !from.Held() && to.Held():
				t.Errorf("%s is over, and becomes %s", from, to)
			case possible && to == machine.PhaseLost && !from.Held():
				t.Errorf("%s becomes lost: a loss would be reported beside a Release that returns nil", from)
			case possible && to == machine.PhaseUnknown && from.Lost():
				t.Errorf("%s is lost, and becomes unknown: the loss would be forgotten", from)
			case !possible && to == machine.PhaseReleased && !from.Final():
				t.Errorf("%s does not become released when the table shows it", from)
			}
		}
		final := from == machine.PhaseReleased || from == machine.PhaseCleared || from == machine.PhaseUnknown
		if from.Final() != final {
			t.Errorf("%s: final is %v", from, from.Final())
		}
	}
}

// TestHoldEnds draws lives of a Hold, with requests that are lost, late, repeated or fail, other clients that evict it and
// queue behind it, and a lease that ends. Each Release ends in a final phase, or in an error after which it may be called
// again. The phase is that of the record. No request follows a final phase, which stays.
func TestHoldEnds(t *testing.T) {
	phases := map[machine.Phase]int{}
	for seed := range uint64(20_000) {
		life := &life{turn: nil, Rand: rand.New(rand.NewPCG(seed, 7)), t: t, seed: seed}
		life.run()
		phases[life.hold.Phase()]++
		if t.Failed() {
			return
		}
	}
	for _, p := range []machine.Phase{machine.PhaseReleased, machine.PhaseCleared, machine.PhaseUnknown, machine.PhaseReleasing, machine.PhaseLost} {
		if phases[p] == 0 {
			t.Errorf("no life ended as %s: %v", p, phases)
		}
	}
}

// life is one life of TestHoldEnds.
type life struct {
	*turn
	*rand.Rand
	t        *testing.T
	seed     uint64
	under    []request    // that had no answer, and may be applied yet
	calls    int          // of calls that release the lock
	released []int        // the calls of which a release was applied
	shown    bool         // an answer to a Release has shown that the entry cannot be read
	broken   bool         // the record was deleted, or the entry was made unreadable
	kept     bool         // a Release left the entry, because the lock was never delivered
	answered queue.Record // of the last answer
	moved    []machine.Phase
}

// request is a write of the call of that number.
type request struct {
	write clause.Write
	call  int
}

func (l *life) errorf(format string, args ...any) {
	l.t.Helper()
	l.t.Errorf("seed %d: %s: %v", l.seed, fmt.Sprintf(format, args...), l.moved)
}

func (l *life) one(in int) bool { return l.IntN(in) == 0 }

func (l *life) run() {
	mode := []queue.Mode{{}, {}, {Shared: true}, {Permits: 2}}[l.IntN(4)]
	g := machine.Grant{FailClosed: l.one(4), Resumed: l.one(4), Claimed: l.one(2), Home: l.one(4)}
	if !g.FailClosed && l.one(3) {
		g.Delay = time.Minute
	}
	l.turn = newTurnOf(mode, g)
	for range l.IntN(4) {
		l.use()
	}
	for range 1 + l.IntN(3) {
		kind := machine.HoldRelease
		if l.hold.Phase() == machine.PhaseHeld && l.one(3) {
			kind = machine.HoldUpdate
		}
		if l.play(kind); l.one(2) {
			l.use()
		}
		for range l.IntN(4) * l.IntN(4) {
			l.others()
		}
	}
	l.end()
}

// use is something that happens to a lock that is held.
func (l *life) use() {
	switch l.IntN(5) {
	case 0:
		l.answer(machine.HoldBeaten, l.hold.Heartbeat(epoch.Add(time.Hour), epoch))
	case 1:
		l.answer(machine.HoldChanged, l.hold.SetData([]byte("x")))
	case 2:
		l.answer(machine.HoldChanged, l.hold.Transact())
		l.hold.LeaveTransaction(machine.TransactionState(l.IntN(3)))
	case 3:
		l.step(machine.HoldEvent{Kind: machine.HoldEnded, Err: errors.New("ended")})
	case 4:
		l.others()
	}
}

// others is what other clients, an operator and the network do.
func (l *life) others() {
	switch l.IntN(6) {
	case 0:
		l.evict()
	case 1:
		if l.item != nil {
			l.item[attr.TicketNumber] = clause.Int(6) // a waiter
		}
	case 2:
		l.apply(queue.Claim(queue.Entry{ID: "next", Lease: queue.Lease{TTL: time.Minute}}, n(6)))
	case 3:
		l.apply(queue.Ending{ID: "next", Ticket: n(6), Call: 1}.Release(queue.FormHandOff, time.Time{}))
	case 4:
		if h, ok := l.record().Mine("next"); ok {
			l.apply(queue.Evict(queue.Eviction{ID: h.ID, Ticket: h.Ticket}, h))
		}
	case 5:
		if l.one(20) {
			l.item, l.broken = nil, true
		}
		if _, there := l.record().Mine("me"); there && l.one(20) {
			l.spoil()
			l.broken = true
		}
		if len(l.under) > 0 {
			l.deliver(l.under[l.IntN(len(l.under))])
		}
	}
}

// deliver applies a write, and notes whether it released the lock.
func (l *life) deliver(r request) machine.HoldEvent {
	e := l.apply(r.write)
	if e.Reply == machine.ReplyApplied && (r.write.Name == "RELEASE" || r.write.Name == "PASS") {
		l.released = append(l.released, r.call)
	}
	return e
}

// answer sends a write, and takes what becomes of it.
func (l *life) answer(kind machine.HoldEventKind, w clause.Write) {
	if l.one(3) {
		l.others()
	}
	e := machine.HoldEvent{Reply: machine.ReplyFailed, Err: errors.New("denied")}
	switch l.IntN(8) {
	case 0:
		e.Reply = machine.ReplyUnknown
		l.under = append(l.under, request{w, l.calls})
	case 1:
		e.Reply = machine.ReplyUnknown
		l.deliver(request{w, l.calls})
	case 2:
	case 3:
		e.Reply = machine.ReplyContradicted
	default:
		e = l.deliver(request{w, l.calls})
	}
	e.Kind, e.Deadline, l.answered = kind, epoch.Add(time.Minute), e.Record
	l.take(e)
}

func (l *life) take(e machine.HoldEvent) {
	final, before := l.hold.Phase().Final(), l.hold.Phase()
	if l.step(e); final && (l.hold.Phase() != before || l.do.Do != machine.HoldDone) {
		l.errorf("%s is final, and then %s", before, l.said())
	}
	l.moved = append(l.moved, l.hold.Phase())
	if e.Kind == machine.HoldChanged && before.Held() && l.hold.Phase() == machine.PhaseLost && len(l.released) > 0 && !l.broken {
		l.errorf("it was released, and a refused write says that it is lost")
	}
}

// play plays a call to its end.
func (l *life) play(kind machine.HoldEventKind) {
	deadline := epoch.Add(time.Duration(l.IntN(2)*2-1) * time.Minute)
	was := l.hold.Phase()
	l.calls++
	l.take(machine.HoldEvent{Kind: kind})
	for steps := 0; l.do.Do != machine.HoldDone; steps++ {
		if steps > 200 {
			l.errorf("no end: %s", l.said())
			return
		}
		if l.one(6) {
			l.others()
		}
		e := machine.HoldEvent{Deadline: deadline, Delivered: l.one(2)}
		switch do := l.do; do.Do {
		case machine.HoldSend:
			l.answer(machine.HoldAnswered, do.Write)
			me, _ := l.answered.Mine("me")
			l.shown = l.shown || kind == machine.HoldRelease && me.Unreadable()
			continue
		case machine.HoldRead:
			if e.Record = l.record(); l.one(3) {
				e.Record, e.Err = queue.Record{}, errors.New("lost")
			}
		case machine.HoldOffer:
			if l.one(2) {
				e.Next = &queue.Next{Entry: queue.Entry{ID: "next", Lease: queue.Lease{TTL: time.Minute}}, Ticket: n(6)}
			}
		case machine.HoldSettle:
			if l.one(10) {
				e.Err = errors.New("a transaction")
			}
			l.kept = l.kept || !e.Delivered
		default:
			if l.one(4) {
				e.Err = errors.New("gave up")
			}
		}
		l.take(e)
	}
	_, left := l.record().Mine("me")
	failed := l.do.Result == machine.HoldFailed
	switch phase := l.hold.Phase(); {
	case kind == machine.HoldRelease && phase.Final() == failed && !was.Final():
		l.errorf("Release ended with result %d in %s", l.do.Result, phase)
	case phase == machine.PhaseCleared && !was.Final() && l.shown && left:
		l.errorf("an entry that cannot be read is left")
	case kind == machine.HoldUpdate && phase == machine.PhaseReleased && l.do.Result == machine.HoldMade && !slices.Contains(l.released, l.calls),
		kind == machine.HoldUpdate && l.do.Result == machine.HoldEarlier && slices.Contains(l.released, l.calls):
		l.errorf("call %d ended with result %d, and calls %v were applied", l.calls, l.do.Result, l.released)
	case kind == machine.HoldUpdate && phase == machine.PhaseUpdating:
		l.errorf("still updating")
	case phase == machine.PhaseReleased && len(l.released) == 0 && !l.broken && !l.kept:
		l.errorf("it was not released, and is %s", phase)
	case phase == machine.PhaseCleared && !was.Lost() && l.do.Result == machine.HoldLost && len(l.released) > 0 && !l.broken:
		l.errorf("it was released, and is %s", phase)
	}
}

// end checks that nothing follows.
func (l *life) end() {
	if len(l.released) > 1 {
		l.errorf("it was released %d times", len(l.released))
	}
	if !l.hold.Phase().Final() {
		return
	}
	for _, e := range []machine.HoldEvent{
		{Kind: machine.HoldRelease}, {Kind: machine.HoldUpdate}, {Kind: machine.HoldEnded},
		{Kind: machine.HoldChanged, Reply: machine.ReplyRefusedForGood, Record: l.record()}, {Kind: machine.HoldBeaten, Reply: machine.ReplyRefusedForGood, Record: l.record()},
	} {
		l.take(e)
	}
}

// TestHoldAnyReply checks that Release ends in a final phase, or in an error, whatever the replies are, even if no table would
// send them.
func TestHoldAnyReply(t *testing.T) {
	var records []queue.Record
	for _, change := range []func(*turn){
		func(*turn) {}, (*turn).evict, (*turn).spoil, lateCopy, func(w *turn) { w.item = nil },
		func(w *turn) { w.apply(w.hold.Downgrade()) },
		func(w *turn) {
			w.apply(queue.Ending{ID: "me", Ticket: n(5), Call: 1}.Release(queue.FormFast, time.Time{}))
		},
		func(w *turn) {
			times := []time.Time{epoch, epoch.Add(time.Hour), epoch.Add(2 * time.Hour), epoch.Add(3 * time.Hour), epoch.Add(4 * time.Hour)}
			w.item[attr.Unsettled] = clause.Times(times...)
		},
	} {
		w := newTurn(machine.Grant{})
		change(w)
		records = append(records, w.record())
	}
	for seed := range uint64(20_000) {
		r := rand.New(rand.NewPCG(seed, 3))
		mode := []queue.Mode{{}, {Shared: true}, {Permits: 2}}[r.IntN(3)]
		w := newTurnOf(mode, machine.Grant{FailClosed: r.IntN(4) == 0, Resumed: r.IntN(4) == 0, Delay: time.Duration(r.IntN(2)) * time.Minute})
		w.hold.Transact()
		w.hold.LeaveTransaction(machine.TransactionState(r.IntN(3)))
		event := func() machine.HoldEvent {
			e := machine.HoldEvent{
				Reply: machine.Reply(r.IntN(int(machine.ReplyContradicted) + 1)), Record: records[r.IntN(len(records))], Delivered: r.IntN(2) == 0,
				Deadline: epoch.Add(time.Duration(r.IntN(3)-1) * time.Minute),
			}
			if r.IntN(3) == 0 {
				e.Record, e.Err = queue.Record{}, errors.New("failed")
			}
			return e
		}
		for range r.IntN(3) {
			e := event()
			e.Kind = []machine.HoldEventKind{machine.HoldBeaten, machine.HoldChanged, machine.HoldEnded, machine.HoldUpdate}[r.IntN(4)]
			for w.step(e); e.Kind == machine.HoldUpdate && w.do.Do != machine.HoldDone; { // one call ends before the next
				next := event()
				if w.do.Do == machine.HoldPause {
					next.Err = errors.New("gave up")
				}
				w.step(next)
			}
		}
		from, steps, same := w.hold.Phase(), 0, event()
		for w.step(machine.HoldEvent{Kind: machine.HoldRelease}); w.do.Do != machine.HoldDone && steps < 1000; steps++ {
			e := same // half of the seeds: a table that always says the same
			if seed%2 == 0 {
				e = event()
			}
			if w.do.Do == machine.HoldPause && r.IntN(3) == 0 {
				e.Err = errors.New("gave up")
			}
			w.step(e)
		}
		failed := w.do.Result == machine.HoldFailed
		if steps == 1000 || w.hold.Phase().Final() == failed {
			t.Fatalf("seed %d: Release from %s ended after %d steps: %s", seed, from, steps, w.said())
		}
	}
}
