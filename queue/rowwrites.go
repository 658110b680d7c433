package queue

import (
	"time"

	"github.com/queuelock/queuelock/clause"
	"github.com/queuelock/queuelock/internal/attr"
)

// The attributes of a row that its writes ask for.
var (
	attrID    = clause.At(attr.ID)
	attrBeat  = clause.At(attr.Beat)
	attrUntil = clause.At(attr.Until)
	attrTTL   = clause.At(attr.TTL)
	attrKept  = clause.At(attr.Kept)
)

func hasID(id string) clause.Cond { return attrID.Equal(clause.V(clause.String(id))) }

// Enqueue puts a row if there is none for its ticket, or one whose id has one of the prefixes from. earlier are the ids
// of attempts that had no answer.
func Enqueue(item clause.Item, from []string, earlier ...string) clause.Write {
	ids := []clause.Operand{clause.V(item[attr.ID])}
	for _, id := range earlier {
		if id != "" {
			ids = append(ids, clause.V(clause.String(id)))
		}
	}
	w := clause.Write{
		Name: "ENQUEUE", Kind: clause.Put, If: []clause.Cond{clause.Key.Absent().As("no row")}, Item: item,
		Made: []clause.Cond{attrID.OneOf(ids...)}, Else: clause.Lost,
	}
	if len(from) > 0 {
		w.Name = "RESUME of a row"
		w.If = []clause.Cond{clause.Any(append(named(from), clause.Key.Absent())...).As("no row of another")}
	}
	return w
}

// Renew renews the lease of a row to until, on DynamoDB's clock; zero leaves it as it is. now is the host's time. The
// last condition refuses a late one (as of Renewal.Heartbeat).
func (w Waiter) Renew(until, now time.Time) clause.Write {
	expires := clause.Expires.Set(clause.V(w.expiresAt(until, now)))
	renew := clause.Write{
		Name: "HEARTBEAT of a row",
		If:   []clause.Cond{hasID(w.ID).As("its id")},
		Do:   []clause.Change{attrBeat.Set(attrBeat.Was().Plus(clause.Int(1))), expires},
		Made: []clause.Cond{hasID(w.ID)}, Else: clause.Lost,
	}
	if !until.IsZero() {
		end := clause.V(clause.Int(until.UnixMilli()))
		renew.If = append(renew.If, clause.Any(attrUntil.Absent(), attrUntil.AtMost(end)).As("not late"))
		renew.Do = append(renew.Do, attrUntil.Set(end))
	}
	return renew
}

// Keep gives a row a lease of another length, for a waiter that ends and keeps its place. since is DynamoDB's time, or
// the host's. No renewal follows: the end of the lease refuses a late one.
func (w Waiter) Keep(l Lease, since time.Time) clause.Write {
	w.Lease = l
	keep := clause.Write{
		Name: "KEEP",
		If:   []clause.Cond{hasID(w.ID).As("its id")},
		Do: []clause.Change{
			attrBeat.Set(attrBeat.Was().Plus(clause.Int(1))), attrTTL.Set(clause.V(clause.Int(l.TTL.Milliseconds()))),
			attrKept.Set(clause.V(clause.Int(since.UnixMilli()))), clause.Expires.Set(clause.V(w.expiresAt(l.Until, since))),
		},
		Made: []clause.Cond{hasID(w.ID)}, Else: clause.Lost,
	}
	if l.Until.IsZero() { // by observation, it counts from now
		keep.Do = append(keep.Do, attrUntil.Remove())
	} else {
		keep.Do = append(keep.Do, attrUntil.Set(clause.V(clause.Int(l.Until.UnixMilli()))))
	}
	return keep
}

// Leave deletes a row that has one of the ids.
func Leave(ids ...string) clause.Write {
	var conds []clause.Cond
	for _, id := range ids {
		conds = append(conds, hasID(id))
	}
	its := clause.Any(conds...).As("its id")
	return clause.Write{Name: "CLEAN UP of a row", Kind: clause.Delete, If: []clause.Cond{its}}
}

// Quit deletes the row of a handle, whatever process has put it.
func Quit(h Handle) clause.Write {
	its := clause.Any(named(h.IDs())...).As("its id")
	return clause.Write{Name: "LEAVE", Kind: clause.Delete, If: []clause.Cond{its}}
}

// named asks that the id of a row has one of the prefixes.
func named(ids []string) (conds []clause.Cond) {
	for _, id := range ids {
		conds = append(conds, attrID.BeginsWith(clause.V(clause.String(id+"-"))))
	}
	return conds
}

// Sweep deletes another owner's row as it was read. A row without beat and id would seem unchanged if it is missing.
func (w Waiter) Sweep() clause.Write {
	return clause.Write{Name: "SWEEP", Kind: clause.Delete, If: []clause.Cond{
		clause.Key.Exists().As("there"), as(w.raw, attr.Beat).As("beat as read"), as(w.raw, attr.ID).As("id as read"),
	}}
}

// as asks that an attribute is as in the item, also if it is missing. So rows of other programs are swept with care.
func as(item clause.Item, attribute string) clause.Cond {
	if v, ok := item[attribute]; ok {
		return clause.At(attribute).Equal(clause.V(v))
	}
	return clause.At(attribute).Absent()
}
