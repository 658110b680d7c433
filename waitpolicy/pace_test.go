package waitpolicy

import (
	"testing"
	"time"

	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
)

var instant = time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC)

func n(i int) ticket.Number { return ticket.FromUint64(uint64(i)) }

func record(granted int, holders ...queue.Holder) queue.Record {
	return queue.Record{Exists: true, Present: true, TicketNumber: n(20), Granted: n(granted), Holders: holders}
}

// seen is one snapshot: seconds after the first, the floor, and how many are ahead.
type seen struct{ at, floor, ahead int }

func paceOf(gaps bool, steps ...seen) *Pace {
	p := &Pace{gaps: gaps}
	for _, s := range steps {
		p.Saw(queue.Snapshot{Record: record(s.floor, queue.Holder{ID: n(s.floor).String(), Ticket: n(s.floor)}), ReadAt: instant.Add(time.Duration(s.at) * time.Second)}, s.ahead)
	}
	return p
}

func TestPace(t *testing.T) {
	for name, test := range map[string]struct {
		gaps  bool
		steps []seen
		mean  time.Duration
		moved int
	}{
		"UnknownAtFirst":         {steps: []seen{{0, 3, 5}}},
		"UnknownWithoutGrant":    {steps: []seen{{0, 3, 5}, {9, 3, 5}}},
		"CountsTickets":          {steps: []seen{{0, 3, 5}, {10, 8, 1}}, mean: 2 * time.Second, moved: 10},
		"StaysUntilNextGrant":    {steps: []seen{{0, 3, 5}, {10, 8, 1}, {30, 8, 1}}, mean: 2 * time.Second, moved: 10},
		"UnknownAfterRestOfTurn": {steps: []seen{{0, 3, 5}, {1, 4, 4}}, moved: 1},
		"CountsFromRestOfTurn":   {steps: []seen{{0, 3, 5}, {1, 4, 4}, {9, 5, 3}}, mean: 8 * time.Second, moved: 9},
		"CountsWaitersInScopes":  {gaps: true, steps: []seen{{0, 3, 5}, {10, 18, 3}}, mean: 5 * time.Second, moved: 10},
		"CountsOneAtLeastThere":  {gaps: true, steps: []seen{{0, 3, 5}, {1, 18, 5}, {11, 28, 5}}, mean: 10 * time.Second, moved: 11},
		"AddsUpGrantsInScopes":   {gaps: true, steps: []seen{{0, 3, 5}, {10, 18, 3}, {20, 19, 1}}, mean: 5 * time.Second, moved: 20},
		"IgnoresFloorThatStayed": {gaps: true, steps: []seen{{0, 3, 5}, {10, 3, 3}}},
	} {
		t.Run(name, func(t *testing.T) {
			p := paceOf(test.gaps, test.steps...)
			if p.mean != test.mean || !p.moved.Equal(instant.Add(time.Duration(test.moved)*time.Second)) {
				t.Errorf("mean %v, moved at %v", p.mean, p.moved)
			}
			if last := test.steps[len(test.steps)-1]; p.turns != last.ahead {
				t.Errorf("%d turns ahead, want %d", p.turns, last.ahead)
			}
		})
	}
}

func TestObservation(t *testing.T) {
	now := instant.Add(4 * time.Second)
	rec := record(7, queue.Holder{ID: "7", Ticket: n(7), Since: instant.Add(-10 * time.Second)})
	rec.HoldTime = queue.HoldTime{Mean: 6 * time.Second, Deviation: 2 * time.Second}

	t.Run("WithoutClockCountsFromFirstSight", func(t *testing.T) {
		o := paceOf(false, seen{0, 7, 3}).observation(rec, 0, time.Time{}, time.Time{}, now)
		if o.Ahead != 3 || !o.Serving || o.Mean != 6*time.Second || o.Still != 4*time.Second || o.Elapsed != 4*time.Second {
			t.Errorf("observation %+v", o)
		}
	})
	t.Run("WithClockCountsFromGrant", func(t *testing.T) {
		if o := paceOf(false, seen{0, 7, 3}).observation(rec, 0, now.Add(-time.Second), now, now); o.Elapsed != 13*time.Second {
			t.Errorf("observation %+v", o)
		}
	})
	t.Run("LikelyByMiddleOfClock", func(t *testing.T) {
		if o := paceOf(false, seen{0, 7, 3}).observation(rec, 0, now.Add(-time.Second), now.Add(time.Second/2), now); o.Likely != 14500*time.Millisecond {
			t.Errorf("observation %+v", o)
		}
	})
	t.Run("LikelyFromGrantByNameThatWasSeen", func(t *testing.T) {
		p := paceOf(false, seen{0, 7, 3})
		p.trip = 5 * time.Millisecond
		named := record(7, queue.Holder{ID: "7", Ticket: n(7), Since: instant.Add(-10 * time.Second), Named: true})
		if o := p.observation(named, 0, now.Add(-time.Second), now, now); o.Likely != 13995*time.Millisecond {
			t.Errorf("observation %+v", o)
		}
	})
	t.Run("LikelyIsUnknownWithoutClockOrSince", func(t *testing.T) {
		p, unknown := paceOf(false, seen{0, 7, 3}), record(7, queue.Holder{ID: "7", Ticket: n(7)})
		if a, b := p.observation(rec, 0, time.Time{}, time.Time{}, now), p.observation(unknown, 0, now, now, now); a.Likely != 0 || b.Likely != 0 {
			t.Errorf("observations %+v, %+v", a, b)
		}
	})
	t.Run("LooksBoundWhatClocksSay", func(t *testing.T) {
		// The turn began between the looks at 2 s and 3 s.
		p := paceOf(false, seen{0, 6, 4}, seen{2, 6, 4}, seen{3, 7, 3})
		for since, want := range map[time.Duration]time.Duration{0: 2 * time.Second, 2500 * time.Millisecond: 1500 * time.Millisecond, 9 * time.Second: time.Second} {
			rec := record(7, queue.Holder{ID: "7", Ticket: n(7), Since: instant.Add(since)})
			if o := p.observation(rec, 0, now.Add(-100*time.Millisecond), now, now); o.Likely != want || o.AtMost != 2*time.Second || o.Elapsed > o.AtMost {
				t.Errorf("since %v: observation %+v", since, o)
			}
		}
	})
	t.Run("OfSemaphoreEndsTurnsMoreOften", func(t *testing.T) {
		if o := paceOf(false, seen{0, 7, 3}).observation(rec, 2, time.Time{}, time.Time{}, now); o.Serving || o.Mean != 3*time.Second || o.Deviation != time.Second || o.Elapsed != 0 {
			t.Errorf("observation %+v", o)
		}
	})
	t.Run("LeavesOutJoinedTurn", func(t *testing.T) {
		p := paceOf(false, seen{0, 7, 3})
		p.Decided(queue.Decision{Turns: 3, Joins: true, ClearIn: time.Minute})
		if o := p.observation(rec, 0, time.Time{}, time.Time{}, now); o.Ahead != 2 || o.ClearIn != time.Minute || p.joined() {
			t.Errorf("observation %+v", o)
		}
	})
}

func TestSlowest(t *testing.T) {
	for name, test := range map[string]struct{ clearIn, want time.Duration }{
		"WithoutLeaseInTheWay": {want: time.Minute},
		"UntilLeaseEnds":       {clearIn: time.Second, want: time.Second},
		"AtMostItsLimit":       {clearIn: time.Hour, want: time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			if got := (&Pace{clearIn: test.clearIn}).slowest(time.Minute); got != test.want {
				t.Errorf("%v, want %v", got, test.want)
			}
		})
	}
}

func TestEstimate(t *testing.T) {
	now := instant.Add(4 * time.Second)
	for name, test := range map[string]struct {
		mean    time.Duration // of recent turns
		own     time.Duration // as seen
		permits int
		turns   int
		joins   bool
		idle    bool
		want    time.Duration // below zero: unknown
	}{
		"UnknownWithoutRate":  {turns: 3, want: -1},
		"UnknownRestOfTurn":   {want: -1},
		"IsZeroForNextIfIdle": {idle: true},
		"IsZeroIfOverdue":     {mean: time.Second},
		"CountsRestOfPresent": {mean: 10 * time.Second, turns: 2, want: 26 * time.Second},
		"CountsNoRestIfIdle":  {mean: 10 * time.Second, turns: 2, idle: true, want: 20 * time.Second},
		"PrefersOwnRate":      {mean: 10 * time.Second, own: 5 * time.Second, turns: 2, want: 11 * time.Second},
		"DividesByPermits":    {mean: 10 * time.Second, permits: 2, turns: 2, want: 11 * time.Second},
		"IsZeroForJoined":     {mean: 10 * time.Second, joins: true},
		"LeavesOutJoinedTurn": {mean: 10 * time.Second, turns: 2, joins: true, want: 16 * time.Second},
		"NeverOverflows":      {mean: 1 << 62, turns: 100, idle: true, want: 1 << 62},
	} {
		t.Run(name, func(t *testing.T) {
			p := &Pace{moved: instant, mean: test.own, turns: test.turns, joins: test.joins}
			rec := record(7, queue.Holder{ID: "7"})
			if test.idle {
				rec = record(7)
			}
			rec.HoldTime.Mean = test.mean
			if got := p.Estimate(rec, test.permits, time.Time{}, now); got != (Estimate{max(0, test.want), test.want >= 0}) {
				t.Errorf("%+v, want %v", got, test.want)
			}
		})
	}
}

func TestPaceHandover(t *testing.T) {
	now := time.Now()
	at := func(before int) time.Time { return now.Add(-time.Duration(before) * time.Second) }
	for name, test := range map[string]struct {
		pace  Pace
		ended time.Time // of the last turn in this process
		want  time.Duration
	}{
		"UnknownWithoutTurn":       {pace: Pace{last: at(1)}},
		"FromLastLookAtTurn":       {pace: Pace{holder: "a", last: at(1), still: at(9)}, want: time.Second},
		"FromLookBeforeItWasIdle":  {pace: Pace{last: at(1), still: at(2)}, want: 2 * time.Second},
		"FromEndInThisProcess":     {pace: Pace{holder: "a", last: at(3)}, ended: at(1), want: time.Second},
		"NotFromEndOfEarlierTurns": {pace: Pace{holder: "a", last: at(3)}, ended: at(7), want: 3 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			if got := test.pace.Handover(test.ended, now); got != test.want {
				t.Errorf("%v, want %v", got, test.want)
			}
		})
	}
}

// TestHeed checks that a waiter behind others acts on its bell at once, and on hints once there is one for most turns ahead.
func TestHeed(t *testing.T) {
	now := time.Now()
	until, draw := now.Add(time.Minute), func() float64 { return 0.5 }
	for name, test := range map[string]struct {
		turns  int
		hints  Hints
		heeded bool
		within time.Duration
	}{
		"NextAfterHint":           {0, Hints{Came: 1, Stagger: time.Millisecond}, true, time.Millisecond},
		"BehindAfterOneHint":      {3, Hints{Came: 1}, false, time.Minute},
		"BehindAfterSomeHints":    {3, Hints{Came: 2}, true, 100 * time.Millisecond},
		"BehindAfterBell":         {3, Hints{Came: 1, Rung: true, Stagger: time.Millisecond}, true, time.Millisecond},
		"FarBehindAfterBell":      {30, Hints{Came: 1, Rung: true}, true, time.Millisecond},
		"FloodedWithBells":        {3, Hints{Came: 9, Rung: true, Trust: -5}, true, time.Second},
		"FarBehindAfterManyHints": {30, Hints{Came: 30}, false, time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			p := Pace{turns: test.turns, last: now}
			test.hints.Last = now
			at, heeded := p.Heed(Default, test.hints, time.Second, until, draw)
			if heeded != test.heeded || at.Sub(now) > test.within || test.hints.Trust < 0 && at.Sub(now) < test.within {
				t.Errorf("acts after %v, %v; want %v, %v", at.Sub(now), heeded, test.within, test.heeded)
			}
		})
	}
}
