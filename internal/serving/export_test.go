package serving

import (
	"time"

	"github.com/queuelock/queuelock/internal/clause"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
)

// The writes, for the tests that draw their arguments.
var (
	WriteConfirm         = confirm
	WriteDowngrade       = downgrade
	WriteSetData         = setData
	WriteFence           = fence
	WriteNumberedFence   = numberedFence
	WriteSettle          = settle
	WriteReset           = reset
	WriteEvict           = evict
	WriteEvictFailClosed = evictFailClosed
	WriteRemove          = remove
)

func (e Entry) WriteTake(base ticket.Number, idleOnly bool) clause.Write {
	return ticket.Master{Attribute: queue.AttrTicketNumber}.Take(ticket.Rider{If: takes(e.Mode, idleOnly), Do: e.serve}, base).Write
}

func (e Entry) WriteEnter(t ticket.Number, s ticket.Scope, idleOnly bool) clause.Write {
	return e.enter(t, s, idleOnly)
}
func (e Entry) WriteClaim(t ticket.Number) clause.Write                  { return e.claim(t) }
func (e Entry) WriteResume(old Holder, mark Evicted) clause.Write        { return e.resume(old, mark) }
func (r Renewal) WriteHeartbeat(id string, t ticket.Number) clause.Write { return r.heartbeat(id, t) }
func (e Ending) WriteRelease(f Form, forget time.Time) clause.Write {
	return e.release(f, true, forget)
}

// Read returns the holder with what the record says of its entry.
func (h Holder) Read(claimed, numbered bool) Holder {
	h.claimed, h.numbered = claimed, numbered
	return h
}
