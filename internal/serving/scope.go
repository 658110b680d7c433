package serving

import (
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/queuelock/queuelock/internal/table"
)

// Scope says which counter issues the tickets of a queue. The record has it in the
// attribute scope, which the first ENTER writes. It never changes.
type Scope string

// The scopes.
const (
	ScopeQueue  Scope = ""       // the record itself; it has no such attribute
	ScopeEntity Scope = "entity" // one counter for all queues of the entity
	ScopeTable  Scope = "shared" // one counter for all queues of the table
)

// name returns the name of the scope in package queuelock.
func (s Scope) name() string {
	switch s {
	case ScopeEntity:
		return "ScopeEntity"
	case ScopeTable:
		return "ScopeTable"
	}
	return "ScopeQueue"
}

func (s Scope) kind() string { return "a queue of " + s.name() }

// Fits returns a *MismatchError if the record is of another scope.
func (s Scope) Fits(rec Record) error {
	if rec.Exists && rec.Scope != s {
		return &MismatchError{Is: rec.Scope.kind(), Wanted: s.kind(), Remedy: "use Config{Scope: " + rec.Scope.name() + "}"}
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
	if r.Err == nil && s != ScopeEntity && s != ScopeTable {
		r.Fail(attribute, "is %.64q, %q or %q is needed", string(s), ScopeEntity, ScopeTable)
	}
	return s
}
