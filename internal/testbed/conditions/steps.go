package conditions

import (
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/queuelock/queuelock/clause"
	"github.com/queuelock/queuelock/internal/attr"
	"github.com/queuelock/queuelock/internal/machine"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
)

// who is a client. The first letter says how it holds: R shared, P with one of two permits, F without a lease (fail
// closed), K with a block of three tickets, all others exclusively.
type who string

// The clients. O is an operator. Z and P9 come last, when all others are gone.
const (
	A, B, C, N     who = "A", "B", "C", "N"
	R1             who = "R1"
	P1, P2, P3, P9 who = "P1", "P2", "P3", "P9"
	F, O, Z        who = "F", "O", "Z"
	K              who = "K"
	outside        who = ""
)

func (a who) mode() mode {
	switch {
	case strings.HasPrefix(string(a), "R"):
		return mode{Shared: true, Readers: 2}
	case strings.HasPrefix(string(a), "P"):
		return mode{Permits: 2}
	}
	return mode{}
}

func (a who) failClosed() bool { return a == F }

// turns is how many tickets the client takes.
func (a who) turns() int {
	if a == K {
		return 3
	}
	return 1
}

// story is what happens, step by step.
type story []step

// step is a request, or something that happens without one.
type step struct {
	who     who
	what    string
	request func(*world, *client) request
	happens func(*world, *client)
	fate    string // of the request: answered, if empty
}

func (s step) String() string {
	return strings.TrimSuffix(fmt.Sprintf("%-3s %s, %s", s.who, s.what, s.fate), ", ")
}

// The fates of a request. One that is lost is applied, and its client does not learn it. One that is delayed comes when it
// arrives. One that is cancelled is part of a transaction that another item refuses.
func (s step) lost() step      { s.fate = "without an answer"; return s }
func (s step) delayed() step   { s.fate = "on the way"; return s }
func (s step) cancelled() step { s.fate = "cancelled"; return s }

func (w *world) do(s step) {
	c := w.client(s.who)
	if s.happens != nil {
		s.happens(w, c)
		w.check()
		return
	}
	r := s.request(w, c)
	if w.senseless != "" {
		return
	}
	if r.item == "" {
		r.item = theRecord
	}
	c.sent[r.write.Name] = r
	switch s.fate {
	case "on the way":
		c.late = &r
	case "cancelled":
	default:
		w.deliver(c, r, s.fate == "")
	}
}

func (a who) sends(what string, f func(*world, *client) request) step {
	return step{who: a, what: what, request: f}
}

func (a who) does(what string, f func(*world, *client)) step {
	return step{who: a, what: what, happens: f}
}

// need says that a step makes no sense unless ok.
func (w *world) need(ok bool, what string) bool {
	if !ok {
		w.senseless = what
	}
	return ok
}

// What happens without a request.

func wait(d time.Duration) step {
	return outside.does(fmt.Sprintf("%s pass", d), func(w *world, _ *client) { w.now = w.now.Add(d) })
}

// foreign is an item of another program, in the place of the record or of the counter.
func foreign(name string, item clause.Item) step {
	return outside.does("another program's item is there", func(w *world, _ *client) {
		w.put(name, item)
		w.foreign[name] = w.items[name]
	})
}

// onItem puts the lock on an item of the user, with a record or without.
func onItem() step {
	return outside.does("the lock is on the user's item", func(w *world, _ *client) {
		w.names = hostNames
		w.put(theRecord, clause.Item{"amount": clause.Int(7)})
		w.foreign[theRecord] = w.items[theRecord]
	})
}

// idle is a queue that is idle after its ticket n.
func idle(n int64, more ...clause.Item) step {
	return outside.does(fmt.Sprintf("the queue is idle after ticket %d", n), func(w *world, _ *client) {
		item := clause.Item{attr.TicketNumber: clause.Int(n), attr.Granted: clause.Int(n)}
		for _, m := range more {
			maps.Copy(item, m)
		}
		w.put(theRecord, item)
	})
}

// deleted says that another program deletes an item. What clients rely on is lost.
func deleted(name string) step {
	return outside.does("another program deletes the "+name, func(w *world, _ *client) {
		w.put(name, nil)
		w.granted = ticket.Number{}
		clear(w.issued)
		for _, c := range w.clients {
			c.holds = false
		}
	})
}

// edited says that another program changes the record. Nil removes an attribute.
func edited(attribute string, to clause.Value) step {
	return outside.does("another program changes "+attribute, func(w *world, _ *client) {
		w.edited = true
		item := maps.Clone(w.items[theRecord])
		item[attribute] = to
		if to == nil {
			delete(item, attribute)
		}
		w.put(theRecord, item)
	})
}

// crashes ends the process. Its requests on the way may still arrive.
func (a who) crashes() step {
	return a.does("crashes", func(_ *world, c *client) { c.holds, c.waits = false, false })
}

// arrives brings the request that was on the way.
func (a who) arrives() step {
	return a.does("its request arrives", func(w *world, c *client) {
		if w.need(c.late != nil, "no request is on the way") {
			r := *c.late
			c.late = nil
			w.deliver(c, r, true)
		}
	})
}

// again brings a copy of a request, that the transport has made.
func (a who) again(write string) step {
	return a.does("its "+write+" arrives a second time", func(w *world, c *client) {
		if r, ok := c.sent[write]; w.need(ok, "it was never sent") {
			w.deliver(c, r, false)
		}
	})
}

// looks is LOOK at the record.
func (a who) looks() step {
	return a.does("looks", func(w *world, c *client) {
		if c.id == "" {
			w.adopts(c, w.items[theRecord])
		}
		w.sees(c, w.items[theRecord])
	})
}

// Tickets and grants.

func (a who) takes() step { return a.takesWith("TAKE", false) }

// takesOnly is TAKE on an engine that refuses a function within a function. seeds follows if there is no record.
func (a who) takesOnly() step { return a.takesWith("TAKE of an engine without nesting", true) }

func (a who) takesWith(what string, only bool) step {
	return a.sends(what, func(w *world, c *client) request {
		e, m := w.newEntry(c), counterOf(w.names)
		take := m.Take(queue.Take(e, false), w.base())
		if only {
			take = m.TakeThenSeed(queue.Take(e, false), w.base())
		}
		return request{write: take.Write, answer: w.taken(c, theRecord, take)}
	})
}

// taken is the answer to a TAKE, a NUMBER or a seed.
func (w *world) taken(c *client, item string, take ticket.Take) func(clause.Item, clause.Fate) {
	return func(is clause.Item, fate clause.Fate) {
		if fate == clause.Refused {
			c.seed, _ = take.Refused(is)
		}
		if item == theCounter {
			if fate == clause.Applied {
				c.ticket, _ = counterOf(recordNames).Number(is)
			}
			return
		}
		if rec, granted := w.adopts(c, is); !granted && fate == clause.Applied {
			c.ticket = rec.TicketNumber.Minus(uint64(c.name.turns() - 1))
		}
	}
}

func (a who) seeds() step {
	return a.sends("the seed", func(w *world, c *client) request {
		w.need(strings.HasSuffix(c.seed.Name, "that seeds"), "there was an item")
		item := theRecord
		if strings.HasPrefix(c.seed.Name, "NUMBER") {
			item = theCounter
		}
		return request{item: item, write: c.seed.Write, answer: w.taken(c, item, c.seed)}
	})
}

func (a who) numbers() step { return a.numbersWith("NUMBER", ticket.Master.Take) }
func (a who) numbersOnly() step {
	return a.numbersWith("NUMBER of an engine without nesting", ticket.Master.TakeThenSeed)
}

func (a who) numbersWith(what string, f func(ticket.Master, ticket.Rider, ticket.Number) ticket.Take) step {
	return a.sends(what, func(w *world, c *client) request {
		take := f(counterOf(recordNames), ticket.Rider{}, w.base())
		return request{item: theCounter, write: take.Write, answer: w.taken(c, theCounter, take)}
	})
}

func (a who) raises(to uint64) step {
	return a.sends(fmt.Sprintf("RAISE to %d", to), func(*world, *client) request {
		return request{item: theCounter, write: counterOf(recordNames).Raise(ticket.FromUint64(to))}
	})
}

func (a who) enters() step { return a.entersFrom(ticket.ScopeEntity) }

func (a who) entersFrom(s ticket.Scope) step {
	return a.sends("ENTER from the counter of "+s.String(), func(w *world, c *client) request {
		w.need(!c.ticket.IsZero(), "it has no number")
		return request{write: queue.Enter(w.newEntry(c), c.ticket, s, false), answer: w.adopted(c)}
	})
}

func (w *world) adopted(c *client) func(clause.Item, clause.Fate) {
	return func(item clause.Item, _ clause.Fate) { w.adopts(c, item) }
}

func (a who) claims() step {
	return a.sends("CLAIM", func(w *world, c *client) request {
		w.need(!c.ticket.IsZero(), "it has no ticket")
		rec, _ := w.record() // as it has read it
		return request{write: rec.Claim(w.newEntry(c), c.ticket), answer: w.adopted(c)}
	})
}

// resumes continues the lock of another process, as it was seen.
func (a who) resumes(of who) step {
	return a.sends("RESUME of "+string(of), func(w *world, c *client) request {
		old := w.seen(c, of)
		return request{write: queue.Resume(w.newEntry(c), old.Reached, old, evicted{ID: old.ID, Ticket: old.Ticket, Made: old.Made}), answer: w.adopted(c)}
	})
}

// seen is the holder as the client has last seen it.
func (w *world) seen(c *client, of who) holder {
	rec, _ := decode(w.names, c.saw)
	h, ok := rec.Mine(w.client(of).tried...)
	w.need(ok, fmt.Sprintf("%s has not seen %s", c.name, of))
	return h
}

// Requests of a holder.

func (a who) holding(what string, f func(*world, *client) (request, func())) step {
	return a.sends(what, func(w *world, c *client) request {
		w.need(c.id != "", "it has never held the lock")
		r, then := f(w, c)
		r.turn = c.turn()
		w.keeps(c, &r, then)
		return r
	})
}

func (a who) beats() step {
	return a.holding("HEARTBEAT", func(w *world, c *client) (request, func()) {
		until := w.now.Add(lease)
		if c.endless {
			until = time.Time{}
		}
		return request{write: renewal{Until: until, Turn: c.present}.Heartbeat(c.id, c.ticket)}, func() {
			if c.until.Before(until) {
				c.until = until
			}
		}
	})
}

// follows lets the next turn of a block begin, with ADVANCE.
func (a who) follows() step {
	return a.holding("ADVANCE", func(w *world, c *client) (request, func()) {
		w.need(!c.present.IsZero() && c.present != c.ticket.Plus(2), "its block has no other turn")
		t := c.present.Plus(1)
		c.present = ticket.Number{} // until the answer
		return request{write: queue.Advance(c.id, c.ticket, t, 0)}, func() {
			if c.present.Less(t) {
				c.present = t
			}
		}
	})
}

func (a who) confirms() step {
	return a.holding("CONFIRM", func(_ *world, c *client) (request, func()) {
		return request{write: queue.Confirm(c.id, c.ticket, time.Time{})}, func() { c.endless = true }
	})
}

func (a who) downgrades() step {
	return a.holding("DOWNGRADE", func(_ *world, c *client) (request, func()) {
		c.shares = true
		return request{write: queue.Downgrade(c.id, c.ticket, c.tx+2)}, func() { c.mode = R1.mode() }
	})
}

// ofTurn makes a write one of the present turn of a block.
func (c *client) ofTurn(w clause.Write) clause.Write {
	if c.present.IsZero() {
		return w
	}
	return queue.OfTurn(w, c.id, c.present)
}

// transacts is Transact: a FENCE with a number.
func (a who) transacts() step {
	return a.sends("transacts with FENCE", func(w *world, c *client) request {
		w.need(c.id != "", "it has never held the lock")
		c.tx += 2
		alone, tx := most(c.mode) == 1, transaction{c.turn(), c.tx}
		return request{
			write: c.ofTurn(queue.NumberedFence(c.id, c.ticket, alone, c.tx)), turn: tx.turn, of: c.present, call: tx.call, alone: alone,
			answer: func(item clause.Item, fate clause.Fate) {
				if fate == clause.Applied {
					delete(w.invisible, tx)
					w.reports = append(w.reports, verdict{tx, true})
					return
				}
				w.judges(tx, item)
			},
		}
	})
}

// judges reports what the record says of a transaction.
func (w *world) judges(tx transaction, item clause.Item) {
	rec, err := decode(w.names, item)
	if m := machine.MadeOf(rec, tx.id, tx.ticket, tx.call); err == nil && (m == madeYes || m == madeNever) {
		w.reports = append(w.reports, verdict{tx, m == madeYes})
		if m == madeYes { // it is repeated until an answer shows that it is visible
			delete(w.invisible, tx)
		}
	}
}

// asks reads the record to learn what became of the last transaction.
func (a who) asks() step {
	return a.does("asks what became of its transaction", func(w *world, c *client) {
		w.judges(transaction{c.turn(), c.tx}, w.items[theRecord])
	})
}

// The end of a turn.

func (a who) handsOff(with ...func(*world, *client, *ending)) step {
	return a.ends("RELEASE, hand-off", handOff, with...)
}

// passesTo is PASS to a waiter.
func (a who) passesTo(n who, with ...func(*world, *client, *ending)) step {
	return a.ends("PASS to "+string(n), pass, append(with, func(w *world, _ *client, e *ending) {
		to := w.client(n)
		w.need(!to.ticket.IsZero(), "the waiter has no ticket")
		e.Next = next{Entry: w.newEntry(to), Ticket: to.ticket}
	})...)
}

// retakesFor is RETAKE for a caller of the client without a ticket.
func (a who) retakesFor(n who, with ...func(*world, *client, *ending)) step {
	return a.ends("RETAKE for "+string(n), pass, append(with, func(w *world, c *client, e *ending) {
		e.Next = next{Entry: w.newEntry(w.client(n)), Ticket: c.ticket.Plus(uint64(a.turns())), New: true}
	})...)
}

// ifNotMade asks that the last transaction was not made.
func ifNotMade(_ *world, c *client, e *ending) { e.Unmade = c.tx }

// adding adds a time, as a transaction may not be visible yet.
func adding(w *world, c *client, e *ending) {
	rec, _ := decode(w.names, c.saw)
	e.Bounded = true
	e.Add(w.now, rec.Marks.Unsettled)
}

func (a who) ends(what string, f form, with ...func(*world, *client, *ending)) step {
	return a.sends(what, func(w *world, c *client) request {
		w.need(c.id != "", "it has never held the lock")
		c.holds = false
		c.call++
		e := ending{ID: c.id, Ticket: c.ticket, Turns: a.turns(), Call: c.call}
		for _, more := range with {
			more(w, c, &e)
		}
		return request{write: e.Release(f, time.Time{}), answer: func(item clause.Item, fate clause.Fate) {
			if fate == clause.Applied {
				w.reportsEnd(c, true)
			}
		}}
	})
}

// reportsEnd judges a report of the client's turn: it has released the lock, or has lost it.
func (w *world) reportsEnd(c *client, released bool) {
	by := w.ended[c.turn()]
	if wasReleased := by == "RELEASE" || by == "PASS" || by == "RETAKE"; wasReleased != released {
		w.breaks(Reported, "the report to %s that it released the lock (%v) is false: its turn was ended by %s", c.name, released, by)
	}
}

func (a who) resets() step {
	return a.sends("RESET", func(w *world, c *client) request {
		t := c.ticket.Plus(uint64(a.turns() - 1))
		if c.ticket.IsZero() { // it was granted nothing
			rec, _ := w.record()
			t = rec.FirstServed()
		}
		return request{write: queue.Reset(t, time.Time{})}
	})
}

// Removal by others.

// evict is EVICT of the holders as the client has seen them. What an operator evicts is no longer the lock.
func (a who) evict(of ...who) step {
	return a.sends(fmt.Sprintf("EVICT of %v", of), func(w *world, c *client) request {
		var all []holder
		for _, name := range of {
			all = append(all, w.seen(c, name))
		}
		if w.senseless != "" {
			return request{}
		}
		return evicts(all...)
	})
}

func evicts(holders ...holder) request {
	last := holders[len(holders)-1]
	return request{item: theRecord, write: queue.Evict(evicted{ID: last.ID, Ticket: last.Ticket, Made: last.Made}, holders...)}
}

func (a who) evictsFailClosed(of who) step {
	return a.sends("EVICT of the fail-closed "+string(of), func(w *world, c *client) request {
		h := w.seen(c, of)
		return request{write: queue.EvictFailClosed(evicted{ID: h.ID, Ticket: h.Ticket, Made: h.Made}, h)}
	})
}

// Rows.

func (a who) enqueues() step {
	return a.sends("ENQUEUE", func(w *world, c *client) request {
		w.need(!c.ticket.IsZero(), "there is no ticket")
		id, until := c.newID(), w.now.Add(lease)
		row := clause.Item{"pk": clause.String(rowOf(c.ticket)), attr.ID: clause.String(id)}
		queue.Lease{TTL: lease, Until: until}.Fill(row)
		return request{item: rowOf(c.ticket), write: queue.Enqueue(row, nil), answer: func(_ clause.Item, fate clause.Fate) {
			if fate == clause.Applied {
				c.waits, c.rowID, c.rowUntil = true, id, until
			}
		}}
	})
}

// queues is TAKE and ENQUEUE.
func (a who) queues() step { return a.together("TAKE and ENQUEUE", a.takes(), a.enqueues()) }

func (a who) together(what string, steps ...step) step {
	return a.does(what, func(w *world, _ *client) {
		for _, s := range steps {
			w.do(s)
		}
	})
}

// orphaned is an entry that a late copy of TAKE puts back: its turn has ended, and it has a later ticket. The steps come
// first in the turn.
func (a who) orphaned(first ...step) step {
	steps := append([]step{a.takes()}, first...)
	return a.together("takes, is evicted by an operator, and a late copy of its TAKE makes it a holder again",
		append(steps, O.looks(), O.evict(a), O.resets(), a.again("TAKE"))...)
}

func (a who) renews() step {
	return a.sends("HEARTBEAT of its row", func(w *world, c *client) request {
		until := w.now.Add(lease)
		return request{item: rowOf(c.ticket), write: renewWrite(c.rowID, until), answer: func(_ clause.Item, fate clause.Fate) {
			switch {
			case fate == clause.Applied && c.rowUntil.Before(until):
				c.waits, c.rowUntil = true, until
			case fate == clause.Refused:
				c.waits = false
			}
		}}
	})
}

func (a who) leaves() step {
	return a.sends("CLEAN UP of its row", func(_ *world, c *client) request {
		c.waits = false
		return request{item: rowOf(c.ticket), write: queue.Leave(c.rowID)}
	})
}
