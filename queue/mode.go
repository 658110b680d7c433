package queue

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/queuelock/queuelock/clause"
	"github.com/queuelock/queuelock/internal/attr"
	"github.com/queuelock/queuelock/ticket"
)

// Mode is how a ticket holds. The zero Mode is exclusive.
type Mode struct {
	Shared  bool // several such tickets may hold at once; exclusive ones wait in the same queue
	Permits int  // of a semaphore; zero: the queue is a lock
	Readers int  // the most shared holders, limited by their heartbeats; zero: MaxPermits
}

func (m Mode) readers() int { return cmp.Or(m.Readers, MaxPermits) }

func (m Mode) String() string {
	if m.Shared {
		return attr.Shared
	}
	return attr.Exclusive
}

// Room reports whether the record has room for another holder once those that are gone are removed.
func (r Record) Room(m Mode, gone []Holder) bool {
	item := r.item
	if len(gone) > 0 {
		item, _ = clause.Write{Do: Evict(Eviction{}, gone...).Do}.Apply(r.names, item)
	}
	return m.free().Holds(r.names, item)
}

// Fits returns a [*MismatchError] if the record has another scope, or is of another kind than the mode.
func (r Record) Fits(q Items, scope ticket.Scope, m Mode) error {
	switch {
	case r.Exists && r.Scope != scope:
		return &MismatchError{
			Entity: q.Entity, Reason: q.Reason, Is: "a queue of " + r.Scope.String(), Wanted: "a queue of " + scope.String(),
			Remedy: "use Config{Scope: " + r.Scope.String() + "}",
		}
	case r.Exists && r.Permits != m.Permits:
		remedy := "leave Permits out"
		if r.Permits > 0 {
			remedy = fmt.Sprintf("pass Permits(%d)", r.Permits)
		}
		is, wanted := kind(r.Permits), kind(m.Permits)
		return &MismatchError{Entity: q.Entity, Reason: q.Reason, Is: is, Wanted: wanted, Remedy: remedy}
	}
	return nil
}

func kind(permits int) string {
	if permits > 0 {
		return fmt.Sprintf("a semaphore of %d", permits)
	}
	return "a lock"
}

// Refuses returns why a record that has refused one ticket of the mode will refuse all others. Nil: another ticket
// may be accepted.
func (r Record) Refuses(q Items, m Mode, scope ticket.Scope) error {
	if mismatch := r.Fits(q, scope, m); mismatch != nil {
		return mismatch
	}
	if m.Shared && r.Present && r.meets(clause.Write{If: []clause.Cond{attrHoldMode.Absent()}}) {
		return &clause.MalformedError{
			Item: fmt.Sprintf("serving record of %q", q), Attribute: q.Attr(attr.HoldMode),
			Problem: "is missing beside the holders, which may be exclusive: a shared holder cannot join them",
		}
	}
	return nil
}

// scopes are the values of the attribute scope, which the first ENTER writes. A record
// that issues its own tickets has none.
var scopes = []string{ticket.ScopeQueue: "", ticket.ScopeEntity: "entity", ticket.ScopeTable: "shared"}

func decodeScope(r *clause.Reader, attribute string) ticket.Scope {
	value := choice(r, attribute, scopes[ticket.ScopeEntity], scopes[ticket.ScopeTable])
	return ticket.Scope(max(0, slices.Index(scopes, value)))
}
