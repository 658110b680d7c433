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

func paceOf(steps ...seen) *Pace {
	p := &Pace{}
	for _, s := range steps {
		p.Saw(queue.Snapshot{Record: record(s.floor, queue.Holder{ID: n(s.floor).String(), Ticket: n(s.floor)}), ReadAt: instant.Add(time.Duration(s.at) * time.Second)}, s.ahead)
	}
	return p
}

func TestObservation(t *testing.T) {
	now := instant.Add(4 * time.Second)
	rec := record(7, queue.Holder{ID: "7", Ticket: n(7), Since: instant.Add(-10 * time.Second)})
	rec.HoldTime = queue.HoldTime{Mean: 6 * time.Second, Deviation: 2 * time.Second}
	unknown := record(7, queue.Holder{ID: "7", Ticket: n(7)})

	t.Run("WithoutClockCountsFromFirstSight", func(t *testing.T) {
		o := paceOf(seen{0, 7, 3}).observation(View{Record: rec, Now: now})
		if o.Ahead != 3 || !o.Serving || o.Mean != 6*time.Second || o.Age != 4*time.Second || o.AtMost != 6*time.Second {
			t.Errorf("observation %+v", o)
		}
	})
	t.Run("ByMiddleOfClock", func(t *testing.T) {
		if o := paceOf(seen{0, 7, 3}).observation(View{Record: rec, Middle: now.Add(time.Second / 2), Now: now}); o.Age != 14500*time.Millisecond || o.AtMost != o.Age {
			t.Errorf("observation %+v", o)
		}
	})
	t.Run("FromGrantByNameThatWasSeen", func(t *testing.T) {
		p := paceOf(seen{0, 7, 3})
		p.trip = 5 * time.Millisecond
		named := record(7, queue.Holder{ID: "7", Ticket: n(7), Since: instant.Add(-10 * time.Second), Named: true})
		if o := p.observation(View{Record: named, Middle: now, Now: now}); o.Age != 13995*time.Millisecond {
			t.Errorf("observation %+v", o)
		}
	})
	t.Run("WithoutClockBetweenLooks", func(t *testing.T) {
		p := paceOf(seen{0, 6, 4}, seen{2, 6, 4}, seen{3, 7, 3})
		if o := p.observation(View{Record: unknown, Middle: now, Now: now}); o.Age != 1500*time.Millisecond || o.AtMost != 2*time.Second {
			t.Errorf("observation %+v", o)
		}
	})
	t.Run("LooksBoundWhatClocksSay", func(t *testing.T) {
		// The turn began between the looks at 2 s and 3 s.
		p := paceOf(seen{0, 6, 4}, seen{2, 6, 4}, seen{3, 7, 3})
		for since, want := range map[time.Duration]time.Duration{0: 2 * time.Second, 2500 * time.Millisecond: 1500 * time.Millisecond, 9 * time.Second: time.Second} {
			rec := record(7, queue.Holder{ID: "7", Ticket: n(7), Since: instant.Add(since)})
			if o := p.observation(View{Record: rec, Middle: now, Now: now}); o.Age != want || o.AtMost != 2*time.Second {
				t.Errorf("since %v: observation %+v", since, o)
			}
		}
	})
	t.Run("OfSemaphoreEndsTurnsMoreOften", func(t *testing.T) {
		if o := paceOf(seen{0, 7, 3}).observation(View{Record: rec, Permits: 2, Now: now}); o.Serving || o.Mean != 3*time.Second || o.Deviation != time.Second || o.Age != 4*time.Second {
			t.Errorf("observation %+v", o)
		}
	})
	t.Run("LeavesOutJoinedTurn", func(t *testing.T) {
		p := paceOf(seen{0, 7, 3})
		p.Decided(queue.Decision{Turns: 3, Joins: true, ClearIn: time.Minute})
		if o := p.observation(View{Record: rec, Now: now}); o.Ahead != 2 || o.ClearIn != time.Minute || p.joined() {
			t.Errorf("observation %+v", o)
		}
	})
	t.Run("ExpectsTheBellThatIsTrusted", func(t *testing.T) {
		p := paceOf(seen{0, 7, 3})
		for trust, want := range map[int]bool{-1: false, 0: false, 1: true} {
			if o := p.observation(View{Record: rec, Rung: Rung{Trust: trust}, Now: now}); o.Bell != want {
				t.Errorf("trust %d: observation %+v", trust, o)
			}
		}
		if o := p.observation(View{Record: unknown, Rung: Rung{Trust: 1}, Now: now}); o.Bell {
			t.Errorf("in the first turn: observation %+v", o)
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
		"DividesByPermits":    {mean: 10 * time.Second, permits: 2, turns: 2, want: 11 * time.Second},
		"IsZeroForJoined":     {mean: 10 * time.Second, joins: true},
		"LeavesOutJoinedTurn": {mean: 10 * time.Second, turns: 2, joins: true, want: 16 * time.Second},
		"NeverOverflows":      {mean: 1 << 62, turns: 100, idle: true, want: 1 << 62},
	} {
		t.Run(name, func(t *testing.T) {
			p := &Pace{moved: instant, turns: test.turns, joins: test.joins}
			rec := record(7, queue.Holder{ID: "7"})
			if test.idle {
				rec = record(7)
			}
			rec.HoldTime.Mean = test.mean
			if got := p.Estimate(View{Record: rec, Permits: test.permits, Now: now}); got != (Estimate{max(0, test.want), test.want >= 0}) {
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
