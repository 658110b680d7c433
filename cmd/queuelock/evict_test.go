package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/cmd/queuelock/internal/display"
	"github.com/queuelock/queuelock/internal/counter"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
	"github.com/queuelock/queuelock/waitpolicy"
)

// failClosed holds an entity's lock without a lease, by a client that is closed at the end of the test.
func (e *engine) failClosed(t *testing.T, key queuelock.Key) *queuelock.Lock {
	t.Helper()
	return locktest.Must(e.client(t).Acquire(t.Context(), key, waitpolicy.NoWait, queuelock.FailClosed()))
}

// TestEvict checks that evict takes the lock from a holder without a lease.
func TestEvict(t *testing.T) {
	e := newEngine(t)
	key := queuelock.Key{Entity: "pay roll", Reason: "it's due"}
	lock := e.failClosed(t, key)
	invoke(t, "status", "pay roll", "--reason", "it's due").matches(t, 0,
		`no lease.*queuelock evict 'pay roll' --reason 'it'\\''s due' --ticket 1\n$`, ".*")
	report := object[display.Report](t, invoke(t, "status", "pay roll", "--reason", "it's due", "--json"))
	if len(report.Serving) != 1 || !report.Serving[0].FailClosed || report.Serving[0].Remaining != nil {
		t.Errorf("%+v", report)
	}

	evict := []string{"evict", "pay roll", "--reason", "it's due", "--ticket"}
	wrong := invoke(t, append(evict, "2")...)
	mustBeShort(t, wrong, exitFailed, "no holder has this ticket", "other owner holds it (ticket 1)")
	evicted := `^{"entity":"pay roll","reason":"it's due","ticket":"1","evicted":true}\n$`
	invoke(t, append(evict, "1", "--json")...).matches(t, 0, evicted, "")
	invoke(t, append(evict, "1")...).ends(t, exitFailed, "the lock has no holder")
	locktest.Is(t, lock.Release(t.Context()), queuelock.ErrLost)
	invoke(t, "status", "pay roll", "--reason", "it's due").shows(t, 0, "idle; the last ticket was 1\nlast loss: ticket 1, ")
}

// TestEvictSparesLease checks that evict refuses to end a lease.
func TestEvictSparesLease(t *testing.T) {
	e := newEngine(t)
	lock := e.occupied(t, "x")
	const next = "a lease: stop its process, or repeat the command with --force"
	mustBeShort(t, invoke(t, "evict", "x", "--ticket", "1"), exitFailed, next)
	locktest.Check(t, lock.Extend(t.Context()))
	invoke(t, "evict", "never/used", "--ticket", "1").ends(t, exitFailed)
	invoke(t, "evict", "x", "--ticket", "1", "--table", "nosuch").ends(t, exitUnavailable, "table create --table nosuch")
}

// TestRunOfEvictedHolder checks that run ends its command when it is evicted, in any scope.
func TestRunOfEvictedHolder(t *testing.T) {
	e := newEngine(t)
	b := running(t, "echo ready; exec sleep 100", "--fail-closed", "--ttl", "1s", "--scope", "table")
	invoke(t, "evict", "x", "--ticket", "1").prints(t, 0, "\"x\" (lock): ticket 1 is evicted\n")
	b.wait(t).ends(t, exitLost, "evicted")
	e.mustBeIdle(t, "x")
}

// TestRunWithoutRelease checks that run reports a lock that could not be released.
func TestRunWithoutRelease(t *testing.T) {
	e := newEngine(t)
	shorten(t, &closeLimit, 100*time.Millisecond) // for the release, and once more for Close
	b := running(t, fifo(t), "--fail-closed", "--ttl", "1s")
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

// TestEvictForce checks that evict --force ends the turn of a holder that renews its lease,
// as it was shown and only after a confirmation.
func TestEvictForce(t *testing.T) {
	e := newEngine(t)
	evict := []string{"evict", "x", "--ticket", "1", "--force"}
	hold := func() *queuelock.Lock {
		t.Helper()
		return e.occupied(t, "x", queuelock.LockDelay(time.Hour))
	}
	lock := hold()
	for _, stdin := range []string{"", "n\n", "\n", "yellow\n"} {
		o := answer(t, stdin, evict...)
		last := o.stderr[strings.LastIndex(strings.TrimSpace(o.stderr), "[y/N] ")+1:]
		if o.code != exitFailed || o.stdout != "" || !strings.Contains(last, "nothing was done") {
			t.Errorf("%q: %+v", stdin, o)
		}
		contains(t, strings.ReplaceAll(o.stderr, "\n", " "), `ticket 1 is held by "other owner"`, "with beat 0?",
			"left of a lease of 1h0m0s", "lock delay of 1h0m0s does not apply", "works on until its next heartbeat",
			"writes by Transact are refused at once", "only after a later holder has written")
	}
	locktest.OK(t, lock.Extend(t.Context()))
	mustBeShort(t, answer(t, "", append(evict, "--beat", "0")...), exitFailed, "has renewed its lease since", "status -o json")
	answer(t, "y\n", evict...).prints(t, 0, "\"x\" (lock): ticket 1 is evicted\n")
	locktest.Is(t, lock.Release(t.Context()), queuelock.ErrLost)
	mustBeShort(t, answer(t, "y\n", evict...), exitFailed, "no holder has this ticket")

	for i, confirm := range []string{"--yes", "--beat=0"} {
		lock := hold()
		o := answer(t, "", "evict", "x", "--ticket", fmt.Sprint(i+2), "--force", "--json", confirm)
		o.matches(t, 0, `"evicted":true}\n$`, ".*")
		locktest.Is(t, lock.Release(t.Context()), queuelock.ErrLost)
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
		e.onApplied(func(operation string) {
			if operation == "Query" {
				queries++
				locktest.Check(t, lock.Extend(t.Context()))
			}
		})
		args := []string{"evict", "x", "--ticket", "1", "--force"}
		if !confirm {
			args = append(args, "--yes")
		}
		o := answer(t, "y\ny\n", args...)
		if asked := strings.Count(o.stderr, "[y/N]"); o.code != 0 || queries != 1 || confirm && (asked != 2 || !strings.Contains(o.stderr, "beat 1?")) || !confirm && asked != 0 {
			t.Errorf("%+v, after %d looks", o, queries)
		}
		locktest.Is(t, lock.Release(t.Context()), queuelock.ErrLost)
	}
}

func TestEvictForceOfItem(t *testing.T) {
	e := newEngine(t)
	key := map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: "order"}, "sk": &types.AttributeValueMemberS{Value: "7"}}
	lock := locktest.Must(e.client(t).LockItem(t.Context(), queuelock.ItemKey{Table: "queuelock", Key: key}, waitpolicy.NoWait, queuelock.CreateItem()))
	evict := []string{"evict", "--item", "queuelock", "--key", "pk=order", "--key", "sk=7", "--ticket", "1"}
	mustBeShort(t, invoke(t, evict...), exitUsage, "--item needs --force")
	mustBeShort(t, invoke(t, append(evict, "--force", "x")...), exitUsage, "exclude each other")
	answer(t, "y\n", append(evict, "--force")...).matches(t, 0, "^item .*: ticket 1 is evicted\n$", ".*")
	locktest.Is(t, lock.Release(t.Context()), queuelock.ErrLost)
	mustBeShort(t, answer(t, "y\n", append(evict, "--force")...), exitFailed, "no holder has this ticket")
}

// TestEvictShortTicket checks that the digits of a ticket's short form name it without the ellipsis, too.
func TestEvictShortTicket(t *testing.T) {
	e := newEngine(t)
	small := counter.Base
	counter.Base = ticket.Base
	t.Cleanup(func() { counter.Base = small })
	lock := e.failClosed(t, queuelock.Key{Entity: "x"})
	digits, isShort := strings.CutPrefix(lock.Ticket().Short(), "…")
	if !isShort {
		t.Fatalf("the ticket %s is not shortened", lock.Ticket())
	}
	invoke(t, "evict", "x", "--ticket", digits+"1").ends(t, exitFailed, "no holder has this ticket")
	invoke(t, "evict", "x", "--ticket", digits).prints(t, 0, fmt.Sprintf("\"x\" (lock): ticket %s is evicted\n", lock.Ticket()))
	locktest.Is(t, lock.Release(t.Context()), queuelock.ErrLost)
}

// TestEvictTicket checks how --ticket names a holder: whole, by its last digits as status
// shows them, or not at all where there is one holder to confirm.
func TestEvictTicket(t *testing.T) {
	e := newEngine(t)
	key := queuelock.Key{Entity: "x"}
	var locks []*queuelock.Lock
	for range 12 {
		lock := locktest.Must(e.client(t).Acquire(t.Context(), key, waitpolicy.For(testLimit), queuelock.Permits(20)))
		locks = append(locks, lock)
	}
	force := []string{"evict", "x", "--force"}
	mustBeShort(t, invoke(t, append(force, "--ticket", "…2", "--yes")...), exitFailed, "2 holders are possible: name one")
	mustBeShort(t, invoke(t, force...), exitFailed, "12 holders are possible")
	mustBeShort(t, invoke(t, append(force, "--yes")...), exitUsage, "--ticket is missing")
	for _, wrong := range []string{"…", "...x", "…2…", "0"} {
		mustBeShort(t, invoke(t, append(force, "--ticket", wrong)...), exitUsage, "need a whole number")
	}
	for _, given := range []string{"2", "…12", "...11"} {
		whole := "ticket " + strings.TrimLeft(given, "….") + " is evicted\n$"
		invoke(t, append(force, "--yes", "--ticket", given)...).matches(t, 0, whole, ".*")
	}
	for i, lock := range locks {
		err := lock.Release(t.Context())
		if evicted := i == 1 || i == 10 || i == 11; (err != nil) != evicted {
			t.Errorf("ticket %d: %v", i+1, err)
		}
	}
	lock := locktest.Must(e.client(t).Acquire(t.Context(), key, waitpolicy.NoWait, queuelock.Permits(20)))
	answer(t, "y\n", force...).matches(t, 0, "ticket 13 is evicted\n$", ".*")
	locktest.Is(t, lock.Release(t.Context()), queuelock.ErrLost)
}

// TestEvictUnreadable checks that evict does not ask about a holder that cannot be read, and
// says that it is removed by hand.
func TestEvictUnreadable(t *testing.T) {
	e := newEngine(t)
	e.put(t, queuelock.Key{Entity: "x", Reason: "lock"}, 0, map[string]types.AttributeValue{
		"ticketNumber": number("1"), "servingAfter": number("0"), "granted": number("1"), "holdMode": text("exclusive"),
		"holders": &types.AttributeValueMemberM{Value: map[string]types.AttributeValue{"broken": number("1")}},
	})
	for _, more := range []string{"--force", "--force --ticket 1 --yes", "--force --ticket 1 --beat 3"} {
		mustBeShort(t, answer(t, "y\n", append([]string{"evict", "x"}, strings.Fields(more)...)...), exitFailed, "by hand")
	}
}

// TestEvictShowsData checks that the question shows what the holder does.
func TestEvictShowsData(t *testing.T) {
	e := newEngine(t)
	e.occupied(t, "x", queuelock.WithData([]byte("./deploy.sh --fast "+strings.Repeat("word ", 40))))
	o := answer(t, "n\n", "evict", "x", "--force")
	if !strings.Contains(o.stderr, "Its data: ./deploy.sh --fast word") {
		t.Errorf("%q", o.stderr)
	}
	question, _, _ := strings.Cut(o.stderr, "Evict it")
	for line := range strings.Lines(question) {
		if len(line) > questionWidth+1 {
			t.Errorf("%d columns: %q", len(line), line)
		}
	}
}
