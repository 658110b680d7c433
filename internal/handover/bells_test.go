package handover

import (
	"bytes"
	"log/slog"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/queuelock/queuelock/internal/testbed/bells"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/waitpolicy"
	"github.com/queuelock/queuelock/wake"
)

func rung(w *Waiter) bool {
	select {
	case <-w.rung:
		return true
	default:
		return false
	}
}

// ringing returns Lines that ring and are rung.
func ringing(b wake.Bells) *Lines {
	l := New(time.Hour)
	l.UseBells(b, slog.New(slog.DiscardHandler), func(f func()) { f() })
	return l
}

// TestBells checks who is rung, and that a bell wakes the first waiter of its line until it has left.
func TestBells(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var hub bells.Hub
		a, b := ringing(hub.Client("a")), ringing(hub.Client("b"))
		q := onPaper("e", "lock")
		first, second, other := b.Join(q, n(1), 0, b.Hang()), b.Join(q, n(2), 0, b.Hang()), b.Join(onPaper("e", "lock2"), n(1), 0, b.Hang())
		row := func(w *Waiter) Row { return Row{Row: &queue.Waiter{Ticket: w.ticket, Bell: w.bell.Text()}} }
		ring := func(w *Waiter) []string {
			before := len(hub.Rung())
			a.RingNext(q, row(w))
			time.Sleep(time.Second)
			return hub.Rung()[before:]
		}
		if got := ring(first); len(got) != 1 || got[0] != first.bell.Text() || !rung(first) || rung(second) || rung(other) {
			t.Errorf("rung %q, want that of the first, which is woken", got)
		}
		a.RingNext(q, Row{})
		a.RingNext(q, Row{Row: &queue.Waiter{Ticket: n(1)}})
		b.RingNext(q, row(first))
		if time.Sleep(time.Second); rung(first) || b.Rings(q, n(1)) || !b.Rings(q, n(3)) || !a.Rings(q, n(1)) {
			t.Error("a bell is rung that is not known, or is the client's own")
		}
		first.Leave()
		ring(first)
		if rung(first) || rung(second) {
			t.Error("the bell of a waiter that has left wakes")
		}
		for range 10 {
			ring(second)
		}
		if !rung(second) || rung(second) {
			t.Error("the second is not woken once")
		}
		var woken atomic.Bool
		second.bell.Wakes(func() { woken.Store(true) })
		if ring(second); !woken.Load() || rung(second) {
			t.Error("the bell of a holder wakes its waiter")
		}
		for _, w := range []*Waiter{first, second, other} {
			w.bell.Stop()
			w.bell.Stop()
		}
		if hub.Hung() != 0 {
			t.Errorf("%d bells are left", hub.Hung())
		}
	})
}

// TestNoBell checks that a client whose waiters cannot be rung logs that once, and that one without Config.Wake has no bells.
func TestNoBell(t *testing.T) {
	var log bytes.Buffer
	deaf := New(time.Hour)
	deaf.UseBells(bells.Deaf{}, slog.New(slog.NewTextHandler(&log, nil)), func(f func()) { f() })
	for range 2 {
		bell := deaf.Hang()
		if w := deaf.Join(onPaper("e", "lock"), n(1), 0, bell); bell.Text() != "" || w.rung != nil {
			t.Error("it has a bell")
		}
		bell.Wakes(nil)
		bell.Stop()
	}
	if strings.Count(log.String(), "cannot be rung") != 1 || !strings.Contains(log.String(), "in use") {
		t.Errorf("logged %s", log.String())
	}
	without := New(time.Hour)
	w := without.Join(onPaper("e", "lock"), n(1), 0, without.Hang())
	if without.Ring("b/1"); w.rung != nil || w.Rung(true).Trust != 0 || without.Rings(onPaper("e", "lock"), n(2)) {
		t.Error("there are bells without Config.Wake")
	}
}

// TestManyQueues checks that with some more than a thousand lines in rotation most are remembered, and no more than a
// thousand.
func TestManyQueues(t *testing.T) {
	const many, bound = 1010, 1000
	var hub bells.Hub
	lines := ringing(hub.Client("a"))
	var waiters []*Waiter
	for i := range many {
		waiters = append(waiters, lines.Join(onPaper("e", strconv.Itoa(i)), n(1), 0, lines.Hang()))
	}
	for range 2 {
		for i, w := range waiters {
			judge(w, true, true)
			lines.Wake(onPaper("e", strconv.Itoa(i)))
		}
	}
	trusted, ended := 0, 0
	for i, w := range waiters {
		trusted += w.Rung(true).Trust
		if !lines.Ended(onPaper("e", strconv.Itoa(i))).IsZero() {
			ended++
		}
	}
	if trusted != bound || ended != bound {
		t.Errorf("of %d lines %d are trusted, and of %d an end is known: want %d", many, trusted, ended, bound)
	}
}

// judge has a waiter judge a look that was early as often as a bell is believed.
func judge(w *Waiter, ended, rung bool) {
	w.heard.woken, w.heard.heeded, w.heard.rung = false, false, waitpolicy.Rung{Early: waitpolicy.MaxEarly}
	if rung {
		w.heard.Came()
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
	w.Judge(before, now, true)
}

// TestTrust checks that trust needs bells that were true, and lasts until a turn ends without one.
func TestTrust(t *testing.T) {
	var hub bells.Hub
	lines := ringing(hub.Client("a"))
	w := lines.Join(onPaper("e", "lock"), n(1), 0, lines.Hang())
	for _, step := range []struct {
		name        string
		ended, rung bool
		times, want int
	}{
		{"EndWithoutBell", true, false, 2, 0},
		{"TrueBell", true, true, 3, 1},
		{"LostBell", true, false, 1, 0},
		{"TrueAgain", true, true, 1, 1},
		{"FalseBell", false, true, 1, -1},
		{"ManyFalseBells", false, true, 100, -5},
		{"LostAmongFalse", true, false, 1, -5},
		{"TrueOnesRegainTrust", true, true, 6, 1},
	} {
		for range step.times {
			judge(w, step.ended, step.rung)
		}
		if trust := w.Rung(true).Trust; trust != step.want {
			t.Errorf("%s: trust is %d, want %d", step.name, trust, step.want)
		}
	}
	w.Leave()
	if again := lines.Join(onPaper("e", "lock"), n(2), 0, lines.Hang()); again.Rung(true).Trust != 1 {
		t.Error("the next waiter has forgotten it")
	}
}

// TestTrustOfHolders checks that bells are trusted for the turns of holders that ring, and only for them.
func TestTrustOfHolders(t *testing.T) {
	var hub bells.Hub
	lines := ringing(hub.Client("a"))
	w := lines.Join(onPaper("e", "lock"), n(3), 0, lines.Hang())
	before := func(holder int) []queue.Holder { return []queue.Holder{{ID: strconv.Itoa(holder), Ticket: n(holder)}} }
	for _, step := range []struct {
		name        string
		bells       int
		now         []queue.Holder // after the turn of ticket 1
		rings       bool
		trust, with int // while the present holder does not ring, and while it does
	}{
		{name: "TrueBell", bells: 1, trust: 0, with: 1},
		{name: "TurnWithoutBellOfOther", trust: 0, with: 1},
		{name: "LostBell", rings: true, trust: 0, with: 0},
		{name: "TrueAgain", bells: 1, rings: true, trust: 0, with: 1},
		{name: "OfLaterEnd", bells: 1, now: before(2), trust: -1, with: -1},
		{name: "RegainsTrust", bells: 1, trust: 0, with: 0},
		{name: "TrueOnceMore", bells: 1, trust: 0, with: 1},
	} {
		w.Terms.Pace = &waitpolicy.Pace{}
		w.heard.woken, w.heard.heeded, w.heard.rung = false, false, waitpolicy.Rung{Early: waitpolicy.MaxEarly}
		for range step.bells {
			w.heard.Came()
		}
		w.Judge(before(1), step.now, step.rings)
		if got, with := w.Rung(false).Trust, w.Rung(true).Trust; got != step.trust || with != step.with {
			t.Errorf("%s: trust is %d and %d, want %d and %d", step.name, got, with, step.trust, step.with)
		}
	}
	w.heard.woken, w.heard.heeded, w.heard.rung = false, false, waitpolicy.Rung{}
	signal(w.rung)
	if w.Judge(before(1), before(2), false); w.Rung(false).Times != 0 || !rung(w) {
		t.Error("a bell that came during a look which shows the turn before the waiter's own is of the end of that turn")
	}
}

// TestBellDuringLook checks that a bell that comes during a look is that of the end which the look shows. If it shows none,
// the look may have been before that end: the bell ends the next rest, however many were false before.
func TestBellDuringLook(t *testing.T) {
	for _, falseOnes := range []int{0, 1, 5} {
		var hub bells.Hub
		lines := ringing(hub.Client("a"))
		w := lines.Join(onPaper("e", "lock"), n(1), 0, lines.Hang())
		for range falseOnes {
			judge(w, false, true)
		}
		w.heard.woken, w.heard.heeded, w.heard.rung = false, false, waitpolicy.Rung{}
		signal(w.rung)
		before := w.Rung(true).Trust
		if look(w, false); w.Rung(true).Trust != before || w.Rung(true).Times != 0 || !rung(w) {
			t.Errorf("after %d false bells: the look has judged one that came later", falseOnes)
		}
		signal(w.rung)
		if look(w, true); w.Rung(true).Trust != before+1 || rung(w) {
			t.Errorf("after %d false bells: trust was %d and is %d, want that the bell was true", falseOnes, before, w.Rung(true).Trust)
		}
	}
}
