package conditions

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/clause"
	"github.com/queuelock/queuelock/internal/attr"
	"github.com/queuelock/queuelock/ticket"
)

// Invariant is what is always true of a queue, whatever is late, lost or repeated.
type Invariant string

// The invariants. The first are checks of the search.
const (
	Exclusion Invariant = "exclusion"
	Rise      Invariant = "fencing"
	Order     Invariant = "fifo"
	Leases    Invariant = "judged"
	Ended     Invariant = "ended"
	Reported  Invariant = "reported"
	Visible   Invariant = "lost"

	Once     Invariant = "once"
	Forward  Invariant = "no way back"
	Foreign  Invariant = "foreign items"
	Kind     Invariant = "one kind"
	Bounded  Invariant = "bounds"
	Progress Invariant = "progress"
)

// Invariants are those that the search does not check, and what they say.
var Invariants = []struct {
	Invariant
	Says string
}{
	{Once, "No number is issued twice, and no transaction is made twice."},
	{Forward, "The counter, the floor, and the beats and the turn of an entry never fall."},
	{Foreign, "An item of another program stays as it is."},
	{Kind, "The kind and the scope of a queue never change."},
	{Bounded, "The record does not grow without end."},
	{Progress, "When all clients have gone, the next one is granted a ticket."},
}

type turn struct {
	id     string
	ticket ticket.Number
}

type transaction struct {
	turn
	call int64
}

// history is what has happened, as far as invariants need it.
type history struct {
	granted   ticket.Number   // the last
	ended     map[turn]string // by which write
	issued    map[ticket.Number]bool
	made      map[transaction]int
	invisible map[transaction]unseen
	reports   []verdict
	foreign   map[string]clause.Item
	edited    bool                 // another program has changed the record: it may be stuck
	broken    map[Invariant]string // by what
}

// unseen is a transaction that may not be visible yet.
type unseen struct {
	at        time.Time
	exclusive bool // made by a holder that was alone: others rely on it as soon as they join
}

// verdict is what was reported of a transaction: it was made, or never will be.
type verdict struct {
	of   transaction
	made bool
}

func (w *world) breaks(i Invariant, format string, args ...any) {
	if w.broken[i] == "" {
		w.broken[i] = fmt.Sprintf(format, args...)
	}
}

// check judges what the clients believe, and the table as it is.
func (w *world) check() {
	w.checkBeliefs()
	for _, v := range w.reports {
		if v.made != (w.made[v.of] > 0) {
			w.breaks(Reported, "the report to %s that its transaction %d was made (%v) is false", v.of.id, v.of.call, v.made)
		}
	}
	for name, was := range w.foreign {
		is := w.items[name]
		for attribute, v := range was {
			if !equal(is[attribute], v) {
				w.breaks(Foreign, "%s of another program's item has changed", attribute)
			}
		}
		if len(is) != len(was) && w.names.Prefix == "" {
			w.breaks(Foreign, "another program's item has attributes of a lock")
		}
	}
	rec, err := w.record()
	if err != nil {
		return
	}
	if n := len(rec.Marks.Unsettled); n > manyTimes {
		w.breaks(Bounded, "unsettled has %d times", n)
	}
}

func equal(a, b clause.Value) bool {
	c := clause.At("x").Equal(clause.V(b))
	return a != nil && c.Holds(clause.Names{}, clause.Item{"x": a})
}

func (w *world) checkBeliefs() {
	rec, _ := w.record()
	var names []who
	allowed := 1 << 10
	for _, name := range slices.Sorted(maps.Keys(w.clients)) {
		c := w.clients[name]
		if c.waits && w.now.Before(c.rowUntil) {
			row := w.items[rowOf(c.ticket)]
			switch id, until := textOf(row, attr.ID), timeOf(row, attr.Until); {
			case row == nil:
				w.breaks(Leases, "%s relies on its row, which is gone", name)
			case id != c.rowID:
				w.breaks(Leases, "%s relies on its row, in whose place is %s", name, id)
			case until.Before(c.rowUntil):
				w.breaks(Leases, "%s relies on its row until %d s, and it ends at %d s", name, w.second(c.rowUntil), w.second(until))
			}
		}
		if !w.believes(c) {
			continue
		}
		names = append(names, name)
		if c.shares {
			allowed = min(allowed, most(R1.mode()))
		} else {
			allowed = min(allowed, most(c.mode))
		}
		h, ok := rec.Mine(c.id)
		if !ok || h.Ticket != c.ticket && !h.Unreadable() || !c.endless && !h.Unreadable() && h.Lease.Until.Before(c.until) {
			w.breaks(Leases, "%s relies on its lease, and its entry is not there so long", name)
		}
	}
	if len(names) > allowed {
		w.breaks(Exclusion, "%v believe that they hold the lock", names)
	}
}

// most is how many may hold with the mode.
func most(m mode) int {
	switch {
	case m.Permits > 0:
		return m.Permits
	case m.Shared:
		return m.Readers
	}
	return 1
}

func (w *world) second(t time.Time) int { return int(t.Sub(start) / time.Second) }

// stillHolds judges the answer that the client still holds the lock.
func (w *world) stillHolds(c *client, t turn) {
	if by := w.ended[t]; by != "" {
		w.breaks(Ended, "%s holds with ticket %s, after its turn was ended by %s", c.name, t.ticket, by)
	}
}

// note judges a request that was applied.
func (w *world) note(c *client, r request, was clause.Item) {
	is := w.items[r.item]
	name := r.write.Name
	switch {
	case r.item == theCounter && name != "RAISE":
		w.issues(counterOf(recordNames), was, is)
	case r.item == theRecord && (name == "TAKE" || name == "TAKE that seeds" || name == "RETAKE"):
		w.issues(counterOf(w.names), was, is)
	case name == "FENCE":
		w.fenced(c, r)
	}
	if r.item == theCounter {
		before, _ := counterOf(recordNames).Number(was)
		if after, err := counterOf(recordNames).Number(is); err == nil && after.Less(before) {
			w.breaks(Forward, "the counter fell from %s to %s", before, after)
		}
	}
	if r.item != theRecord || is == nil {
		return
	}
	before, err := decode(w.names, was)
	if err != nil {
		before = record{}
	}
	after, err := decode(w.names, is)
	if err != nil {
		return
	}
	if before.Exists && (before.Permits != after.Permits || before.Scope != after.Scope) {
		w.breaks(Kind, "the queue of %d permits and %v became one of %d permits and %v", before.Permits, before.Scope, after.Permits, after.Scope)
	}
	if before.Exists && (after.TicketNumber.Less(before.TicketNumber) || after.Floor().Less(before.Floor())) {
		w.breaks(Forward, "the counter and the floor went from %s and %s to %s and %s", before.TicketNumber, before.Floor(), after.TicketNumber, after.Floor())
	}
	for _, h := range before.Holders {
		now, there := after.Mine(h.ID)
		switch t := (turn{h.ID, h.Ticket}); {
		case !there || now.Ticket != h.Ticket:
			if w.ended[t] == "" {
				w.ended[t] = name
			}
			for _, other := range w.clients {
				if c.name == O && other.turn() == t {
					other.holds = false // the guarantee ends when an operator evicts a live holder
				}
			}
		case now.Lease.Beat < h.Lease.Beat:
			w.breaks(Forward, "the beat of %s fell", h.ID)
		case now.Reached.Less(h.Reached):
			w.breaks(Forward, "the turn of %s fell", h.ID)
		}
	}
	for _, h := range after.Holders {
		old, there := before.Mine(h.ID)
		switch {
		case there && old.Ticket == h.Ticket:
		case name == "RESUME":
			w.resumes(h)
		default:
			w.grants(h, after)
		}
	}
}

func (w *world) issues(m ticket.Master, was, is clause.Item) {
	n, err := m.Number(is)
	if err == nil && w.issued[n] {
		w.breaks(Once, "number %s was issued twice", n)
	}
	w.issued[n] = true
	if last, err := m.Number(was); err == nil {
		for t := last.Plus(1); t.Less(n); t = t.Plus(1) {
			w.issued[t] = true
		}
	}
}

// grants judges a grant.
func (w *world) grants(h holder, rec record) {
	if !w.granted.Less(h.Ticket) {
		w.breaks(Rise, "ticket %s was granted after %s", h.Ticket, w.granted)
	}
	w.granted = h.Ticket
	for _, c := range w.clients {
		if c.waits && w.now.Before(c.rowUntil) && c.ticket.Less(h.Ticket) {
			w.breaks(Order, "ticket %s was granted while %s waits with %s", h.Ticket, c.name, c.ticket)
		}
	}
	for tx, u := range w.invisible {
		said := slices.ContainsFunc(rec.Marks.Unsettled, func(t time.Time) bool { return !t.Before(u.at) })
		if by := w.ended[tx.turn]; (by == "" && u.exclusive || by == "RELEASE" || by == "PASS" || by == "RETAKE") && !said && tx.id != h.ID {
			w.breaks(Visible, "%s was granted the lock while transaction %d of %s is not visible", h.ID, tx.call, tx.id)
		}
	}
}

// resumes judges a RESUME.
func (w *world) resumes(h holder) {
	for t, by := range w.ended {
		if t.ticket == h.Ticket && by != "RESUME" {
			w.breaks(Ended, "%s continues the turn of ticket %s, which was ended by %s", h.ID, h.Ticket, by)
		}
	}
	for _, c := range w.clients {
		if h.Ticket.Less(c.present) && c.ticket.Compare(h.Ticket) <= 0 {
			w.breaks(Ended, "%s continues the turn of ticket %s, and that of %s has begun", h.ID, h.Ticket, c.present)
		}
	}
}

// fenced judges a protected write.
func (w *world) fenced(c *client, r request) {
	if r.write.Kind == clause.Check {
		return
	}
	tx := transaction{r.turn, r.call}
	if w.made[tx]++; w.made[tx] > 1 {
		w.breaks(Once, "transaction %d of %s was made twice", r.call, c.name)
	}
	w.invisible[tx] = unseen{w.now, r.alone}
}

func textOf(item clause.Item, name string) string {
	s, _ := item[name].(*types.AttributeValueMemberS)
	if s == nil {
		return ""
	}
	return s.Value
}

func timeOf(item clause.Item, name string) time.Time {
	return (&clause.Reader{Item: item}).OptionalTime(name)
}
