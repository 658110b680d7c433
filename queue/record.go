package queue

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/clause"
	"github.com/queuelock/queuelock/internal/attr"
	"github.com/queuelock/queuelock/internal/planted"
	"github.com/queuelock/queuelock/ticket"
)

// Record is the serving record as one read or write showed it.
type Record struct {
	Item   clause.Item // the whole item, if the record is kept on a user's item
	Exists bool        // false: none was made yet, or it was deleted

	TicketNumber ticket.Number // last ticket issued
	Granted      ticket.Number // highest ticket claimed, or the counter at the last return to idle
	HoldTime     HoldTime
	Scope        ticket.Scope
	Permits      int // of a semaphore; zero: it is a lock
	Marks        Marks
	Result       Result // of the last holder that has left one

	Present      bool // holders and servingAfter are present; Holders may still be empty
	ServingAfter ticket.Number
	Holders      []Holder // in the order of tickets
	Shared       bool     // the holders share the lock, and others may join them

	// Problem is set if a write was applied and the record that it returned is
	// malformed. Only Item and Exists are then known.
	Problem error

	answer
}

// answer is the answer of a request that showed a record.
type answer struct {
	item       clause.Item
	names      clause.Names
	sent, read time.Time // see Timed
}

// meets reports whether the table would apply a write to the record as it was read.
func (r Record) meets(w clause.Write) bool { return planted.In(w).Refuses(r.names, r.item) == nil }

// DecodeRecord reads a record. A missing item is the zero [Record]. It returns a [*clause.MalformedError] if the item
// is not a record of this library. A malformed entry of holders is not an error but the Problem of that [Holder],
// because other holders need only their own entries. Unknown attributes are ignored.
func DecodeRecord(q Items, item clause.Item) (Record, error) {
	if len(item) == 0 {
		return Record{}, nil
	}
	rec := Record{answer: answer{item: item, names: q.Names()}}
	if q.Home != nil {
		rec.Item = item
		if !slices.ContainsFunc(slices.Collect(maps.Keys(item)), q.Home.Owns) {
			return rec, nil
		}
	}
	r := &clause.Reader{What: "serving record of " + strconv.Quote(q.String()), Item: item}
	// inside reads a map on which no turn depends; nil if there is none.
	inside := func(name string) *clause.Reader {
		if m, ok := item[q.Attr(name)].(*types.AttributeValueMemberM); ok && m != nil {
			return &clause.Reader{Item: m.Value}
		}
		return nil
	}
	ticketNumber, granted := q.Attr(attr.TicketNumber), q.Attr(attr.Granted)
	holders, servingAfter := q.Attr(attr.Holders), q.Attr(attr.ServingAfter)
	rec.Exists, rec.TicketNumber = true, ticket.Read(r, ticketNumber)
	rec.HoldTime = decodeHoldTime(inside(attr.Turn))
	rec.Marks = decodeMarks(inside(attr.Released), inside(attr.Evicted),
		(&clause.Reader{Item: item}).OptionalTimes(q.Attr(attr.Unsettled)))
	rec.Result = decodeResult(r.What, q.Attr(attr.Result), item)
	rec.Scope = decodeScope(r, q.Attr(attr.Scope))
	rec.Present = r.Has(holders)
	if rec.Present != r.Has(servingAfter) {
		r.Fail(holders, "and %s must be present together or absent together", servingAfter)
	}
	if rec.Present || r.Has(granted) {
		rec.Granted = ticket.Read(r, granted)
	}
	if rec.TicketNumber.Less(rec.Granted) {
		r.Fail(granted, "is %s, above %s %s", rec.Granted, ticketNumber, rec.TicketNumber)
	}
	rec.Permits = decodePermits(r, q.Attr(attr.Permits))
	// Without holders it has no meaning, but the next TAKE would keep it.
	mode := choice(r, q.Attr(attr.HoldMode), attr.Exclusive, attr.Shared)
	if !rec.Present {
		return rec, r.Err
	}
	rec.Shared = mode == attr.Shared
	rec.ServingAfter = ticket.Read(r, servingAfter)
	if rec.TicketNumber.Compare(rec.ServingAfter) <= 0 {
		r.Fail(servingAfter, "is %s, not below %s %s", rec.ServingAfter, ticketNumber, rec.TicketNumber)
	}
	for id, entry := range r.Map(holders) {
		rec.Holders = append(rec.Holders, decodeHolder(r.What, holders+"."+id, rec, id, entry))
	}
	slices.SortFunc(rec.Holders, func(a, b Holder) int {
		return cmp.Or(a.Ticket.Compare(b.Ticket), strings.Compare(a.ID, b.ID))
	})
	return rec, r.Err
}

// choice reads an attribute that is a or b; "" if it is absent.
func choice(r *clause.Reader, attribute, a, b string) string {
	value := r.OptionalText(attribute)
	if r.Has(attribute) && value != a && value != b {
		r.Fail(attribute, "is %.64q, %q or %q is needed", value, a, b)
	}
	return value
}

func decodePermits(r *clause.Reader, attribute string) int {
	permits, ok := r.OptionalInt(attribute)
	if ok && (permits < 1 || permits > MaxPermits) {
		r.Fail(attribute, "is %d, between 1 and %d are possible", permits, MaxPermits)
		return 0
	}
	return int(permits)
}

func decodeHolder(what, path string, rec Record, id string, entry types.AttributeValue) Holder {
	h := Holder{ID: id}
	whole := &clause.Reader{What: what, Item: clause.Item{path: entry}}
	attributes := whole.Map(path)
	if whole.Err != nil {
		h.Problem = whole.Err
		return h
	}
	// read reads a part whose problem does not hide the parts after it.
	read := func(decode func(*clause.Reader)) {
		e := &clause.Reader{What: what, Item: attributes, Path: path + "."}
		decode(e)
		h.Problem = cmp.Or(h.Problem, e.Err)
	}
	read(func(e *clause.Reader) { h.Lease = ReadHolderLease(e) })
	read(func(e *clause.Reader) {
		// An entry without a ticket was served by the TAKE that made holders present.
		h.Ticket, h.claimed = rec.FirstServed(), e.Has(attr.Ticket)
		if h.claimed {
			h.Ticket = ticket.Read(e, attr.Ticket)
		}
	})
	h.Turns, h.Reached = readTurns(attributes), h.Ticket
	if reached, err := ticket.FromAttribute(attributes[attr.Reached]); err == nil {
		h.Reached = reached
	}
	read(func(e *clause.Reader) { h.Made, h.numbered = e.OptionalInt(attr.Made) })
	if h.Problem != nil {
		h.Lease = Lease{}
	}
	read(func(e *clause.Reader) {
		h.Owner = e.OptionalText(attr.Owner)
		h.Shared = e.OptionalText(attr.Mode) == attr.Shared
		h.Named = e.OptionalBool(attr.Named)
		h.Group = e.OptionalText(attr.Group)
		if since := e.OptionalTime(attr.Since); e.Err == nil {
			h.Since = since
		}
		h.DataSet, _ = e.OptionalInt(attr.DataSet)
		h.Closed = e.OptionalBool(attr.Closed) && e.Err == nil
	})
	// Whatever else the entry has that cannot be read, its number is taken.
	slot, ok := (&clause.Reader{Item: attributes}).OptionalInt(attr.Slot)
	if ok && slot >= 0 && slot < int64(rec.Permits) {
		h.Slot = new(int(slot))
	}
	h.Lease, h.Revoked = h.Lease.dated(h.Since, h.Closed), decodeRevocation(attributes)
	_, h.marked = attributes[attr.Revoked]
	if bell, ok := attributes[attr.Bell].(*types.AttributeValueMemberS); ok && len(bell.Value) <= MaxBell {
		h.Bell = bell.Value
	}
	// Data is for display only, so a value of another type is ignored.
	if data, ok := attributes[attr.Data].(*types.AttributeValueMemberB); ok {
		h.Data = data.Value
	}
	return h
}

// freeSlot returns the lowest number of a permit that no entry has; nil if there is none. An entry that an earlier
// version wrote has none.
func (r Record) freeSlot() *int {
	taken := make([]bool, r.Permits)
	for _, h := range r.Holders {
		if h.Slot != nil {
			taken[*h.Slot] = true
		}
	}
	if free := slices.Index(taken, false); free >= 0 {
		return &free
	}
	return nil
}

// FirstServed returns the ticket that was served when holders became present.
func (r Record) FirstServed() ticket.Number {
	next, err := r.ServingAfter.Next()
	if err != nil {
		return ticket.Max // not in a record that DecodeRecord accepts
	}
	return next
}

// Floor returns the number at or below which no ticket can be granted any more. It never decreases.
func (r Record) Floor() ticket.Number {
	if first := r.FirstServed(); r.Present && r.Granted.Less(first) {
		return first
	}
	return r.Granted
}

// Mine returns the holder whose id is one of ids.
func (r Record) Mine(ids ...string) (Holder, bool) {
	i := slices.IndexFunc(r.Holders, func(h Holder) bool { return slices.Contains(ids, h.ID) })
	if i < 0 {
		return Holder{}, false
	}
	return r.Holders[i], true
}

// Holds reports whether the holder id, served with ticket t, is in the record. If the entry cannot be read, it reports
// what the condition of a release would. Unlike the condition holds, it does not ask that no later ticket was granted.
func (r Record) Holds(id string, t ticket.Number) bool {
	h, ok := r.Mine(id)
	return ok && (h.Ticket == t || h.Unreadable() && r.meets(clause.Write{If: []clause.Cond{servedAs(id, t)}}))
}

// Hides returns the Problem of the entry of a holder that cannot be read, which may be why a write of the holder was
// refused. Nil if the lock would be lost even with an entry that can be read.
func (r Record) Hides(id string, t ticket.Number) error {
	h, _ := r.Mine(id)
	other := !h.Ticket.IsZero() && h.Ticket != t // which can be read
	if !h.Unreadable() || other || !r.meets(clause.Write{If: current(id, t)}) {
		return nil
	}
	return h.Problem
}
