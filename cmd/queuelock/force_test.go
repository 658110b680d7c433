package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/counter"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/ticket"
	"github.com/queuelock/queuelock/waitpolicy"
)

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
		for _, part := range []string{"ticket 1 is held by \"other owner\"", "left of a lease of 1h0m0s", "works on until its next heartbeat",
			"writes by Transact are refused at once", "only after a later holder has written", "lock delay of 1h0m0s does not apply", "with beat 0?"} {
			if !strings.Contains(strings.ReplaceAll(o.stderr, "\n", " "), part) {
				t.Errorf("%q does not contain %q", o.stderr, part)
			}
		}
	}
	locktest.OK(t, lock.Extend(t.Context()))
	mustBeShort(t, answer(t, "", append(evict, "--beat", "0")...), exitFailed, "has renewed its lease since", "status -o json")
	answer(t, "y\n", evict...).prints(t, 0, "\"x\" (lock): ticket 1 is evicted\n")
	locktest.Is(t, lock.Release(t.Context()), queuelock.ErrLost)
	mustBeShort(t, answer(t, "y\n", evict...), exitFailed, "no holder has this ticket")

	for i, confirm := range []string{"--yes", "--beat=0"} {
		lock := hold()
		o := answer(t, "", "evict", "x", "--ticket", fmt.Sprint(i+2), "--force", "--json", confirm)
		if o.code != 0 || !strings.HasSuffix(o.stdout, `"evicted":true}`+"\n") {
			t.Errorf("%s: %+v", confirm, o)
		}
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

// TestEvictForceOfItem checks that evict --item ends the turn of an item's holder.
func TestEvictForceOfItem(t *testing.T) {
	e := newEngine(t)
	key := map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: "order"}, "sk": &types.AttributeValueMemberS{Value: "7"}}
	lock := locktest.Must(e.client(t).LockItem(t.Context(), queuelock.ItemKey{Table: "queuelock", Key: key}, waitpolicy.NoWait, queuelock.CreateItem()))
	evict := []string{"evict", "--item", "queuelock", "--key", "pk=order", "--key", "sk=7", "--ticket", "1"}
	mustBeShort(t, invoke(t, evict...), exitUsage, "--item needs --force")
	mustBeShort(t, invoke(t, append(evict, "--force", "x")...), exitUsage, "exclude each other")
	o := answer(t, "y\n", append(evict, "--force")...)
	if o.code != 0 || !strings.HasPrefix(o.stdout, "item ") || !strings.HasSuffix(o.stdout, ": ticket 1 is evicted\n") {
		t.Errorf("%+v", o)
	}
	locktest.Is(t, lock.Release(t.Context()), queuelock.ErrLost)
	mustBeShort(t, answer(t, "y\n", append(evict, "--force")...), exitFailed, "no holder has this ticket")
}

// TestEvictShortTicket checks that the digits of a ticket's short form name it without the
// ellipsis, too.
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
		o := invoke(t, append(force, "--yes", "--ticket", given)...)
		if whole := strings.TrimLeft(given, "….") + " is evicted\n"; o.code != 0 || !strings.HasSuffix(o.stdout, "ticket "+whole) {
			t.Errorf("%s: %+v", given, o)
		}
	}
	for i, lock := range locks {
		err := lock.Release(t.Context())
		if evicted := i == 1 || i == 10 || i == 11; (err != nil) != evicted {
			t.Errorf("ticket %d: %v", i+1, err)
		}
	}
	lock := locktest.Must(e.client(t).Acquire(t.Context(), key, waitpolicy.NoWait, queuelock.Permits(20)))
	if o := answer(t, "y\n", force...); o.code != 0 || !strings.HasSuffix(o.stdout, "ticket 13 is evicted\n") {
		t.Errorf("%+v", o)
	}
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
