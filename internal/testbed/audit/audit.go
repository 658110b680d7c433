// Package audit watches an engine, request by request, and reports when the
// serving record or the queue breaks an invariant of the protocol. It is test
// apparatus: test/sim and the tests of the library run on an audited engine.
//
// It has an engine of its own, which reports each change at the moment when it
// becomes visible, and compares the table before and after. So it judges what is in
// the table, not what clients say or believe, and sees late and repeated requests,
// and the items of split transactions, when they are applied:
//
//   - exclusion: never more holders in a record than may be: one, or any number
//     that all share, or as many as a semaphore has permits;
//   - numbers: no two holders of a semaphore have the same number, and each is below that of the permits;
//   - fencing: tickets of successive grants strictly increase;
//   - order: no ticket is granted that was issued after a live row with a lower
//     ticket, above the floor, was present in the queue, and the floor rises only
//     with a grant, to the ticket granted, or as the queue becomes idle, to the last of its block;
//   - places (if Places): no waiter puts a row with a new ticket while its last one is above
//     the floor, and can thus be granted;
//   - life: no row, and no holder, is removed by another client before its lease
//     has ended (if Actor names the sender of each request), except a holder that was
//     granted the lock by name, has not written to its entry, and has no row;
//   - the end and the beats of a present lease never fall;
//   - the counter and the floor never fall, also if a record is made again, and a
//     record never changes its scope. Only an idle one may be deleted, by the table.
//
// In a queue of a wider scope a ticket counts as issued when it was registered. A
// ticket whose ENTER came after that of a later one is judged for the order of
// others only. Counters of wider scopes are no records.
//
// It does not know the protocol's operations: a change by any means is judged.
package audit

import (
	"cmp"
	"fmt"
	"math/big"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/queuelock/queuelock/internal/embedded"
	"github.com/queuelock/queuelock/internal/embedded/value"
)

// Audit is an engine under watch.
type Audit struct {
	*embedded.Engine

	// Actor returns the actor of a request, as an owner is named: the whole of the
	// owner's name, or the part before a slash. An actor with an empty name may remove
	// anything. Nil: lives are not judged. To be set before the first request, as
	// Granted.
	Actor func(*http.Request) string

	// IgnoreLives leaves removals by others unjudged, although Actor is set.
	IgnoreLives bool

	// Removed is called when a holder's entry is gone from its record for the first
	// time, with the request that removed it. It must not send requests. Nil: no call.
	Removed func(by *http.Request, queue, ticket, owner string)

	// Granted is called for each grant, after it was made and before it is
	// answered, with the queue's name, "entity reason". It must not send
	// requests.
	Granted func(queue, ticket, owner string)

	// Places reports whether the places of an owner are judged: it waits once, and in one queue. Nil: none are. To be
	// set before the first request.
	Places func(owner string) bool

	// Resumes reports whether the owner next may go on with what the crashed owner old
	// has in the table. Nil: no owner may. To be set before the first request.
	Resumes func(old, next string) bool

	table string
	now   func() time.Time
	aging atomic.Bool // see Age

	mu         sync.Mutex
	items      map[[2]string]value.Item // guarded by mu; the table as it is, by its keys
	requests   int                      // guarded by mu; that changed something
	actor      string                   // guarded by mu; who sent the request at hand
	request    *http.Request            // guarded by mu; the one at hand
	queues     map[string]*queue        // guarded by mu; by entity and reason
	violations []string                 // guarded by mu
	leases     map[string]life          // guarded by mu; by id, also of what is gone
	grants     int                      // guarded by mu
	named      int                      // guarded by mu; of these, by name
	abandoned  int                      // guarded by mu; of these, removed before their waiters wrote to them
}

// queue is what is known of one queue.
type queue struct {
	exists  bool
	idle    bool     // the record has no holders, and no outstanding ticket
	scope   string   // "": the record is the queue's counter
	counter *big.Int // the last ticket that was registered, in the wider scopes
	floor   *big.Int
	last    *big.Int          // ticket of the last grant
	reach   *big.Int          // the last one of its block
	holders map[string]holder // ids now in the record
	issued  map[string]int    // ticket → request that issued it, or registered it
	rows    map[string]*row   // ticket → its row
	places  map[string]place  // owner → its last row
	groups  map[string]string // ticket → group of its row or entry
	crowds  []crowd           // how many have waited, in order
}

type row struct {
	since int   // request that put it
	turns int64 // of a block: how many tickets it has
	life
}

// place is that of a waiter.
type place struct {
	ticket  string
	givenUp bool // its own client has deleted the row before the ticket was served or overtaken
}

type holder struct {
	ticket  string
	turns   int64  // of a block: how many tickets it has
	reached string // of a block: the lowest whose writes are accepted; empty: the first
	ghost   bool
	life
}

// has reports whether the holder's block has a ticket.
func (h holder) has(ticket string) bool {
	d := new(big.Int).Sub(whole(ticket), whole(h.ticket))
	return d.Sign() >= 0 && d.Cmp(big.NewInt(max(h.turns, 1))) < 0
}

// tickets are those of the holder, from that on.
func (h holder) tickets(from string) (all []string) {
	for n := whole(from); h.has(n.String()); n = new(big.Int).Add(n, big.NewInt(1)) {
		all = append(all, n.String())
	}
	return all
}

// New makes an engine and watches a table of it. now is the engine's clock. After
// the audit, changes go to cfg.Applied.
func New(cfg embedded.Config, tableName string, now func() time.Time) *Audit {
	a := &Audit{table: tableName, now: now, items: map[[2]string]value.Item{}, leases: map[string]life{}, queues: map[string]*queue{}}
	next := cfg.Applied
	cfg.Applied = func(by *http.Request, changes []embedded.Change) {
		a.applied(by, changes)
		if next != nil {
			next(by, changes)
		}
	}
	a.Engine = embedded.New(cfg)
	return a
}

// Holders returns the tickets of the holders of a queue, "entity reason", in no order.
func (a *Audit) Holders(queue string) (tickets []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, h := range a.of(queue).holders {
		if !h.closed {
			tickets = append(tickets, h.tickets(cmp.Or(h.reached, h.ticket))...)
		}
	}
	return tickets
}

// of returns what is known of a queue, "entity reason", perhaps nothing.
func (a *Audit) of(name string) *queue { return cmp.Or(a.queues[name], &queue{floor: new(big.Int)}) }

// HoldTime returns mean and deviation of recent turns, as the record of a queue, "entity reason", has them.
func (a *Audit) HoldTime(queue string) (mean, deviation time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	entity, reason, _ := strings.Cut(queue, " ")
	for key, it := range a.items {
		if number, ok := strings.CutPrefix(key[1], reason+"/"); ok && key[0] == entity && strings.Trim(number, "0") == "" {
			return length(it["turn"].Fields["mean"]), length(it["turn"].Fields["deviation"])
		}
	}
	return 0, 0
}

// Floor returns the floor of a queue, "entity reason".
func (a *Audit) Floor(queue string) *big.Int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.of(queue).floor
}

// Traces lists what an owner has in the table: its rows and holders, those with a lock
// delay only if asked for. A grant by name to a waiter that has left is not the waiter's.
func (a *Audit) Traces(owner string, delayed bool) []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	var traces []string
	for key, q := range a.queues {
		for id, h := range q.holders {
			if h.owner == owner && (delayed || h.delay == 0) && !q.left(h) {
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

// left says that the holder's waiter had left when it was granted the lock by name, or leaves now.
func (q *queue) left(h holder) bool { return h.named && q.rows[h.ticket] == nil }

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

// Named counts the holders that were granted the lock by name, and those of them that were removed without a sign
// of life, and without a row.
func (a *Audit) Named() (grants, abandoned int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.named, a.abandoned
}

// applied judges changes that became visible together.
func (a *Audit) applied(by *http.Request, changes []embedded.Change) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.requests++
	a.actor, a.request = "", by
	if a.Actor != nil && by != nil {
		a.actor = a.Actor(by)
	}
	for _, c := range changes {
		key := [2]string{c.Key["pk"].Text, c.Key["sk"].Text}
		switch {
		case c.Table != a.table || !strings.Contains(key[1], "/"): // of no queue
		case c.Item == nil:
			delete(a.items, key)
		default:
			a.items[key] = c.Item
		}
	}
	if a.aging.Load() && a.actor == "" {
		return
	}
	a.compare()
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

func num(v value.Value) *big.Int { return whole(text(v)) }

// text is a number as it is stored; empty: there is none.
func text(v value.Value) string {
	if v.Kind != value.Num {
		return ""
	}
	return v.Number.String()
}

func millis(v value.Value) time.Time {
	ms := num(v)
	if ms.Sign() == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms.Int64())
}

func length(ms value.Value) time.Duration {
	return time.Duration(num(ms).Int64()) * time.Millisecond
}
