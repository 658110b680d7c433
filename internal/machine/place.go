package machine

import (
	"fmt"
	"slices"
	"time"

	"github.com/queuelock/queuelock/clause"
	"github.com/queuelock/queuelock/queue"
)

// Place is the machine of a waiter's row, from ENQUEUE to its delete:
//
//	absent ──► putting ──► there ◄──► renewing        deleting ──► gone
//	   ▲          │          │                           ▲
//	   └──────────┴──────────┘                           └── from any, after PlaceLeave
//	   it failed, or had no answer; its lease has ended, or it was swept
//
//	absent, there ──► keeping ──► gone, after PlaceStay: the row stays in the table
//
// It has at most one request under way, so that no HEARTBEAT, second ENQUEUE or delete is sent while an ENQUEUE is
// unanswered. Each ENQUEUE has a new id. Those of the ENQUEUEs before count as its own.
type Place struct {
	Row    queue.Waiter // as it was put last, since the first time; with the id that is in the table, once that is known
	items  *queue.Items
	prefix string   // of the row's ids
	from   []string // prefixes of the id of the row that is resumed; none after that

	state     placeState
	ids       []string   // of ENQUEUEs, the last maxRowIDs; all but the last may arrive late
	there     string     // the id that the row had when it was last seen in the table; empty: it never was, or was swept
	puts      int        // the number of all
	ends      []leaseEnd // of the leases that the row may have
	inserted  bool       // the row was put
	unsure    bool       // an ENQUEUE has failed, or had no answer
	swept     bool       // a HEARTBEAT has found no row since it was put
	below     bool       // see Below
	held      bool       // see Hold
	withdrawn bool       // the row is to be deleted
	keeps     bool       // the row is to stay in the table, with the lease of kept
	kept      PlaceEvent
	stays     bool // it may be there, for a process that resumes the place
	sure      bool // it is, with that lease
}

type placeState uint8

const (
	rowAbsent placeState = iota
	rowPutting
	rowThere
	rowRenewing
	rowFailed  // it cannot be put
	rowKeeping // its last lease is written, or it is put with that
	rowDeleting
	rowGone
)

// leaseEnd is the end of a lease, and when the request was sent that writes it.
type leaseEnd struct{ until, sent time.Time }

// maxRowIDs bounds the ids of a row. Older ones count as those of another, but for that of the row in the table.
const maxRowIDs = 40

// NewPlace returns the machine of a row with ids of that prefix. from are the prefixes that the id of a row to replace
// may have; none: there is no such row.
func NewPlace(items *queue.Items, row queue.Waiter, prefix string, from []string) Place {
	return Place{Row: row, items: items, prefix: prefix, from: from}
}

// PlaceEvent is what has happened to a row.
type PlaceEvent struct {
	Is PlaceEventKind
	// With PlacePut, PlaceRenew and PlaceStay: the lease that begins or goes on with a request sent now, and the host's
	// time. Of a lease that goes on, the end counts.
	Lease           queue.Lease
	CreatedAt, Sent time.Time
	Reply           Reply  // with PlaceReply: to the request under way
	ID              string // with PlaceReply: the row's id, if it was put before
}

// PlaceEventKind is a kind of [PlaceEvent].
type PlaceEventKind uint8

// The events.
const (
	PlacePut    PlaceEventKind = iota // it is time to put the row, and the waiter is active
	PlaceGiveUp                       // the row is not to be tried any more
	PlaceRenew                        // it is time to renew its lease
	// its lease has ended by the waiter's own clock, or it was swept; no HEARTBEAT is under way any more
	PlaceLost
	PlaceReply // a request was answered, or will not be
	PlaceEnd   // the caller waits no longer: PlaceLeave, unless the row is held
	PlaceLeave // the row is not needed any more
	PlaceStay  // the caller waits no longer, and the row stays: no renewal follows
)

// PlaceTodo is what to do next with a row.
type PlaceTodo struct {
	Do    PlaceAction
	Write clause.Write // with PlaceSend
	First bool         // after the answer that shows the row in the table for the first time
	Fresh bool         // with PlaceKeep: the lease is that of the last PlacePut, and not of an ENQUEUE before
}

// PlaceAction is what to do.
type PlaceAction uint8

// The actions.
const (
	PlaceWait  PlaceAction = iota // nothing, until the next event
	PlaceSend                     // send the write, and say what came of it
	PlaceAgain                    // PlacePut, as soon as the waiter is active
	PlaceRetry                    // PlacePut after a pause, or PlaceGiveUp
	PlaceKeep                     // the row is in the table: PlaceRenew in time
	PlaceFail                     // the row cannot be put: the waiter's wait has failed
	PlaceOver                     // nothing follows
)

// Step takes what has happened, and returns what to do. An event that has no meaning any more changes nothing.
func (p *Place) Step(e PlaceEvent) PlaceTodo {
	switch {
	case e.Is == PlaceReply:
		return p.answered(e)
	case e.Is == PlaceLeave, e.Is == PlaceEnd && !p.held:
		p.keeps, p.withdrawn = false, true
		return p.leave()
	case e.Is == PlaceStay && !p.withdrawn && !p.keeps:
		p.keeps, p.kept = true, e
		return p.keep()
	case e.Is == PlacePut && p.state == rowAbsent:
		if p.swept && p.below {
			return p.leave()
		}
		return p.put(rowPutting, e)
	case e.Is == PlaceRenew && p.state == rowThere:
		p.state = rowRenewing
		p.writes(e.Lease.Until, e.Sent)
		return PlaceTodo{Do: PlaceSend, Write: p.Row.Renew(e.Lease.Until, e.Sent)}
	case e.Is == PlaceLost && p.state == rowThere:
		p.state = rowAbsent
		return PlaceTodo{Do: PlaceAgain}
	case e.Is == PlaceGiveUp && p.state == rowAbsent:
		p.state = rowFailed
		return PlaceTodo{Do: PlaceFail}
	}
	return PlaceTodo{}
}

// put sends ENQUEUE with a new id.
func (p *Place) put(as placeState, e PlaceEvent) PlaceTodo {
	p.state, p.swept = as, false
	p.Row.ID = fmt.Sprintf("%s-r%d-%s", p.prefix, p.puts, p.Row.Ticket)
	if p.Row.Lease = e.Lease; p.Row.CreatedAt.IsZero() { // one that is put again has waited for longer
		p.Row.CreatedAt = e.CreatedAt
	}
	p.puts++
	p.writes(e.Lease.Until, e.Sent)
	w := queue.Enqueue(p.Row.Item(*p.items), p.from, p.ids...)
	p.remember(p.Row.ID)
	return PlaceTodo{Do: PlaceSend, Write: w}
}

// remember adds an id of the row, in place of the oldest one if there are many.
func (p *Place) remember(id string) {
	if p.ids = append(p.ids, id); len(p.ids) > maxRowIDs {
		oldest := 0
		if p.ids[0] == p.there {
			oldest = 1
		}
		p.ids = slices.Delete(p.ids, oldest, oldest+1)
	}
}

// answered is what the answer to the request under way means.
func (p *Place) answered(e PlaceEvent) PlaceTodo {
	before, do := p.state, PlaceTodo{}
	switch lost := e.Reply == ReplyRefusedForGood || e.Reply == ReplyRefused; {
	case before == rowDeleting:
		p.state = rowGone
		return PlaceTodo{Do: PlaceOver}
	case before == rowKeeping && !p.keeps:
		p.state, p.unsure = rowThere, true
	case before == rowKeeping:
		return p.keepAnswered(e)
	case before == rowPutting && lost: // another row has the ticket
		p.state, do = rowFailed, PlaceTodo{Do: PlaceFail}
	case before == rowPutting && e.Reply > ReplyMade:
		p.state, p.unsure, do = rowAbsent, true, PlaceTodo{Do: PlaceRetry}
	case before == rowPutting:
		do = PlaceTodo{Do: PlaceKeep, First: !p.inserted, Fresh: e.Reply == ReplyApplied || e.ID == p.Row.ID}
		if e.Reply == ReplyMade {
			p.Row.ID = e.ID
		}
		p.state, p.inserted, p.from, p.there = rowThere, true, nil, p.Row.ID
	case before == rowRenewing: // PlaceLost follows if it is lost
		if p.state, p.swept = rowThere, lost; lost {
			p.there = ""
		}
	}
	first := do.First
	switch {
	case p.keeps:
		do = p.keep()
	case p.withdrawn:
		do = p.leave()
	}
	do.First = first
	return do
}

// leave deletes the row with any of its ids, once no other request is under way.
func (p *Place) leave() PlaceTodo {
	switch p.state {
	case rowPutting, rowRenewing, rowKeeping, rowDeleting, rowGone:
		return PlaceTodo{}
	}
	if len(p.ids) == 0 || p.swept && !p.unsure {
		p.state = rowGone
		return PlaceTodo{Do: PlaceOver}
	}
	p.state = rowDeleting
	return PlaceTodo{Do: PlaceSend, Write: queue.Leave(p.ids...)}
}

// keep writes the last lease of the row, once no other request is under way. One that is missing is put with it, unless
// its ticket is worth nothing.
func (p *Place) keep() PlaceTodo {
	switch e := p.kept; {
	case p.state == rowThere:
		p.state = rowKeeping
		return PlaceTodo{Do: PlaceSend, Write: p.Row.Keep(e.Lease, e.CreatedAt)}
	case p.state == rowFailed, p.state == rowAbsent && (p.below || !p.Row.KeptSince.IsZero()):
		p.keeps, p.withdrawn = false, true
		return p.leave()
	case p.state == rowAbsent:
		p.Row.KeptSince = e.CreatedAt
		return p.put(rowKeeping, e)
	}
	return PlaceTodo{}
}

// keepAnswered is what the answer to the last lease means. Without one the row may have the lease before.
func (p *Place) keepAnswered(e PlaceEvent) PlaceTodo {
	switch r := e.Reply; {
	case r == ReplyMade && e.ID != p.Row.ID: // by an ENQUEUE before, with the lease of that
		p.state, p.Row.ID = rowThere, e.ID
		return p.keep()
	case r < ReplyFailed && r != ReplyApplied && r != ReplyMade: // it was swept, or is of another
		p.state, p.there = rowAbsent, ""
		return p.keep()
	default:
		p.state, p.stays, p.sure = rowGone, true, r < ReplyFailed
		return PlaceTodo{Do: PlaceOver}
	}
}

// Keeps reports whether the row is to stay, or does.
func (p *Place) Keeps() bool { return p.keeps }

// Stays reports whether the row is left in the table for a process that resumes the place, and whether it surely has
// the last lease.
func (p *Place) Stays() (stays, sure bool) { return p.stays, p.sure }

// writes remembers the end of a lease that is written, and drops those that are over.
func (p *Place) writes(until, sent time.Time) {
	p.ends = slices.DeleteFunc(p.ends, func(old leaseEnd) bool { return sent.Sub(old.sent) > p.Row.Lease.TTL })
	p.ends = append(p.ends, leaseEnd{until, sent})
}

// Sent returns when the first request was sent that wrote a lease with that end: an entry granted by name has the lease
// of the row as it was read.
func (p *Place) Sent(until time.Time) (at time.Time, known bool) {
	for _, end := range p.ends {
		if end.until.UnixMilli() == until.UnixMilli() {
			return end.sent, true
		}
	}
	return at, false
}

// Below says whether the waiter's ticket is at or below the floor, as it last saw it: a row that is swept then is not
// put again.
func (p *Place) Below(floor bool) { p.below = floor }

// Hold keeps the row beyond the caller's wait, until PlaceLeave, or until its lease is lost: it is then not put again.
// It returns false if the row is being deleted because the wait has ended.
func (p *Place) Hold() bool {
	p.held, p.below = p.held || !p.withdrawn, true
	return !p.withdrawn
}

// Left reports whether the row is to be deleted, or is.
func (p *Place) Left() bool { return p.withdrawn }
