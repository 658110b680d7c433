package member

import (
	"slices"
	"strings"
	"time"

	"github.com/queuelock/queuelock/internal/machine"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
)

// waiting is a step of a block that waits.
type waiting struct {
	*step
	b *block
}

// begins begins with a ticket: a new one, or that of what is resumed.
func (s waiting) begins() {
	switch k := s.b.kind; {
	case k.Resume != nil:
		s.steps(machine.Begin{Ticket: k.Resume.Ticket})
	case !k.Number.IsZero():
		s.steps(machine.Begin{Ticket: k.Number})
	case k.Scope != ticket.ScopeQueue:
		s.do(Number{Of: s.ask(byNumber, s.b.n)})
	default:
		s.steps(machine.Begin{})
	}
}

// numbered takes the number of a wider counter.
func (s waiting) numbered(e Answer) {
	switch b := s.b; {
	case b.leaving:
		s.cleans()
	case e.Err != nil:
		s.pause(e.Err)
	default:
		b.failed = 0
		s.steps(machine.Begin{Ticket: e.Number})
	}
}

// steps gives an event to the wait, and does what follows, until that is a request or a rest.
func (s waiting) steps(e machine.Event) {
	b := s.b
	for e != nil && !b.gone {
		from := b.wait.State
		do := b.wait.Step(clock{s}, e)
		s.c.Stepped(b.n, b.wait, from, e, &do)
		if r := s.row(b.row); r != nil {
			r.place.Below(b.wait.Ticket.Compare(b.wait.Snapshot.Record.Floor()) <= 0)
		}
		b.rests, b.pauses, b.behind = time.Time{}, time.Time{}, false
		if do.State == machine.Resting || do.State == machine.Confirming && from != machine.Pausing {
			b.failed = 0 // a request that succeeds between others that fail does not
		}
		if b.leaving && !b.over && !lasts(do.State) && !(b.last && do.State == machine.Looking) {
			s.cleans()
			return
		}
		e = s.follow(do)
	}
}

// lasts reports whether what follows is done although the callers have given up: it is no new request for the lock.
func lasts(d machine.Doing) bool {
	switch d {
	case machine.Joining, machine.Keeping, machine.Removing, machine.Resetting, machine.Granted:
		return true
	}
	return false
}

// follow does what the wait does next. What has happened at once is returned.
func (s waiting) follow(do machine.Do) machine.Event {
	b := s.b
	switch do.State {
	case machine.Taking:
		b.ticketed, b.late = false, false
		s.do(Send{Of: s.ask(byWait, b.n), Take: &do.Rider, Say: do.Attempt.ID})
	case machine.Joining:
		return s.joined()
	case machine.Putting:
		return s.rowMissing()
	case machine.Keeping: // a grant by name
		r := s.row(b.row)
		return machine.Kept{OK: r != nil && r.place.Hold()}
	case machine.Resting:
		return s.rest()
	case machine.Pausing:
		if !s.failed() {
			s.pause(b.err)
		}
	case machine.Looking, machine.Checking:
		s.looks(do)
	case machine.Granted:
		s.granted(do)
	case machine.Idle, machine.Ended: // of Idle, a release has not taken its ticket
		s.notGranted(do)
	case machine.Left:
		s.left()
	default:
		s.sends(do)
	}
	return nil
}

// sends sends a write of the wait.
func (s waiting) sends(do machine.Do) {
	say := strings.Join(do.IDs, " and ") // of Removing and Resetting
	switch do.State {
	case machine.Sweeping:
		s.do(Send{Of: s.ask(byWait, s.b.n), Sweep: do.Rows})
		return
	case machine.Evicting:
		h := do.Holders[len(do.Holders)-1]
		w := queue.Evict(queue.Eviction{ID: h.ID, Ticket: h.Ticket, Made: h.Made}, do.Holders...)
		s.do(Send{Of: s.ask(byWait, s.b.n), Write: w, Evicts: do.Holders, Say: h.ID})
		return
	case machine.Removing:
		endless, _ := s.b.wait.Orphans() // the callers hear of these
		leased := slices.DeleteFunc(slices.Clone(do.IDs), func(id string) bool { return slices.Contains(endless, id) })
		s.do(Send{Of: s.ask(byWait, s.b.n), Write: do.Write, Say: say, Leased: leased})
		return
	case machine.Asking:
		say = do.Holder.ID
	case machine.Entering, machine.Claiming, machine.TakingOver, machine.Accepting, machine.Confirming:
		say = do.Attempt.ID
	}
	s.send(byWait, s.b.n, do.Write, say)
}

// joined takes the place of the ticket.
func (s waiting) joined() machine.Event {
	b := s.b
	line{s.step}.joins(b)
	if !b.kind.NoWait && !b.leaving {
		if !b.kind.Puts {
			s.placed()
		}
		if b.saving = b.kind.Saves; b.saving {
			return nil
		}
		s.puts()
	}
	return machine.Joined{Fresh: b.wait.Open() || !b.late, Put: b.kind.Puts}
}

// placed says that the callers have a place.
func (s waiting) placed() {
	b := s.b
	for i, t := range b.callers {
		if t.state == waits {
			h := s.handle(nil, false)
			h.Ticket = h.Ticket.Plus(uint64(i))
			s.do(Placed{t.id, h})
		}
	}
}

// handle returns the handle of the wait. there: its row was in the table.
func (s waiting) handle(r *row, there bool) queue.Handle {
	b, since := s.b, s.c.Middle()
	h := queue.Handle{ID: b.wait.Config.ID, Ticket: b.wait.Ticket}
	if resumed := b.kind.Resume; resumed != nil {
		next := resumed.Next(h.ID)
		if h.Since = next.Since; !there {
			h = next
		}
	}
	if since.IsZero() {
		since = s.now
	}
	if r != nil {
		since = r.place.Row.CreatedAt
	}
	if h.Since == 0 {
		h.Since = since.UnixMilli()
	}
	return h
}

// saved puts the row of a block whose caller has saved its handle. Turns may have ended meanwhile.
func (s *step) saved(caller int32) {
	for _, b := range s.blocks {
		if _, ok := b.caller(caller); ok && b.saving && !b.leaving {
			b.saving = false
			s.waiting(b).puts()
			s.waiting(b).steps(machine.Joined{Fresh: b.wait.Open(), Put: b.kind.Puts})
		}
	}
}

// rowMissing waits until the row is in the table.
func (s waiting) rowMissing() machine.Event {
	if r := s.row(s.b.row); r == nil || r.there {
		return machine.Put{}
	}
	s.failed()
	return nil
}

// rest rests until the next look. Only the first of the line looks.
func (s waiting) rest() machine.Event {
	b := s.b
	switch {
	case s.failed():
	case b.recounts:
		b.recounts = false
		return machine.Rested{}
	case !(line{s.step}).follows(b):
		b.rests = s.c.Rests(b.n, b.wait)
	}
	return nil
}

// wakes ends the rest. turns: a turn has probably ended.
func (s waiting) wakes(turns bool) {
	b := s.b
	if b.behind {
		s.looks(machine.Do{State: machine.Looking, Floor: b.wait.Snapshot.Record.Reach()})
		return
	}
	s.steps(machine.Rested{Guess: b.kind.Wanted == nil && b.wait.Next() && s.c.Guesses(b.n, b.wait, turns)})
}

// looks sends a look, unless the block need not look.
func (s waiting) looks(do machine.Do) {
	b := s.b
	if b.behind = do.State == machine.Looking && b.ticketed && (line{s.step}).follows(b); b.behind {
		b.failed = 0
		return
	}
	if b.recounts = false; do.State == machine.Looking && !do.Later && s.shown() {
		s.steps(machine.Seen{Snapshot: queue.SnapshotOf(s.latest.record, s.latest.readAt)})
		return
	}
	l := Look{Of: s.ask(byWait, b.n), Below: b.wait.Ticket, Floor: do.Floor, Later: do.Later}
	switch {
	case do.State == machine.Checking:
		l.Below, l.Floor = do.Floor, ticket.Number{}
	case s.cfg.Names && b.kind.passing().named:
		l.Own, l.Turns = b.wait.Ticket, len(b.callers)
	}
	s.do(l)
}

// shown reports whether the block need not look, because the answer of this step, to another request of the client,
// shows the same: a later record, by which no waiter is ahead. An answer that came while the block rested says less
// than a look.
func (s waiting) shown() bool {
	b := s.b
	l := s.latest
	shown := b.older && b.ticketed && l != nil && l.record.Reach() == b.wait.Ticket.Previous() && !l.readAt.Before(s.now)
	b.older = b.older && !shown
	return shown
}

// pause begins a pause after a request that has failed, or ends the wait.
func (s waiting) pause(err error) {
	b := s.b
	b.failed++
	switch until, more := s.c.Pauses(Timer{Pauses, b.n}, b.failed, err); {
	case !more:
		s.notGranted(machine.Do{State: machine.Ended, Why: machine.WhyError, Err: err})
	case until.After(s.now):
		b.pauses = until
	default:
		s.goesOn()
	}
}

func (s waiting) pausesNoLonger() {
	s.b.pauses = time.Time{}
	s.goesOn()
}

// goesOn goes on after a pause.
func (s waiting) goesOn() {
	switch {
	case s.b.over:
		s.steps(machine.GiveUp{})
	case s.b.wait.State == machine.Pausing:
		s.steps(machine.Again{})
	default:
		s.begins() // it has no number yet
	}
}

// rowFailed ends a wait that rests, or waits for its row: that cannot be put.
func (s waiting) rowFailed() {
	if b := s.b; !b.offered && (b.behind || b.wait.State == machine.Putting || b.wait.State == machine.Resting) {
		s.failed()
	}
}

// failed ends the wait if its row cannot be put: another row has the ticket, or the table does not answer.
func (s waiting) failed() bool {
	r := s.row(s.b.row)
	if r == nil || !r.failed {
		return false
	}
	do := machine.Do{Why: machine.WhyNewTicket}
	if r.err != nil {
		do = machine.Do{State: machine.Ended, Why: machine.WhyError, Err: r.err}
	}
	s.notGranted(do)
	return true
}

func (s waiting) answered(e Answer) {
	b := s.b
	switch b.err = e.Err; {
	case e.Seen != nil:
		s.steps(machine.Seen{Snapshot: *e.Seen})
	case b.wait.State == machine.Sweeping:
		s.steps(machine.Replied{Reply: e.Reply, Record: b.wait.Snapshot.Record})
	default:
		s.steps(machine.Replied{Reply: e.Reply, Record: e.Record})
	}
}

// notGranted takes a new ticket, or ends the wait.
func (s waiting) notGranted(do machine.Do) {
	b := s.b
	if fails := do.State == machine.Ended && do.Why == machine.WhyError; !fails || b.kind.Keep == 0 {
		s.withdraw()
	}
	switch overtaken := do.State == machine.Ended && do.Why == machine.WhyOvertaken; {
	case b.leaving:
	case b.kind.Resume != nil && (overtaken || do.Why == machine.WhyNewTicket):
		s.refuse(machine.Do{Why: machine.WhyGone})
	case b.kind.Common && (overtaken || do.State == machine.Idle || do.Why == machine.WhyNewTicket):
		s.refuse(machine.Do{Why: machine.WhyNewTicket})
	case do.State == machine.Idle, overtaken, do.Why == machine.WhyNewTicket:
		b.wait.Careful = b.wait.Careful || overtaken
		b.ticketed = false
		s.begins()
		return
	default:
		s.refuse(do)
		if k := b.kind; k.NoWait && do.Err != nil && !k.FailClosed {
			b.heard = true // it does not wait for a table that does not answer, either: a lease ends what is left
			s.hears(*b.refused)
		}
	}
	s.cleans()
}

// refuse ends the wait of the callers. They hear once nothing is left.
func (s waiting) refuse(do machine.Do) {
	r := &Refuse{Why: do.Why, By: do.By, Err: do.Err}
	if do.Why == machine.WhyResult {
		r.Result = s.b.wait.Snapshot.Record.Result
	}
	s.b.leaving, s.b.refused = true, r
}

// hears lets the callers hear why the wait has ended.
func (s waiting) hears(r Refuse) {
	b := s.b
	r.Block = b.n
	for i := range b.callers {
		if t := &b.callers[i]; t.state == waits {
			r.Caller, t.state = t.id, left
			s.do(r)
		}
	}
}

// leaves gives up the wait: at once if no request of it is under way, or else with the answer.
func (s waiting) leaves() {
	b := s.b
	if b.over {
		return
	}
	b.leaving, b.behind, b.rests, b.pauses = true, false, time.Time{}, time.Time{}
	if r := s.row(b.row); r != nil && b.kind.Keep == 0 {
		keeping{s.step, r}.steps(machine.PlaceEvent{Is: machine.PlaceEnd})
	}
	if !s.asking(byWait, b.n) && !s.asking(byNumber, b.n) && !b.offered {
		s.cleans()
	}
}

// cleans leaves the queue: the row is deleted first, and then the ids are removed that may be in the record.
func (s waiting) cleans() {
	b := s.b
	b.leaving, b.behind, b.rests, b.pauses = true, false, time.Time{}, time.Time{}
	keeps := b.kind.Keep > 0 && (b.refused == nil || b.refused.Why == machine.WhyError)
	// its last request may have granted the lock
	if keeps && b.refused == nil && b.ticketed && !b.last && b.wait.State == machine.Pausing {
		b.last = true
		s.steps(machine.Again{})
		return
	}
	b.over = true
	if keeps && s.keeps() {
		return
	}
	if s.withdraw(); !s.hasRow(b) {
		s.steps(machine.GiveUp{})
	}
}

// keeps keeps the place of a caller, if it has one. Its ids may stay in the record: who resumes the place takes over
// what they hold.
func (s waiting) keeps() bool {
	b := s.b
	switch r := s.row(b.row); {
	case !b.ticketed && b.kind.Resume != nil: // what is resumed is as it was
		s.kept(nil, false, time.Time{})
		return true
	case !b.ticketed, b.wait.Ticket.Compare(b.wait.Snapshot.Record.Floor()) <= 0, r != nil && r.failed:
		return false
	case r == nil:
		r = s.rowOf()
		fallthrough
	default:
		keeping{s.step, r}.keep()
		return true
	}
}

// kept lets the caller hear that its place is kept until then. there: its row was in the table.
func (s waiting) kept(of *row, there bool, until time.Time) {
	r := Refuse{GaveUp: true}
	if s.b.refused != nil {
		r = *s.b.refused
	}
	r.Kept, r.Until = s.handle(of, there), until
	s.hears(r)
	s.b.gone = true
}

// left ends a block of which nothing is left.
func (s waiting) left() {
	b := s.b
	if b.heard && s.cfg.Arrival > 0 {
		b.heard, b.pauses = false, s.c.After(s.cfg.Arrival)
		return
	}
	r := Refuse{GaveUp: true}
	if b.refused != nil {
		r = *b.refused
	}
	if ids, t := b.wait.Orphans(); len(ids) > 0 {
		r.Orphan, r.Err = t, b.err
	}
	s.hears(r)
	b.gone = true
}

// clock answers what the machine of a wait asks about time.
type clock struct{ waiting }

func (s clock) Begin() (queue.Lease, time.Time) { return s.c.Begin(s.b.kind, false) }

func (s clock) Usable(l queue.Lease, sent time.Time, named bool) bool {
	return s.c.Usable(s.b.kind, l, sent, named)
}

func (s clock) RowSent(until time.Time) (sent time.Time, known bool) {
	if r := s.row(s.b.row); r != nil {
		sent, known = r.place.Sent(until)
	}
	return sent, known
}

func (s clock) Leases(snap queue.Snapshot) queue.Leases { return s.c.Leases(snap) }

func (s clock) At(local time.Time) (earliest, latest time.Time, known bool) { return s.c.At(local) }

func (s clock) Now() time.Time { return s.now }
