package member

import (
	"errors"
	"slices"
	"time"

	"github.com/queuelock/queuelock/clause"
	"github.com/queuelock/queuelock/internal/machine"
	"github.com/queuelock/queuelock/queue"
)

// Use is a call of a holder.
type Use uint8

// The uses.
const (
	Transacts  Use = iota // a fenced transaction of the caller's items
	SetsData              // the holder's data is replaced
	Downgrades            // others may share the lock
	Fences                // its condition is given to the caller, who may send it at any time
	Extends               // the lease is renewed now: Renewed follows
	Reveals               // its handle is given to the caller: another process may act for it
	Looks                 // the record is read: it may show that the holder is to give way. It is not reported
	// the fence of a transaction of several locks, which another of them sends. It is the use under way until Leaves
	Joins
	Judges // what a record that has refused that transaction says of it
	Leaves // how that transaction was left
)

// using is what a turn does with its lock. One use follows the other, and the release comes last.
type using struct {
	uses     []use                // the first is under way
	tx       *machine.Transaction // under way; nil: none is
	attempts time.Time            // when its next attempt, or the next SETTLE, is sent
	joined   bool                 // a transaction is under way that another lock sends
	asks     bool                 // SETTLE is under way
	settles  bool                 // it is to be sent again, at attempts
	stopped  bool                 // the caller waits no longer for the first use
	failed   int32                // attempts, and SETTLEs, of the present transaction
}

type use struct {
	use  Use
	n    int32
	data string
}

// transacting is a step of what a turn does with its lock.
type transacting struct{ holding }

func (s *step) uses(e Uses) {
	h, ok := s.holder(e.Caller)
	if ok && e.Use == Leaves {
		h.use().leaves(e)
		return
	}
	switch {
	case !ok, h.h.calls, h.h.lost, h.expired():
		s.do(Report{Caller: e.Caller, News: Failed, Use: e.Use, N: e.N, Err: errOver})
	case e.Use == Fences:
		s.do(Report{Caller: e.Caller, News: Done, Use: e.Use, N: e.N, Fence: h.h.hold.Fence()})
	case e.Use == Reveals:
		h.h.hold.Use()
		s.do(Report{Caller: e.Caller, News: Done, Use: e.Use, N: e.N})
	case e.Use == Judges:
		s.do(Report{Caller: e.Caller, News: Done, Use: e.Use, N: e.N,
			Made: h.use().made(e.Record, machine.MadeUnknown, machine.MadeNever)})
	case e.Use == Looks:
		s.do(Look{Of: s.ask(byRead, h.b.n), Record: true})
	case e.Use == Extends:
		if h.h.again = true; !s.asking(byBeat, h.b.n) {
			h.beat()
		}
	default:
		h.use().adds(use{e.Use, e.N, e.Data})
	}
}

// adds takes a use, and begins it if it is the first.
func (s transacting) adds(u use) {
	if s.h.uses = append(s.h.uses, u); len(s.h.uses) == 1 {
		s.nextUse()
	}
}

// nextUse begins the first use, once the last transaction is settled.
func (s transacting) nextUse() {
	h := s.h
	for len(h.uses) > 0 && (h.stopped || h.calls || h.lost) {
		s.endsUse(Failed, errOver)
	}
	if len(h.uses) == 0 {
		return
	}
	switch u := h.uses[0]; {
	case u.use == SetsData:
		s.send(byUse, s.b.n, h.hold.SetData([]byte(u.data)), "")
	case !s.quiet(machine.TransactionRefused):
	case u.use == Downgrades:
		line{s.step}.giveBack(s.b) // the lock is not exclusive any more
		s.send(byUse, s.b.n, h.hold.Downgrade(), "")
	case u.use == Joins:
		h.joined = true // until Leaves, for which a release waits
		s.report(Report{News: Done, Use: u.use, N: u.n, Fence: h.hold.Transact()})
	default:
		h.tx, h.failed = &machine.Transaction{}, 0
		s.transacts(machine.TransactionEvent{})
	}
}

// leaves ends a transaction that another lock has sent.
func (s transacting) leaves(e Uses) {
	h := s.h
	if !h.joined {
		return
	}
	h.joined, h.uses, h.stopped = false, slices.Delete(h.uses, 0, 1), false
	h.hold.LeaveTransaction(e.Left)
	s.goesOn()
}

// used takes the answer to the first use.
func (s transacting) used(e machine.HoldEvent) {
	h := s.h
	if len(h.uses) == 0 {
		return
	}
	do, news := s.steps(e), Done
	switch {
	case e.Reply == machine.ReplyUnknown:
		news = Unsure
	case do.Result != machine.HoldMade:
		news = Failed
	}
	if h.uses[0].use == Downgrades {
		line{s.step}.ended()
	}
	if h.hold.Phase() == machine.PhaseLost { // it hears of that first
		s.lose(do.Err)
	}
	s.endsUse(news, do.Err)
	s.goesOn()
}

// endsUse reports what became of the first use. It may do so after the caller has called Release, which waits for that.
func (s transacting) endsUse(news News, err error) {
	h := s.h
	if len(h.uses) == 0 {
		return
	}
	u := h.uses[0]
	h.uses, h.stopped = slices.Delete(h.uses, 0, 1), false
	if h.begun {
		s.report(Report{News: news, Use: u.use, N: u.n, Left: s.h.hold.Left(), Err: err})
	}
}

// stopsOne is stops of one use.
func (s transacting) stopsOne(n int32) {
	switch i := slices.IndexFunc(s.h.uses, func(u use) bool { return u.n == n }); {
	case i == 0, n == 0:
		s.stops()
	case i > 0:
		u := s.h.uses[i]
		s.h.uses = slices.Delete(s.h.uses, i, i+1)
		s.report(Report{News: Failed, Use: u.use, N: u.n, Err: errOver})
	}
}

// stops ends what a use waits for: its caller has given up, or the turn is over. A request under way is left to itself.
func (s transacting) stops() {
	h := s.h
	if h.joined { // the lock that sends it hears of the end of this one
		return
	}
	h.stopped = len(h.uses) > 0
	switch {
	case h.update && !h.repeats.IsZero():
		h.repeats = time.Time{}
		s.release().plays(s.steps(machine.HoldEvent{Err: errOver}))
	case !h.attempts.IsZero():
		h.attempts = time.Time{}
		s.attempts(errOver)
	case h.asks && s.recall(bySettle):
		s.settledAs(machine.MadeUnknown)
	case s.recall(byTx):
		s.transacts(machine.TransactionEvent{Transient: true, Open: true, Err: errOver})
	case s.recall(byUse):
		do := s.steps(machine.HoldEvent{Kind: machine.HoldChanged, Reply: machine.ReplyUnknown, Err: errOver})
		s.endsUse(Unsure, do.Err)
		s.goesOn()
	}
}

// recall lets no answer be awaited to a request of the block, and reports whether there was one.
func (s transacting) recall(what asked) (found bool) {
	for i := range s.asks {
		if a := &s.asks[i]; a.what == what && a.of == s.b.n && a.turn == s.h.index {
			a.what, a.of, found = byReset, 0, true
		}
	}
	return found
}

// quiet reports whether no transaction is under way, and the last one is settled if it was left in that state or a
// worse one. Else what waits for that goes on later.
func (s transacting) quiet(from machine.TransactionState) bool {
	h := s.h
	switch {
	case h.asks, h.settles, h.tx != nil, h.joined:
		return false
	case h.hold.Left() < from:
		return true
	}
	s.settling()
	return false
}

func (s transacting) settling() {
	s.h.asks = true
	s.send(bySettle, s.b.n, s.h.hold.Settle(), "")
}

// settled takes the answer to SETTLE.
func (s transacting) settled(e Answer) {
	h := s.h
	switch {
	case e.Reply == machine.ReplyApplied:
		s.settledAs(machine.MadeNever)
	case e.Reply < machine.ReplyFailed:
		made := s.made(e.Record, machine.MadeUnknown)
		if made == machine.MadeYes {
			s.shows(byShow)
			return
		}
		s.settledAs(made)
	case h.calls || h.lost:
		s.settledAs(machine.MadeUnknown)
	default:
		h.asks, h.settles = false, true
		s.waits(e.Err)
	}
}

// shows waits until what was made is visible.
func (s transacting) shows(what asked) {
	s.do(Send{Of: s.ask(what, s.b.n), Tx: true, Show: true, Caller: s.caller()})
}

// visible goes on after SETTLE of a transaction that was made.
func (s transacting) visible(is bool) {
	made := machine.MadeUnknown
	if is {
		made = machine.MadeYes
	}
	s.settledAs(made)
}

// settledAs goes on after SETTLE.
func (s transacting) settledAs(made machine.Made) {
	h := s.h
	if h.asks, h.settles = false, false; h.tx != nil {
		s.transacts(machine.TransactionEvent{Made: made})
		return
	}
	left := machine.TransactionSettled
	if made == machine.MadeUnknown {
		left = machine.TransactionUnsettled
	}
	if h.hold.LeaveTransaction(left); left == machine.TransactionUnsettled && !h.calls { // what waits for it is not begun
		s.endsUse(Failed, errHidden)
	}
	s.goesOn()
}

// waits pauses before the next attempt.
func (s transacting) waits(err error) {
	s.h.failed++
	until, more := s.c.Pauses(Timer{Attempts, s.b.n}, int(s.h.failed), err)
	if s.h.attempts = until; !more {
		s.h.attempts = time.Time{}
		s.attempts(errOver)
	}
}

// attempts goes on after a pause of a transaction, or of SETTLE. err: it goes on no more.
func (s transacting) attempts(err error) {
	h := s.h
	switch {
	case !h.settles:
		s.transacts(machine.TransactionEvent{Err: err})
	case err != nil:
		s.settledAs(machine.MadeUnknown)
	default:
		h.settles = false
		s.settling()
	}
}

// attempted is what the answer to an attempt of a transaction means.
func (s transacting) attempted(e Answer) machine.TransactionEvent {
	ev := e.Transaction
	switch e.Reply {
	case machine.ReplyApplied:
	case machine.ReplyUnknown:
		ev.Open, ev.Transient, ev.Err = true, true, errors.Join(errHidden, e.Err)
	case machine.ReplyFailed:
		ev.Err = errors.Join(errHidden, e.Err)
	default:
		ev.Fenced, ev.Made, ev.Err = true, s.made(e.Record, machine.MadeUnknown, machine.MadeNever), errRefused
	}
	return ev
}

// made returns what a record that has refused says of the last transaction. It may show that the lock is lost, with one
// of these. A SETTLE of which the answer was lost is refused by its own number.
func (s transacting) made(rec queue.Record, lost ...machine.Made) machine.Made {
	made := s.h.hold.Made(rec)
	if slices.Contains(lost, made) {
		do := s.steps(machine.HoldEvent{Kind: machine.HoldChanged, Reply: machine.ReplyRefusedForGood, Record: rec})
		if s.h.hold.Phase() == machine.PhaseLost {
			s.lose(do.Err)
		}
	}
	return made
}

// transacts gives an event to the transaction under way, and follows.
func (s transacting) transacts(e machine.TransactionEvent) {
	h := s.h
	for h.tx != nil {
		do := h.tx.Step(e)
		e = machine.TransactionEvent{}
		switch do.Do {
		case machine.TransactSend:
			s.attempt(do.Renew)
			return
		case machine.TransactPause:
			if h.stopped || h.calls || h.lost || s.expired() {
				e.Err = errors.Join(errOver, do.Err)
				continue
			}
			s.waits(do.Err)
			return
		case machine.TransactShow:
			s.shows(byTx)
			return
		case machine.TransactSettle:
			s.settling()
			return
		case machine.TransactDone:
			h.tx = nil
			h.hold.LeaveTransaction(do.Left)
			s.endsUse(newsOf(do.Result), do.Err)
			s.goesOn()
			return // the next transaction may be under way
		}
	}
}

func newsOf(r machine.TransactionResult) News {
	switch r {
	case machine.TransactMade:
		return Done
	case machine.TransactUnknown:
		return Unsure
	}
	return Failed
}

// attempt sends the transaction. The driver keeps its fence for further attempts.
func (s transacting) attempt(renew bool) {
	h := s.h
	var fence clause.Write
	if h.hold.Left() != machine.TransactionUnsettled {
		fence = h.hold.Transact()
		h.hold.LeaveTransaction(machine.TransactionUnsettled) // until its outcome is known: a release says so
	}
	s.do(Send{Of: s.ask(byTx, s.b.n), Write: fence, Tx: true, Renew: renew, Caller: s.caller()})
}

// goesOn goes on with the call that has waited for the transactions, or with the next use.
func (s transacting) goesOn() {
	h := s.h
	switch {
	case h.calls && h.awaits == machine.HoldSettle && !h.asks && !h.settles && h.tx == nil && !h.joined:
		s.nextUse() // there is none any more
		s.release().plays(s.steps(machine.HoldEvent{}))
	case !h.calls:
		s.nextUse()
	}
}
