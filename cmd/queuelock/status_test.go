package main

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/cmd/queuelock/internal/display"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/ticket"
	"github.com/queuelock/queuelock/waitpolicy"
)

// TestStatus checks that status lists the holders and the waiters.
func TestStatus(t *testing.T) {
	e := newEngine(t)
	queued := e.puts()
	invoke(t, "status", "x").prints(t, 0, "\"x\" (lock): no such queue in table \"queuelock\": it was never used, or has another name (see 'queuelock ls')\n")
	unused := object[map[string]any](t, invoke(t, "status", "x", "--json"))
	for _, name := range []string{"hold_time", "scope", "permits"} {
		if value, there := unused[name]; value != nil || !there {
			t.Errorf("%s of a queue never used: %v", name, value)
		}
	}
	lock := e.occupied(t, "x")
	b := start(t, t.Context(), "run", "x", "--wait", "forever", "--", "true")
	<-queued

	o := invoke(t, "status", "x")
	for _, part := range []string{`"x" (lock): 1 served, 1 waiting`, "other owner", "LEASE LEFT"} {
		if o.code != 0 || !strings.Contains(o.stdout, part) {
			t.Errorf("exit code %d, stdout %q does not have %q", o.code, o.stdout, part)
		}
	}
	report := object[display.Report](t, invoke(t, "status", "x", "--json"))
	if len(report.Serving) != 1 || report.Serving[0].Owner != "other owner" || report.Serving[0].Ticket != "1" ||
		len(report.Waiting) != 1 || report.Waiting[0].Ticket != "2" || report.Waiting[0].Position != 1 || report.Issued != "2" {
		t.Errorf("%+v", report)
	}

	locktest.OK(t, lock.Release(t.Context()))
	b.wait(t).ends(t, 0)
	if o := invoke(t, "status", "x"); o.stdout != "\"x\" (lock): idle; the last ticket was 2\n" {
		t.Errorf("after: stdout %q", o.stdout)
	}
}

// TestStatusOfSharedLock checks that status lists the holders that share a lock.
func TestStatusOfSharedLock(t *testing.T) {
	e := newEngine(t)
	queued := e.puts()
	locktest.Must(e.client(t).Acquire(t.Context(), queuelock.Key{Entity: "x"}, waitpolicy.NoWait, queuelock.Shared()))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	writer := start(t, ctx, "run", "x", "--wait", "forever", "--", "true")
	<-queued
	reader := start(t, ctx, "run", "x", "--wait", "forever", "--shared", "--", "true")
	<-queued

	o := invoke(t, "status", "x")
	lines := strings.Split(o.stdout, "\n")
	if o.code != 0 || len(lines) != 7 || lines[0] != `"x" (lock): 1 served, 2 waiting` {
		t.Fatalf("%+v", o)
	}
	mode := strings.Index(lines[2], "MODE")
	for i, want := range []string{"shared ", "exclusive ", "shared "} {
		if mode < 0 || !strings.HasPrefix(lines[3+i][mode:], want) {
			t.Errorf("row %d is not %s:\n%s", i, want, o.stdout)
		}
	}
	report := object[display.Report](t, invoke(t, "status", "x", "--json"))
	if s, w := report.Serving, report.Waiting; len(s) != 1 || !s[0].Shared || len(w) != 2 || *w[0].Shared || !*w[1].Shared || *report.Permits != 0 || *report.Scope != "queue" {
		t.Errorf("%+v", report)
	}
	cancel()
	writer.wait(t)
	reader.wait(t)

	e.occupied(t, "y")
	if o := invoke(t, "status", "y"); o.code != 0 || strings.Contains(o.stdout, "MODE") || strings.Contains(o.stdout, "exclusive") {
		t.Errorf("modes without shared holders: %+v", o)
	}
}

// TestStatusKinds checks that status reports the kind of the queue.
func TestStatusKinds(t *testing.T) {
	for want, test := range map[string]struct {
		scope ticket.Scope
		opts  []queuelock.AcquireOption
	}{
		"":                          {},
		"semaphore, ":               {opts: []queuelock.AcquireOption{queuelock.Permits(3)}},
		"scope table, ":             {scope: ticket.ScopeTable},
		"semaphore, scope entity, ": {scope: ticket.ScopeEntity, opts: []queuelock.AcquireOption{queuelock.Permits(3)}},
	} {
		e := newEngine(t)
		var locks []*queuelock.Lock
		of, idle := "", want
		for range 2 {
			if len(locks) == 1 && len(test.opts) == 0 {
				continue
			}
			lock := locktest.Must(e.ofScope(t, test.scope).Acquire(t.Context(), queuelock.Key{Entity: "x"}, waitpolicy.For(testLimit), test.opts...))
			locks = append(locks, lock)
		}
		if len(test.opts) > 0 {
			of, idle = " of 3", strings.Replace(want, "semaphore", "semaphore of 3", 1)
		}
		want = fmt.Sprintf("\"x\" (lock): %s%d%s served, 0 waiting\n", want, len(locks), of)
		if o := invoke(t, "status", "x"); o.code != 0 || !strings.HasPrefix(o.stdout, want) {
			t.Errorf("%+v, want %q", o, want)
		}
		for _, lock := range locks {
			locktest.OK(t, lock.Release(t.Context()))
		}
		idle = fmt.Sprintf("\"x\" (lock): %sidle; the last ticket was %d\n", idle, len(locks))
		invoke(t, "status", "x").prints(t, 0, idle)
		if o := invoke(t, "status", "x", "--json"); !strings.Contains(o.stdout, `"scope":"`+display.Scope(test.scope)+`","permits":`) || strings.Contains(o.stdout, `"permits":3`) != (of != "") {
			t.Errorf("%+v", o)
		}
	}
}

// TestStatusData checks that status shows the data of a holder.
func TestStatusData(t *testing.T) {
	e := newEngine(t)
	lock := e.occupied(t, "x")
	if o := invoke(t, "status", "x"); o.code != 0 || strings.Contains(o.stdout, "data") {
		t.Errorf("without data: exit code %d, stdout %q", o.code, o.stdout)
	}
	for _, test := range []struct{ data, printed, asJSON string }{
		{"step 2 of 5: \"café\"", "\ndata of 1: step 2 of 5: \"café\"\n", `"data":"step 2 of 5: \"café\"","data_base64":"`},
		{"two\nlines", "\ndata of 1: \"two\\nlines\"\n", `"data":"two\nlines","data_base64":"dHdvCmxpbmVz"`},
		{"\x1b[2J", "\ndata of 1: \"\\x1b[2J\"\n", `"data_base64":"G1sySg=="`},
		{"\xde\xad\xbe\xef", "\ndata of 1 (base64): 3q2+7w==\n", `"data":null,"data_base64":"3q2+7w=="`},
	} {
		locktest.OK(t, lock.SetData(t.Context(), []byte(test.data)))
		if o := invoke(t, "status", "x"); o.code != 0 || !strings.HasSuffix(o.stdout, test.printed) {
			t.Errorf("exit code %d, stdout %q, want %q at its end", o.code, o.stdout, test.printed)
		}
		invoke(t, "status", "x", "--json").shows(t, 0, test.asJSON)
	}
}

// TestStatusForeignRow checks that status shows a foreign row.
func TestStatusForeignRow(t *testing.T) {
	e := newEngine(t)
	e.occupied(t, "x")
	e.put(t, queuelock.Key{Entity: "x", Reason: "lock"}, 5, map[string]types.AttributeValue{})
	invoke(t, "status", "x").shows(t, 0, "queue row 5")
}
