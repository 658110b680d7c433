package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/cmd/queuelock/internal/display"
)

// scopes are the scopes by their names on the command line.
var scopes = map[string]queuelock.Scope{
	"queue":  queuelock.ScopeQueue,
	"entity": queuelock.ScopeEntity,
	"table":  queuelock.ScopeTable,
}

// scopeName is a scope's name on the command line.
func scopeName(s queuelock.Scope) string {
	return display.Scope(s)
}

// parseScope reads what --scope gives.
func parseScope(name string) (queuelock.Scope, error) {
	scope, ok := scopes[name]
	if !ok {
		return 0, usagef("--scope %s: need queue, entity or table", name)
	}
	return scope, nil
}

// mismatched adds to the error of a queue of another kind with which flag it is
// what the caller asks for. Of any other error it is that error.
func mismatched(err error) error {
	e, ok := errors.AsType[*queuelock.MismatchError](err)
	if !ok {
		return err
	}
	var permits int
	switch n, _ := fmt.Sscanf(e.Is, "a semaphore of %d", &permits); {
	case n == 1:
		return fmt.Errorf("%w: use --permits %d", err, permits)
	case strings.HasPrefix(e.Wanted, "a semaphore"):
		return fmt.Errorf("%w: use no --permits", err)
	}
	for name, scope := range scopes {
		if strings.HasSuffix(e.Is, scope.String()) {
			return fmt.Errorf("%w: use --scope %s", err, name)
		}
	}
	return err
}
