package transition

import (
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/internal/clause"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
)

// The functions below return the writes that may have made a change. What a write sets is read from the item after, what it
// asks to be as it was from the item before, and what neither shows is any value of the request. A parameter that is not the
// sender's own would make the expressions differ.

type yield = func(clause.Write) bool

func (c *change) ofCounter(yield yield) { c.takes(yield, ticket.Rider{}) }

// takes are the writes that take a number.
func (c *change) takes(yield yield, r ticket.Rider) bool {
	m := ticket.Master{Attribute: queue.AttrTicketNumber, Names: c.q.Names()}
	for _, n := range c.asked.numbers {
		take, flat := m.Take(r, n), m.TakeThenSeed(r, n)
		seed, err := flat.Refused(nil)
		if !yield(take.Write) || err == nil && !yield(seed.Write) || !yield(flat.Write) || r.Do == nil && !yield(m.Raise(n)) {
			return false
		}
	}
	return true
}

func (c *change) ofRow(yield yield) {
	was, is := queue.DecodeRow(c.q, c.before), queue.DecodeRow(c.q, c.after)
	switch {
	case c.after == nil:
		_ = yield(was.Sweep()) && len(c.asked.strings) > 0 && yield(queue.Leave(c.asked.strings...))
	case c.asked.has(queue.AttrBeat) || c.asked.has(c.q.TTL):
		if !c.asked.has(queue.AttrUntil) {
			is.Until = time.Time{}
		}
		// A row lives for an hour longer than its lease, and the one without an end has its length from now.
		yield(was.Renew(is.Until, seconds(c.after[c.q.TTL]).Add(-time.Hour-was.TTL)))
	default:
		if !yield(queue.Enqueue(is.Item(c.q), "")) {
			return
		}
		for _, s := range c.asked.strings {
			if from, ok := strings.CutSuffix(s, "-"); ok && !yield(queue.Enqueue(is.Item(c.q), from)) {
				return
			}
		}
	}
}

// record is a change of a record.
type record struct {
	*change
	was, is    queue.Record
	came, left []queue.Holder
	ids        []string // in the request
}

func (c *change) ofRecord(yield yield) {
	r := record{change: c, ids: c.asked.ids(c.q)}
	r.was, _ = queue.DecodeRecord(c.q, c.before) // of a malformed one nothing follows, and no write agrees
	r.is, _ = queue.DecodeRecord(c.q, c.after)
	in := func(r queue.Record) func(queue.Holder) bool {
		return func(h queue.Holder) bool { _, ok := r.Mine(h.ID); return ok }
	}
	r.came = slices.DeleteFunc(slices.Clone(r.is.Holders), in(r.was))
	r.left = slices.DeleteFunc(slices.Clone(r.was.Holders), in(r.is))
	_ = r.tickets(yield) && r.grants(yield) && r.ends(yield) && r.ofHolder(yield)
}

// tickets are the writes that take a ticket. They offer an entry, which is served if the record is idle.
func (r record) tickets(yield yield) bool {
	for _, holders := range r.asked.maps {
		offered, err := queue.DecodeRecord(r.q, clause.Item{
			queue.AttrTicketNumber: clause.Int(1), queue.AttrGranted: clause.Int(0), queue.AttrServingAfter: clause.Int(0), queue.AttrHolders: clause.Map(holders),
		})
		if err != nil || len(offered.Holders) != 1 || offered.Holders[0].Problem != nil {
			continue
		}
		for _, e := range r.entries(offered.Holders[0]) {
			for _, noWait := range []bool{false, true} {
				if !r.takes(yield, queue.Take(e, noWait)) || r.is.Scope != ticket.ScopeQueue && !yield(queue.Enter(e, r.is.TicketNumber, r.is.Scope, noWait)) {
					return false
				}
			}
		}
	}
	return true
}

// entries are what a grant may have written for a holder: they differ in how many readers there may be.
func (r record) entries(h queue.Holder) (all []queue.Entry) {
	e := queue.Entry{ID: h.ID, Owner: h.Owner, Mode: queue.Mode{Shared: h.Shared, Permits: r.is.Permits}, Since: h.Since, Lease: h.Lease, Data: h.Data, Named: h.Named}
	all = append(all, e)
	for _, n := range r.asked.ints() {
		if e.Mode.Shared && n > 0 && n <= queue.MaxPermits {
			e.Mode.Readers = int(n)
			all = append(all, e)
		}
	}
	return all
}

// grants are the writes that put one holder into the record.
func (r record) grants(yield yield) bool {
	if len(r.came) != 1 || r.asked.has(queue.AttrReleased) {
		return true
	}
	h := r.came[0]
	for _, e := range r.entries(h) {
		if !yield(queue.Claim(e, h.Ticket)) || len(r.left) == 1 && !yield(queue.Resume(e, r.left[0], r.mark())) {
			return false
		}
	}
	return true
}

// ends are the writes that remove holders, or holders itself.
func (r record) ends(yield yield) bool {
	switch {
	case r.asked.has(queue.AttrReleased):
		for _, e := range r.endings() {
			form := queue.FormHandOff
			switch {
			case len(r.came) == 1:
				form, e.Next = queue.FormPass, queue.Next{Entry: r.entries(r.came[0])[0], Ticket: r.came[0].Ticket}
			case !r.is.Present:
				form = queue.FormFast
			}
			if !yield(e.Release(form, r.forget())) {
				return false
			}
		}
	case r.asked.has(queue.AttrEvicted):
		return len(r.left) == 0 || yield(queue.Evict(r.mark(), r.left...)) && (len(r.left) > 1 || yield(queue.EvictFailClosed(r.mark(), r.left[0])))
	case len(r.ids) > 0:
		return yield(queue.Remove(r.ids...))
	default:
		for _, t := range r.asked.numbers {
			if !yield(queue.Reset(t, r.forget())) {
				return false
			}
		}
	}
	return true
}

// mark is that of the last holder that left. Only its time is the sender's to choose.
func (r record) mark() queue.Eviction {
	h := r.left[len(r.left)-1]
	return queue.Eviction{ID: h.ID, Ticket: h.Ticket, Made: h.Made, At: r.is.Marks.Evicted.At}
}

// forget is the argument of writes that leave an idle record.
func (r record) forget() time.Time {
	if !r.asked.has(r.q.TTL) {
		return time.Time{}
	}
	return seconds(r.after[r.q.TTL]).Add(-time.Second)
}

// endings are what a release may have said, as its mark names it.
func (r record) endings() (all []queue.Ending) {
	mark := r.is.Marks.Released
	e := queue.Ending{ID: mark.ID, Ticket: mark.Ticket, Call: mark.Call}
	if r.asked.has(queue.AttrTurn) {
		e.HoldTime = r.is.HoldTime
	}
	unmade := []int64{0}
	if r.asked.has(queue.AttrMade) {
		unmade = r.asked.ints()
	}
	for _, e.Unmade = range unmade {
		all = append(all, e)
		for _, set := range r.asked.sets {
			times := (&clause.Reader{Item: clause.Item{"": set}}).OptionalTimes("")
			settles, adds := e, e
			settles.Settled = times
			all = append(all, settles)
			if len(times) != 1 {
				continue
			}
			adds.Unsettled = times[0]
			replaces, bounded, crowded := adds, adds, adds
			replaces.Replaces, bounded.Bounded = true, true
			crowded.Bounded, crowded.Crowd = true, r.was.Marks.Unsettled
			all = append(all, adds, replaces, bounded, crowded)
		}
	}
	return all
}

// ofHolder are the writes to the entry of one holder.
func (r record) ofHolder(yield yield) bool {
	if len(r.ids) != 1 {
		return true
	}
	id := r.ids[0]
	was, held := r.was.Mine(id)
	is, holds := r.is.Mine(id)
	switch {
	case !held || !holds:
		return true
	case r.asked.has(queue.AttrHoldMode) && r.asked.has(queue.AttrMode):
		for _, next := range r.asked.ints() {
			if !yield(queue.Downgrade(id, was.Ticket, next)) {
				return false
			}
		}
	case r.asked.has(queue.AttrDataSet):
		return yield(queue.SetData(id, was.Ticket, is.DataSet, is.Data))
	case r.asked.has(queue.AttrMade) && is.Made%2 == 0: // as NextTransaction says
		return yield(queue.NumberedFence(id, was.Ticket, true, is.Made)) && yield(queue.NumberedFence(id, was.Ticket, false, is.Made))
	case r.asked.has(queue.AttrMade):
		return yield(queue.Settle(id, was.Ticket, is.Made-1))
	}
	renewal := queue.Renewal{}
	if r.asked.has(queue.AttrUntil) {
		renewal.Until = is.Until
	}
	if r.asked.has(queue.AttrTTL) {
		renewal.TTL = is.TTL
	}
	since := []time.Time{{}}
	if r.asked.has(queue.AttrSince) {
		since = times(r.asked.ints())
	}
	for _, renewal.Since = range since {
		if !yield(renewal.Heartbeat(id, was.Ticket)) || !yield(queue.Confirm(id, was.Ticket, renewal.Since)) {
			return false
		}
	}
	return true
}

func times(ms []int64) (all []time.Time) {
	for _, n := range ms {
		all = append(all, time.UnixMilli(n))
	}
	return all
}

// seconds reads the table's TTL attribute.
func seconds(v types.AttributeValue) time.Time {
	return time.Unix((&clause.Reader{Item: clause.Item{"": v}}).Int(""), 0)
}
