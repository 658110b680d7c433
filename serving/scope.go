package serving

import (
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/queuelock/queuelock/internal/table"
)

// Scope says which counter issues the tickets of a queue, as its record does:
// in the attribute scope, which the first REGISTER writes, for life.
type Scope string

// The scopes.
const (
	ScopeQueue  Scope = ""       // the record itself; it has no such attribute
	ScopeEntity Scope = "entity" // one counter for all queues of the entity
	ScopeShared Scope = "shared" // one counter for all queues of the table
)

func (s Scope) kind() string {
	switch s {
	case ScopeEntity:
		return "a queue of ScopeEntity"
	case ScopeShared:
		return "a queue of ScopeShared"
	}
	return "a queue of ScopeQueue"
}

// Fits returns a *MismatchError if the record is of another scope. It makes no
// request.
func (s Scope) Fits(q table.Queue, rec Record) error {
	if rec.Exists && rec.Scope != s {
		return &MismatchError{Queue: q.String(), Is: rec.Scope.kind(), Wanted: s.kind()}
	}
	return nil
}

func (s Scope) value() expression.ValueBuilder {
	return expression.Value(table.String(string(s)))
}

func decodeScope(r *table.Reader, attribute string) Scope {
	if !r.Has(attribute) {
		return ScopeQueue
	}
	s := Scope(r.Text(attribute))
	if r.Err == nil && s != ScopeEntity && s != ScopeShared {
		r.Fail(attribute, "is %.64q, %q or %q is needed", string(s), ScopeEntity, ScopeShared)
	}
	return s
}
