package serving

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/internal/lease"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/ticket"
)

// Record is the serving record as one read or write showed it.
type Record struct {
	// Item is the whole item, if the record is kept on a user's item.
	Item   table.Item
	Exists bool // false: no ticket was ever taken in this queue

	TicketNumber ticket.Number // last ticket issued
	Granted      ticket.Number // highest ticket claimed
	Turn         Turn
	Scope        Scope

	// Present reports that holders and servingAfter are present. Holders may still be
	// empty.
	Present      bool
	ServingAfter ticket.Number
	Holders      []Holder // in the order of tickets
	Shared       bool     // the holders share the lock, and others may join them

	Permits int // of a semaphore; zero: it is a lock
	Marks   Marks

	noHoldMode bool // holders is present and holdMode is not

	// Problem is set if a write was applied and the record that it returned is
	// malformed. Only Item and Exists are then known.
	Problem error
}

// Holder is one entry of the record.
type Holder struct {
	ID     string
	Ticket ticket.Number // known even if the entry does not contain it
	Owner  string
	Since  time.Time // on DynamoDB's clock; zero if unknown
	Shared bool      // it shares the lock
	Lease  lease.Lease

	claimed bool // the entry contains its ticket

	Data    []byte // the holder's own data, for display; nil if there is none
	DataSet int64  // number of the SetData call that wrote it; zero before the first
	Made    int64  // number of its last fenced transaction; zero before the first

	// Problem is set if a part of the entry is malformed. That part is zero. The
	// entry still counts as a holder.
	Problem error
}

// Unreadable reports whether the ticket or the lease of the entry is malformed. Its
// lease is then never judged to have ended.
func (h Holder) Unreadable() bool { return h.Problem != nil && h.Lease == lease.Lease{} }

// LeaseID returns the name of the holder's lease for an Observer.
func (h Holder) LeaseID(q table.Queue) string { return q.Entity + "/" + q.Reason + "/" + h.ID }

// Turn is a moving mean and mean deviation of recent hold times.
type Turn struct{ Mean, Deviation time.Duration }

// Add adds a hold time, with the gains of TCP's round-trip estimator: 1/8 and 1/4
// (RFC 6298, section 2).
func (t Turn) Add(length time.Duration) Turn {
	if t == (Turn{}) {
		return Turn{Mean: length, Deviation: length / 2}
	}
	return Turn{
		Mean:      t.Mean + (length-t.Mean)/8,
		Deviation: t.Deviation + ((length-t.Mean).Abs()-t.Deviation)/4,
	}
}

// Decode reads a record. A missing item is the zero Record. It returns a
// *table.MalformedError if the item is not a record of this library. A malformed
// entry of holders is not an error but the Problem of that Holder, because other
// holders need only their own entries. Unknown attributes are ignored.
func Decode(q table.Queue, item table.Item) (Record, error) {
	if len(item) == 0 {
		return Record{}, nil
	}
	if q.Home != nil && !slices.ContainsFunc(slices.Collect(maps.Keys(item)), q.Home.Owns) {
		return Record{Item: item}, nil
	}
	r := &table.Reader{What: fmt.Sprintf("serving record of %q", q), Item: item}
	attrGranted, attrServingAfter, attrHolders := q.Attr(table.AttrGranted), q.Attr(table.AttrServingAfter), q.Attr(table.AttrHolders)
	rec := Record{Exists: true, Item: homeItem(q, item), TicketNumber: r.Ticket(q.Attr(table.AttrTicketNumber))}
	rec.Turn = decodeTurn(item[q.Attr(table.AttrTurn)])
	rec.Scope = decodeScope(r, q.Attr(table.AttrScope))
	rec.Marks = decodeMarks(item[q.Attr(table.AttrReleased)], item[q.Attr(table.AttrEvicted)])
	rec.Present = r.Has(attrHolders)
	if rec.Present != r.Has(attrServingAfter) {
		r.Fail(attrHolders, "and %s must be present together or absent together", attrServingAfter)
	}
	if rec.Present || r.Has(attrGranted) {
		rec.Granted = r.Ticket(attrGranted)
	}
	if rec.TicketNumber.Less(rec.Granted) {
		r.Fail(attrGranted, "is %s, above %s %s", rec.Granted, q.Attr(table.AttrTicketNumber), rec.TicketNumber)
	}
	rec.Permits = decodePermits(r, q.Attr(table.AttrPermits))
	// Without holders it has no meaning, but the next TAKE would keep it.
	shared := decodeHoldMode(r, q.Attr(table.AttrHoldMode))
	if rec.Present {
		rec.Shared = shared
		rec.noHoldMode = !r.Has(q.Attr(table.AttrHoldMode))
		rec.ServingAfter = r.Ticket(attrServingAfter)
		if rec.TicketNumber.Compare(rec.ServingAfter) <= 0 {
			r.Fail(attrServingAfter, "is %s, not below %s %s", rec.ServingAfter, q.Attr(table.AttrTicketNumber), rec.TicketNumber)
		}
		for id, entry := range r.Map(attrHolders) {
			rec.Holders = append(rec.Holders, decodeHolder(r, attrHolders, rec, id, entry))
		}
		slices.SortFunc(rec.Holders, func(a, b Holder) int { return cmp.Or(a.Ticket.Compare(b.Ticket), strings.Compare(a.ID, b.ID)) })
	}
	return rec, r.Err
}

// decodeHoldMode reads whether the holders share. A record without holdMode was
// left by an exclusive holder.
func decodeHoldMode(r *table.Reader, attribute string) (shared bool) {
	if !r.Has(attribute) {
		return false
	}
	switch mode := r.Text(attribute); mode {
	case ModeShared:
		return true
	case ModeExclusive:
	default:
		r.Fail(attribute, "is %.64q, %q or %q is needed", mode, ModeExclusive, ModeShared)
	}
	return false
}

// MaxPermits is the largest number of permits of a semaphore. That many entries of
// some 200 bytes stay far below the 400 KB of an item.
const MaxPermits = 500

func decodePermits(r *table.Reader, attribute string) int {
	permits, ok := r.OptionalInt(attribute)
	if ok && (permits < 1 || permits > MaxPermits) {
		r.Fail(attribute, "is %d, between 1 and %d are possible", permits, MaxPermits)
		return 0
	}
	return int(permits)
}

func homeItem(q table.Queue, item table.Item) table.Item {
	if q.Home == nil {
		return nil
	}
	return item
}

// decodeTurn reads the hold times. They are used for estimates only, so a malformed
// value is ignored.
func decodeTurn(value types.AttributeValue) Turn {
	turn, ok := value.(*types.AttributeValueMemberM)
	if !ok {
		return Turn{}
	}
	t := table.Reader{Item: turn.Value}
	mean, deviation := t.Int(table.AttrMean), t.Int(table.AttrDeviation)
	bad := func(ms int64) bool { return ms < 0 || ms > lease.Max.Milliseconds() }
	if t.Err != nil || bad(mean) || bad(deviation) {
		return Turn{}
	}
	return Turn{Mean: time.Duration(mean) * time.Millisecond, Deviation: time.Duration(deviation) * time.Millisecond}
}

func (t Turn) attribute() table.Item {
	return table.Item{
		table.AttrMean:      table.Int(t.Mean.Milliseconds()),
		table.AttrDeviation: table.Int(t.Deviation.Milliseconds()),
	}
}

func decodeHolder(r *table.Reader, attrHolders string, rec Record, id string, entry types.AttributeValue) Holder {
	h := Holder{ID: id}
	m, ok := entry.(*types.AttributeValueMemberM)
	if !ok {
		bad := &table.Reader{What: r.What}
		bad.Fail(attrHolders+"."+id, "is %s, a map is needed", table.TypeName(entry))
		h.Problem = bad.Err
		return h
	}
	read := func(decode func(*table.Reader)) (ok bool) {
		e := &table.Reader{What: r.What, Item: m.Value, Path: attrHolders + "." + id + "."}
		decode(e)
		h.Problem = cmp.Or(h.Problem, e.Err)
		return e.Err == nil
	}
	judged := read(func(e *table.Reader) { h.Lease = lease.ReadHolder(e) })
	judged = read(func(e *table.Reader) { h.Ticket, h.claimed = decodeTicket(e, rec), e.Has(table.AttrTicket) }) && judged
	judged = read(func(e *table.Reader) { h.Made, _ = e.OptionalInt(table.AttrMade) }) && judged
	if !judged {
		h.Lease = lease.Lease{}
	}
	read(func(e *table.Reader) {
		h.Owner = e.OptionalText(table.AttrOwner)
		h.Shared = e.OptionalText(table.AttrMode) == ModeShared
		if since := e.OptionalTime(table.AttrSince); e.Err == nil {
			h.Since = since
		}
		h.DataSet, _ = e.OptionalInt(table.AttrDataSet)
	})
	// Data is for display only, so a value of another type is ignored.
	if data, ok := m.Value[table.AttrData].(*types.AttributeValueMemberB); ok {
		h.Data = data.Value
	}
	return h
}

// decodeTicket reads the ticket of an entry. An entry without one was served by the
// TAKE that made holders present.
func decodeTicket(e *table.Reader, rec Record) ticket.Number {
	if e.Has(table.AttrTicket) {
		return e.Ticket(table.AttrTicket)
	}
	next, err := rec.ServingAfter.Next()
	if err != nil {
		e.Fail(table.AttrTicket, "is missing, and %s is the last number", table.AttrServingAfter)
	}
	return next
}

// Floor returns the number at or below which no ticket can be granted any more. It
// never decreases.
func (r Record) Floor() ticket.Number {
	floor := r.Granted
	if r.Present {
		if next, err := r.ServingAfter.Next(); err != nil || floor.Less(next) {
			floor = next
			if err != nil {
				floor = ticket.Max
			}
		}
	}
	return floor
}

// FirstServed returns the ticket that was served when holders became present.
func (r Record) FirstServed() ticket.Number {
	next, err := r.ServingAfter.Next()
	if err != nil {
		return ticket.Number{}
	}
	return next
}

// Mine returns the holder whose id is one of ids.
func (r Record) Mine(ids ...string) (Holder, bool) {
	for _, h := range r.Holders {
		if slices.Contains(ids, h.ID) {
			return h, true
		}
	}
	return Holder{}, false
}

// Holds reports whether the holder id, served with ticket t, is in the record.
func (r Record) Holds(id string, t ticket.Number) bool {
	h, ok := r.Mine(id)
	return ok && h.Ticket == t
}

// Held returns the holder id, and whether it still holds the lock with ticket t. It
// is the condition of heartbeats and fences, applied to a record that was read.
func (r Record) Held(id string, t ticket.Number) (Holder, bool) {
	h, ok := r.Mine(id)
	return h, ok && h.Ticket == t && (r.Granted.Compare(t) <= 0 || r.Shared || r.Permits > 0)
}

// Resettable reports whether Reset would be applied with ticket t.
func (r Record) Resettable(t ticket.Number) bool {
	return r.Present && len(r.Holders) == 0 && r.noneOutstanding(t)
}

// noneOutstanding reports whether no ticket but t, which was granted, is outstanding.
func (r Record) noneOutstanding(t ticket.Number) bool {
	return r.TicketNumber == r.Granted || r.TicketNumber == t
}
