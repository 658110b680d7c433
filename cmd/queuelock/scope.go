package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
)

var scopes = map[string]ticket.Scope{
	"queue":  ticket.ScopeQueue,
	"entity": ticket.ScopeEntity,
	"table":  ticket.ScopeTable,
}

func addScope(cmd *cobra.Command, name *string) {
	scopeNames.addFlag(cmd, name, "scope", "", "the counter of the tickets")
}

// mismatched is the error of a queue of another kind in one line that names the flag of
// its kind. Any other error is left as it is.
func mismatched(err error) error {
	e, ok := errors.AsType[*queue.MismatchError](err)
	if !ok {
		return err
	}
	kind, remedy := e.Is, ""
	var permits int
	switch n, _ := fmt.Sscanf(e.Is, "a semaphore of %d", &permits); {
	case n == 1:
		remedy = fmt.Sprintf("--permits %d", permits)
	case strings.HasPrefix(e.Wanted, "a semaphore"):
		remedy = "no --permits"
	}
	for name, scope := range scopes {
		if strings.HasSuffix(e.Is, scope.String()) {
			kind, remedy = "a queue with --scope "+name, "--scope "+name
		}
	}
	if remedy == "" {
		return err
	}
	return &briefError{fmt.Sprintf("%s is %s and stays one: use another --reason, or %s", clip(queuelock.Key{Entity: e.Entity, Reason: e.Reason}.String(), 70), kind, remedy), err}
}
