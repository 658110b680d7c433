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
//     a lower ticket, above the floor, already stood in the queue;
//   - the counter and the floor never fall, and a record never disappears.
//
// It does not know the protocol's operations: a change by any means is judged.
package audit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"time"
)

// Audit is an http.Handler in front of an engine.
type Audit struct {
	engine http.Handler
	table  string
	now    func() time.Time

	mu         sync.Mutex
	requests   int               // guarded by mu
	queues     map[string]*queue // guarded by mu; by entity and reason
	violations []string          // guarded by mu
	grants     int               // guarded by mu
}

// queue is what is known of one queue.
type queue struct {
	exists  bool
	counter *big.Int
	floor   *big.Int
	last    *big.Int        // ticket of the last grant
	holders map[string]bool // ids now in the record
	ever    map[string]bool // ids ever granted
	issued  map[string]int  // ticket → request that issued it
	rows    map[string]*row // ticket → its row
}

type row struct {
	since int // request that put it
	until time.Time
}

// New watches a table of an engine. now is the engine's clock.
func New(engine http.Handler, tableName string, now func() time.Time) *Audit {
	return &Audit{engine: engine, table: tableName, now: now, queues: map[string]*queue{}}
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
	a.mu.Lock()
	defer a.mu.Unlock()
	a.engine.ServeHTTP(w, r)
	switch target := r.Header.Get("X-Amz-Target"); target[strings.IndexByte(target, '.')+1:] {
	case "UpdateItem", "PutItem", "DeleteItem", "TransactWriteItems", "BatchWriteItem":
		a.requests++
		a.compare(a.scan())
	}
}

type item map[string]struct {
	S, N string
	M    item
}

// scan reads the whole table.
func (a *Audit) scan() []item {
	var items []item
	start := json.RawMessage("null")
	for {
		body, err := json.Marshal(map[string]any{"TableName": a.table, "ConsistentRead": true, "ExclusiveStartKey": start})
		if err != nil {
			panic(err)
		}
		if string(start) == "null" {
			body = []byte(fmt.Sprintf(`{"TableName":%q,"ConsistentRead":true}`, a.table))
		}
		r := httptest.NewRequest(http.MethodPost, "/", bytes.NewReader(body))
		r.Header.Set("X-Amz-Target", "DynamoDB_20120810.Scan")
		r.Header.Set("Content-Type", "application/x-amz-json-1.0")
		w := httptest.NewRecorder()
		a.engine.ServeHTTP(w, r)
		var page struct {
			Items            []item
			LastEvaluatedKey json.RawMessage
		}
		if err := json.Unmarshal(w.Body.Bytes(), &page); err != nil || w.Code != http.StatusOK {
			panic(fmt.Sprintf("audit: scan: status %d, %v: %s", w.Code, err, w.Body))
		}
		items = append(items, page.Items...)
		if len(page.LastEvaluatedKey) == 0 {
			return items
		}
		start = page.LastEvaluatedKey
	}
}

// compare takes the table's items in, and notes what they broke.
func (a *Audit) compare(items []item) {
	records := map[string]item{}
	rows := map[string]map[string]*row{}
	for _, it := range items {
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
		rows[key][number] = &row{until: millis(it["until"].N)}
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
				holders: map[string]bool{}, issued: map[string]int{}, rows: map[string]*row{},
			}
			a.queues[key] = q
		}
		a.judge(key, q, it)
		for number, r := range rows[key] {
			r.since = a.requests
			if old := q.rows[number]; old != nil {
				r.since = old.since
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
	for id, entry := range holders {
		if q.holders[id] {
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
	}
	q.holders = map[string]bool{}
	for id := range holders {
		q.holders[id] = true
	}

	floor := granted
	if next := new(big.Int).Add(servingAfter, big.NewInt(1)); present && next.Cmp(floor) > 0 {
		floor = next
	}
	if floor.Cmp(q.floor) < 0 {
		a.violate(key, "the floor fell from %s to %s", q.floor, floor)
	}
	q.floor = floor
}

// judgeOrder looks for a live waiter that the grant of a ticket passed over.
func (a *Audit) judgeOrder(key string, q *queue, ticket, floor *big.Int) {
	for number, r := range q.rows {
		ahead := whole(number)
		if ahead.Cmp(ticket) >= 0 || ahead.Cmp(floor) <= 0 {
			continue
		}
		if r.since < q.issued[ticket.String()] && r.until.After(a.now()) {
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
