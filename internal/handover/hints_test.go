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
		trusted += w.Hints().Trust
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
		if trust := w.Hints().Trust; trust != step.want {
			t.Errorf("%s: trust is %d, want %d", step.name, trust, step.want)
		}
	}
	w.Leave()
	if again := lines.Join(onPaper("e", "lock"), n(2), 0); again.Hints().Trust != 1 {
		t.Error("the next waiter has forgotten it")
	}
	without := New(time.Hour).Join(onPaper("e", "lock"), n(1), 0)
	if without.hint != nil || without.Hints().Trust != 0 {
		t.Error("there are hints without Config.Wake")
	}
}

// judge has a waiter judge a look that was early as often as a hint is believed.
func judge(w *Waiter, ended, hinted bool) {
	w.heard = heard{hints: waitpolicy.Hints{Early: waitpolicy.MaxEarly}}
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
	w.Judge(before, now)
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
		signal(w.hint)
		before := w.Hints().Trust
		if look(w, false); w.Hints().Trust != before || w.Hints().Came != 0 || !hinted(w) {
			t.Errorf("after %d false hints: the look has judged a hint that came later", falseOnes)
		}
		signal(w.hint)
		if look(w, true); w.Hints().Trust != before+1 || hinted(w) {
			t.Errorf("after %d false hints: trust was %d and is %d, want that the hint was true", falseOnes, before, w.Hints().Trust)
		}
	}
}
