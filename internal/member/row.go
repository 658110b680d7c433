package member

import (
	"cmp"
	"slices"
	"time"

	"github.com/queuelock/queuelock/clause"
	"github.com/queuelock/queuelock/internal/machine"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
)

// row is a row of a block, until it is deleted.
type row struct {
	n, of    int32
	caller   int32 // the one that it was withdrawn for: its block may end before the row is deleted
	kind     *Kind
	place    machine.Place
	there    bool // it was put
	failed   bool // it cannot be put
	renewing bool // a renewal is under way
	confirms bool // an earlier ENQUEUE has put it, whose lease may be over: it is relied on from the next renewal
	renews   time.Time
	ends     time.Time // of its lease, for its waiter
	retries  time.Time
	tries    int
	err      error     // of the last ENQUEUE that has failed
	stays    time.Time // the end of the lease of a place that is kept, for its waiter
}

// Withdraws reports whether a row that the caller has left is to be deleted.
func (m *Member) Withdraws(caller int32) bool {
	return slices.ContainsFunc(m.rows, func(r *row) bool { return r.caller == caller && r.place.Left() })
}

// row returns a row that is not deleted; nil if there is none.
func (m *Member) row(n int32) *row {
	if i, ok := slices.BinarySearchFunc(m.rows, n, func(r *row, n int32) int { return int(r.n - n) }); ok {
		return m.rows[i]
	}
	return nil
}

func (m *Member) hasRow(b *block) bool {
	return slices.ContainsFunc(m.rows, func(r *row) bool { return r.of == b.n })
}

// keeping is a step of a row.
type keeping struct {
	*step
	r *row
}

// puts begins to put the row of a block.
func (s waiting) puts() { keeping{s.step, s.rowOf()}.put() }

// rowOf makes the row of a block.
func (s waiting) rowOf() *row {
	b, k := s.b, s.b.kind
	w := queue.Waiter{Ticket: b.wait.Ticket, Owner: k.Owner, Bell: b.wait.Config.Bell, Shared: k.Mode.Shared,
		Group: k.Policy.Group, Turns: b.wait.Config.Turns}
	if k.Policy.Limited {
		w.MaxWaiters = k.Policy.Waiters
	}
	if s.cfg.Names && k.passing().named {
		w.EntryID = b.wait.PassID()
	}
	var from []string
	if k.Resume != nil {
		if from = k.Resume.IDs(); k.Resume.Since > 0 {
			w.CreatedAt = time.UnixMilli(k.Resume.Since)
		}
	}
	r := &row{n: s.number(), of: b.n, kind: k, place: machine.NewPlace(s.queue.Items, w, b.wait.Config.ID, from)}
	s.rows, b.row = append(s.rows, r), r.n
	return r
}

// withdraw deletes the rows of the block.
func (s waiting) withdraw() {
	for _, r := range slices.Clone(s.rows) {
		if r.of != s.b.n {
			continue
		}
		r.caller = cmp.Or(r.caller, s.b.present())
		if s.unknown(r.place.Row.Ticket); !r.place.Left() {
			keeping{s.step, r}.steps(machine.PlaceEvent{Is: machine.PlaceLeave})
		}
	}
	s.b.row = 0
}

// unknown lets no holder of the client name the row of that ticket, which is deleted.
func (s waiting) unknown(t ticket.Number) {
	for _, b := range s.blocks {
		if h := b.held; h != nil && h.next != nil && h.next.Ticket == t {
			h.next = nil
		}
	}
}

// put sends ENQUEUE.
func (s keeping) put() {
	e := machine.PlaceEvent{Is: machine.PlacePut, Sent: s.now}
	e.Lease, e.CreatedAt = s.c.Begin(s.r.kind, true)
	if e.CreatedAt.IsZero() {
		e.CreatedAt = s.now
	}
	s.steps(e)
}

// renew sends HEARTBEAT of the row.
func (s keeping) renew() {
	l, _ := s.c.Begin(s.r.kind, true)
	s.steps(machine.PlaceEvent{Is: machine.PlaceRenew, Sent: s.now, Lease: queue.Lease{Until: l.Until}})
}

// keep keeps the row in the table after the wait.
func (s keeping) keep() {
	e := machine.PlaceEvent{Is: machine.PlaceStay, Sent: s.now}
	e.Lease, e.CreatedAt, s.r.stays = s.c.Keeps(s.r.kind)
	if e.CreatedAt.IsZero() {
		e.CreatedAt = s.now
	}
	s.steps(e)
}

// lost says that the lease of the row has ended, or that it was swept.
func (s keeping) lost() { s.steps(machine.PlaceEvent{Is: machine.PlaceLost}) }

// steps gives an event to the machine of the row, and follows.
func (s keeping) steps(e machine.PlaceEvent) (todo machine.PlaceTodo) {
	r := s.r
	switch todo = r.place.Step(e); todo.Do {
	case machine.PlaceSend:
		r.renews, r.renewing = time.Time{}, todo.Write.Kind == clause.Update
		s.do(Send{
			Of: s.ask(byRow, r.n), Write: todo.Write, Row: r.place.Row.Ticket, Say: r.place.Row.ID,
			Keeps: r.place.Keeps() && r.renewing,
		})
	case machine.PlaceAgain:
		r.ends, r.renews, r.confirms = time.Time{}, time.Time{}, false
		s.put()
	case machine.PlaceRetry:
		s.retry()
	case machine.PlaceFail:
		r.failed = true
		if b := s.block(r.of); b != nil && b.row == r.n {
			s.waiting(b).rowFailed()
		}
	case machine.PlaceOver:
		s.rows = slices.DeleteFunc(s.rows, func(o *row) bool { return o == r })
		b := s.block(r.of)
		if b != nil && b.row == r.n {
			b.row = 0
		}
		if stays, sure := r.place.Stays(); stays {
			if !sure {
				r.stays = r.ends
			}
			s.waiting(b).kept(r, sure || r.there, r.stays)
		} else if b != nil && b.over && !s.hasRow(b) {
			s.waiting(b).steps(machine.GiveUp{})
		}
	}
	return todo
}

// retry puts the row once more after a pause, or gives it up.
func (s keeping) retry() {
	until, more := s.c.Pauses(Timer{Retries, s.r.n}, s.r.tries, s.r.err)
	switch s.r.tries++; {
	case !more:
		s.steps(machine.PlaceEvent{Is: machine.PlaceGiveUp})
	case !until.After(s.now):
		s.put()
	default:
		s.r.retries = until
	}
}

func (s keeping) answered(a ask, e Answer) {
	r, renewed := s.r, s.r.renewing
	r.renewing, r.err = false, e.Err
	if ends := s.c.Ends(r.kind, a.sent, true); renewed && e.Reply == machine.ReplyApplied && r.ends.Before(ends) {
		r.ends, r.confirms = ends, false
	}
	todo := s.steps(machine.PlaceEvent{Is: machine.PlaceReply, Reply: e.Reply, ID: e.Row})
	switch {
	case todo.Do == machine.PlaceKeep:
		s.kept(a, todo)
	case !renewed || r.place.Left() || r.place.Keeps():
	case e.Reply == machine.ReplyRefusedForGood, !r.confirms && !s.now.Before(r.ends):
		s.lost()
	default:
		r.renews = s.c.Beats(Timer{Renews, r.n}, r.kind, a.sent, true, e.Reply != machine.ReplyApplied)
	}
}

// kept goes on with a row that was put.
func (s keeping) kept(a ask, todo machine.PlaceTodo) {
	r, first := s.r, !s.r.there
	r.there, r.tries = true, 0
	r.ends, r.renews = s.c.Ends(r.kind, a.sent, true), s.c.Beats(Timer{Renews, r.n}, r.kind, a.sent, true, false)
	if !todo.Fresh { // it is that of an earlier ENQUEUE, whose lease may be over
		r.ends, r.confirms = s.now, true
		s.renew()
	}
	b := s.block(r.of)
	if b == nil || b.row != r.n {
		return
	}
	if first && b.kind.Puts {
		s.waiting(b).placed()
	}
	if b.wait.State == machine.Putting {
		s.waiting(b).steps(machine.Put{})
	}
	line{s.step}.came(r.place.Row.Ticket)
}

func (s keeping) due(k TimerKind) {
	r := s.r
	switch {
	case k == Renews && !r.renews.IsZero():
		s.renew()
	case k == RowEnds && !r.ends.IsZero() && !r.renewing && !r.confirms && !s.now.Before(r.ends):
		s.lost()
	case k == Retries && !r.retries.IsZero():
		r.retries = time.Time{}
		s.put()
	}
}
