package main

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/queuelock/queuelock/internal/testbed/locktest"
)

// TestTop checks that top prints changes without a terminal, and ends with its context.
func TestTop(t *testing.T) {
	e := newEngine(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	b := start(t, ctx, "top", "--interval", "100ms", "--max-rcu", "0")
	b.expect(t, " 0 of 0 queues busy")
	lock := e.occupied(t, "deploy")
	b.expect(t, "deploy  lock    exclusive  other owner")
	locktest.OK(t, lock.Release(t.Context()))
	b.expect(t, " 0 of 1 queues busy")
	cancel()
	b.wait(t).matches(t, 0, "", `^queuelock: each refresh is a scan of [^\n]*\n$`)
}

// TestTopOnce checks the view of one scan, and the errors of top.
func TestTopOnce(t *testing.T) {
	e := newEngine(t)
	e.occupied(t, "deploy")
	o := invoke(t, "top", "--once")
	o.matches(t, 0, `^queuelock top: table "queuelock", 1 of 1 queues busy.*\n> deploy lock `, "")
	if strings.Contains(o.stdout, "quit") {
		t.Errorf("keys in %s", o.stdout)
	}
	for i := range 30 {
		e.occupied(t, fmt.Sprintf("service-%02d", i))
	}
	if o := invoke(t, "top", "--once"); strings.Count(o.stdout, "\n") != 33 || !strings.Contains(o.stdout, "service-29") || strings.Contains(o.stdout, "more") {
		t.Errorf("not all of 31 queues: %s", o.stdout)
	}
}
