package queue

import (
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/clause"
	"github.com/queuelock/queuelock/internal/attr"
	"github.com/queuelock/queuelock/ticket"
)

// Entry is what a grant writes for its holder.
type Entry struct {
	ID    string
	Owner string
	Mode  Mode
	Since time.Time // on DynamoDB's clock; zero if unknown
	Lease Lease
	Data  []byte // for display; left out if empty
	Group string // of Policy; left out if empty
	Named bool   // a release has granted it to the waiter whose row it has read; the lease is the row's
	// Revoked is the mark of the entry that a RESUME replaces; nil: none.
	Revoked *Revocation
	Turns   int    // how many tickets its block has; zero: one
	Slot    *int   // number of its permit; nil: none
	Bell    string // where the holder can be rung, as package wake has made it; left out if empty
}

func (e Entry) item() clause.Item {
	item := clause.Item{attr.Owner: clause.String(e.Owner)}
	e.Lease.Fill(item)
	clause.SetTime(item, attr.Since, e.Since)
	if e.Mode.Shared {
		item[attr.Mode] = clause.String(attr.Shared)
	}
	if e.Named {
		item[attr.Named] = &types.AttributeValueMemberBOOL{Value: true}
	}
	if e.Revoked != nil {
		item[attr.Revoked] = e.Revoked.attribute()
	}
	fillTurns(item, e.Turns)
	fillSlot(item, e.Slot)
	if len(e.Data) > 0 {
		item[attr.Data] = &types.AttributeValueMemberB{Value: e.Data}
	}
	if e.Group != "" {
		item[attr.Group] = clause.String(e.Group)
	}
	if e.Bell != "" {
		item[attr.Bell] = clause.String(e.Bell)
	}
	return item
}

func fillSlot(item clause.Item, slot *int) {
	if slot != nil {
		item[attr.Slot] = clause.Int(int64(*slot))
	}
}

// claimed returns the entry with its ticket.
func (e Entry) claimed(t ticket.Number) types.AttributeValue {
	item := e.item()
	item[attr.Ticket] = t.Attribute()
	return clause.Map(item)
}

// Renewal is what a holder's heartbeat writes. Times are on DynamoDB's clock, and zero if it is not known.
type Renewal struct {
	Until time.Time     // new end of the lease
	Since time.Time     // time of the grant, if the entry does not contain it yet
	TTL   time.Duration // new length of the lease; zero: it stays
	Turn  ticket.Number // of a block: the present turn; zero: it is none
}

// The attributes of the record.
var (
	attrTicketNumber = clause.At(attr.TicketNumber)
	attrServingAfter = clause.At(attr.ServingAfter)
	attrGranted      = clause.At(attr.Granted)
	attrHolders      = clause.At(attr.Holders)
	attrTurn         = clause.At(attr.Turn)
	attrHoldMode     = clause.At(attr.HoldMode)
	attrPermits      = clause.At(attr.Permits)
	attrScope        = clause.At(attr.Scope)
	attrReleased     = clause.At(attr.Released)
	attrEvicted      = clause.At(attr.Evicted)
	attrUnsettled    = clause.At(attr.Unsettled)
	attrResult       = clause.At(attr.Result)
)

func number(n ticket.Number) clause.Operand { return clause.V(n.Attribute()) }

func integer(n int64) clause.Operand { return clause.V(clause.Int(n)) }

func str(s string) clause.Operand { return clause.V(clause.String(s)) }

func millis(t time.Time) clause.Operand { return integer(t.UnixMilli()) }

var (
	zero      = integer(0)
	one       = integer(1)
	exclusive = str(attr.Exclusive)
	shared    = str(attr.Shared)
)

// entry returns the path of a holder's entry.
func entry(id string) clause.Path { return attrHolders.Entry(id) }

// The conditions that several writes share.

func isHolder(id string) clause.Cond { return entry(id).Exists().As("holder") }

// noHolder asks that holders is {}. The size of a missing attribute compares false.
func noHolder() clause.Cond { return attrHolders.SizeEqual(zero) }

func alone() clause.Cond { return attrHolders.SizeEqual(one).As("alone") }

// isShared asks that the holders share. holdMode is present exactly while holders is.
func isShared() clause.Cond { return attrHoldMode.Equal(shared) }

// latest asks that no ticket after t was granted.
func latest(t ticket.Number) clause.Cond { return attrGranted.AtMost(number(t)) }

// servedAs asks that the entry was granted with ticket t. One without a ticket has that after servingAfter. A TAKE
// that arrives again after the release puts its id back with a later ticket.
func servedAs(id string, t ticket.Number) clause.Cond {
	own := entry(id).Field(attr.Ticket)
	first := clause.All(own.Absent(), attrServingAfter.Equal(number(t.Previous())))
	return clause.Any(own.Equal(number(t)), first).As("its ticket")
}

// holds asks that the holder id still holds the lock with ticket t.
func holds(id string, t ticket.Number) []clause.Cond {
	return append(current(id, t), servedAs(id, t))
}

// current asks that the holder id has an entry, and that no ticket after t was granted which excludes it.
func current(id string, t ticket.Number) []clause.Cond {
	return []clause.Cond{isHolder(id), clause.Any(latest(t), isShared(), attrPermits.Exists()).As("no later ticket")}
}

// asRead asks that the entry has the ticket that was read, and that the holder has made no fenced transaction since.
func asRead(h Holder) []clause.Cond {
	own, made := entry(h.ID).Field(attr.Ticket), entry(h.ID).Field(attr.Made)
	served := clause.All(own.Absent(), attrServingAfter.Equal(number(h.Ticket.Previous())))
	if h.claimed {
		served = own.Equal(number(h.Ticket))
	}
	unmade := made.Equal(integer(h.Made))
	if h.Made == 0 && !h.numbered {
		unmade = made.Absent()
	}
	return []clause.Cond{served.As("ticket as read"), unmade.As("transactions as read")}
}

// noneOutstanding asks that no ticket but t, which was granted, is outstanding.
func noneOutstanding(t ticket.Number) clause.Cond {
	return clause.Any(attrTicketNumber.Equal(attrGranted.Was()), attrTicketNumber.Equal(number(t))).As("none outstanding")
}

// admits asks for room for another holder of the mode. Each part is false while holders is absent.
func (m Mode) admits() clause.Cond {
	switch {
	case m.Permits > 0:
		return attrHolders.SizeLess(attrPermits.Was()).As("room")
	case m.Shared:
		few := attrHolders.SizeLess(integer(int64(m.readers()))).As("few readers")
		return clause.Any(noHolder(), clause.All(isShared().As("holders share"), few)).As("room")
	}
	return noHolder().As("room")
}

// fits asks that the record is of the mode's kind and, for a shared ticket, says how its holders hold. With noWait it
// also asks for room.
func (m Mode) fits(noWait bool) []clause.Cond {
	kind := attrPermits.Absent()
	if m.Permits > 0 {
		kind = attrPermits.Equal(integer(int64(m.Permits)))
	}
	conds := []clause.Cond{kind.As("kind")}
	if m.Shared {
		conds = append(conds, clause.Any(attrHolders.Absent(), attrHoldMode.Exists()).As("mode known"))
	}
	if noWait {
		conds = append(conds, m.free())
	}
	return conds
}

// free asks that a ticket would be served at once, but for others that are outstanding.
func (m Mode) free() clause.Cond { return clause.Any(attrHolders.Absent(), m.admits()) }

// wellFormed asks that an item is a record. It cannot ask for whole numbers, nor look into entries. The counter's own
// condition covers ticketNumber. DecodeRecord must refuse every record that wellFormed refuses, or a waiter would try
// such a record for ever.
var wellFormed = clause.All(
	clause.Any(
		clause.All(attrHolders.Absent(), attrServingAfter.Absent()),
		clause.All(attrHolders.Type("M"), attrServingAfter.AtLeast(zero),
			attrServingAfter.Less(attrTicketNumber.Was()), attrGranted.Exists()),
	).As("holders well formed"),
	clause.Any(
		attrGranted.Absent(),
		clause.All(attrGranted.AtLeast(zero), attrGranted.AtMost(attrTicketNumber.Was())),
	).As("granted well formed"),
	clause.Any(attrHoldMode.Absent(), attrHoldMode.OneOf(exclusive, shared)).As("mode well formed"),
)

// Take is what TAKE does beside taking a number: the entry is served at once if the record is idle. Right-hand sides
// read the item as it was, so servingAfter becomes the number before the one that is issued. With noWait it asks for
// room for one more holder.
func Take(e Entry, noWait bool) ticket.Rider {
	known := append([]clause.Cond{wellFormed, attrScope.Absent().As("scope")}, e.Mode.fits(noWait)...)
	return ticket.Rider{Name: "TAKE", More: uint64(max(e.Turns, 1) - 1), If: known, Do: e.serve}
}

// serve makes an entry the holder of a record whose holders is absent, for the ticket after before. The record is kept
// from then on. Of a semaphore all numbers are free.
func (e Entry) serve(before clause.Operand) []clause.Change {
	if e.Mode.Permits > 0 {
		e.Slot = new(0)
	}
	alone := clause.Map(clause.Item{e.ID: clause.Map(e.item())})
	changes := append(make([]clause.Change, 0, 6),
		clause.Expires.Remove(),
		attrServingAfter.Set(attrServingAfter.Or(before)),
		attrGranted.Set(attrGranted.Or(zero)),
		attrHolders.Set(attrHolders.Or(clause.V(alone))),
		attrEvicted.Set(attrEvicted.Or(clause.V(Eviction{ID: e.ID}.attribute()))),
	)
	if e.Mode.Permits > 0 {
		return append(changes, attrPermits.Set(integer(int64(e.Mode.Permits)))) // no change, unless the record is new
	}
	return append(changes, attrHoldMode.Set(attrHoldMode.Or(str(e.Mode.String()))))
}

// repeatGrant is how writes that grant the lock are repeated: by their sender, so that a refusal proves that this
// attempt was not applied. A copy of a TAKE that comes late could also put the id of an ended turn back, so it has a
// new id each time.
const repeatGrant = clause.BySender

// Enter enters ticket t of a wider counter, and serves it at once if the record is idle.
func Enter(e Entry, t ticket.Number, scope ticket.Scope, noWait bool) clause.Write {
	// A comparison with an attribute that is missing or no number is false.
	known := append([]clause.Cond{
		attrTicketNumber.Between(zero, number(t.Previous())).As("first with its ticket"),
		attrScope.Equal(str(scopes[scope])).As("scope"),
		wellFormed,
	}, e.Mode.fits(noWait)...)
	return clause.Write{
		Name:   "ENTER",
		Repeat: repeatGrant,
		If:     []clause.Cond{clause.Any(clause.Key.Absent().As("no item"), clause.All(known...))},
		Do:     append(e.serve(number(t.Previous())), attrTicketNumber.Set(number(t)), attrScope.Set(str(scopes[scope]))),
		Made:   []clause.Cond{attrTicketNumber.AtLeast(number(t))},
	}
}

// Claim serves ticket t, whose turn the sender believes it is. The grant is this write, never a read. For a permit see
// [Record.Claim].
func Claim(e Entry, t ticket.Number) clause.Write {
	changes := []clause.Change{entry(e.ID).Set(clause.V(e.claimed(t))), attrGranted.Set(number(t))}
	if e.Mode.Permits == 0 {
		changes = append(changes, attrHoldMode.Set(str(e.Mode.String())))
	}
	return clause.Write{
		Name:   "CLAIM",
		Repeat: repeatGrant,
		If:     append([]clause.Cond{e.Mode.admits()}, claimable(t)...),
		Do:     changes,
	}
}

// Claim is CLAIM by the record as it was read. A permit gets the lowest number that is free there, unless the entry has
// one. It is refused if another permit was granted since. Nothing else takes a number: RESUME keeps that of the entry
// that it replaces, and after a TAKE that was granted no earlier ticket is.
func (r Record) Claim(e Entry, t ticket.Number) clause.Write {
	if e.Mode.Permits == 0 {
		return Claim(e, t)
	}
	if e.Slot == nil {
		e.Slot = r.freeSlot()
	}
	w := Claim(e, t)
	w.If = append(w.If, attrGranted.Equal(number(r.Granted)).As("granted as read"))
	return w
}

// claimable asks that ticket t was issued, and neither it nor a later one was granted. The last condition refuses a
// ticket of an earlier record, which was deleted: granted would be above the counter, and no TAKE be made.
func claimable(t ticket.Number) []clause.Cond {
	return []clause.Cond{
		attrGranted.Less(number(t)).As("not granted"),
		attrServingAfter.Less(number(t.Previous())).As("after the first served"),
		attrTicketNumber.AtLeast(number(t)).As("issued"),
	}
}

// Unchanged reports whether the entry is as it was read, so far as Resume asks.
func (h Holder) Unchanged(read Holder) bool {
	return h.Shared == read.Shared && h.Made == read.Made && h.Reached == read.Reached && h.marked == read.marked
}

// Resume replaces the holder old by the entry. t is the entry's ticket: one of the block of old, and its new end.
func Resume(e Entry, t ticket.Number, old Holder, mark Eviction) clause.Write {
	w := clause.Write{
		Name:   "RESUME",
		Repeat: repeatGrant,
		If:     append([]clause.Cond{isHolder(old.ID)}, asRead(old)...),
		Do: []clause.Change{
			entry(e.ID).Set(clause.V(e.claimed(t))), entry(old.ID).Remove(), attrEvicted.Set(clause.V(mark.attribute())),
		},
	}
	if !old.marked {
		w.If = append(w.If, entry(old.ID).Field(attr.Revoked).Absent().As("no request since"))
	}
	alone := !e.Mode.Shared && e.Mode.Permits == 0
	if alone {
		w.If = append(w.If, latest(old.Ticket).As("no later ticket"),
			clause.Any(attrHoldMode.Absent(), attrHoldMode.Equal(exclusive)).As("not downgraded"))
	}
	if old.Turns > 1 {
		w = OfTurn(w, old.ID, t)
	}
	if old.Turns > 1 && alone { // else a later ticket may have been granted
		w.Do = append(w.Do, attrGranted.Set(number(t)))
	}
	return w
}

// Heartbeat renews a lease. The first condition refuses an entry that cannot be renewed, so that the answer shows it.
// The last one refuses a late heartbeat, which would set until back.
func (r Renewal) Heartbeat(id string, t ticket.Number) clause.Write {
	beat, until, since := entry(id).Field(attr.Beat), entry(id).Field(attr.Until), entry(id).Field(attr.Since)
	w := clause.Write{Name: "HEARTBEAT", If: holds(id, t), Made: holds(id, t), Else: clause.Lost}
	w.Do = []clause.Change{beat.Set(beat.Was().Plus(clause.Int(1)))}
	w.If[0] = beat.Type("N").As("holder")
	if !r.Until.IsZero() {
		w.If = append(w.If, clause.Any(until.Absent(), until.AtMost(millis(r.Until))).As("not late"))
		w.Do = append(w.Do, until.Set(millis(r.Until)))
	}
	if !r.Since.IsZero() {
		w.Do = append(w.Do, since.Set(since.Or(millis(r.Since))))
	}
	if r.TTL > 0 {
		w.Do = append(w.Do, entry(id).Field(attr.TTL).Set(integer(r.TTL.Milliseconds())))
	}
	if !r.Turn.IsZero() {
		w = OfTurn(w, id, r.Turn)
		w.Do = append(w.Do, entry(id).Field(attr.Reached).Set(number(r.Turn)))
	}
	return w
}

// Confirm makes the grant of a fail-closed holder endless.
func Confirm(id string, t ticket.Number, since time.Time) clause.Write {
	beat, attrSince := entry(id).Field(attr.Beat), entry(id).Field(attr.Since)
	w := clause.Write{
		Name: "CONFIRM",
		If:   append(holds(id, t), beat.Equal(zero).As("not evicted or confirmed")),
		Do:   []clause.Change{beat.Set(one), entry(id).Field(attr.Until).Remove(), entry(id).Field(attr.TTL).Remove()},
		Made: append(holds(id, t), entry(id).Field(attr.TTL).Absent(), entry(id).Field(attr.Until).Absent()),
		Else: clause.Lost,
	}
	if !since.IsZero() {
		w.Do = append(w.Do, attrSince.Set(attrSince.Or(millis(since))))
	}
	return w
}

// unnumbered asks that the holder's fenced transaction of that number, and later ones, were not made.
func unnumbered(id string, call int64) clause.Cond {
	made := entry(id).Field(attr.Made)
	return clause.Any(made.Absent(), made.Less(integer(call))).As("transaction not made")
}

// Downgrade lets a holder that is alone share its lock. next is the number of its next fenced transaction.
func Downgrade(id string, t ticket.Number, next int64) clause.Write {
	return clause.Write{
		Name: "DOWNGRADE",
		If:   append(holds(id, t), alone(), unnumbered(id, next)),
		Do:   []clause.Change{attrHoldMode.Set(shared), entry(id).Field(attr.Mode).Set(shared)},
		Made: append(holds(id, t), entry(id).Field(attr.Mode).Equal(shared)), Else: clause.Lost,
	}
}

// SetData replaces the data of a holder by its call of that number.
func SetData(id string, t ticket.Number, call int64, data []byte) clause.Write {
	attrData, set := entry(id).Field(attr.Data), entry(id).Field(attr.DataSet)
	change := attrData.Remove()
	if len(data) > 0 {
		change = attrData.Set(clause.V(&types.AttributeValueMemberB{Value: data}))
	}
	return clause.Write{
		Name: "SETDATA",
		If:   append(holds(id, t), clause.Any(set.Absent(), set.AtMost(integer(call))).As("not late")),
		Do:   []clause.Change{set.Set(integer(call)), change},
		Made: append(holds(id, t), set.AtLeast(integer(call+1))), Else: clause.Lost,
	}
}

// Fence is the condition by which a write of the caller's is made only while the holder id has the lock with ticket
// t. For a holder that is alone it also asks that no later ticket was granted. So after a downgrade a late write is
// refused once another holder has joined.
func Fence(id string, t ticket.Number, alone bool) clause.Write {
	return clause.Write{Name: "FENCE", Kind: clause.Check, If: fence(id, t, alone)}
}

func fence(id string, t ticket.Number, alone bool) []clause.Cond {
	if alone {
		return []clause.Cond{isHolder(id), latest(t).As("no later ticket"), servedAs(id, t)}
	}
	return []clause.Cond{isHolder(id), servedAs(id, t)}
}

// NumberedFence is Fence for one numbered transaction of the holder. It uses the number call up, so a copy of it is
// refused, however late it arrives.
func NumberedFence(id string, t ticket.Number, alone bool, call int64) clause.Write {
	return clause.Write{
		Name: "FENCE",
		If:   append(fence(id, t, alone), unnumbered(id, call)),
		Do:   []clause.Change{entry(id).Field(attr.Made).Set(integer(call))},
	}
}

// Settle uses up the number of a transaction, so that an attempt still under way is refused.
func Settle(id string, t ticket.Number, call int64) clause.Write {
	return clause.Write{
		Name:   "SETTLE",
		Repeat: clause.BySender, // each refusal shows the outcome, for which its sender has a second
		If:     append(fence(id, t, false), unnumbered(id, call)),
		Do:     []clause.Change{entry(id).Field(attr.Made).Set(integer(call + 1))},
	}
}

// makeIdle leaves a record that serves the next TAKE at once. If at is not zero, the table's TTL may delete it then: it
// has no holder and no outstanding ticket, and the next request for a ticket keeps it.
func makeIdle(at time.Time) []clause.Change {
	changes := []clause.Change{attrGranted.Set(attrTicketNumber.Was()),
		attrHolders.Remove(), attrServingAfter.Remove(), attrHoldMode.Remove()}
	if at.IsZero() {
		return changes
	}
	return append(changes, clause.Expires.Set(integer(at.Unix()+1)))
}

// Reset makes a queue without holders and outstanding tickets serve the next TAKE at once. t must be the last ticket
// that was granted to the caller. With another one, a live waiter could be overtaken.
func Reset(t ticket.Number, forget time.Time) clause.Write {
	conds := []clause.Cond{noHolder().As("no holder"), noneOutstanding(t)}
	return clause.Write{Name: "RESET", If: conds, Do: makeIdle(forget)}
}

// leaves are the conditions of RELEASE in one of its forms, beside those that depend on what it writes.
func (e Ending) leaves(f Form) clause.Write {
	w := clause.Write{Name: "RELEASE", If: []clause.Cond{isHolder(e.ID), servedAs(e.ID, e.Ticket)}}
	if f == FormFast {
		w.If = []clause.Cond{isHolder(e.ID), alone(), noneOutstanding(lastOf(e.Ticket, e.Turns)), servedAs(e.ID, e.Ticket)}
	}
	return w
}

// Release is RELEASE in one of its forms. Each leaves a mark. forget is when the table's TTL may delete an idle record.
func (e Ending) Release(f Form, forget time.Time) clause.Write {
	// A release without an answer may end the turn at any later time. Its sender must know that: it has other writes
	// to send, and the caller's condition to judge. The release of a lost lock may be repeated freely.
	w := e.leaves(f)
	w.Repeat = clause.BySender
	if e.Lost {
		w.Repeat = clause.Freely
	}
	switch f {
	case FormFast:
		w.Do = makeIdle(forget)
	case FormClose:
		w.Do = e.Closed.changes(e.ID, e.Ticket)
	default:
		w.Do = []clause.Change{entry(e.ID).Remove()}
	}
	w.Do = append(w.Do, attrReleased.Set(clause.V(Released{ID: e.ID, Ticket: e.Ticket, Call: e.Call}.attribute())))
	if e.HoldTime != (HoldTime{}) {
		w.Do = append(w.Do, attrTurn.Set(clause.V(e.HoldTime.attribute())))
	}
	switch {
	case f == FormPass && e.Next.New:
		last := attrTicketNumber.Equal(number(e.Next.Ticket.Previous()))
		w.Name, w.If = "RETAKE", append(w.If, alone(), last.As("none outstanding"))
		w.Do = append(w.Do, Claim(e.Next.Entry, e.Next.Ticket).Do...)
		w.Do = append(w.Do, attrTicketNumber.Set(number(lastOf(e.Next.Ticket, e.Next.Entry.Turns))))
	case f == FormPass:
		w.Name, w.If = "PASS", append(append(w.If, alone()), claimable(e.Next.Ticket)...)
		w.Do = append(w.Do, Claim(e.Next.Entry, e.Next.Ticket).Do...)
	}
	if e.Result != nil {
		w.Do = append(w.Do, attrResult.Set(clause.V(e.Result.attribute())))
	}
	w = e.unsettle(w)
	if e.Unmade > 0 {
		w.If = append(w.If, unnumbered(e.ID, e.Unmade))
	}
	return w
}

// unsettle adds the times to a release, and their condition.
func (e Ending) unsettle(w clause.Write) clause.Write {
	switch {
	case e.Unsettled.IsZero() && len(e.Settled) > 0:
		w.Do = append(w.Do, attrUnsettled.Delete(clause.Times(e.Settled...)))
		return w
	case e.Unsettled.IsZero():
		return w
	}
	added := clause.Times(e.Unsettled)
	switch {
	case e.Replaces:
		w.Do = append(w.Do, attrUnsettled.Set(clause.V(added)))
		return w
	case len(e.Crowd) > 0:
		w.Do = append(w.Do, attrUnsettled.Set(clause.V(added)))
		w.If = append(w.If, attrUnsettled.Equal(clause.V(clause.Times(e.Crowd...))).As("times as read"))
		return w
	case e.Bounded:
		w.If = append(w.If, clause.Any(attrUnsettled.Absent(), attrUnsettled.SizeLess(integer(MaxUnsettled))).As("few times"))
	}
	w.Do = append(w.Do, attrUnsettled.Add(added))
	return w
}

// Evict removes holders whose leases have ended, all or none, each only if its beat is still the one that was judged.
// The mark is of the last one, unless that is a closed entry: its turn has ended by a release.
func Evict(mark Eviction, holders ...Holder) clause.Write {
	w := clause.Write{Name: "EVICT"}
	for _, h := range holders {
		w.If = append(w.If, entry(h.ID).Field(attr.Beat).Equal(integer(h.Lease.Beat)).As("beat as read"))
		w.Do = append(w.Do, entry(h.ID).Remove())
	}
	last := holders[len(holders)-1]
	w.If = append(w.If, asRead(last)...)
	if !last.Closed {
		w.Do = append(w.Do, attrEvicted.Set(clause.V(mark.attribute())))
	}
	return w
}

// EvictFailClosed removes a fail-closed holder without a lease.
func EvictFailClosed(mark Eviction, h Holder) clause.Write {
	failClosed := entry(h.ID).Field(attr.FailClosed).Equal(clause.V(&types.AttributeValueMemberBOOL{Value: true}))
	endless := entry(h.ID).Field(attr.TTL).Absent()
	return clause.Write{
		Name: "EVICT of a fail-closed holder",
		If:   append([]clause.Cond{failClosed.As("fail closed"), endless.As("no lease")}, asRead(h)...),
		Do:   []clause.Change{entry(h.ID).Remove(), attrEvicted.Set(clause.V(mark.attribute()))},
	}
}

// Remove removes ids of unknown outcome.
func Remove(ids ...string) clause.Write {
	w := clause.Write{Name: "CLEAN UP"}
	var present []clause.Cond
	for _, id := range ids {
		present = append(present, entry(id).Exists())
		w.Do = append(w.Do, entry(id).Remove())
	}
	w.If = []clause.Cond{clause.Any(present...).As("one is there")}
	return w
}
