package main

import (
	"testing"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/cmd/queuelock/internal/display"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

// TestRevoke checks that revoke asks a holder to give way, and that status, ls and JSON show it.
func TestRevoke(t *testing.T) {
	e := newEngine(t)
	lock := e.occupied(t, "x")
	invoke(t, "revoke", "x", "--why", "a hotfix waits", "--after", "5m").prints(t, 0,
		"\"x\" (lock): ticket 1 was asked to give way; it learns of it by its next heartbeat, within about 30m0s; it may not react\n")
	locktest.Check(t, lock.Extend(t.Context()))
	<-lock.Revoked()
	if r, ok := lock.Revocation(); !ok || r.Why != "a hotfix waits" || r.Deadline.IsZero() {
		t.Errorf("%+v, %t", r, ok)
	}
	invoke(t, "status", "x").shows(t, 0, "1 was asked to give way ", ": a hotfix waits\n")
	invoke(t, "ls").shows(t, 0, " (asked)")
	report := object[display.Report](t, invoke(t, "status", "x", "-o", "json"))
	if report.Serving[0].Revoked == nil || report.Serving[0].Revoked.Why != "a hotfix waits" {
		t.Errorf("%+v", report)
	}
	invoke(t, "revoke", "x", "--ticket", "1", "--json").prints(t, 0, `{"entity":"x","reason":"lock","ticket":"1","asked":true,"hears_within_seconds":1800,"has_bell":false}`+"\n")
	mustBeShort(t, invoke(t, "revoke", "x", "--ticket", "2"), exitFailed, "no holder has this ticket")
	locktest.Release(t, lock)
	mustBeShort(t, invoke(t, "revoke", "x"), exitFailed, "no holder")
	mustBeShort(t, invoke(t, "revoke", "never/used"), exitFailed, "no such queue")
}

// TestOnRevoke checks that run hears by its bell, sends the signal, and releases the lock when the command has ended.
func TestOnRevoke(t *testing.T) {
	e := newEngine(t)
	b := running(t, "trap 'echo asked; exit 3' USR1; echo ready; while :; do sleep 0.05; done", "--on-revoke", "usr1")
	invoke(t, "revoke", "x", "--why", "enough").prints(t, 0,
		"\"x\" (lock): ticket 1 was asked to give way; it learns of it by its next heartbeat, within about 30s, at once on this host; it may not react\n")
	b.expect(t, "asked")
	b.wait(t).ends(t, 3, "asked to give way", "enough", "SIGUSR1 was sent")
	e.mustBeIdle(t, "x")
	b = running(t, fifo(t), "--ttl", "4s")
	invoke(t, "revoke", "x").ends(t, 0)
	beat := e.state(t, "x").Serving[0].Beat
	until(t, "it has heard of it", func() bool { return e.state(t, "x").Serving[0].Beat >= beat+2 })
	openFIFO(t)
	b.wait(t).ends(t, 0, "asked to give way", "it goes on")
}

// TestRunEvery checks that a lock is granted at most once in a time, and that the next time is shown.
func TestRunEvery(t *testing.T) {
	e := newEngine(t)
	for _, flag := range []string{"--every", "--at-least"} {
		name := "x" + flag
		invoke(t, "run", name, flag, "1h", "-n", "--", "true").ends(t, 0)
		mustBeShort(t, invoke(t, "run", name, flag, "1h", "-n", "--", "true"), exitNotAcquired, "is closed until 2")
		invoke(t, "status", name).shows(t, 0, "0 served, 0 waiting; closed until 2", "opens in ")
		invoke(t, "ls", name).shows(t, 0, "closed until 2")
		mustBeShort(t, invoke(t, "revoke", name), exitFailed, `x`+flag+`" (lock): the lock has no holder: closed until 2`)
		invoke(t, "evict", name, "--ticket", "1").ends(t, 0)
		locktest.Release(t, locktest.Must(e.client(t).Acquire(t.Context(), queuelock.Key{Entity: name}, waitpolicy.NoWait)))
	}
}

// TestRevokeBesideClosed checks that the only holder of a semaphore needs no ticket, though another permit stays closed.
func TestRevokeBesideClosed(t *testing.T) {
	e := newEngine(t)
	invoke(t, "run", "x", "--permits", "2", "--every", "1h", "-n", "--", "true").ends(t, 0)
	key := queuelock.Key{Entity: "x"}
	lock := locktest.Must(e.client(t).Acquire(t.Context(), key, waitpolicy.NoWait, queuelock.Permits(2)))
	defer locktest.Release(t, lock)
	invoke(t, "revoke", "x").shows(t, 0, "ticket 2 was asked")
}

// TestRungToGiveWay checks that a holder of this host is rung when it is asked to give way, long before its next heartbeat, and with
// --no-bell neither rings nor is rung.
func TestRungToGiveWay(t *testing.T) {
	e := newEngine(t)
	script := "trap 'echo asked; exit 3' TERM; echo ready; while :; do sleep 0.05; done"
	old := running(t, script, "--on-revoke", "TERM", "--ttl", "1h")
	invoke(t, "revoke", "x").ends(t, 0)
	old.wait(t).ends(t, 3, "asked to give way", "SIGTERM was sent")

	old = running(t, script, "--on-revoke", "TERM", "--ttl", "1h", "--cancel-in-progress")
	newest := start(t, t.Context(), "run", "x", "--cancel-in-progress", "--", "echo", "newest ran")
	old.wait(t).ends(t, 3, "superseded by ticket", "SIGTERM was sent")
	newest.expect(t, "newest ran")
	newest.wait(t).ends(t, 0)

	for _, flags := range [][]string{nil, {"--no-bell"}} {
		b := running(t, fifo(t), flags...)
		if bell := e.state(t, "x").Serving[0].Bell; (bell == "") != (flags != nil) {
			t.Errorf("with %v the entry shows the bell %q", flags, bell)
		}
		openFIFO(t)
		b.wait(t).ends(t, 0)
	}
}
