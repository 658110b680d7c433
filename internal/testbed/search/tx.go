package search

import (
	"fmt"
	"math/bits"

	"github.com/queuelock/queuelock/internal/machine"
	"github.com/queuelock/queuelock/internal/member"
)

// A holder reads the item x, which its lock protects, and writes it in a fenced transaction. A further transaction of its turn is
// of other items. Of a transaction the table first decides all parts together; then the part of the record and that of x become
// visible one after the other. Until then each refuses other writes, and a plain read shows what was there before.

// split is the transaction that is decided, and not yet visible.
type split struct {
	msg
	answers   bool // its sender awaits the answer
	record, x bool // which parts are not visible
	beside    bool // the lock was shared, after a Downgrade that its caller gave up
}

// using is what a caller uses its lock for.
type using struct {
	fence      int32                // of the transaction under way
	joint      int32                // the machine of one that another lock sends
	ahead      uint16               // tickets of the rows that were there when its own was put
	later      uint16               // tickets of the later rows of its group that its last look has shown
	left       [member.Extends]int8 // how often it may call each use
	calls      int8                 // of UpdateAndRelease
	madeUpdate int8                 // the call that the table has applied
	noUpdate   uint8                // calls of which the caller has heard that they never will be, by bits
	data       int8                 // number of the SetData that the table has applied
	down       bool                 // the table has applied DOWNGRADE
	computes   bool                 // its release leaves a result
	count      int8                 // of the transactions of the turn
	joins      int8                 // how often it may join such a one
	pauses     bool                 // before that is sent again
	cut        bool                 // the record of the other lock will refuse it
	saves      bool                 // its handle is being saved
	begun      bool                 // one was sent, and the caller has not heard of its end
	forgotten  bool                 // its token may be
	lastToken  int8
	read       bool  // x was read
	base       uint8 // what that has shown
	unsettled  bool  // so that x is read by Get
	made
}

// made is what became of the transactions of a turn.
type made struct {
	token  int8  // that DynamoDB remembers
	made   uint8 // numbers, by bits
	denied uint8 // of which the caller has heard that they were not made
}

// useOf says what a caller will do with its lock.
func (c *Client) useOf() (u using) {
	if c.Downgrades {
		u.left[member.Downgrades] = 1
	}
	u.left[member.SetsData], u.left[member.Transacts], u.left[member.Fences] = int8(c.Sets), int8(c.Writes), int8(c.Fences)
	u.joins = int8(c.Joins)
	return u
}

// use lets a caller use its lock.
func (s *search) use(w *world, i int, v move) {
	j, e := int(v.j), event{kind: evUses}
	switch v.kind {
	case readsOf:
		s.readsX(w, i, j)
		return
	case updates:
		c := &w.nodes[i].callers[j]
		c.calls++
		c.updates = true
		e = event{kind: evReleases, updates: true}
	default:
		j, e.use = j/8, member.Use(j%8)
		c := &w.nodes[i].callers[j]
		if e.use == member.Joins {
			c.joins--
			c.calling++
			break
		}
		switch c.left[e.use]--; e.use {
		case member.Downgrades:
			c.shared = true
			c.calling++
		case member.SetsData, member.Transacts:
			c.calling++
		}
	}
	e.caller = int8(j)
	s.step(w, i, e)
}

// readsX lets a holder read x.
func (s *search) readsX(w *world, i, j int) {
	c := &w.nodes[i].callers[j]
	c.read, c.base = true, w.x
	how := "plainly"
	if c.unsettled {
		how = "by Get"
	}
	s.say("    %s reads x %s: %s", s.who(i, j), how, nameX(w.x))
}

func nameX(x uint8) string {
	if x == 0 {
		return "not written"
	}
	return fmt.Sprintf("written by ticket %d", x)
}

// transacts sends an attempt of a transaction: of a new one if it has a fence.
func (s *search) transacts(w *world, i int, m *msg) {
	c := &w.nodes[i].callers[m.caller]
	if m.write[0] != none {
		c.fence, c.begun = m.write[0], true
		c.count++
	}
	if m.token > 0 {
		m.token = s.newToken(w, i, int(m.caller))
		c.forgotten, c.lastToken = false, m.token
	} else {
		m.token = c.lastToken
	}
	m.write[0], m.call, m.base = c.fence, c.count, c.base
}

// joint gives an event to the transaction that another lock sends, and does what follows. The record of that lock holds, until it has
// settled the transaction.
func (s *search) joint(w *world, i, j int, e machine.TransactionEvent) {
	c := &w.nodes[i].callers[j]
	tx := s.joints.copy(c.joint)
	do := tx.Step(e)
	c.joint = s.joints.add(tx)
	m := msg{role: request, node: int8(i), caller: int8(j), of: -1, tx: true}
	switch do.Do {
	case machine.TransactSend:
		if do.Renew {
			m.token = 1
		}
		s.sends(w, i, m)
	case machine.TransactPause:
		c.pauses = true
	case machine.TransactShow:
		m.show = true
		s.sends(w, i, m)
	case machine.TransactSettle:
		if c.made.made&(1<<c.count) == 0 {
			c.cut = true
			s.joint(w, i, j, machine.TransactionEvent{Made: machine.MadeNever})
			return
		}
		m.show = true
		s.sends(w, i, m)
	case machine.TransactDone:
		c.calling = max(0, c.calling-1)
		s.transacted(w, i, j, map[machine.TransactionResult]member.News{machine.TransactMade: member.Done, machine.TransactUnknown: member.Unsure}[do.Result])
		s.step(w, i, event{kind: evUses, caller: int8(j), use: member.Leaves, left: do.Left})
	}
}

// jointHeard gives an answer to such a transaction.
func (s *search) jointHeard(w *world, m *msg) {
	i, j := int(m.node), int(m.caller)
	switch r := machine.Reply(m.reply); {
	case r == machine.ReplyApplied:
		s.joint(w, i, j, machine.TransactionEvent{Made: machine.MadeYes})
	case r < machine.ReplyFailed && w.nodes[i].callers[j].made.made&(1<<m.call) != 0: // the other record refuses it first
		s.joint(w, i, j, machine.TransactionEvent{Fenced: true, Made: machine.MadeYes, Err: errLost})
	case r < machine.ReplyFailed:
		s.step(w, i, event{kind: evUses, caller: m.caller, use: member.Judges, rec: m.rec})
	default:
		open := r == machine.ReplyUnknown
		forgotten := w.nodes[i].callers[j].forgotten
		s.joint(w, i, j, machine.TransactionEvent{Err: errLost, Open: open, Transient: open || !m.denied, Forgotten: forgotten})
	}
}

// goesOn ends a pause of such a transaction. It ends with its lock.
func (s *search) goesOn(w *world, i, j int, ceases bool) {
	e := machine.TransactionEvent{}
	if w.nodes[i].callers[j].pauses = false; ceases {
		e.Err = errLost
	}
	s.joint(w, i, j, e)
}

// newToken returns the lowest token that nothing of the caller has.
func (s *search) newToken(w *world, i, j int) int8 {
	used := 1 | 1<<w.nodes[i].callers[j].token | 1<<w.split.token
	for k := range w.net {
		if m := &w.net[k]; m.role != noMsg && int(m.node) == i {
			used |= 1 << m.token
		}
	}
	return int8(bits.TrailingZeros(^uint(used)))
}

// decide lets the table decide a transaction. It is answered once it is visible.
func (s *search) decide(w *world, m *msg, answered bool) {
	c := &w.nodes[m.node].callers[m.caller]
	onX := m.call == 1
	busy := w.split.record || onX && w.split.x
	known := c.ticket == m.ticket && c.token == m.token
	was := w.rec
	said := "made before"
	switch {
	case busy && known:
		m.reply, said = uint8(machine.ReplyUnknown), "in progress"
	case known:
		m.reply = uint8(machine.ReplyApplied)
	case busy && (w.split.record || s.items.apply(m.write[0], was).reply == machine.ReplyApplied): // else the record refuses it
		m.reply, said = uint8(machine.ReplyFailed), "cancelled by another"
	case w.denies, m.joint() && c.cut:
		m.reply, m.denied, said = uint8(machine.ReplyFailed), true, "the caller's condition is false"
	default:
		o := s.items.apply(m.write[0], was)
		m.reply, m.rec, said = uint8(o.reply), was, "refused; "+s.nameRecord(was)
		if o.invalid {
			s.fail("malformed: the table refuses %s as invalid", s.name(m))
		}
		if o.reply != machine.ReplyApplied {
			break
		}
		s.decided(w, m)
		w.split = split{msg: *m, answers: answered, record: true, x: onX, beside: s.items.recs[was].Shared}
		s.say("    table: decided, and not visible yet")
		return
	}
	s.say("    table: %s", said)
	if answered {
		s.hear(w, m)
	}
}

// decided checks a transaction that the table has decided.
func (s *search) decided(w *world, m *msg) {
	c := &w.nodes[m.node].callers[m.caller]
	bit := uint8(1) << m.call
	switch {
	case c.ticket != m.ticket:
		s.fail("fence: a transaction of ticket %d is made after its turn", m.ticket)
	case c.made.made&bit != 0:
		s.fail("written: a transaction of ticket %d is made twice", m.ticket)
	case c.denied&bit != 0 && !w.has(Dup):
		s.fail("denied: %s has heard that its transaction would not be made, and it is", s.who(int(m.node), int(m.caller)))
	case m.ticket < max(w.grant, w.turn) && !s.items.recs[w.rec].Shared:
		s.fail("fence: a transaction of ticket %d is made after a later grant", m.ticket)
	}
	c.made.made |= bit
	c.token = m.token
}

// shows lets a part of a transaction become visible.
func (s *search) shows(w *world, x bool) {
	p := &w.split
	if x {
		p.x = false
		s.showsX(w)
		w.x = p.ticket
	} else {
		p.record = false
		m, was := p.msg, w.rec
		o := s.items.apply(m.write[0], was)
		if w.rec = o.item; w.rec != was {
			s.recordChanged(w, &m, was)
		}
	}
	if p.record || p.x {
		return
	}
	m, answers := p.msg, p.answers
	m.reply = uint8(machine.ReplyApplied)
	w.split = split{}
	if answers && !w.nodes[m.node].dead {
		s.hear(w, &m)
	}
	for k := 0; k < maxNet; k++ { // what waits for that is answered
		if o := w.net[k]; o.show && o.node == m.node && o.ticket == m.ticket {
			w.take(k)
			o.reply = uint8(machine.ReplyApplied)
			s.hear(w, &o)
			k = -1
		}
	}
}

// showsX checks a write of x that becomes visible.
func (s *search) showsX(w *world) {
	p := &w.split
	switch {
	case p.beside:
	case p.base != w.x:
		s.fail("lost: ticket %d has read x as %s, and overwrites what is %s", p.ticket, nameX(p.base), nameX(w.x))
	default:
		s.eachTurn(w, func(i, j int, c *caller) {
			if c.read && s.believes(w, i, j) && c.ticket > p.ticket {
				s.fail("lost: %s has read x with ticket %d, and then a write of ticket %d becomes visible", s.who(i, j), c.ticket, p.ticket)
			}
		})
	}
}

// hidden reports whether the last transaction of a turn was made, and is not visible.
func (s *search) hidden(w *world, i int, t uint8) bool {
	p := &w.split
	return (p.record || p.x) && int(p.node) == i && p.ticket == t
}

// transacted checks what a caller hears of a transaction.
func (s *search) transacted(w *world, i, j int, told member.News) {
	c := &w.nodes[i].callers[j]
	bit := uint8(1) << c.count
	switch told {
	case member.Done:
		s.say("    %s hears that its transaction is made", s.who(i, j))
		if !c.begun || c.made.made&bit == 0 {
			s.fail("reported: %s hears that its transaction is made, and it is not", s.who(i, j))
		} else if s.hidden(w, i, c.ticket) {
			s.fail("reported: %s hears that its transaction is made, and it is not visible", s.who(i, j))
		}
	case member.Unsure:
		s.say("    %s does not learn what became of its transaction", s.who(i, j))
	default:
		s.say("    %s hears that its transaction is not made", s.who(i, j))
		if c.begun {
			c.denied |= bit
		}
		s.never(c.begun && c.made.made&bit != 0,
			"reported: %s hears that its transaction is not made, and it is", s.who(i, j))
	}
	c.begun = false
}

// fenced checks a transaction of a caller's own that is made, with the condition of its lock.
func (s *search) fenced(w *world, m *msg) {
	s.never(m.alone && (m.ticket < max(w.grant, w.turn) || len(s.items.recs[w.rec].Holders) != 1),
		"fence: a write with the exclusive lock of ticket %d is made beside another holder", m.ticket)
}
