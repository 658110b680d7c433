package main

import (
	"strings"
	"testing"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/cmd/queuelock/internal/display"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
	"github.com/queuelock/queuelock/waitpolicy"
)

// failClosed holds an entity's lock without a lease, by a client that is closed
// at the end of the test.
func (e *engine) failClosed(t *testing.T, key queuelock.Key) *queuelock.Lock {
	t.Helper()
	lock := locktest.Must(e.client(t).Acquire(t.Context(), key, waitpolicy.NoWait, queuelock.FailClosed()))
	return lock
}

// TestEvict checks that evict takes the lock from a holder without a lease.
func TestEvict(t *testing.T) {
	e := newEngine(t)
	key := queuelock.Key{Entity: "pay roll", Reason: "it's due"}
	lock := e.failClosed(t, key)
	o := invoke(t, "status", "pay roll", "--reason", "it's due")
	if want := `queuelock evict 'pay roll' --reason 'it'\''s due' --ticket 1`; o.code != 0 || !strings.Contains(o.stdout, "no lease") || !strings.HasSuffix(o.stdout, want+"\n") {
		t.Errorf("exit code %d, stdout %q, want %s at its end", o.code, o.stdout, want)
	}
	report := object[display.Report](t, invoke(t, "status", "pay roll", "--reason", "it's due", "--json"))
	if len(report.Serving) != 1 || !report.Serving[0].FailClosed || report.Serving[0].Remaining != nil {
		t.Errorf("%+v", report)
	}

	for _, words := range []string{"no holder has this ticket", "other owner holds it (ticket 1)"} {
		if o := invoke(t, "evict", "pay roll", "--reason", "it's due", "--ticket", "2"); o.code != exitFailed || !strings.Contains(o.stderr, words) || o.stdout != "" {
			t.Errorf("exit code %d, stdout %q, stderr %q does not say %q", o.code, o.stdout, o.stderr, words)
		}
	}
	o = invoke(t, "evict", "pay roll", "--reason", "it's due", "--ticket", "1", "--json")
	if want := `{"entity":"pay roll","reason":"it's due","ticket":"1","evicted":true}` + "\n"; o.code != 0 || o.stdout != want || o.stderr != "" {
		t.Errorf("%+v, want %q", o, want)
	}
	invoke(t, "evict", "pay roll", "--reason", "it's due", "--ticket", "1").ends(t, exitFailed, "the lock has no holder")
	locktest.Is(t, lock.Release(t.Context()), queuelock.ErrLost)
	invoke(t, "status", "pay roll", "--reason", "it's due").shows(t, 0, "idle; the last ticket was 1\nlast loss: ticket 1, ")
}

// TestEvictSparesLease checks that evict refuses to end a lease.
func TestEvictSparesLease(t *testing.T) {
	e := newEngine(t)
	lock := e.occupied(t, "x")
	o := invoke(t, "evict", "x", "--ticket", "1")
	if o.code != exitFailed || !strings.Contains(o.stderr, "a lease: stop its process, or repeat the command with --force") || strings.Count(o.stderr, "\n") != 1 {
		t.Errorf("%+v", o)
	}
	locktest.Check(t, lock.Extend(t.Context()))
	invoke(t, "evict", "never/used", "--ticket", "1").ends(t, exitFailed)
	invoke(t, "evict", "x", "--ticket", "1", "--table", "nosuch").ends(t, exitUnavailable, "table create --table nosuch")
}

// TestRunOfEvictedHolder checks that run ends its command when it is evicted.
func TestRunOfEvictedHolder(t *testing.T) {
	e := newEngine(t)
	b := start(t, t.Context(), "run", "x", "--fail-closed", "--ttl", "1s", "--", "sh", "-c", "echo ready; exec sleep 100")
	b.expect(t, "ready")
	invoke(t, "evict", "x", "--ticket", "1").prints(t, 0, "\"x\" (lock): ticket 1 is evicted\n")
	b.wait(t).ends(t, exitLost, "evicted")
	e.mustBeIdle(t, "x")
}

// TestRunWithoutRelease checks that run reports a lock that could not be released.
func TestRunWithoutRelease(t *testing.T) {
	e := newEngine(t)
	shorten(t, &closeLimit, 100*time.Millisecond) // for the release, and once more for Close
	b := start(t, t.Context(), "run", "x", "--fail-closed", "--ttl", "1s", "--", "sh", "-c", "echo ready; read -r line < "+fifo(t))
	b.expect(t, "ready")
	close(e.stuck)
	openFIFO(t)
	b.wait(t).ends(t, exitUnavailable, "may still be held", "evict")
}

// TestQuoting checks that the words of a printed command are quoted for a shell.
func TestQuoting(t *testing.T) {
	for word, want := range map[string]string{"deploy/prod": "deploy/prod", "a b": "'a b'", "it's": `'it'\''s'`, "": "''", "-x": "'-x'", "$(rm)": "'$(rm)'", "é": "'é'"} {
		if got := quoted(word); got != want {
			t.Errorf("%q is quoted as %s, want %s", word, got, want)
		}
	}
	if got := evictCommand(queuelock.Key{Entity: "x", Reason: "lock"}, ticket.FromUint64(3)); got != "queuelock evict x --ticket 3" {
		t.Errorf("%q", got)
	}
}

// TestChoiceOfBlock checks that each ticket of a block names its holder: the turn that was shown may be over.
func TestChoiceOfBlock(t *testing.T) {
	block := queue.Holder{Ticket: ticket.FromUint64(11), Turns: 8, Reached: ticket.FromUint64(12)}
	for text, want := range map[string]bool{"10": false, "11": true, "12": true, "18": true, "19": false, "": true, "…8": true, "…9": false} {
		chosen, err := parseChoice(text)
		if err != nil || chosen.of(block) != want {
			t.Errorf("--ticket %q: %v, %v", text, chosen.of(block), err)
		}
	}
}
