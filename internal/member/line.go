package member

import (
	"slices"
	"time"

	"github.com/queuelock/queuelock/internal/machine"
	"github.com/queuelock/queuelock/ticket"
)

// block is callers with adjacent tickets.
type block struct {
	n        int32
	kind     *Kind
	callers  []turn
	wait     *machine.Wait // without a state once the lock is granted
	row      int32         // of its ticket; zero: none
	rests    time.Time     // until then it rests; zero: it does not, or is not the first
	pauses   time.Time     // the same of a pause after a request that has failed
	failed   int           // requests in succession
	err      error         // of the last request, if it has failed
	ticketed bool          // it has a ticket, and a place in the line
	late     bool          // a turn of the client has ended since its TAKE was sent, whose record may be older than that
	behind   bool          // its look is put off until it is the first
	older    bool          // Member.latest is later than what it has seen
	saving   bool          // its caller is saving the handle, and the row is put afterwards
	recounts bool          // its policy counts the rows ahead, and the client has put one since its look
	offered  bool          // a release under way passes the lock to it
	leaving  bool          // all callers have given up
	over     bool          // they have, and no request of the wait is under way: its row and its ids are being removed
	last     bool          // the last look of a wait whose place is kept was sent
	gone     bool          // it has ended
	// Its callers have heard before its last request was answered. What that may still leave is removed once more,
	// when it must have arrived.
	heard   bool
	refused *Refuse // why the wait has ended; nil: it has not, or all callers have given up
	held    *held   // nil: it does not hold the lock
}

// waited is the wait of all blocks that have the lock.
var waited = &machine.Wait{}

// ticket returns the first of a block, if it has any.
func (b *block) ticket() ticket.Number {
	if b.held != nil {
		return b.held.hold.Grant().Ticket
	}
	return b.wait.Ticket
}

// turn is a caller of a block.
type turn struct {
	id    int32
	state turnState
}

type turnState uint8

const (
	waits  turnState = iota
	chosen           // its turn is about to begin
	holds
	left // it has left, its turn is over, or it was given back
)

// next returns the first turn from i on whose caller waits.
func (b *block) next(i int) (int, bool) {
	for ; i < len(b.callers); i++ {
		if b.callers[i].state == waits {
			return i, true
		}
	}
	return 0, false
}

// caller returns the turn of a caller that waits, or is about to have the lock.
func (b *block) caller(id int32) (int, bool) {
	i := slices.IndexFunc(b.callers, func(t turn) bool { return t.id == id && t.state <= chosen })
	return i, i >= 0
}

// line is a step of what the blocks of a member are to each other.
type line struct{ *step }

// taking reports whether a block has no ticket yet whose callers may wait with others.
func (s line) taking() bool {
	return slices.ContainsFunc(s.blocks, func(b *block) bool {
		return !b.ticketed && b.held == nil && !b.over && !b.gone && b.kind.passing().block
	})
}

// holds reports whether the client holds the lock, so far as it knows.
func (s line) holds() bool {
	return slices.ContainsFunc(s.blocks, func(b *block) bool { return b.held != nil && !b.held.over() })
}

// goOn lets those that have gathered take tickets, unless they wait for more. They do while the client holds the lock,
// as its release may take their tickets. Those that wait alone all take theirs at the same time.
func (s line) goOn() {
	for len(s.gathered) > 0 {
		if s.gathered[0].kind.passing().block && s.cfg.Most > 1 {
			if s.taking() {
				return
			}
			if (s.holds() || !s.until.IsZero()) && s.alike() < s.cfg.Most {
				if s.until.IsZero() {
					s.until = s.c.After(s.cfg.Gather)
				}
				return
			}
		}
		s.take()
	}
	s.until = time.Time{}
}

func (s line) gathersNoLonger() {
	if s.until = (time.Time{}); len(s.gathered) > 0 && !s.taking() {
		s.take()
	}
}

// alike returns how many of those that gather, from the first on, may wait together.
func (s line) alike() (n int) {
	most := 1
	if s.gathered[0].kind.passing().block {
		most = max(s.cfg.Most, 1)
	}
	for n < len(s.gathered) && n < most && s.gathered[n].like(s.gathered[0]) {
		n++
	}
	return n
}

// gather makes a block of those that have gathered longest.
func (s line) gather() *block {
	s.until = time.Time{}
	n, k := s.alike(), s.gathered[0].kind
	b := &block{n: s.number(), kind: k, wait: &machine.Wait{}}
	for _, c := range s.gathered[:n] {
		b.callers = append(b.callers, turn{id: c.id})
	}
	if s.gathered = slices.Delete(s.gathered, 0, n); len(s.gathered) == 0 {
		s.gathered = nil
	}
	b.wait.Config = machine.WaitConfig{
		ID: s.c.ID(b.n), Items: *s.queue.Items, Owner: k.Owner, Data: []byte(k.Data), Bell: s.c.Bell(b.n), Mode: k.Mode,
		NoWait: k.NoWait,
		Policy: k.Policy, FailClosed: k.FailClosed, Scope: k.Scope, Resume: k.Resume, Wanted: k.Wanted,
		Forget: s.queue.Forget,
	}
	if n > 1 {
		b.wait.Config.Turns = n
	}
	s.blocks = append(s.blocks, b)
	return b
}

func (s line) take() { s.waiting(s.gather()).begins() }

// giveBack lets the callers of a block that wait for their turns take new tickets, before those that came later.
func (s line) giveBack(b *block) {
	var back []caller
	for i := range b.callers {
		if t := &b.callers[i]; t.state <= chosen {
			back = append(back, caller{t.id, b.kind})
			t.state = left
		}
	}
	s.gathered = append(back, s.gathered...)
}

// joins puts a block into the order of tickets.
func (s line) joins(b *block) {
	s.blocks = slices.DeleteFunc(s.blocks, func(o *block) bool { return o == b })
	i := slices.IndexFunc(s.blocks, func(o *block) bool { return o.ticketed && b.ticket().Less(o.ticket()) })
	if i < 0 {
		i = len(s.blocks)
	}
	s.blocks, b.ticketed = slices.Insert(s.blocks, i, b), true
}

// lead returns the first of the line, that with the lowest ticket: no other one can be next. If its row could not be
// put, the first with a row leads. A block whose first ENQUEUE is under way leads all the same, so that callers of one
// client keep their order.
func (s line) lead() (first *block) {
	for _, b := range s.blocks {
		if !b.ticketed || b.held != nil || b.over || b.gone || b.row == 0 {
			continue
		}
		if r := s.row(b.row); r.there || r.tries == 0 {
			return b
		}
		if first == nil {
			first = b
		}
	}
	return first
}

// leads lets the first of the line act, if it has just become the first or a turn has ended. It reports whether it did.
func (s line) leads() bool {
	b := s.lead()
	if b == nil {
		s.first, s.woken = 0, false
		return false
	}
	fresh, woken := s.first != b.n && b.rests.IsZero(), s.woken // it has rested behind another one
	s.first = b.n
	if !fresh && !woken || b.offered || b.leaving || b.wait.State != machine.Resting && !b.behind {
		return false // one that looks now may have asked before the turn ended: it acts once more when it rests
	}
	s.woken = false
	s.waiting(b).wakes(woken)
	return true
}

// follows reports whether a block need not look, as another one of the client is before it. One with a policy looks:
// the policy is decided by what a look shows.
func (s line) follows(b *block) bool {
	if b.row == 0 || b.kind.Policy != (machine.Policy{}) || b.wait.Shown(b.wait.Snapshot) {
		return false
	}
	first := s.lead()
	return first != nil && first != b
}

// ended notes that a turn of the client has ended.
func (s line) ended() {
	s.woken = true
	for _, b := range s.blocks {
		b.late = b.late || !b.ticketed
	}
}

// came notes that a row is in the table. Those behind it whose policy counts rows look once more.
func (s line) came(t ticket.Number) {
	for _, b := range s.blocks {
		if b.held != nil || !b.kind.Policy.Limited || !b.ticketed || !t.Less(b.wait.Ticket) {
			continue
		}
		if b.recounts = true; b.wait.State == machine.Resting && !b.offered && !b.leaving {
			s.waiting(b).wakes(false)
		}
	}
}

// givesUp takes a caller out of the line.
func (s line) givesUp(id int32) {
	if i := slices.IndexFunc(s.gathered, func(c caller) bool { return c.id == id }); i >= 0 {
		s.gathered = slices.Delete(s.gathered, i, i+1)
		s.do(Refuse{Caller: id, GaveUp: true})
		return
	}
	for _, b := range s.blocks {
		i, ok := b.caller(id)
		if !ok {
			continue
		}
		if b.leaving { // it was said before: it hears once nothing is left
			return
		}
		was := b.callers[i].state
		b.callers[i].state = left
		_, more := b.next(0)
		switch {
		case was == chosen:
			s.do(Refuse{Caller: id, GaveUp: true})
			s.holding(b).release().skips()
		case more || b.held != nil:
			s.do(Refuse{Caller: id, GaveUp: true})
		default:
			b.callers[i].state = waits // it hears once nothing is left
			s.waiting(b).leaves()
		}
		return
	}
}

// Ahead returns how many tickets are ahead of a caller, by the last look of the first of the line. It counts those
// whose callers have left.
func (m *Member) Ahead(id int32) (n int, ok bool) {
	first := line{&step{Member: m}}.lead()
	for _, b := range m.blocks {
		if i, ok := b.caller(id); ok && first != nil && b.ticketed {
			return int(b.wait.Ticket.After(first.wait.Snapshot.Record.Reach())) - 1 + i, true
		}
	}
	return n, false
}
