package embedded

import (
	"context"
	"math/rand/v2"
	"net/http"
	"slices"
	"time"

	"github.com/queuelock/queuelock/internal/embedded/value"
)

// Splitting draws how long the items of split transactions stay pending.
type Splitting struct {
	// Window is the upper bound within which all items of a transaction become
	// visible. Each transaction draws its own window up to it.
	Window time.Duration

	// Late is the share of transactions, between 0 and 1, of which some items
	// take one to five seconds more, as after the failure of a coordinator.
	Late float64
}

// Delays returns the delay of each item of one transaction, in random order.
func (s Splitting) Delays(r *rand.Rand, items int) []time.Duration {
	window := r.Float64() * float64(s.Window)
	late := r.Float64() < s.Late
	delays := make([]time.Duration, items)
	for i := range delays {
		delays[i] = time.Duration(r.Float64() * window)
	}
	if late && items > 0 {
		more := time.Second + time.Duration(r.Float64()*float64(4*time.Second))
		for _, i := range r.Perm(items)[:1+r.IntN(items)] {
			delays[i] += more
		}
	}
	return delays
}

type splitKey struct{}

// WithSplit returns a context in which a request splits its transaction by these
// delays, whatever Config.Split says: item i becomes visible delays[i] after the
// transaction was accepted. Items without a delay become visible at once.
func WithSplit(ctx context.Context, delays []time.Duration) context.Context {
	return context.WithValue(ctx, splitKey{}, delays)
}

// split returns the delays of the transaction at hand, or nil if all of its
// items become visible together.
func (e *Engine) split(items int) []time.Duration {
	if delays, ok := e.request.Context().Value(splitKey{}).([]time.Duration); ok {
		return delays
	}
	if e.cfg.Split != nil {
		return e.cfg.Split(items)
	}
	return nil
}

// commit is a transaction that was accepted and cannot fail any more.
type commit struct {
	by       *http.Request
	answer   any
	finish   func(ago time.Duration) // called once the last item is visible
	prepared int                     // items that are not visible yet
}

// prepared is an item of a split transaction that is not visible yet. Until it
// is, reads see the old item, and writes and transactions are refused.
type prepared struct {
	commit *commit
	change change
	after  value.Item
	due    time.Time
}

// itemID is one item of the engine. Tables of the same name succeed each other.
type itemID struct {
	table *table
	key   string
}

func (c change) id() itemID { return itemID{c.table, c.key.text()} }

// begin locks the items of a transaction whose conditions all hold.
func (e *Engine) begin(c *commit, changes []change, outcomes []outcome, delays []time.Duration) {
	now := time.Now()
	for i, ch := range changes {
		p := &prepared{commit: c, change: ch, after: outcomes[i].after, due: now}
		if i < len(delays) {
			p.due = now.Add(delays[i])
		}
		at, _ := slices.BinarySearchFunc(e.prepared, p.due, func(other *prepared, due time.Time) int {
			if other.due.After(due) {
				return 1
			}
			return -1
		})
		e.prepared = slices.Insert(e.prepared, at, p)
		e.locked[ch.id()] = true
		c.prepared++
	}
}

// settle makes the prepared items visible whose time has come. Each request
// calls it first, so a transaction goes on without its sender and needs no
// goroutine of its own.
func (e *Engine) settle() {
	for now := time.Now(); len(e.prepared) > 0 && !e.prepared[0].due.After(now); e.prepared = e.prepared[1:] {
		p := e.prepared[0]
		delete(e.locked, p.change.id())
		if e.tables[p.change.table.name] == p.change.table {
			e.store(p.change, p.after)
			e.report(p.commit.by)
		}
		if p.commit.prepared--; p.commit.prepared == 0 {
			p.commit.finish(now.Sub(p.due))
		}
		e.flush()
	}
}

// await waits until all items of the transaction are visible. It reports false
// if ctx ends before that.
func (e *Engine) await(ctx context.Context, c *commit) bool {
	for {
		left, ok := e.left(c)
		if !ok {
			return true
		}
		timer := time.NewTimer(left)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return false
		}
	}
}

// left returns the time until the next item of the transaction becomes visible,
// or false if all are.
func (e *Engine) left(c *commit) (time.Duration, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.settle()
	for _, p := range e.prepared {
		if p.commit == c {
			return time.Until(p.due), true
		}
	}
	return 0, false
}

// Change is an item that was stored or deleted.
type Change struct {
	Table string
	Key   value.Item
	Item  value.Item // nil if it was deleted
}

// store stores the outcome of a change, unless that was a condition check.
func (e *Engine) store(c change, after value.Item) {
	if !c.writes() {
		return
	}
	c.table.put(c.key, after)
	if after == nil {
		e.changed(ItemEntry, c.table.name, c.key.text(), nil)
	} else {
		e.changed(ItemEntry, c.table.name, c.key.text(), after)
	}
	if e.cfg.Applied != nil {
		e.changes = append(e.changes, Change{c.table.name, c.table.keyItem(c.key), after})
	}
}

// report hands the changes since the last report to Config.Applied.
func (e *Engine) report(by *http.Request) {
	if len(e.changes) > 0 {
		e.cfg.Applied(by, e.changes)
		e.changes = nil
	}
}
