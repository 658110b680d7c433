package transition

import (
	"slices"
	"strings"
	"time"

	"github.com/queuelock/queuelock/clause"
	"github.com/queuelock/queuelock/internal/attr"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
)

// writes are those that may have made the change. What a write sets is read from the item after, what it asks to be as it
// was from the item before, and what neither shows may be any value of the request: with a wrong one the expressions differ.
func (c *change) writes() []clause.Write {
	switch c.sk {
	case c.q.RecordSortKey():
		return c.ofRecord()
	case master, "current":
		return c.takes(ticket.Rider{})
	}
	return c.ofRow()
}

// takes are the writes that take a number. The engine takes a function in a function, so no counter is seeded.
func (c *change) takes(r ticket.Rider) (all []clause.Write) {
	m := ticket.Master{Attribute: attr.TicketNumber, Names: c.q.Names()}
	for _, n := range c.asked.numbers {
		all = append(all, m.Take(r, n).Write)
		if c.isCounter() {
			all = append(all, m.Raise(n))
		}
	}
	return all
}

func (c *change) ofRow() (all []clause.Write) {
	was, is := queue.DecodeRow(c.q, c.before), queue.DecodeRow(c.q, c.after)
	var from []string // the prefixes of a handle
	for _, s := range c.asked.strings {
		if id, ok := strings.CutSuffix(s, "-"); ok {
			from = append(from, id)
		}
	}
	switch {
	case c.after == nil && len(from) > 0:
		return []clause.Write{queue.Quit(queue.Handle{ID: from[0], From: strings.Join(from[1:], ",")})}
	case c.after == nil:
		if all = append(all, was.Sweep()); len(c.asked.strings) > 0 {
			all = append(all, queue.Leave(c.asked.strings...))
		}
		return all
	case c.asked.has(attr.Kept) && c.asked.has(attr.TTL):
		return []clause.Write{was.Keep(is.Lease, is.KeptSince)}
	case c.asked.has(c.q.TTL):
		if !c.asked.has(attr.Until) {
			is.Until = time.Time{}
		}
		// A row expires an hour after its lease. One without an end has its length from now.
		return []clause.Write{was.Renew(is.Until, c.expires().Add(-time.Hour-was.TTL))}
	}
	return []clause.Write{queue.Enqueue(is.Item(c.q), from)}
}

// expires is the TTL attribute of the item after.
func (c *change) expires() time.Time {
	return time.Unix((&clause.Reader{Item: c.after}).Int(c.q.TTL), 0)
}

// record is a change of a record.
type record struct {
	*change
	was, is    queue.Record
	came, left []queue.Holder
	ids        []string // in the request
}

func (c *change) ofRecord() []clause.Write {
	r := record{change: c, ids: c.asked.ids(c.q)}
	r.was, _ = queue.DecodeRecord(c.q, c.before) // of a malformed one nothing follows, and no write agrees
	r.is, _ = queue.DecodeRecord(c.q, c.after)
	in := func(r queue.Record) func(queue.Holder) bool {
		return func(h queue.Holder) bool { _, ok := r.Mine(h.ID); return ok }
	}
	r.came = slices.DeleteFunc(slices.Clone(r.is.Holders), in(r.was))
	r.left = slices.DeleteFunc(slices.Clone(r.was.Holders), in(r.is))
	switch {
	case r.asked.has(attr.Released):
		return r.releases()
	case r.asked.has(attr.TicketNumber) && r.asked.has(attr.Evicted):
		return r.tickets()
	case len(r.came) > 0:
		return r.grants()
	case len(r.left) > 0 || len(r.ids) > 1:
		return r.removals()
	case len(r.ids) == 1:
		return r.ofHolder(r.ids[0])
	}
	return r.resets()
}

// tickets are the writes that take a ticket. They offer an entry, which is served if the record is idle.
func (r record) tickets() (all []clause.Write) {
	for _, holders := range r.asked.maps {
		offered, _ := queue.DecodeRecord(r.q, clause.Item{
			attr.TicketNumber: clause.Int(1), attr.Granted: clause.Int(0), attr.ServingAfter: clause.Int(0), attr.Holders: clause.Map(holders),
		})
		for _, h := range offered.Holders {
			for _, e := range r.entries(h) {
				for _, noWait := range []bool{false, true} {
					if r.is.Scope == ticket.ScopeQueue {
						all = append(all, r.takes(queue.Take(e, noWait))...)
					} else {
						all = append(all, queue.Enter(e, r.is.TicketNumber, r.is.Scope, noWait))
					}
				}
			}
		}
	}
	return all
}

// entries are what a grant may have written for a holder: they differ in how many readers there may be.
func (r record) entries(h queue.Holder) (all []queue.Entry) {
	e := queue.Entry{ID: h.ID, Owner: h.Owner, Mode: queue.Mode{Shared: h.Shared, Permits: r.is.Permits}, Since: h.Since, Lease: h.Lease, Data: h.Data, Bell: h.Bell, Group: h.Group, Named: h.Named, Turns: h.Turns, Revoked: h.Revoked, Slot: h.Slot}
	all = append(all, e)
	for _, n := range r.asked.ints() {
		if e.Mode.Shared && n > 0 && n <= queue.MaxPermits {
			e.Mode.Readers = int(n)
			all = append(all, e)
		}
	}
	return all
}

// grants are the writes that put a holder into the record, without a ticket of their own.
func (r record) grants() (all []clause.Write) {
	h := r.came[0]
	for _, e := range r.entries(h) {
		if all = append(all, r.was.Claim(e, h.Ticket)); len(r.left) > 0 {
			all = append(all, queue.Resume(e, h.Ticket, r.left[0], r.mark()))
		}
	}
	return all
}

// removals are the writes that remove holders, and no more.
func (r record) removals() (all []clause.Write) {
	if len(r.ids) > 0 {
		all = append(all, queue.Remove(r.ids...))
	}
	if len(r.left) > 0 {
		slices.SortStableFunc(r.left, func(a, b queue.Holder) int { // the mark is of a turn, if there is one
			switch {
			case a.Closed == b.Closed:
				return 0
			case a.Closed:
				return -1
			}
			return 1
		})
		all = append(all, queue.Evict(r.mark(), r.left...), queue.EvictFailClosed(r.mark(), r.left[0]))
	}
	return all
}

// mark is that of the last holder that left. Only its time is the sender's to choose.
func (r record) mark() queue.Eviction {
	h := r.left[len(r.left)-1]
	return queue.Eviction{ID: h.ID, Ticket: h.Ticket, Made: h.Made, At: r.is.Marks.Evicted.At}
}

func (r record) resets() (all []clause.Write) {
	for _, t := range r.asked.numbers {
		all = append(all, queue.Reset(t, r.forget()))
	}
	return all
}

// forget is the argument of writes that leave an idle record.
func (r record) forget() time.Time {
	if !r.asked.has(r.q.TTL) {
		return time.Time{}
	}
	return r.expires().Add(-time.Second)
}

// releases are those with the mark that was left.
func (r record) releases() (all []clause.Write) {
	for _, e := range r.endings() {
		form := queue.FormHandOff
		switch {
		case len(r.came) > 0 && r.came[0].Closed:
			h := r.came[0]
			form, e.Closed = queue.FormClose, &queue.Closed{Since: h.Since, Until: h.Until, Rest: h.TTL, Slot: h.Slot}
		case len(r.came) > 0:
			form, e.Next = queue.FormPass, queue.Next{Entry: r.entries(r.came[0])[0], Ticket: r.came[0].Ticket, New: r.asked.has(attr.TicketNumber) && r.is.TicketNumber != r.was.TicketNumber}
		case !r.is.Present:
			form = queue.FormFast
		}
		all = append(all, e.Release(form, r.forget()))
	}
	return all
}

func (r record) endings() (all []queue.Ending) {
	mark := r.is.Marks.Released
	ended, _ := r.was.Mine(mark.ID)
	e := queue.Ending{ID: mark.ID, Ticket: mark.Ticket, Turns: ended.Turns, Call: mark.Call}
	if r.asked.has(attr.Turn) {
		e.HoldTime = r.is.HoldTime
	}
	if r.asked.has(attr.Result) && r.is.Result.Ticket == mark.Ticket {
		e.Result = &r.is.Result
	}
	unmade := []int64{0}
	if r.asked.has(attr.Made) {
		unmade = r.asked.ints()
	}
	for _, e.Unmade = range unmade {
		all = append(all, e)
		for _, set := range r.asked.sets {
			times := (&clause.Reader{Item: clause.Item{"": set}}).OptionalTimes("")
			if len(times) == 0 {
				continue
			}
			settles, adds := e, e
			settles.Settled, adds.Unsettled = times, times[0]
			replaces, bounded, crowded := adds, adds, adds
			replaces.Replaces, bounded.Bounded = true, true
			crowded.Bounded, crowded.Crowd = true, r.was.Marks.Unsettled
			all = append(all, settles, adds, replaces, bounded, crowded)
		}
	}
	return all
}

// ofHolder are the writes to the entry of one holder.
func (r record) ofHolder(id string) (all []clause.Write) {
	was, _ := r.was.Mine(id)
	is, _ := r.is.Mine(id)
	t := was.Ticket
	if r.asked.has(attr.Reached) {
		return r.ofTurn(id, was, is)
	}
	switch {
	case r.asked.has(attr.Mode):
		for _, next := range r.asked.ints() {
			all = append(all, queue.Downgrade(id, t, next))
		}
		return all
	case r.asked.has(attr.Revoked):
		return []clause.Write{queue.Revoke(id, t, *is.Revoked)}
	case r.asked.has(attr.DataSet):
		return []clause.Write{queue.SetData(id, t, is.DataSet, is.Data)}
	case r.asked.has(attr.Made) && is.Made%2 == 0: // as nextTransaction of package machine says
		return []clause.Write{queue.NumberedFence(id, t, true, is.Made), queue.NumberedFence(id, t, false, is.Made)}
	case r.asked.has(attr.Made):
		return []clause.Write{queue.Settle(id, t, is.Made-1)}
	}
	return r.renewals(id, t, queue.Renewal{}, is)
}

// ofTurn are the writes of a turn of a block to its entry.
func (r record) ofTurn(id string, was, is queue.Holder) (all []clause.Write) {
	switch t := was.Ticket; {
	case r.asked.has(attr.Made):
		for _, turn := range r.asked.numbers {
			for _, alone := range []bool{true, false} {
				all = append(all, queue.OfTurn(queue.NumberedFence(id, t, alone, is.Made), id, turn))
			}
		}
	case r.asked.has(attr.Beat):
		all = r.renewals(id, t, queue.Renewal{Turn: is.Reached}, is)
	case r.asked.has(attr.DataSet):
		all = append(all, queue.Advance(id, t, is.Reached, is.DataSet))
	default:
		all = append(all, queue.Advance(id, t, is.Reached, 0))
	}
	return all
}

// renewals are the heartbeats of a holder, and CONFIRM.
func (r record) renewals(id string, t ticket.Number, renewal queue.Renewal, is queue.Holder) (all []clause.Write) {
	if r.asked.has(attr.Until) {
		renewal.Until = is.Until
	}
	if r.asked.has(attr.TTL) {
		renewal.TTL = is.TTL
	}
	all = append(all, renewal.Heartbeat(id, t), queue.Confirm(id, t, renewal.Since))
	for _, ms := range r.asked.ints() {
		renewal.Since = time.UnixMilli(ms)
		all = append(all, renewal.Heartbeat(id, t), queue.Confirm(id, t, renewal.Since))
	}
	return all
}
