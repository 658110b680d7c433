// Package audit watches an engine, request by request, and says when the
// serving record or the queue breaks an invariant of the protocol. It is used
// by tests only.
//
// It stands between the network and the engine, lets one request through at a
// time, and compares what stands in the table before and after. So it judges
// what is in the table, not what clients say or believe, and sees late and
// repeated requests at the moment they are applied:
//
//   - exclusion: never more than one holder in a record;
//   - fencing: tickets of successive grants strictly increase;
//   - order: nobody is granted a ticket that was issued after a live row with
//     a lower ticket, above the floor, already stood in the queue, and the
//     floor rises with a grant only, to the ticket granted;
//   - life: no row, and no holder, is removed by somebody else before its lease
//     has ended (if Actor says who sends what);
//   - the end and the beats of a lease that stands never fall;
//   - the counter and the floor never fall, and a record never disappears.
//
// It does not know the protocol's operations: a change by any means is judged.
package audit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"time"
)

// Audit is an http.Handler in front of an engine.
type Audit struct {
	// Actor says who sent a request, as an owner is named: it is the whole of
	// the owner's name, or what stands in it before a slash. An actor with an
	// empty name may remove anything. Nil: lives are not judged. To be set
	// before the first request, as Granted.
	Actor func(*http.Request) string

	// Granted is called for each grant, after it was made and before it is
	// answered, with the queue's name, "entity reason". It must not send
	// requests.
	Granted func(queue, ticket, owner string)

	engine http.Handler
	table  string
	now    func() time.Time

	mu         sync.Mutex
	items      map[[2]string]item // guarded by mu; the table as it is, by its keys
	requests   int                // guarded by mu
	actor      string             // guarded by mu; who sent the request at hand
	queues     map[string]*queue  // guarded by mu; by entity and reason
	violations []string           // guarded by mu
	leases     map[string]life    // guarded by mu; by id, also of what is gone
	grants     int                // guarded by mu
}

// queue is what is known of one queue.
type queue struct {
	exists  bool
	counter *big.Int
	floor   *big.Int
	last    *big.Int          // ticket of the last grant
	holders map[string]holder // ids now in the record
	issued  map[string]int    // ticket → request that issued it
	rows    map[string]*row   // ticket → its row
}

type row struct {
	since int // request that put it
	life
}

type holder struct {
	ticket string
	ghost  bool
	life
}

// life is a lease as it stands in the table.
type life struct {
	id    string
	owner string
	beat  string
	until time.Time // zero if the owner did not know the time
	ends  time.Time // a full lease after it was last renewed: whoever has watched it for as long may end it
}

// alive says that a lease has not ended, by its end or else by how long ago it
// was renewed.
func (l life) alive(now time.Time) bool {
	if l.until.IsZero() {
		return now.Before(l.ends)
	}
	return now.Before(l.until)
}

// lives reads the lease with that id. One that was removed, and put there once
// more by a request that came twice, is as old as it was: whoever watched it may
// have seen nothing of that.
func (a *Audit) lives(id string, it item) life {
	before := a.leases[id]
	l := life{id: id, owner: it["owner"].S, beat: it["beat"].N, until: millis(it["until"].N), ends: before.ends}
	if l.owner != before.owner || l.beat != before.beat || l.until != before.until {
		ttl := time.Duration(whole(it["ttl"].N).Int64()) * time.Millisecond
		l.ends = a.now().Add(ttl - ttl/1000) // the watcher's clock may be the faster one
	}
	a.leases[id] = l
	return l
}

// New watches a table of an engine. now is the engine's clock.
func New(engine http.Handler, tableName string, now func() time.Time) *Audit {
	return &Audit{engine: engine, table: tableName, now: now, items: map[[2]string]item{}, leases: map[string]life{}, queues: map[string]*queue{}}
}

// Holder is the owner and the ticket of the holder of a queue, "entity reason";
// empty if there is none.
func (a *Audit) Holder(queue string) (owner, ticket string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if q := a.queues[queue]; q != nil {
		for _, h := range q.holders {
			owner, ticket = h.owner, h.ticket
		}
	}
	return owner, ticket
}

// Traces lists what of an owner stands in the table: its rows and holders.
func (a *Audit) Traces(owner string) []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	var traces []string
	for key, q := range a.queues {
		for id, h := range q.holders {
			if h.owner == owner {
				traces = append(traces, fmt.Sprintf("holder %s of %s", id, key))
			}
		}
		for number, r := range q.rows {
			if r.owner == owner {
				traces = append(traces, fmt.Sprintf("row %s of %s", number, key))
			}
		}
	}
	slices.Sort(traces)
	return traces
}

// Violations lists what was broken, in order.
func (a *Audit) Violations() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.violations
}

// Grants counts the holders that were put into records.
func (a *Audit) Grants() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.grants
}

// ServeHTTP passes a request on, and compares the table before and after. A
// mutex is kept meanwhile: the engine answers at once.
func (a *Audit) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(fmt.Sprintf("audit: %v", err))
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	a.mu.Lock()
	defer a.mu.Unlock()
	answer := &status{ResponseWriter: w}
	a.engine.ServeHTTP(answer, r)
	if answer.code >= http.StatusBadRequest {
		return // refused: nothing was written
	}
	target := r.Header.Get("X-Amz-Target")
	switch operation := target[strings.IndexByte(target, '.')+1:]; operation {
	case "UpdateItem", "PutItem", "DeleteItem", "TransactWriteItems", "BatchWriteItem":
		a.requests++
		a.actor = ""
		if a.Actor != nil {
			a.actor = a.Actor(r)
		}
		a.refresh(operation, body)
		a.compare()
	}
}

// status is a ResponseWriter that remembers the status.
type status struct {
	http.ResponseWriter
	code int
}

func (s *status) WriteHeader(code int) {
	s.code = code
	s.ResponseWriter.WriteHeader(code)
}

type item map[string]struct {
	S, N string
	M    item
}

// action is a write as it stands in a request, or in one of its parts.
type action struct {
	TableName string
	Key, Item item
}

// refresh reads again what a request may have changed: the items that it names
// and that may be a queue's, or else the whole table.
func (a *Audit) refresh(operation string, body []byte) {
	var write struct {
		action
		TransactItems []struct{ Put, Update, Delete *action }
	}
	if err := json.Unmarshal(body, &write); err != nil {
		panic(fmt.Sprintf("audit: %v: %s", err, body))
	}
	if operation == "BatchWriteItem" || len(a.items) == 0 {
		a.scan()
		return
	}
	actions := []*action{&write.action}
	for _, part := range write.TransactItems {
		actions = append(actions, part.Put, part.Update, part.Delete)
	}
	for _, act := range actions {
		if act == nil || act.TableName != a.table {
			continue
		}
		key := act.Key
		if key == nil {
			key = act.Item
		}
		if pk, sk := key["pk"].S, key["sk"].S; strings.Contains(sk, "/") {
			a.read(pk, sk)
		}
	}
}

// read reads an item.
func (a *Audit) read(pk, sk string) {
	var out struct{ Item item }
	a.ask("GetItem", fmt.Sprintf(`{"TableName":%s,"Key":{"pk":{"S":%s},"sk":{"S":%s}},"ConsistentRead":true}`, quoted(a.table), quoted(pk), quoted(sk)), &out)
	if out.Item == nil {
		delete(a.items, [2]string{pk, sk})
		return
	}
	a.items[[2]string{pk, sk}] = out.Item
}

// scan reads the whole table.
func (a *Audit) scan() {
	clear(a.items)
	for start := ""; ; {
		var page struct {
			Items            []item
			LastEvaluatedKey json.RawMessage
		}
		a.ask("Scan", fmt.Sprintf(`{"TableName":%q,"ConsistentRead":true%s}`, a.table, start), &page)
		for _, it := range page.Items {
			a.items[[2]string{it["pk"].S, it["sk"].S}] = it
		}
		if len(page.LastEvaluatedKey) == 0 {
			return
		}
		start = `,"ExclusiveStartKey":` + string(page.LastEvaluatedKey)
	}
}

// ask sends a request of the audit's own to the engine.
func (a *Audit) ask(operation, body string, out any) {
	r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
	r.Header.Set("X-Amz-Target", "DynamoDB_20120810."+operation)
	r.Header.Set("Content-Type", "application/x-amz-json-1.0")
	w := httptest.NewRecorder()
	a.engine.ServeHTTP(w, r)
	if err := json.Unmarshal(w.Body.Bytes(), out); err != nil || w.Code != http.StatusOK {
		panic(fmt.Sprintf("audit: %s: status %d, %v: %s", operation, w.Code, err, w.Body))
	}
}

func quoted(s string) []byte {
	text, err := json.Marshal(s)
	if err != nil {
		panic(err) // a string is always encodable
	}
	return text
}

// compare looks at the table's items, and notes what they broke.
func (a *Audit) compare() {
	records := map[string]item{}
	rows := map[string]map[string]*row{}
	for _, it := range a.items {
		reason, padded, ok := strings.Cut(it["sk"].S, "/")
		if !ok {
			continue
		}
		key := it["pk"].S + " " + reason
		number := strings.TrimLeft(padded, "0")
		if number == "" {
			records[key] = it
			continue
		}
		if rows[key] == nil {
			rows[key] = map[string]*row{}
		}
		rows[key][number] = &row{life: a.lives(it["id"].S, it)}
	}
	for key, q := range a.queues {
		if _, ok := records[key]; q.exists && !ok {
			a.violate(key, "the record has disappeared")
			delete(a.queues, key)
		}
	}
	for key, it := range records {
		q := a.queues[key]
		if q == nil {
			q = &queue{
				exists: true, counter: new(big.Int), floor: new(big.Int), last: new(big.Int),
				holders: map[string]holder{}, issued: map[string]int{}, rows: map[string]*row{},
			}
			a.queues[key] = q
		}
		a.judge(key, q, it)
		for number, r := range q.rows {
			if rows[key][number] == nil {
				a.judgeRemoval(key, "the row of ticket "+number, r.life)
			}
		}
		for number, r := range rows[key] {
			r.since = a.requests
			if old := q.rows[number]; old != nil {
				r.since = old.since
				a.judgeRenewal(key, "the row of ticket "+number, old.life, r.life)
			}
		}
		q.rows = rows[key]
	}
}

// judge compares a record with what was known of its queue. q.rows are still
// those before the request.
func (a *Audit) judge(key string, q *queue, it item) {
	counter, granted := whole(it["ticketNumber"].N), whole(it["granted"].N)
	if counter.Cmp(q.counter) < 0 {
		a.violate(key, "the counter fell from %s to %s", q.counter, counter)
	}
	for n := new(big.Int).Set(q.counter); n.Cmp(counter) < 0; {
		n.Add(n, big.NewInt(1))
		q.issued[n.String()] = a.requests
	}
	q.counter = counter

	after, present := it["servingAfter"]
	servingAfter := whole(after.N)
	holders := it["holders"].M
	if len(holders) > 1 {
		a.violate(key, "%d holders at once: %v", len(holders), holders)
	}
	floorBefore := q.floor
	for id, h := range q.holders {
		if _, stands := holders[id]; !stands {
			if !h.ghost {
				a.judgeRemoval(key, "holder "+id, h.life)
			}
		}
	}
	now := map[string]holder{}
	highest := new(big.Int).Set(floorBefore)
	for id, entry := range holders {
		h, held := q.holders[id]
		before := h.life
		_, again := a.leases[id]
		h.life = a.lives(id, entry.M)
		if held {
			a.judgeRenewal(key, "holder "+id, before, h.life)
		}
		if held {
			now[id] = h
			continue
		}
		a.grants++
		ticket := new(big.Int).Add(servingAfter, big.NewInt(1))
		if t, ok := entry.M["ticket"]; ok {
			ticket = whole(t.N)
		}
		if ticket.Cmp(q.last) <= 0 {
			a.violate(key, "ticket %s was granted after ticket %s", ticket, q.last)
		}
		a.judgeOrder(key, q, ticket, floorBefore)
		q.last = ticket
		if ticket.Cmp(highest) > 0 {
			highest = ticket
		}
		// A TAKE or CLAIM that arrives once more puts its id there again: a ghost,
		// which is nobody's, and which who saw the id before may end at once.
		h.ghost = again
		h.ticket = ticket.String()
		now[id] = h
		if a.Granted != nil {
			a.Granted(key, h.ticket, h.owner)
		}
	}
	q.holders = now

	floor := granted
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

// judgeRenewal notes a lease that was set back while it stood: by a request that
// came late, or that wrote over somebody's row.
func (a *Audit) judgeRenewal(key, what string, before, now life) {
	if now.until.Before(before.until) {
		a.violate(key, "the end of %s of %s fell from %v to %v", what, now.owner, before.until, now.until)
	}
	if now.id == before.id && whole(now.beat).Cmp(whole(before.beat)) < 0 {
		a.violate(key, "the beats of %s of %s fell from %s to %s", what, now.owner, before.beat, now.beat)
	}
}

// judgeRemoval notes what was removed by somebody else while its lease ran.
func (a *Audit) judgeRemoval(key, what string, l life) {
	if a.Actor == nil || a.actor == "" || a.actor == l.owner || strings.HasPrefix(l.owner, a.actor+"/") {
		return
	}
	if now := a.now(); now.Before(l.until) && now.Before(l.ends) || l.until.IsZero() && now.Before(l.ends) {
		a.violate(key, "%s of %s was removed by %s, although it lives until %v and was renewed less than a lease ago", what, l.owner, a.actor, l.until)
	}
}

// judgeOrder looks for a live waiter that the grant of a ticket passed over.
func (a *Audit) judgeOrder(key string, q *queue, ticket, floor *big.Int) {
	for number, r := range q.rows {
		ahead := whole(number)
		if ahead.Cmp(ticket) >= 0 || ahead.Cmp(floor) <= 0 {
			continue
		}
		if r.since < q.issued[ticket.String()] && r.alive(a.now()) {
			a.violate(key, "ticket %s, issued by request %d, was granted before ticket %s, whose row stands since request %d and lives until %v",
				ticket, q.issued[ticket.String()], number, r.since, r.until)
		}
	}
}

func (a *Audit) violate(key, format string, args ...any) {
	a.violations = append(a.violations, fmt.Sprintf("%s, request %d, queue %q: ", a.now().Format("15:04:05.000"), a.requests, key)+fmt.Sprintf(format, args...))
}

func whole(s string) *big.Int {
	n, ok := new(big.Int).SetString(s, 10)
	if !ok {
		return new(big.Int)
	}
	return n
}

func millis(s string) time.Time {
	ms := whole(s)
	if ms.Sign() == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms.Int64())
}
