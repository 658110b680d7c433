package main

import (
	"context"
	"strings"
	"testing"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/cmd/queuelock/internal/display"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

// waits lets another client wait for an entity, until the returned function is called.
func (e *engine) waits(t *testing.T, entity string, opts ...queuelock.AcquireOption) (leave func()) {
	t.Helper()
	puts, c := e.puts(), e.client(t)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = c.Acquire(ctx, queuelock.Key{Entity: entity}, waitpolicy.Forever, opts...)
	}()
	<-puts
	return func() { cancel(); <-done }
}

// TestMaxWaiters runs commands at a queue that is full, and shows it.
func TestMaxWaiters(t *testing.T) {
	e := newEngine(t)
	e.occupied(t, "x")
	defer e.waits(t, "x", queuelock.MaxWaiters(1))()
	const held = `"x" \(lock\) is held by other owner \(ticket 1\)`
	for words, want := range map[string]struct {
		code int
		text string
	}{
		"--max-waiters 1":                 {exitNotAcquired, "at most 1 may wait; " + held + "; was waiter 2"},
		"--max-waiters 1 -E 9":            {9, "at most 1 may wait"},
		"--max-waiters 0":                 {exitNotAcquired, "at most 0 may wait"},
		"--max-waiters 2 -w 1":            {exitNotAcquired, "was waiter 2"},
		"--max-waiters 1 --progress json": {exitNotAcquired, `"why":"full","superseded_by":null`},
		"--max-waiters 1 -q":              {exitNotAcquired, ""},
	} {
		o := invoke(t, append(append([]string{"run", "x"}, strings.Fields(words)...), "--", "echo", "ran")...)
		o.matches(t, want.code, "", want.text)
	}
	state := e.state(t, "x")
	report, line := display.NewReport(state), display.NewLine(state, nil)
	if !report.Full || *report.Limit != 1 || !line.Full {
		t.Errorf("%+v\n%+v", report, line)
	}
	invoke(t, "status", "x").shows(t, 0, "1 served, 1 waiting, full 1 of 1")
	invoke(t, "ls", "-q").shows(t, 0, "1 full")
}

// TestLatest runs commands that a later waiter supersedes.
func TestLatest(t *testing.T) {
	e := newEngine(t)
	e.occupied(t, "x", queuelock.Supersede())
	for words, want := range map[string]struct {
		code  int
		text  string
		group string
	}{
		"--latest":                                        {exitSuperseded, "superseded by ticket ", "all"},
		"--latest --superseded-exit-code 0":               {0, "superseded by ticket ", "all"},
		"--latest --superseded-exit-code 7 -q":            {7, "", "all"},
		"--latest --group web --progress json -E 3 -w 60": {exitSuperseded, `"why":"superseded","superseded_by":"`, "web"},
	} {
		puts, done := e.puts(), make(chan outcome, 1)
		go func() {
			done <- invoke(t, append(append([]string{"run", "x"}, strings.Fields(words)...), "--", "echo", "ran")...)
		}()
		<-puts
		leave := e.waits(t, "x", queuelock.Supersede(queuelock.Group(want.group)))
		(<-done).matches(t, want.code, "", want.text)
		if report := display.NewReport(e.state(t, "x")); len(report.Waiting) != 1 || *report.Waiting[0].Group != want.group || *report.Serving[0].Group != "all" {
			t.Errorf("%s: %+v", words, report)
		}
		leave()
	}
}

// TestSupersededIsShown shows a waiter that has not looked since a later one came.
func TestSupersededIsShown(t *testing.T) {
	e := newEngine(t)
	e.occupied(t, "x")
	defer e.waits(t, "x", queuelock.Supersede())()
	defer e.waits(t, "x", queuelock.Supersede(queuelock.Group("web")))()
	state := e.state(t, "x")
	state.Waiting[1].Group = "all" // before the first has looked again
	var table strings.Builder
	locktest.OK(t, display.Table(&table, state, display.Options{Name: "x"}))
	by := state.Waiting[1].Ticket
	want := state.Waiting[0].Ticket.Short() + " is superseded by ticket " + by.Short() + ", of the group all"
	if report := display.NewReport(state); !strings.Contains(table.String(), want) || *report.Waiting[0].By != by.String() || report.Waiting[1].By != nil {
		t.Errorf("%s\n%+v", &table, report.Waiting)
	}
}
