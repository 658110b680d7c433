package serving

import (
	"time"

	"github.com/queuelock/queuelock/internal/clause"
	"github.com/queuelock/queuelock/ticket"
)

// The writes, without a table to send them to.

// TakeRider is what TAKE adds to the increment of the counter.
func TakeRider(e Entry, idleOnly bool) ticket.Rider {
	return ticket.Rider{Name: "TAKE", If: takes(e.Mode, idleOnly), Do: e.serve}
}

func EnterWrite(e Entry, t ticket.Number, s ticket.Scope, idleOnly bool) clause.Write {
	return e.enter(t, s, idleOnly)
}
func ClaimWrite(e Entry, t ticket.Number) clause.Write                  { return e.claim(t) }
func ResumeWrite(e Entry, old Holder, mark Evicted) clause.Write        { return e.resume(old, mark) }
func HeartbeatWrite(r Renewal, id string, t ticket.Number) clause.Write { return r.heartbeat(id, t) }
func ConfirmWrite(id string, t ticket.Number, since time.Time) clause.Write {
	return confirm(id, t, since)
}
func DowngradeWrite(id string, t ticket.Number, next int64) clause.Write {
	return downgrade(id, t, next)
}
func SetDataWrite(id string, t ticket.Number, call int64, data []byte) clause.Write {
	return setData(id, t, call, data)
}
func FenceCheck(id string, t ticket.Number, alone bool) clause.Write {
	return clause.Write{Name: "FENCE", Kind: clause.Check, If: fence(id, t, alone)}
}
func NumberedFenceWrite(id string, t ticket.Number, alone bool, call int64) clause.Write {
	return numberedFence(id, t, alone, call)
}
func SettleWrite(id string, t ticket.Number, call int64) clause.Write { return settle(id, t, call) }
func ResetWrite(t ticket.Number, forget time.Time) clause.Write       { return reset(t, forget) }
func ReleaseWrite(e Ending, f Form, withTurn bool, forget time.Time) clause.Write {
	return e.release(f, withTurn, forget)
}
func EvictWrite(mark Evicted, holders ...Holder) clause.Write  { return evict(mark, holders...) }
func EvictFailClosedWrite(mark Evicted, h Holder) clause.Write { return evictFailClosed(mark, h) }
func RemoveWrite(ids ...string) clause.Write                   { return remove(ids...) }
