package conditions

import (
	"time"

	"github.com/queuelock/queuelock/internal/clause"
	"github.com/queuelock/queuelock/internal/rows"
	"github.com/queuelock/queuelock/internal/serving"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
)

// The writes of the library, and what it reads from a record. Nothing else here names the packages that have them.

type (
	entry   = serving.Entry
	mode    = serving.Mode
	record  = serving.Record
	holder  = serving.Holder
	marks   = serving.Marks
	evicted = serving.Evicted
	ending  = serving.Ending
	next    = serving.Next
	form    = serving.Form
	renewal = serving.Renewal
)

const (
	fast    = serving.FormFast
	handOff = serving.FormHandOff
	pass    = serving.FormPass

	outcomeEvicted = serving.OutcomeEvicted

	madeYes   = serving.MadeYes
	madeNever = serving.MadeNever

	manyTimes = serving.MaxUnsettled
)

var (
	recordNames = clause.Names{Key: "pk", Expires: "expiresAt"}
	hostNames   = clause.Names{Key: "pk", Prefix: "lock_"}
)

// counterOf returns the counter of a queue's record, or of a wider scope.
func counterOf(n clause.Names) ticket.Master {
	return ticket.Master{Attribute: queue.AttrTicketNumber, Names: n, Host: n.Prefix != "", Beside: queue.RecordNames()}
}

// decode reads a record. An error says that clients cannot.
func decode(n clause.Names, item clause.Item) (record, error) {
	q := table.Queue{Store: table.NewStore(nil, table.Layout{PK: n.Key, SK: "sk", TTL: n.Expires}, 0), Entity: "e", Reason: "r"}
	if n.Prefix != "" {
		q.Home = &table.Home{Key: clause.Item{n.Key: nil}, Prefix: n.Prefix}
	}
	return serving.Decode(q, item)
}

func takeRider(e entry, idleOnly bool) ticket.Rider { return serving.TakeRider(e, idleOnly) }
func enterWrite(e entry, t ticket.Number, s ticket.Scope, idleOnly bool) clause.Write {
	return serving.EnterWrite(e, t, s, idleOnly)
}
func claimWrite(e entry, t ticket.Number) clause.Write { return serving.ClaimWrite(e, t) }
func resumeWrite(e entry, old holder, mark evicted) clause.Write {
	return serving.ResumeWrite(e, old, mark)
}
func heartbeatWrite(r renewal, id string, t ticket.Number) clause.Write {
	return serving.HeartbeatWrite(r, id, t)
}
func confirmWrite(id string, t ticket.Number, since time.Time) clause.Write {
	return serving.ConfirmWrite(id, t, since)
}
func downgradeWrite(id string, t ticket.Number, nextCall int64) clause.Write {
	return serving.DowngradeWrite(id, t, nextCall)
}
func setDataWrite(id string, t ticket.Number, call int64, data []byte) clause.Write {
	return serving.SetDataWrite(id, t, call, data)
}
func fenceCheck(id string, t ticket.Number, alone bool) clause.Write {
	return serving.FenceCheck(id, t, alone)
}
func fenceWrite(id string, t ticket.Number, alone bool, call int64) clause.Write {
	return serving.NumberedFenceWrite(id, t, alone, call)
}
func settleWrite(id string, t ticket.Number, call int64) clause.Write {
	return serving.SettleWrite(id, t, call)
}
func resetWrite(t ticket.Number, forget time.Time) clause.Write { return serving.ResetWrite(t, forget) }
func releaseWrite(e ending, f form, withTurn bool, forget time.Time) clause.Write {
	return serving.ReleaseWrite(e, f, withTurn, forget)
}
func evictWrite(mark evicted, holders ...holder) clause.Write {
	return serving.EvictWrite(mark, holders...)
}
func evictFailClosedWrite(mark evicted, h holder) clause.Write {
	return serving.EvictFailClosedWrite(mark, h)
}
func removeWrite(ids ...string) clause.Write { return serving.RemoveWrite(ids...) }

func enqueueWrite(item clause.Item, from string) clause.Write { return rows.EnqueueWrite(item, from) }
func renewWrite(id string, until time.Time) clause.Write {
	return rows.RenewWrite(id, until, clause.Int(until.Unix()))
}
func leaveWrite(ids ...string) clause.Write    { return rows.LeaveWrite(ids...) }
func sweepWrite(item clause.Item) clause.Write { return rows.SweepWrite(item) }
