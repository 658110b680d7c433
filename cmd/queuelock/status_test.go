package main

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/cmd/queuelock/internal/display"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
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

// TestStatusForeignRow checks that status shows a foreign row.
func TestStatusForeignRow(t *testing.T) {
	e := newEngine(t)
	e.occupied(t, "x")
	e.put(t, queuelock.Key{Entity: "x", Reason: "lock"}, 5, map[string]types.AttributeValue{})
	invoke(t, "status", "x").shows(t, 0, "queue row 5")
}
