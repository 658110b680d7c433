package audit

import (
	"math/big"
	"strings"

	"github.com/queuelock/queuelock/internal/embedded/value"
)

// compare looks at the table's items, and notes what they broke.
func (a *Audit) compare() {
	records := map[string]value.Item{}
	rows := map[string]map[string]*row{}
	for _, it := range a.items {
		reason, padded, ok := strings.Cut(it["sk"].Text, "/")
		if !ok {
			continue
		}
		key := it["pk"].Text + " " + reason
		number := strings.TrimLeft(padded, "0")
		if number == "" {
			records[key] = it
			continue
		}
		if rows[key] == nil {
			rows[key] = map[string]*row{}
		}
		rows[key][number] = &row{turns: num(it["turns"]).Int64(), life: a.lives(it["id"].Text, it)}
	}
	for key, q := range a.queues {
		if _, ok := records[key]; q.exists && !ok {
			if !q.idle || a.actor != "" {
				a.violate(key, "the record has disappeared")
				delete(a.queues, key)
				continue
			}
			q.exists = false // and its tickets are known
		}
	}
	for key, it := range records {
		q := a.queues[key]
		if q == nil {
			q = &queue{
				counter: new(big.Int), floor: new(big.Int), last: new(big.Int), reach: new(big.Int),
				holders: map[string]holder{}, issued: map[string]int{}, rows: map[string]*row{}, places: map[string]place{},
			}
			a.queues[key] = q
		}
		a.judge(key, q, it)
		for number, r := range q.rows {
			if rows[key][number] == nil {
				a.judgeRemoval(key, "the row of ticket "+number, r.life)
				// A row that has expired may be swept by any waiter, and so by another one of its client.
				if p := q.places[r.owner]; p.ticket == number && strings.HasPrefix(r.owner, a.actor+"/") && whole(number).Cmp(q.floor) > 0 && a.runs(r.life) {
					q.places[r.owner] = place{number, true}
				}
			}
		}
		for number, r := range rows[key] {
			r.since = a.requests
			if old := q.rows[number]; old != nil {
				r.since = old.since
				if a.resumed(old.life, r.life) {
					continue
				}
				a.judgeRenewal(key, "the row of ticket "+number, old.life, r.life)
				continue
			}
			a.judgePlace(key, q, r.owner, number)
		}
		q.rows = rows[key]
		a.watch(q)
	}
}

// judge compares a record with what was known of its queue. q.rows are still
// those before the request.
func (a *Audit) judge(key string, q *queue, it value.Item) {
	a.judgeCounter(key, q, it)
	after, present := it["servingAfter"]
	q.idle = !present
	servingAfter := num(after)
	holders := it["holders"].Fields
	if crowded(it, holders) {
		a.violate(key, "%d holders at once: %v", len(holders), holders)
	}
	if id, other := numbered(it, holders); id != "" {
		a.violate(key, "holder %s has number %q, which is another one's (%s), or none of the permits", id, holders[id].Fields["slot"].Number, other)
	}
	a.judgeLeft(key, q, holders)
	floorBefore := q.floor
	highest := new(big.Int).Set(floorBefore)
	now := map[string]holder{}
	for id, entry := range holders {
		h, granted := a.judgeHolder(key, q, id, entry.Fields, servingAfter, holders)
		if granted {
			highest = a.judgeGrant(key, q, h, highest)
		} else if t := whole(h.ticket); t.Cmp(q.last) > 0 { // a later turn of a block was resumed
			q.last, highest = t, t
		}
		now[id] = h
	}
	q.holders = now
	if !present && q.reach.Cmp(highest) > 0 {
		highest = q.reach
	}
	floor := num(it["granted"])
	if next := new(big.Int).Add(servingAfter, big.NewInt(1)); present && next.Cmp(floor) > 0 {
		floor = next
	}
	if floor.Cmp(q.floor) < 0 {
		a.violate(key, "the floor fell from %s to %s", q.floor, floor)
	}
	if floor.Cmp(highest) > 0 {
		a.violate(key, "the floor rose from %s to %s, and the highest ticket granted is %s", q.floor, floor, highest)
	}
	q.floor = floor
}

// judgeCounter judges the counter and the scope, and notes which tickets were
// issued.
func (a *Audit) judgeCounter(key string, q *queue, it value.Item) {
	counter := num(it["ticketNumber"])
	if counter.Cmp(q.counter) < 0 {
		a.violate(key, "the counter fell from %s to %s", q.counter, counter)
	}
	scope, wide := it["scope"]
	if q.exists && scope.Text != q.scope {
		a.violate(key, "the scope changed from %q to %q", q.scope, scope.Text)
	}
	if wide && counter.Cmp(q.counter) > 0 {
		// Numbers between are of other queues, or not registered yet.
		q.issued[counter.String()] = a.requests
	}
	before := q.counter
	if !q.exists && counter.Sign() > 0 {
		before = new(big.Int).Sub(counter, big.NewInt(1)) // a new record begins at the time
	}
	for n := new(big.Int).Set(before); !wide && n.Cmp(counter) < 0; {
		n.Add(n, big.NewInt(1))
		q.issued[n.String()] = a.requests
	}
	q.exists, q.scope, q.counter = true, scope.Text, counter
}

// judgeLeft judges the holders that are in the record no more.
func (a *Audit) judgeLeft(key string, q *queue, holders value.Item) {
	for id, h := range q.holders {
		if _, present := holders[id]; present || h.ghost {
			continue
		}
		if q.left(h) {
			a.abandoned++
		} else if !a.succeeded(q, h, holders) {
			a.judgeRemoval(key, "holder "+id, h.life)
		}
		for _, t := range h.tickets(h.ticket) {
			if a.Removed != nil && !h.closed {
				a.Removed(a.request, key, t, h.owner)
			}
		}
	}
}

// judgeHolder judges the lease of a holder. It reports whether it was granted by
// this request: it was not there, and resumes no other.
func (a *Audit) judgeHolder(key string, q *queue, id string, entry value.Item, servingAfter *big.Int, holders value.Item) (h holder, granted bool) {
	h, held := q.holders[id]
	before := h.life
	_, again := a.leases[id]
	h.life = a.lives(id, entry)
	h.turns, h.reached = num(entry["turns"]).Int64(), text(entry["reached"])
	if held {
		if whole(h.reached).Cmp(whole(q.holders[id].reached)) < 0 {
			a.violate(key, "the turn of holder %s fell from %s to %s", id, q.holders[id].reached, h.reached)
		}
		a.judgeRenewal(key, "holder "+id, before, h.life)
		return h, false
	}
	ticket := new(big.Int).Add(servingAfter, big.NewInt(1))
	if t, ok := entry["ticket"]; ok {
		ticket = num(t)
	}
	h.ticket = ticket.String()
	if h.closed {
		if !q.held(h.ticket) {
			a.violate(key, "the queue is closed by ticket %s, which did not hold the lock", ticket)
		}
		return h, false
	}
	if a.succeeds(q, ticket, h.life, holders) {
		return h, false
	}
	// A TAKE or CLAIM that arrives once more puts its id there again. That entry is
	// orphaned, and a client that saw the id before may end it at once.
	h.ghost = again
	return h, true
}

// held reports whether the ticket was that of a turn in the record before.
func (q *queue) held(ticket string) bool {
	for _, h := range q.holders {
		if h.ticket == ticket && !h.closed {
			return true
		}
	}
	return false
}

// judgeGrant judges the ticket of a grant. It returns the highest ticket so far.
func (a *Audit) judgeGrant(key string, q *queue, h holder, highest *big.Int) *big.Int {
	ticket := whole(h.ticket)
	a.grants++
	if h.named {
		a.named++
	}
	if ticket.Cmp(q.last) <= 0 {
		a.violate(key, "ticket %s was granted after ticket %s", ticket, q.last)
	}
	a.judgeOrder(key, q, ticket, q.floor)
	q.last, q.reach = ticket, new(big.Int).Add(ticket, big.NewInt(max(h.turns, 1)-1))
	if ticket.Cmp(highest) > 0 {
		highest = ticket
	}
	if a.Granted != nil {
		a.Granted(key, h.ticket, h.owner)
	}
	return highest
}

// crowded says that more hold than may: of a semaphore, more than there are
// permits; of a lock, more than one, and not all of them share.
func crowded(record, holders value.Item) bool {
	if permits, semaphore := record["permits"]; semaphore {
		return big.NewInt(int64(len(holders))).Cmp(num(permits)) > 0
	}
	for _, entry := range holders {
		if entry.Fields["mode"].Text != "shared" && len(holders) > 1 {
			return true
		}
	}
	return false
}

// numbered returns a holder of a semaphore whose number another one has, or that is none of the permits'. An entry without
// one is that of an earlier version.
func numbered(record, holders value.Item) (id, other string) {
	permits, taken := num(record["permits"]), map[value.Number]string{}
	for id, entry := range holders {
		slot, ok := entry.Fields["slot"]
		if !ok {
			continue
		}
		if n := num(slot); taken[slot.Number] != "" || n.Sign() < 0 || n.Cmp(permits) >= 0 {
			return id, taken[slot.Number]
		}
		taken[slot.Number] = id
	}
	return "", ""
}

// resumed reports that the entry was taken over by a client that may.
func (a *Audit) resumed(old, now life) bool {
	return old.id != now.id && a.Resumes != nil && a.Resumes(old.owner, now.owner)
}

// succeeded says that another holder has resumed the one that is gone: it has the
// same ticket.
func (a *Audit) succeeded(q *queue, gone holder, holders value.Item) bool {
	for id, entry := range holders {
		next := life{id: id, owner: entry.Fields["owner"].Text}
		if _, before := q.holders[id]; !before && gone.has(text(entry.Fields["ticket"])) && a.resumed(gone.life, next) {
			return true
		}
	}
	return false
}

// succeeds says that a holder has resumed one that is gone.
func (a *Audit) succeeds(q *queue, ticket *big.Int, now life, holders value.Item) bool {
	for id, h := range q.holders {
		if _, stands := holders[id]; !stands && h.has(ticket.String()) && a.resumed(h.life, now) {
			return true
		}
	}
	return false
}

// judgeRenewal notes a lease that was set back before its end: by a late request, or by
// one that wrote over the row of another owner.
func (a *Audit) judgeRenewal(key, what string, before, now life) {
	if now.until.Before(before.until) && !now.endless {
		a.violate(key, "the end of %s of %s fell from %v to %v", what, now.owner, before.until, now.until)
	}
	if now.id == before.id && whole(now.beat).Cmp(whole(before.beat)) < 0 {
		a.violate(key, "the beats of %s of %s fell from %s to %s", what, now.owner, before.beat, now.beat)
	}
}

// judgeRemoval notes what another client removed while its lease ran.
func (a *Audit) judgeRemoval(key, what string, l life) {
	if a.Actor == nil || a.IgnoreLives || a.actor == "" || a.actor == l.owner || strings.HasPrefix(l.owner, a.actor+"/") {
		return
	}
	if l.endless {
		a.violate(key, "%s of %s was removed by %s, although it has no lease", what, l.owner, a.actor)
		return
	}
	if a.runs(l) {
		a.violate(key, "%s of %s was removed by %s, although it lives until %v and was renewed less than a lease ago", what, l.owner, a.actor, l.until)
	}
}

// runs says that no other client may end the lease yet, neither by its end nor by having observed it.
func (a *Audit) runs(l life) bool {
	now := a.now()
	return now.Before(l.ends) && (l.until.IsZero() || now.Before(l.until.Add(l.delay)))
}

// judgeOrder looks for a live waiter that the grant of a ticket passed over.
func (a *Audit) judgeOrder(key string, q *queue, ticket, floor *big.Int) {
	for number, r := range q.rows {
		ahead := whole(number)
		if ahead.Cmp(ticket) >= 0 || ahead.Cmp(floor) <= 0 {
			continue
		}
		if r.since < q.issued[ticket.String()] && r.alive(a.now()) {
			a.violate(key, "ticket %s, issued by request %d, was granted before ticket %s, whose row is there since request %d and lives until %v",
				ticket, q.issued[ticket.String()], number, r.since, r.until)
		}
	}
}

// judgePlace judges a new row: its waiter has given up its last ticket, which must not be above the floor. A row of an
// earlier ticket may arrive late.
func (a *Audit) judgePlace(key string, q *queue, owner, number string) {
	last := q.places[owner]
	if whole(number).Cmp(whole(last.ticket)) <= 0 {
		return
	}
	if a.Places != nil && a.Places(owner) && (last.givenUp || whole(last.ticket).Cmp(q.floor) > 0) {
		a.violate(key, "%s gave up its place with ticket %s before it was served or overtaken", owner, last.ticket)
	}
	q.places[owner] = place{ticket: number}
}
