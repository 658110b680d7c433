package main

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/waitpolicy"
)

// answer runs the program in this process with that standard input.
func answer(t *testing.T, stdin string, args ...string) outcome {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code := run(t.Context(), args, strings.NewReader(stdin), &stdout, &stderr)
	return outcome{code, stdout.String(), stderr.String()}
}

// TestEvictForce checks that evict --force ends the turn of a holder that renews its lease,
// as it was shown and only after a confirmation.
func TestEvictForce(t *testing.T) {
	e := newEngine(t)
	evict := []string{"evict", "x", "--ticket", "1", "--force"}
	hold := func() *queuelock.Lock {
		t.Helper()
		lock, err := e.client(t).Acquire(t.Context(), queuelock.Key{Entity: "x"}, waitpolicy.NoWait, queuelock.LockDelay(time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		return lock
	}
	lock := hold()
	for _, stdin := range []string{"", "n\n", "\n", "yellow\n"} {
		o := answer(t, stdin, evict...)
		last := o.stderr[strings.LastIndex(strings.TrimSpace(o.stderr), "[y/N] ")+1:]
		if o.code != exitFailed || o.stdout != "" || !strings.Contains(last, "nothing was done") {
			t.Errorf("%q: %+v", stdin, o)
		}
		for _, part := range []string{"ticket 1 is held by \"other owner\"", "left of a lease of 1m0s", "works on until its next heartbeat",
			"fenced writes are refused at once", "lock delay of 1h0m0s does not apply", "with beat 0?"} {
			if !strings.Contains(o.stderr, part) {
				t.Errorf("%q does not contain %q", o.stderr, part)
			}
		}
	}
	if err := lock.Extend(t.Context()); err != nil {
		t.Fatal(err)
	}
	o := answer(t, "", append(evict, "--beat", "0")...)
	mustBeShort(t, o, exitFailed, "has renewed its lease since", "status -o json")
	if o := answer(t, "y\n", evict...); o.code != 0 || o.stdout != "\"x\" (lock): ticket 1 is evicted\n" {
		t.Errorf("%+v", o)
	}
	if err := lock.Release(t.Context()); !errors.Is(err, queuelock.ErrLost) {
		t.Errorf("%v", err)
	}
	mustBeShort(t, answer(t, "y\n", evict...), exitFailed, "no holder has this ticket")

	for i, confirm := range []string{"--yes", "--beat=0"} {
		lock := hold()
		o := answer(t, "", "evict", "x", "--ticket", fmt.Sprint(i+2), "--force", "--json", confirm)
		if o.code != 0 || !strings.HasSuffix(o.stdout, `"evicted":true}`+"\n") {
			t.Errorf("%s: %+v", confirm, o)
		}
		if err := lock.Release(t.Context()); !errors.Is(err, queuelock.ErrLost) {
			t.Errorf("%v", err)
		}
	}
	e.mustBeIdle(t, "x")
}

// TestEvictForceRenewed checks that a holder that renews its lease while the operator reads
// is shown again, or evicted at once with --yes.
func TestEvictForceRenewed(t *testing.T) {
	for _, confirm := range []bool{true, false} {
		e := newEngine(t)
		lock := e.occupied(t, "x")
		queries := 0
		e.after = func(operation string) {
			if operation == "Query" {
				queries++
				if err := lock.Extend(t.Context()); err != nil {
					t.Error(err)
				}
			}
		}
		args := []string{"evict", "x", "--ticket", "1", "--force"}
		if !confirm {
			args = append(args, "--yes")
		}
		o := answer(t, "y\ny\n", args...)
		if asked := strings.Count(o.stderr, "[y/N]"); o.code != 0 || queries != 1 || confirm && (asked != 2 || !strings.Contains(o.stderr, "beat 1?")) || !confirm && asked != 0 {
			t.Errorf("%+v, after %d looks", o, queries)
		}
		if err := lock.Release(t.Context()); !errors.Is(err, queuelock.ErrLost) {
			t.Errorf("%v", err)
		}
	}
}
