package conditions

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/queuelock/queuelock/clause"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
)

// The items of a world: the serving record of one queue, the counter of a wider scope, and a row for each waiter.
const (
	theRecord  = "record"
	theCounter = "counter"
)

func rowOf(t ticket.Number) string { return "row " + t.String() }

// lease is how long a lease is, and provisional that of a fail-closed grant.
const (
	lease       = time.Minute
	provisional = 8 * time.Second
)

var start = time.Unix(1_000_000, 0)

// world is a table with one queue, and its clients. It has one clock, which is right.
type world struct {
	names   clause.Names
	items   map[string]clause.Item
	now     time.Time
	clients map[who]*client
	history

	leave string // the condition that is left out, of the write of that name
	of    string
	last  delivery // the last request that came to the table
	// senseless says why a step could not be made: its client does not have what the request needs.
	senseless string
}

type delivery struct {
	write clause.Write
	names clause.Names
	item  clause.Item // before it
}

func newWorld() *world {
	return &world{
		names: recordNames, items: map[string]clause.Item{}, now: start, clients: map[who]*client{},
		history: history{
			ended: map[turn]string{}, made: map[transaction]int{}, invisible: map[transaction]unseen{},
			issued: map[ticket.Number]bool{}, foreign: map[string]clause.Item{}, broken: map[Invariant]string{},
		},
	}
}

// client is what a client knows and believes.
type client struct {
	name  who
	mode  mode
	ids   int         // that it has used
	tried []string    // ids that a request has put into the record, or may have
	saw   clause.Item // the record, by its last answer or look
	marks marks       // of the last record with its entry
	sent  map[string]request
	late  *request // not arrived yet

	id      string
	ticket  ticket.Number
	present ticket.Number // of a block: the present turn
	seed    ticket.Take
	holds   bool // until its lease ends
	endless bool
	until   time.Time
	call    int64 // of its releases
	tx      int64 // its last transaction
	shares  bool  // a DOWNGRADE was sent: others may have joined

	waits    bool // relies on its row
	rowID    string
	rowUntil time.Time
}

func (w *world) client(name who) *client {
	if w.clients[name] == nil {
		w.clients[name] = &client{name: name, mode: name.mode(), sent: map[string]request{}}
	}
	return w.clients[name]
}

func (c *client) turn() turn { return turn{c.id, c.ticket} }

func (c *client) newID() string {
	c.ids++
	return fmt.Sprintf("%s-%d", c.name, c.ids-1)
}

// newEntry returns an entry for the client, with a new id.
func (w *world) newEntry(c *client) entry {
	id := c.newID()
	c.tried = append(c.tried, id)
	l := queue.Lease{TTL: lease, Until: w.now.Add(lease)}
	if c.name.failClosed() {
		l = queue.Lease{TTL: provisional, Until: w.now.Add(provisional), FailClosed: true}
	}
	return entry{ID: id, Owner: string(c.name), Mode: c.mode, Lease: l, Turns: c.name.turns()}
}

// believes reports whether the client believes that it holds the lock.
func (w *world) believes(c *client) bool { return c.holds && (c.endless || w.now.Before(c.until)) }

// base is the number after which a counter begins: one for each second.
func (w *world) base() ticket.Number {
	return ticket.FromUint64(uint64(w.now.Sub(start) / time.Second))
}

func (w *world) record() (record, error) { return decode(w.names, w.items[theRecord]) }

func (w *world) namesOf(item string) clause.Names {
	if item == theRecord {
		return w.names
	}
	return recordNames
}

// request is one request, and what its client makes of the answer.
type request struct {
	item   string
	write  clause.Write
	turn   turn          // of a holder's request
	of     ticket.Number // of a block: the turn
	call   int64
	alone  bool // of FENCE: the holder is exclusive
	answer func(item clause.Item, fate clause.Fate)
}

// deliver brings a request to the table.
func (w *world) deliver(c *client, r request, answered bool) {
	n, before := w.namesOf(r.item), w.items[r.item]
	w.last = delivery{r.write, n, before}
	write := r.write
	if write.Name == w.of {
		write, _ = write.Without(w.leave)
	}
	after, fate := write.Apply(n, before)
	if fate == clause.Applied {
		w.put(r.item, after)
		w.note(c, r, before)
	}
	if answered && r.answer != nil {
		r.answer(w.items[r.item], fate)
	}
	w.check()
}

// put replaces an item. Nil: it is deleted.
func (w *world) put(name string, item clause.Item) {
	if item == nil {
		delete(w.items, name)
		return
	}
	item = maps.Clone(item)
	item["pk"] = clause.String(name)
	w.items[name] = item
}

// sees is what the client learns from the record. It relies on an entry that it finds.
func (w *world) sees(c *client, item clause.Item) (rec record, ok bool) {
	c.saw = item
	rec, err := decode(w.names, item)
	if err != nil {
		return rec, false
	}
	if _, mine := rec.Mine(c.id); mine {
		c.marks = rec.Marks
	}
	return rec, true
}

// adopts makes the client the holder if one of the ids that it has tried is in the record.
func (w *world) adopts(c *client, item clause.Item) (rec record, granted bool) {
	rec, ok := w.sees(c, item)
	h, granted := rec.Mine(c.tried...)
	if !ok || !granted {
		return rec, false
	}
	c.id, c.ticket, c.until, c.marks, c.waits = h.ID, h.Ticket, h.Lease.Until, rec.Marks, false
	c.holds = !c.name.failClosed() // which confirms first
	if h.Turns > 1 {
		c.present = h.Ticket
	}
	return rec, true
}

// keeps is the answer to a request of a holder: it still holds the lock, or has lost it.
func (w *world) keeps(c *client, r *request, then func()) {
	write, t := r.write, r.turn
	r.answer = func(item clause.Item, fate clause.Fate) {
		switch {
		case fate == clause.Applied, fate == clause.Refused && write.Refused(w.names, item) == clause.Made:
			c.id, c.ticket, c.holds = t.id, t.ticket, c.call == 0
			w.stillHolds(c, t)
			then()
		case fate == clause.Refused:
			c.holds = false
		}
		w.sees(c, item)
	}
}

// stuck reports why the queue never grants a ticket again; "" if it does. All clients release what they hold, and end. A
// day later another client comes.
func (w *world) stuck() string {
	for _, name := range slices.Sorted(maps.Keys(w.clients)) {
		if c := w.clients[name]; w.believes(c) {
			w.do(name.handsOff())
		}
		w.clients[name].waits = false
	}
	w.now = w.now.Add(24 * time.Hour)
	z := Z
	if rec, err := w.record(); err == nil && rec.Permits > 0 {
		z = P9
	}
	wide := w.items[theCounter] != nil || w.of == "NUMBER" || w.of == "ENTER"
	for range 6 {
		w.do(z.looks())
		c := w.client(z)
		rec, err := w.record()
		if err != nil {
			return fmt.Sprintf("no client can read the record: %v", err)
		}
		for _, h := range rec.Holders {
			if !h.Lease.Endless() && !h.Unreadable() {
				w.deliver(c, evicts(h), true)
			}
		}
		rec, _ = w.record()
		switch {
		case rec.Present && rec.Floor().Less(c.ticket):
			w.do(z.claims())
		case wide:
			w.do(z.numbers())
			w.do(z.enters())
		default:
			w.do(z.takes())
		}
		if w.believes(c) {
			return ""
		}
	}
	return "a day later, and with all other clients gone, a new client is not granted a ticket"
}
