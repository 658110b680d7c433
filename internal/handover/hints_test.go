package handover

import (
	"log/slog"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/queuelock/queuelock/internal/table"
	testhints "github.com/queuelock/queuelock/internal/testbed/hints"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/waitpolicy"
)

func hinted(w *Waiter) bool {
	select {
	case <-w.hint:
		return true
	default:
		return false
	}
}

func TestHints(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var hub testhints.Hub
		open := func(name string) *Lines {
			q := New(time.Hour)
			q.UseHints(hub.Client(name), slog.New(slog.DiscardHandler))
			return q
		}
		a, b := open("a"), open("b")
		q := onPaper("e", "lock")
		first, second, other := b.Join(q, n(1), 0), b.Join(q, n(2), 0), b.Join(onPaper("e", "lock2"), n(1), 0)
		arn := q
		arn.Store = table.NewStore(nil, table.Layout{Table: "arn:aws:dynamodb:eu-west-1:1:table/t"}, time.Second)
		a.Wake(arn, true)
		time.Sleep(time.Second)
		if !hinted(first) || hinted(second) || hinted(other) {
			t.Error("a hint wakes the first waiter of its queue, and no other")
		}
		for range 10 {
			hub.Forge()
		}
		if !hinted(first) || hinted(first) {
			t.Error("hints at one instant are one")
		}
		time.Sleep(time.Second)
		b.Wake(q, false)
		if hub.Forge(); hinted(first) {
			t.Error("the echo of a turn that ended in this process is a hint")
		}
		first.Leave()
		time.Sleep(time.Second)
		if hub.Forge(); !hinted(second) {
			t.Error("the next waiter gets no hint")
		}
		b.Close()
		time.Sleep(time.Second)
		if hub.Forge(); hinted(second) {
			t.Error("hints arrive after Close")
		}
	})
}

// TestManyQueues checks that with some more than a thousand lines in rotation most are remembered, and no more than a
// thousand.
func TestManyQueues(t *testing.T) {
	const many, bound = 1010, 1000
	var hub testhints.Hub
	lines := New(time.Hour)
	lines.UseHints(hub.Client("a"), slog.New(slog.DiscardHandler))
	var waiters []*Waiter
	for i := range many {
		waiters = append(waiters, lines.Join(onPaper("e", strconv.Itoa(i)), n(1), 0))
	}
	for range 2 {
		for i, w := range waiters {
			judge(w, true, true)
			lines.Wake(onPaper("e", strconv.Itoa(i)), false)
		}
	}
	trusted, ended := 0, 0
	for i, w := range waiters {
		trusted += w.Hints(false).Trust
		if !lines.Ended(onPaper("e", strconv.Itoa(i))).IsZero() {
			ended++
		}
	}
	if trusted != bound || ended != bound {
		t.Errorf("of %d lines %d are trusted, and of %d an end is known: want %d", many, trusted, ended, bound)
	}
}

// TestTrust checks that trust needs hints that were true, and lasts until a turn ends without one.
func TestTrust(t *testing.T) {
	var hub testhints.Hub
	lines := New(time.Hour)
	lines.UseHints(hub.Client("a"), slog.New(slog.DiscardHandler))
	w := lines.Join(onPaper("e", "lock"), n(1), 0)
	for _, step := range []struct {
		name          string
		ended, hinted bool
		times, want   int
	}{
		{"EndWithoutHint", true, false, 2, 0},
		{"TrueHint", true, true, 3, 1},
		{"LostHint", true, false, 1, 0},
		{"TrueAgain", true, true, 1, 1},
		{"FalseHint", false, true, 1, -1},
		{"ManyFalseHints", false, true, 100, -5},
		{"LostAmongFalse", true, false, 1, -5},
		{"TrueOnesRegainTrust", true, true, 6, 1},
	} {
		for range step.times {
			judge(w, step.ended, step.hinted)
		}
		if trust := w.Hints(false).Trust; trust != step.want {
			t.Errorf("%s: trust is %d, want %d", step.name, trust, step.want)
		}
	}
	w.Leave()
	if again := lines.Join(onPaper("e", "lock"), n(2), 0); again.Hints(false).Trust != 1 {
		t.Error("the next waiter has forgotten it")
	}
	without := New(time.Hour).Join(onPaper("e", "lock"), n(1), 0)
	if without.hint != nil || without.Hints(false).Trust != 0 {
		t.Error("there are hints without Config.Wake")
	}
}

// judge has a waiter judge a look that was early as often as a hint is believed.
func judge(w *Waiter, ended, hinted bool) {
	w.heard = heard{hints: waitpolicy.Hints{Early: waitpolicy.MaxEarly}, toAll: true}
	if hinted {
		w.heard.hints.Came = 1
	}
	look(w, ended)
}

// look has a waiter judge what it has heard.
func look(w *Waiter, ended bool) {
	before, now := []queue.Holder{{ID: "h"}}, []queue.Holder{{ID: "h"}}
	if ended {
		now = nil
	}
	w.Terms.Pace = &waitpolicy.Pace{}
	w.Judge(before, now, false)
}

// TestHintDuringLook checks that a hint that comes during a look is that of the end which the look shows. If it shows none,
// the look may have been before that end: the hint ends the next rest, however many were false before.
func TestHintDuringLook(t *testing.T) {
	for _, falseOnes := range []int{0, 1, 5} {
		var hub testhints.Hub
		lines := New(time.Hour)
		lines.UseHints(hub.Client("a"), slog.New(slog.DiscardHandler))
		w := lines.Join(onPaper("e", "lock"), n(1), 0)
		for range falseOnes {
			judge(w, false, true)
		}
		w.heard = heard{}
		w.hint <- false
		before := w.Hints(false).Trust
		if look(w, false); w.Hints(false).Trust != before || w.Hints(false).Came != 0 || !hinted(w) {
			t.Errorf("after %d false hints: the look has judged a hint that came later", falseOnes)
		}
		w.hint <- false
		if look(w, true); w.Hints(false).Trust != before+1 || hinted(w) {
			t.Errorf("after %d false hints: trust was %d and is %d, want that the hint was true", falseOnes, before, w.Hints(false).Trust)
		}
	}
}

// TestBells checks who is rung, and that a bell wakes the first waiter of its line until it has left.
func TestBells(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var hub testhints.Hub
		open := func(name string) *Lines {
			q := New(time.Hour)
			q.UseHints(hub.Far(name), slog.New(slog.DiscardHandler))
			return q
		}
		a, b := open("a"), open("b")
		q := onPaper("e", "lock")
		first, second := b.Join(q, n(1), 0), b.Join(q, n(2), 0)
		row := func(w *Waiter) Row { return Row{Row: &queue.Waiter{Ticket: w.ticket, Bell: w.Bell()}} }
		ring := func(w *Waiter) []string {
			before := len(hub.Rung())
			a.Hint(q, row(w))
			time.Sleep(time.Second)
			return hub.Rung()[before:]
		}
		if got := ring(first); len(got) != 1 || got[0] != first.Bell() || !hinted(first) || hinted(second) {
			t.Errorf("rung %q, want that of the first, which is woken", got)
		}
		a.Hint(q, Row{})
		a.Hint(q, Row{Row: &queue.Waiter{Ticket: n(1)}})
		b.Hint(q, row(first))
		if time.Sleep(time.Second); hinted(first) || b.Rings(q, n(1)) || !b.Rings(q, n(3)) || !a.Rings(q, n(1)) {
			t.Error("a bell is rung that is not known, or is the client's own")
		}
		first.Leave()
		ring(first)
		if hinted(first) || hinted(second) {
			t.Error("the bell of a waiter that has left wakes")
		}
		if ring(second); !hinted(second) {
			t.Error("the second is not woken")
		}
		for range 10 {
			hub.Forge()
		}
		if !hinted(second) || hinted(second) {
			t.Error("bells at one instant are one")
		}
		without := New(time.Hour)
		without.UseHints(hub.Client("c"), slog.New(slog.DiscardHandler))
		if w := without.Join(q, n(1), 0); w.Bell() != "" || without.Rings(q, n(2)) {
			t.Error("there are bells without wake.Bells")
		}
	})
}

// TestTrustInBells checks that bells are trusted for the turns of holders that ring, and only for them.
func TestTrustInBells(t *testing.T) {
	var hub testhints.Hub
	lines := New(time.Hour)
	lines.UseHints(hub.Far("a"), slog.New(slog.DiscardHandler))
	w := lines.Join(onPaper("e", "lock"), n(3), 0)
	before := func(holder int) []queue.Holder { return []queue.Holder{{ID: strconv.Itoa(holder), Ticket: n(holder)}} }
	for _, step := range []struct {
		name        string
		bells       int
		hint        bool
		now         []queue.Holder // after the turn of ticket 1
		rings       bool
		trust, with int // while the present holder does not ring, and while it does
	}{
		{name: "TrueBell", bells: 1, trust: 0, with: 2},
		{name: "TurnWithoutBellOfOther", trust: 0, with: 2},
		{name: "LostBell", rings: true, trust: 0, with: 0},
		{name: "TrueAgain", bells: 1, rings: true, trust: 0, with: 2},
		{name: "OfLaterEnd", bells: 1, now: before(2), trust: -1, with: -1},
		{name: "RegainsTrust", bells: 1, trust: 0, with: 0},
		{name: "HintBesideBell", bells: 1, hint: true, trust: 1, with: 1},
		{name: "BellAlone", bells: 1, trust: 0, with: 2},
	} {
		w.Terms.Pace = &waitpolicy.Pace{}
		w.heard = heard{hints: waitpolicy.Hints{Early: waitpolicy.MaxEarly}}
		for range step.bells {
			w.came(true)
		}
		if step.hint {
			w.came(false)
		}
		w.Judge(before(1), step.now, step.rings)
		if got, with := w.Hints(false).Trust, w.Hints(true).Trust; got != step.trust || with != step.with {
			t.Errorf("%s: trust is %d and %d, want %d and %d", step.name, got, with, step.trust, step.with)
		}
	}
	w.heard = heard{}
	w.ring(true)
	if w.Judge(before(1), before(2), false); w.Hints(false).Came != 0 || !hinted(w) {
		t.Error("a bell that came during a look which shows the turn before the waiter's own is of the end of that turn")
	}
}
