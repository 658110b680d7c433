// Package transition judges each change of a lock's own items in the table: some write of package queue must describe it.
// It is test apparatus, and closes the gap between the search, which plays these descriptions, and a run, in which requests
// are sent to an engine.
//
// It does not ask the library which write it meant. The item before, the item after and the request give the parameters of
// each write that may have made the change. One of these writes must agree in all of this:
//
//   - every condition of it holds of the item before, as package clause evaluates it;
//   - the item after is exactly what it makes of the item before, as package clause evaluates it;
//   - the request's expressions and values are exactly its own, so that no condition is left out that happened to hold.
//
// So it finds what is wrong between a description and the table: a write that is none of package queue's or has more than
// it, an expression that says something else, and an engine that evaluates it otherwise. It does not find a mistake in a
// description, which is then in both: the search and package audit do. Nor does it know what the sender knew: a write that
// would be right of another sender, such as a fence of a holder that may share its lock, is taken for that one.
//
// Two changes have no write of the library's, and are described here: the table's TTL, and a suspension of package sim.
// Records in an item of the user are not judged.
package transition

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/queuelock/queuelock/clause"
	"github.com/queuelock/queuelock/internal/embedded"
	"github.com/queuelock/queuelock/internal/testbed/av"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
)

// Judge knows the items of one table. Its methods are to be called one at a time.
type Judge struct {
	Made map[string]int // changes, by the name of the write that describes them

	table string
	items map[[2]string]clause.Item // of locks, by their keys
}

// New returns a Judge of a table that has no items yet, and whose keys and TTL attribute are pk, sk and expiresAt.
func New(table string) *Judge {
	return &Judge{Made: map[string]int{}, table: table, items: map[[2]string]clause.Item{}}
}

// Judge takes in changes that became visible together, and returns what is wrong with them. body is that of the request that
// made them; nil: no client of the library has made them.
func (j *Judge) Judge(body []byte, changes []embedded.Change) (violations []string) {
	for _, made := range changes {
		pk, sk := made.Key["pk"].Text, made.Key["sk"].Text
		c := change{q: queue.Items{PK: "pk", SK: "sk", TTL: "expiresAt", Entity: pk}, sk: sk}
		if made.Table != j.table || !c.isLocks() {
			continue
		}
		key := [2]string{pk, sk}
		c.before, c.after = j.items[key], ItemOf(made.Item)
		if j.items[key] = c.after; c.after == nil {
			delete(j.items, key)
		}
		if body != nil {
			c.asked = requestOf(body, made.Key)
		}
		name, problem := c.judge()
		if j.Made[name]++; problem != "" {
			violations = append(violations, problem)
		}
	}
	return violations
}

// change is a change of one item.
type change struct {
	q             queue.Items
	sk            string
	before, after clause.Item // nil: none
	asked         *request    // nil: no client of the library made it
}

// master is the sort key of an entity's counter, and the partition key of the table's.
const master = "ticket-master"

func (c *change) isCounter() bool {
	return c.sk == master || c.q.Entity == master && c.sk == "current"
}

// isLocks reports whether the item is a record, a row or a counter, and notes the reason of its queue.
func (c *change) isLocks() bool {
	reason, padded, ok := strings.Cut(c.sk, "/")
	c.q.Reason = reason
	return c.isCounter() || ok && len(padded) == ticket.Digits
}

// The changes that have no write of the library's.
const (
	Expiry     = "expiry"     // by the table's TTL
	Suspension = "suspension" // by package sim, which makes all times of a process older
)

// judge returns the name of the write that describes the change, or what is wrong.
func (c *change) judge() (name, problem string) {
	switch {
	case c.asked != nil:
	case c.after == nil && c.before[c.q.TTL] != nil:
		return Expiry, ""
	case c.before != nil && c.after != nil && textOf(timeless(c.before)) == textOf(timeless(c.after)):
		return Suspension, ""
	default:
		return "", c.problem("it is neither an expiry nor a suspension, and no client of the library made it")
	}
	writes := c.writes()
	for _, w := range writes {
		if c.madeBy(w) {
			return w.Name, ""
		}
	}
	if len(writes) == 0 {
		return "", c.problem("none is near")
	}
	var all []difference
	for _, w := range writes {
		all = append(all, c.difference(w))
	}
	return "", c.problem(slices.MinFunc(all, func(a, b difference) int { return a.size() - b.size() }).String())
}

// result is the item after the changes of a write, whatever its conditions.
func (c *change) result(w clause.Write) clause.Item {
	w.If = nil
	is, fate := w.Apply(c.q.Names(), c.before)
	if fate == clause.Applied && w.Kind == clause.Update && c.before == nil {
		is = av.With(is, c.q.Key(c.sk))
	}
	return is
}

// madeBy reports whether the write agrees with the change in everything.
func (c *change) madeBy(w clause.Write) bool {
	return w.Refuses(c.q.Names(), c.before) == nil && textOf(c.result(w)) == textOf(c.after) && textOfRequest(w, c.q.Names()) == c.asked.text
}

// difference is in what a write does not agree with the change.
type difference struct {
	write        string
	conditions   []string // that do not hold
	result, text string   // "" if they agree
	apart        int      // length of the part of the request that is another
}

func (c *change) difference(w clause.Write) difference {
	d := difference{write: w.Name}
	for i, cond := range w.If {
		if !cond.Holds(c.q.Names(), c.before) {
			d.conditions = append(d.conditions, cmp.Or(cond.Name(), fmt.Sprint("number ", i+1)))
		}
	}
	if result := textOf(c.result(w)); result != textOf(c.after) {
		d.result = result
	}
	if text := textOfRequest(w, c.q.Names()); text != c.asked.text {
		d.text, d.apart = text, apart(text, c.asked.text)
	}
	return d
}

// size orders differences: by the result, then by the number of conditions, then by how much of the request is another.
func (d difference) size() int {
	size := 1000*len(d.conditions) + min(999, d.apart)
	if d.result != "" {
		size += 1_000_000
	}
	return size
}

// apart returns the length of the longer of two texts without what both begin and end with.
func apart(a, b string) int {
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	return max(len(a), len(b))
}

func (d difference) String() string {
	say := "the nearest is " + d.write
	if len(d.conditions) > 0 {
		say += "; of its conditions these do not hold: " + strings.Join(d.conditions, ", ")
	}
	if d.result != "" {
		say += "\n  leaves:  " + d.result
	}
	if d.text != "" {
		say += "\n  sent as: " + d.text
	}
	return say
}

func (c *change) problem(why string) string {
	asked := "none"
	if c.asked != nil {
		asked = c.asked.text
	}
	return fmt.Sprintf("no write describes this change of %s %s:\n  before:  %s\n  after:   %s\n  request: %s\n  %s",
		c.q.Entity, c.sk, textOf(c.before), textOf(c.after), asked, why)
}
