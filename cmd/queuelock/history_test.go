package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/cmd/queuelock/internal/history"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

// TestHistory checks that history shows who held the lock, as text and as pictures, and ends early with its context.
func TestHistory(t *testing.T) {
	e := newEngine(t)
	dir := t.TempDir()
	svg, page := filepath.Join(dir, "x.svg"), filepath.Join(dir, "x.html")
	locktest.OK(t, os.WriteFile(svg, []byte(strings.Repeat("old ", 10_000)), 0o600))
	looks := e.applied("Query")
	seen := func() {
		for len(looks) > 0 {
			<-looks
		}
		<-looks // perhaps of a look that was applied before
		<-looks
		<-looks // the one before it was read
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	b := start(t, ctx, "history", "x", "--for", "1m", "--interval", "50ms", "--svg", svg, "--html", page)
	seen()
	lock := e.occupied(t, "x")
	seen()
	locktest.OK(t, lock.Release(t.Context()))
	text := b.expect(t, "ended\n")
	e.occupied(t, "x")
	seen()
	cancel()
	text += b.expect(t, "longest")
	contains(t, text, "other owner", "ticket       1", "one column is", "turns              2 seen")
	o := b.wait(t)
	if want := "queuelock: a consistent read every 50ms for 1m0s: 1201 read units"; o.code != 0 || !strings.HasPrefix(o.stderr, want) || !strings.HasSuffix(o.stderr, "\nqueuelock: wrote "+svg+"\nqueuelock: wrote "+page+"\n") || strings.Count(o.stderr, "\n") != 3 {
		t.Errorf("%+v, want %q", o, want)
	}
	for name, parts := range map[string][]string{svg: {"<svg ", `class="holding"`, "other owner", "</svg>"}, page: {"<html", "<td>1</td><td>other owner</td>", "<svg ", "</html>"}} {
		content := locktest.Must(os.ReadFile(name))
		contains(t, string(content), parts...)
		if strings.Contains(string(content), "old old") {
			t.Errorf("%s has a part of the file that it replaces", name)
		}
	}
}

// TestHistoryJSON checks the output for machines, at the end of its time.
func TestHistoryJSON(t *testing.T) {
	e := newEngine(t)
	invoke(t, "history", "x", "--table", "missing").ends(t, exitUnavailable)
	item := e.items(t, "order-7")
	locktest.Must(e.client(t).LockItem(t.Context(), item, waitpolicy.NoWait, queuelock.WithOwner("me")))
	report := object[history.Report](t, invoke(t, "history", "--item", "orders", "--key", "id=order-7", "--for", "1s", "--interval", "100ms", "--json"))
	if len(report.Turns) != 1 || report.Turns[0].Owner != "me" || report.Turns[0].Outcome != "holds" || report.Turns[0].Granted == nil || report.Looks < 3 || report.Observed > 30 {
		t.Errorf("%+v", report)
	}
}
