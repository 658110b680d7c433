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

	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/internal/testbed/bells"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
	"github.com/queuelock/queuelock/waitpolicy"
	"github.com/queuelock/queuelock/wake"
)

func n(i int) ticket.Number { return ticket.FromUint64(uint64(i)) }

// onPaper returns a queue of no table.
func onPaper(entity, reason string) table.Queue {
	return table.Queue{Items: queue.Items{Entity: entity, Reason: reason}}
}

// ringing returns a Ringer that rings and is rung.
func ringing(b wake.Bells) *Ringer {
	return New(b, slog.New(slog.DiscardHandler), func(f func()) { f() })
}

// TestBells checks that a bell is rung by its text, and wakes what it is said to wake, until it is stopped.
func TestBells(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var hub bells.Hub
		a, b := ringing(hub.Client("a")), ringing(hub.Client("b"))
		var rung atomic.Int64
		bell := b.Hang()
		bell.Wakes(func() { rung.Add(1) })
		a.Ring(bell.Text())
		a.Ring("")
		if time.Sleep(time.Second); rung.Load() != 1 {
			t.Errorf("it was rung %d times", rung.Load())
		}
		bell.Stop()
		a.Ring(bell.Text())
		if time.Sleep(time.Second); rung.Load() != 1 {
			t.Error("it was rung after its end")
		}
	})
}

// TestNoBell checks that a client whose waiters cannot be rung logs that once, and that one without Config.Wake has no bells.
func TestNoBell(t *testing.T) {
	var log bytes.Buffer
	deaf := New(bells.Deaf{}, slog.New(slog.NewTextHandler(&log, nil)), func(f func()) { f() })
	for range 2 {
		bell := deaf.Hang()
		if bell.Text() != "" {
			t.Error("it has a bell")
		}
		bell.Wakes(nil)
		bell.Stop()
	}
	if strings.Count(log.String(), "cannot be rung") != 1 || !strings.Contains(log.String(), "in use") {
		t.Errorf("logged %s", log.String())
	}
	without := New(nil, slog.New(slog.DiscardHandler), nil)
	h := without.Hears(onPaper("e", "lock"), without.Hang())
	if without.Ring("b/1"); h.Rung(true).Trust != 0 || without.Bells() {
		t.Error("there are bells without Config.Wake")
	}
}

// TestManyQueues checks that with some more than a thousand queues in rotation most are remembered, and no more than a
// thousand.
func TestManyQueues(t *testing.T) {
	const many, bound = 1010, 1000
	var hub bells.Hub
	ringer := ringing(hub.Client("a"))
	var all []*Heard
	for i := range many {
		h := ringer.Hears(onPaper("e", strconv.Itoa(i)), ringer.Hang())
		all = append(all, &h)
	}
	for range 2 {
		for i, h := range all {
			judge(h, true, true)
			ringer.Ends(onPaper("e", strconv.Itoa(i)))
		}
	}
	trusted, ended := 0, 0
	for i, h := range all {
		trusted += h.Rung(true).Trust
		if !ringer.Ended(onPaper("e", strconv.Itoa(i))).IsZero() {
			ended++
		}
	}
	if trusted != bound || ended != bound {
		t.Errorf("of %d queues %d are trusted, and of %d an end is known: want %d", many, trusted, ended, bound)
	}
}

// TestEnded checks for how long the end of a turn is remembered.
func TestEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ringer, q, begun := ringing(nil), onPaper("e", "lock"), time.Now()
		ringer.Ends(q)
		if time.Sleep(time.Minute); ringer.Ended(q) != begun || !ringer.Ended(onPaper("e", "lock2")).IsZero() {
			t.Errorf("ended %v after the begin", ringer.Ended(q).Sub(begun))
		}
		if time.Sleep(time.Nanosecond); !ringer.Ended(q).IsZero() {
			t.Error("it is remembered after a minute")
		}
	})
}

// never takes no bell that came during a look.
func never() bool { return false }

// judge judges a look that was early as often as a bell is believed.
func judge(h *Heard, ended, rung bool) {
	h.woken, h.heeded, h.rung = false, false, waitpolicy.Rung{Early: waitpolicy.MaxEarly}
	if rung {
		h.Came()
	}
	look(h, ended, never)
}

// look judges what was heard by a look.
func look(h *Heard, ended bool, came func() bool) {
	before, now := []queue.Holder{{ID: "h"}}, []queue.Holder{{ID: "h"}}
	if ended {
		now = nil
	}
	h.Judge(&waitpolicy.Pace{}, n(1), before, now, true, came)
}

// TestTrust checks that trust needs bells that were true, and lasts until a turn ends without one.
func TestTrust(t *testing.T) {
	var hub bells.Hub
	ringer := ringing(hub.Client("a"))
	h := ringer.Hears(onPaper("e", "lock"), ringer.Hang())
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
			judge(&h, step.ended, step.rung)
		}
		if trust := h.Rung(true).Trust; trust != step.want {
			t.Errorf("%s: trust is %d, want %d", step.name, trust, step.want)
		}
	}
	if again := ringer.Hears(onPaper("e", "lock"), ringer.Hang()); again.Rung(true).Trust != 1 {
		t.Error("the next waiter has forgotten it")
	}
}

// TestTrustOfHolders checks that bells are trusted for the turns of holders that ring, and only for them.
func TestTrustOfHolders(t *testing.T) {
	var hub bells.Hub
	ringer := ringing(hub.Client("a"))
	h := ringer.Hears(onPaper("e", "lock"), ringer.Hang())
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
		h.woken, h.heeded, h.rung = false, false, waitpolicy.Rung{Early: waitpolicy.MaxEarly}
		for range step.bells {
			h.Came()
		}
		h.Judge(&waitpolicy.Pace{}, n(3), before(1), step.now, step.rings, never)
		if got, with := h.Rung(false).Trust, h.Rung(true).Trust; got != step.trust || with != step.with {
			t.Errorf("%s: trust is %d and %d, want %d and %d", step.name, got, with, step.trust, step.with)
		}
	}
	h.woken, h.heeded, h.rung = false, false, waitpolicy.Rung{}
	taken := false
	h.Judge(&waitpolicy.Pace{}, n(3), before(1), before(2), false, func() bool { taken = true; return true })
	if h.Rung(false).Times != 0 || taken {
		t.Error("a bell that came during a look which shows the turn before the waiter's own is of the end of that turn")
	}
}

// TestBellDuringLook checks that a bell that comes during a look is that of the end which the look shows. If it shows none,
// the look may have been before that end: the bell ends the next rest, however many were false before.
func TestBellDuringLook(t *testing.T) {
	for _, falseOnes := range []int{0, 1, 5} {
		var hub bells.Hub
		ringer := ringing(hub.Client("a"))
		h := ringer.Hears(onPaper("e", "lock"), ringer.Hang())
		for range falseOnes {
			judge(&h, false, true)
		}
		h.woken, h.heeded, h.rung = false, false, waitpolicy.Rung{}
		taken := false
		comes := func() bool { taken = true; return true }
		before := h.Rung(true).Trust
		if look(&h, false, comes); h.Rung(true).Trust != before || h.Rung(true).Times != 0 || taken {
			t.Errorf("after %d false bells: the look has judged one that came later", falseOnes)
		}
		if look(&h, true, comes); h.Rung(true).Trust != before+1 || !taken {
			t.Errorf("after %d false bells: trust was %d and is %d, want that the bell was true", falseOnes, before, h.Rung(true).Trust)
		}
	}
}
