package search

import (
	"fmt"
	"math/bits"

	"github.com/queuelock/queuelock/queue"
)

// A holder reads the item x, which its lock protects, and writes it in a fenced transaction. A further transaction of its turn is
// of other items. Of a transaction the table first decides all parts together; then the part of the record and that of x become
// visible one after the other. Until then each refuses other writes, and a plain read shows what was there before.

// split is the transaction that is decided, and not yet visible.
type split struct {
	msg
	record, x bool // which parts are not visible
	beside    bool // the lock was shared, after a Downgrade that its caller gave up
}

// txs are the transactions of a turn.
type txs struct {
	tx        int32 // the machine of the one under way
	begun     bool  // one is under way
	count     int8  // of those of the turn
	fence     int32
	token     int8
	forgotten bool // its token may be
	await     await
	then      then
	finish    queue.TransactionState // the state from which the last one is settled before that
	read      bool                   // x was read
	base      uint8
	unsettled bool // so that x is read by Get
}

// made is what became of the transactions of a turn. It outlives the turn.
type made struct {
	ticket uint8
	token  int8  // that DynamoDB remembers
	made   uint8 // numbers, by bits
	denied uint8 // of which the caller has heard that they were not made
}

// await is what a holder waits for, beside answers.
type await uint8

const (
	awaitNothing await = iota
	awaitUpdate        // the pause of an UpdateAndRelease
	awaitAttempt       // of a transaction
	awaitSettle        // of SETTLE
	awaitShow          // that the transaction is visible
	awaitSettled       // the same, after SETTLE
	awaitRelease       // the same, of a release
)

// then is what follows once the last transaction is settled.
type then uint8

const (
	thenNothing then = iota
	thenRelease
	thenDowngrade
	thenTransact
)

// txKey is a step of the machine of a transaction.
type txKey struct {
	m int32
	txEvent
}

type txEvent struct {
	err, open, transient, fenced, forgotten bool
	made                                    queue.Made
}

type txStep struct {
	m      int32
	do     queue.TransactionAction
	renew  bool
	result queue.TransactionResult
	left   queue.TransactionState
}

// readsX lets a holder read x.
func (s *search) readsX(w *world, i int) {
	h := &w.nodes[i].hold
	h.read, h.base = true, w.x
	how := "plainly"
	if h.unsettled {
		how = "by Get"
	}
	s.say("    %s reads x %s: %s", nameOf(i), how, nameX(w.x))
}

func nameX(x uint8) string {
	if x == 0 {
		return "not written"
	}
	return fmt.Sprintf("written by ticket %d", x)
}

// transact calls Transact.
func (s *search) transact(w *world, i int) {
	h := &w.nodes[i].hold
	h.left[transacting]--
	left := s.holds.all[h.m].Left()
	if s.mistake == NextUnsettled && left == queue.TransactionUnsettled || s.mistake == NextRefused && left == queue.TransactionRefused {
		s.beginTx(w, i)
		return
	}
	s.finish(w, i, queue.TransactionRefused, thenTransact)
}

func (s *search) beginTx(w *world, i int) {
	h := &w.nodes[i].hold
	h.begun = true
	h.count++
	h.fence = s.hears(w, i, heldTransact, 0, none).write
	if s.mistake == ReleaseInTx {
		h.fence = s.items.send(queue.Ending{ID: s.ids[h.number], Ticket: tickets[h.ticket], Call: 1, Unmade: 2 * int64(h.count)}.Release(queue.FormHandOff, zeroTime), 0, "")
	}
	h.tx = s.txs.add(&queue.Transaction{})
	s.stepTx(w, i, txEvent{})
}

// ends reports whether what a holder has under way ends with its lock.
func (h *hold) ends() bool { return h.lost || h.calling }

func (s *search) stepTx(w *world, i int, e txEvent) {
	for {
		h := &w.nodes[i].hold
		e.forgotten = h.forgotten
		key := txKey{h.tx, e}
		r, ok := s.txSteps[key]
		if !ok {
			m := s.txs.copy(key.m)
			ev := queue.TransactionEvent{Forgotten: e.forgotten, Transient: e.transient, Open: e.open, Fenced: e.fenced, Made: e.made}
			if e.err {
				ev.Err = errLost
			}
			do := m.Step(ev)
			r = &txStep{do: do.Do, renew: do.Renew, result: do.Result, left: do.Left, m: s.txs.add(m)}
			s.txSteps[key] = r
		}
		h.tx = r.m
		e = txEvent{}
		switch r.do {
		case queue.TransactSend:
			if r.renew {
				h.token, h.forgotten = s.newToken(w, i), false
			}
			m := msg{role: byTx, node: int8(i), call: h.count, ticket: h.ticket, token: h.token, base: h.base}
			m.write[0] = h.fence
			s.say("    %s sends %s", nameOf(i), s.name(&m))
			s.post(w, m)
			return
		case queue.TransactPause:
			if !h.ends() {
				h.await = awaitAttempt
				return
			}
			e.err = true
		case queue.TransactShow:
			if s.hidden(w, i) && s.mistake != MadeVisible {
				if !h.ends() {
					h.await = awaitShow
					return
				}
				e.err = true
			}
		case queue.TransactSettle:
			if s.mistake != ReleaseUnsettled {
				s.settle(w, i)
				return
			}
		case queue.TransactDone:
			s.txEnded(w, i, r)
			return
		}
	}
}

// newToken returns the lowest token that nothing of the node has.
func (s *search) newToken(w *world, i int) int8 {
	used := 1 | 1<<w.nodes[i].made.token | 1<<w.split.token
	for k := range w.net {
		if m := &w.net[k]; m.role != noMsg && int(m.node) == i {
			used |= 1 << m.token
		}
	}
	return int8(bits.TrailingZeros(^uint(used)))
}

// hidden reports whether the last transaction of a holder was made, and is not visible.
func (s *search) hidden(w *world, i int) bool {
	p := &w.split
	return (p.record || p.x) && int(p.node) == i && p.ticket == w.nodes[i].hold.ticket
}

// txEnded takes the result of a transaction.
func (s *search) txEnded(w *world, i int, r *txStep) {
	n := &w.nodes[i]
	h := &n.hold
	bit := uint8(1) << h.count
	switch r.result {
	case queue.TransactMade:
		s.say("    %s hears that its transaction is made", nameOf(i))
		if n.made.made&bit == 0 {
			s.fail("reported: %s hears that its transaction is made, and it is not", nameOf(i))
		} else if s.hidden(w, i) {
			s.fail("reported: %s hears that its transaction is made, and it is not visible", nameOf(i))
		}
	case queue.TransactUnknown:
		s.say("    %s does not learn what became of its transaction", nameOf(i))
	default:
		s.say("    %s hears that its transaction is not made", nameOf(i))
		n.made.denied |= bit
		if n.made.made&bit != 0 {
			s.fail("reported: %s hears that its transaction is not made, and it is", nameOf(i))
		}
	}
	if s.mistake == ReleaseInTx && r.result == queue.TransactMade {
		s.over(w, i, false)
		return
	}
	left := r.left
	if s.mistake == ReleaseUnsettled || s.mistake == ReleaseRefused && left == queue.TransactionRefused {
		left = queue.TransactionSettled
	}
	s.hears(w, i, heldLeave+queue.HoldEventKind(left), 0, none)
	h.begun, h.tx, h.fence = false, none, none
	if h.then != thenNothing {
		s.finish(w, i, h.finish, h.then)
	}
}

// finish waits for the transaction under way, settles it if its state is that or worse, and goes on.
func (s *search) finish(w *world, i int, state queue.TransactionState, t then) {
	h := &w.nodes[i].hold
	h.then, h.finish = t, state
	switch {
	case h.begun && s.mistake != ReleaseEarly:
	case s.holds.all[h.m].Left() < state || h.begun:
		s.goOnThen(w, i, true)
	default:
		s.settle(w, i)
	}
}

// settle sends SETTLE.
func (s *search) settle(w *world, i int) {
	h := &w.nodes[i].hold
	m := msg{role: bySettle, node: int8(i), ticket: h.ticket}
	m.write[0] = s.hears(w, i, heldSettle, 0, none).write
	if s.mistake == SettleSame {
		m.write[0] = s.items.send(queue.Settle(s.ids[h.number], tickets[h.ticket], 2*int64(h.count)-1), 0, "")
	}
	s.say("    %s sends SETTLE", nameOf(i))
	s.post(w, m)
}

// answeredSettle takes the answer to SETTLE.
func (s *search) answeredSettle(w *world, m *msg) {
	i := int(m.node)
	h := &w.nodes[i].hold
	if h.m == none || h.ticket != m.ticket {
		return
	}
	switch reply := queue.Reply(m.reply); {
	case reply == queue.ReplyApplied:
		s.settled(w, i, queue.MadeNever)
	case reply >= queue.ReplyFailed:
		h.await = awaitSettle
	default:
		made := s.holds.all[h.m].Made(s.items.recs[m.rec])
		if made == queue.MadeUnknown && s.hears(w, i, queue.HoldChanged, queue.ReplyLost, m.rec).phase == queue.PhaseLost {
			s.lose(w, i)
		}
		if made == queue.MadeYes && s.hidden(w, i) && s.mistake != MadeVisible {
			h.await = awaitSettled
			return
		}
		s.settled(w, i, made)
	}
}

// settled goes on with what SETTLE has shown.
func (s *search) settled(w *world, i int, made queue.Made) {
	h := &w.nodes[i].hold
	h.await = awaitNothing
	if h.begun {
		s.stepTx(w, i, txEvent{made: made})
		return
	}
	left := queue.TransactionSettled
	if made == queue.MadeUnknown {
		left = queue.TransactionUnsettled
	}
	s.hears(w, i, heldLeave+queue.HoldEventKind(left), 0, none)
	s.goOnThen(w, i, left == queue.TransactionSettled)
}

// goOnThen does what was to follow.
func (s *search) goOnThen(w *world, i int, settled bool) {
	h := &w.nodes[i].hold
	t := h.then
	h.then, h.finish = thenNothing, 0
	switch {
	case t == thenRelease:
		s.holding(w, i, s.hears(w, i, queue.HoldAnswered, queue.ReplyApplied, none))
	case !settled || h.ends():
		s.say("    %s hears that nothing was sent", nameOf(i))
	case t == thenDowngrade:
		s.change(w, i, heldDowngrade)
	case t == thenTransact:
		s.beginTx(w, i)
	}
}

// answeredTx takes the answer to an attempt.
func (s *search) answeredTx(w *world, m *msg) {
	i := int(m.node)
	h := &w.nodes[i].hold
	if h.m == none || h.ticket != m.ticket || !h.begun || h.count != m.call {
		return
	}
	e := txEvent{err: true}
	switch queue.Reply(m.reply) {
	case queue.ReplyApplied:
		e.err = false
	case queue.ReplyRefused:
		e.fenced, e.made = true, s.holds.all[h.m].Made(s.items.recs[m.rec])
		if e.made == queue.MadeUnknown || e.made == queue.MadeNever {
			if s.hears(w, i, queue.HoldChanged, queue.ReplyLost, m.rec).phase == queue.PhaseLost {
				defer s.lose(w, i)
			}
		}
	case queue.ReplyFailed:
		e.transient = true
	case queue.ReplyUnknown:
		e.transient, e.open = true, true
	}
	s.stepTx(w, i, e)
}

// decide lets the table decide a transaction. It is answered once it is visible.
func (s *search) decide(w *world, m *msg, answered bool) {
	n := &w.nodes[m.node]
	onX := m.call == 1
	busy := w.split.record || onX && w.split.x
	known := n.made.ticket == m.ticket && n.made.token == m.token && s.mistake != NoToken
	was := w.rec
	switch {
	case busy && known:
		m.reply = uint8(queue.ReplyUnknown)
	case known:
		m.reply = uint8(queue.ReplyApplied)
	case busy && (w.split.record || s.items.apply(m.write[0], was).reply == queue.ReplyApplied): // else the record refuses it
		m.reply = uint8(queue.ReplyFailed)
	case w.denies:
		m.reply = uint8(queue.ReplyLost) // the caller's own condition
	default:
		o := s.items.apply(m.write[0], was)
		m.reply, m.rec = uint8(o.reply), was
		if o.invalid {
			s.fail("malformed: the table refuses %s as invalid", s.name(m))
		}
		if o.reply != queue.ReplyApplied {
			break
		}
		s.decided(w, m)
		if !answered {
			m.role = byNone
		}
		w.split = split{msg: *m, record: true, x: onX, beside: s.items.recs[was].Shared}
		s.say("    table: decided, and not visible yet")
		return
	}
	s.say("    table: %s", [...]string{"made before", "", "refused; " + s.nameRecord(was), "the caller's condition is false", "cancelled by another", "in progress", ""}[m.reply])
	if answered {
		s.hear(w, m)
	}
}

// decided checks a transaction that the table has decided.
func (s *search) decided(w *world, m *msg) {
	n := &w.nodes[m.node]
	bit := uint8(1) << m.call
	rec := &s.items.recs[w.rec]
	switch {
	case n.made.ticket != m.ticket:
		s.fail("fence: a transaction of ticket %d is made after its turn", m.ticket)
	case n.made.made&bit != 0:
		s.fail("written: a transaction of ticket %d is made twice", m.ticket)
	case n.made.denied&bit != 0 && !w.has(dup):
		s.fail("denied: %s has heard that its transaction would not be made, and it is", nameOf(int(m.node)))
	case m.ticket < max(w.grant, w.turn) && !rec.Shared:
		s.fail("fence: a transaction of ticket %d is made after a later grant", m.ticket)
	}
	n.made.made |= bit
	n.made.token = m.token
}

// shows lets a part of a transaction become visible.
func (s *search) shows(w *world, x bool) {
	p := &w.split
	i := int(p.node)
	if x {
		p.x = false
		switch {
		case p.beside:
		case p.base != w.x:
			s.fail("lost: ticket %d has read x as %s, and overwrites what is %s", p.ticket, nameX(p.base), nameX(w.x))
		default:
			for j := range s.Clients {
				if h := &w.nodes[j].hold; h.read && s.believes(&w.nodes[j]) && h.ticket > p.ticket {
					s.fail("lost: %s has read x with ticket %d, and then a write of ticket %d becomes visible", nameOf(j), h.ticket, p.ticket)
				}
			}
		}
		w.x = p.ticket
	} else {
		p.record = false
		m := p.msg
		was := w.rec
		o := s.items.apply(m.write[0], was)
		if w.rec = o.item; w.rec != was {
			s.recordChanged(w, &m, was)
		}
	}
	if p.record || p.x {
		return
	}
	m := p.msg
	m.reply = uint8(queue.ReplyApplied)
	w.split = split{}
	if m.role == byTx {
		s.hear(w, &m)
	}
	if h := &w.nodes[i].hold; h.m != none && h.ticket == m.ticket {
		switch h.await {
		case awaitShow:
			h.await = awaitNothing
			s.stepTx(w, i, txEvent{})
		case awaitSettled:
			s.settled(w, i, queue.MadeYes)
		case awaitRelease:
			h.await = awaitNothing
			s.holding(w, i, s.hears(w, i, queue.HoldAnswered, queue.ReplyApplied, none))
		}
	}
}

// goesOn ends what a holder waits for: it goes on, or its caller has given up.
func (s *search) goesOn(w *world, i int, stop bool) {
	h := &w.nodes[i].hold
	a := h.await
	h.await = awaitNothing
	switch a {
	case awaitUpdate, awaitRelease:
		r := s.stepHold(holdKey{m: h.m, kind: queue.HoldAnswered, clock: w.nodes[i].clock, deadline: s.deadline(h), err: stop})
		h.m = r.m
		s.holding(w, i, r)
	case awaitAttempt, awaitShow:
		s.stepTx(w, i, txEvent{err: stop})
	case awaitSettle:
		if !stop {
			s.settle(w, i)
			return
		}
		s.settled(w, i, queue.MadeUnknown)
	case awaitSettled:
		s.settled(w, i, queue.MadeUnknown)
	}
}

// abandonTx leaves a transaction whose lock is over.
func (s *search) abandonTx(w *world, i int) {
	h := &w.nodes[i].hold
	switch {
	case h.then == thenDowngrade || h.then == thenTransact:
		if !h.begun { // it is being settled
			s.recall(w, i, bySettle)
			h.await = awaitNothing
			s.settled(w, i, queue.MadeUnknown)
			return
		}
		h.then = thenNothing
	case !h.begun:
		return
	}
	switch {
	case h.await == awaitAttempt || h.await == awaitShow:
		s.goesOn(w, i, true)
	case s.recall(w, i, byTx):
		s.stepTx(w, i, txEvent{err: true, open: true, transient: true})
	}
}

// recall makes the request of that role a late one, and the transaction of a holder one that is not answered.
func (s *search) recall(w *world, i int, r role) (found bool) {
	if r == byTx && w.split.role == byTx && int(w.split.node) == i {
		w.split.role = byNone
		return true
	}
	for k := range w.net {
		if m := &w.net[k]; m.role == r && int(m.node) == i {
			l := w.take(k)
			if l.role = byNone; !l.answer {
				s.post(w, l)
			}
			return true
		}
	}
	return false
}
