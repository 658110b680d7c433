package main

import (
	"strings"
	"testing"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/ticket"
	"github.com/queuelock/queuelock/waitpolicy"
)

// ofScope is a client of that scope, beside the command line.
func (e *engine) ofScope(t *testing.T, scope ticket.Scope) *queuelock.Client {
	t.Helper()
	return e.with(t, queuelock.Config{Owner: "a program", Scope: scope})
}

// use takes a lock once, and releases it.
func use(t *testing.T, c *queuelock.Client, entity string, opts ...queuelock.AcquireOption) {
	t.Helper()
	lock := locktest.Must(c.Acquire(t.Context(), queuelock.Key{Entity: entity}, waitpolicy.NoWait, opts...))
	locktest.OK(t, lock.Release(t.Context()))
}

// TestRunScopes checks that run takes a lock of any scope, and that its first use sets the scope.
func TestRunScopes(t *testing.T) {
	for name, scope := range scopes {
		t.Run(name, func(t *testing.T) {
			e := newEngine(t)
			invoke(t, "run", "x", "--scope", name, "--", "true").ends(t, 0)
			if got := e.state(t, "x").Scope; got != scope {
				t.Errorf("--scope %s makes a queue of %v", name, got)
			}
			use(t, e.ofScope(t, scope), "x")
			invoke(t, "run", "x", "--scope", name, "--wait", "0", "--", "sh", "-c", "echo $QUEUELOCK_TICKET").prints(t, 0, "3\n")
			for other := range scopes {
				o := invoke(t, "run", "x", "--scope", other, "--wait", "1s", "--", "echo", "ran")
				if other == name {
					continue
				}
				want := "is a queue with --scope " + name + " and stays one"
				if o.code != exitUsage || o.stdout != "" || !strings.Contains(o.stderr, want) || !strings.HasSuffix(o.stderr, ", or --scope "+name+"\n") {
					t.Errorf("--scope %s: %+v", other, o)
				}
			}
			// The default is the queue's own.
			if o := invoke(t, "run", "x", "--wait", "0", "--", "true"); (o.code == 0) != (name == "queue") {
				t.Errorf("without --scope: %+v", o)
			}
			e.mustBeIdle(t, "x")
		})
	}
}

// TestEvictScopes checks that evict works in any scope.
func TestEvictScopes(t *testing.T) {
	e := newEngine(t)
	lock := locktest.Must(e.ofScope(t, ticket.ScopeTable).Acquire(t.Context(), queuelock.Key{Entity: "x"}, waitpolicy.NoWait, queuelock.FailClosed()))
	invoke(t, "evict", "x", "--ticket", "1").ends(t, 0)
	locktest.Is(t, lock.Release(t.Context()), queuelock.ErrLost)
	e.mustBeIdle(t, "x")
}

// TestScopeMismatch checks that the error for a wrong scope names the flag that helps.
func TestScopeMismatch(t *testing.T) {
	e := newEngine(t)
	use(t, e.client(t), "lock")
	use(t, e.client(t), "semaphore", queuelock.Permits(3))
	for command, help := range map[string]string{
		"run lock --permits 2 -- true":      ", or no --permits\n",
		"run semaphore -- true":             ", or --permits 3\n",
		"run semaphore --shared -- true":    ", or --permits 3\n",
		"run semaphore --permits 2 -- true": ", or --permits 3\n",
	} {
		o := invoke(t, strings.Fields(command)...)
		if o.code != exitUsage || !strings.HasSuffix(o.stderr, help) || strings.Count(o.stderr, "\n") != 1 {
			t.Errorf("%s: %+v, want %q at its end", command, o, help)
		}
	}
}
