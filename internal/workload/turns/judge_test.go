package turns

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/queuelock/queuelock/ticket"
)

// turn is a turn that asked and took its number at the same time, put its row 1
// later if it had to wait, and held from granted to ended.
func turn(worker int, number uint64, asked, granted, ended Instant) Turn {
	t := Turn{
		Worker: fmt.Sprint("worker ", worker), Asked: asked, Took: asked, Ticket: ticket.FromUint64(number),
		Granted: granted, From: granted, Until: ended, Ended: ended,
	}
	if granted > asked+1 {
		t.Places = []Place{{Ticket: t.Ticket, Stood: asked + 1, Until: Never}}
	}
	return t
}

// with is a copy of the turn, changed.
func (t Turn) with(change func(*Turn)) Turn {
	t.Places = slices.Clone(t.Places)
	change(&t)
	return t
}

// took is a copy of the turn that took another number at that time, after one of which nothing is left but its place.
func (t Turn) took(at Instant, before Place) Turn {
	return t.with(func(t *Turn) { t.Took, t.Places = at, []Place{before} })
}

// around has a waiter between two turns: that of the holder which it waits for, and one of a later number.
func around(waiter Turn) []Turn {
	return []Turn{turn(1, 1, 10, 11, 20), waiter, turn(3, 3, 14, 25, 30)}
}

func TestJudge(t *testing.T) {
	inOrder := []Turn{
		turn(1, 1, 10, 11, 20),
		turn(2, 2, 12, 25, 30),
		turn(3, 3, 14, 35, 40),
		turn(1, 4, 22, 45, 50),
	}
	two := ticket.FromUint64(2)
	killed := turn(2, 2, 12, 25, 30).with(func(t *Turn) { t.Ended, t.Gone, t.KilledAt = 0, 30, 28 })
	for _, tc := range []struct {
		name string
		all  []Turn
		want Verdict
	}{
		{"nothing", nil, Verdict{}},
		{"in order", inOrder, Verdict{Grants: 4, HandOffs: []time.Duration{5, 5, 5}}},
		{"given in any order", []Turn{inOrder[2], inOrder[0], inOrder[3], inOrder[1]}, Verdict{Grants: 4, HandOffs: []time.Duration{5, 5, 5}}},
		{"a turn that begins when another ends", []Turn{turn(1, 1, 10, 11, 20), turn(2, 2, 12, 20, 30)},
			Verdict{Grants: 2, HandOffs: []time.Duration{0}}},
		{"a newcomer to an idle lock is no hand-over", []Turn{turn(1, 1, 10, 11, 20), turn(2, 2, 30, 31, 40)}, Verdict{Grants: 2}},

		{"two overlap", []Turn{turn(1, 1, 10, 11, 20), turn(2, 2, 12, 19, 30)},
			Verdict{Grants: 2, Overlaps: 1, HandOffs: []time.Duration{-1}}},
		{"one overlaps two, which follow each other", []Turn{turn(1, 1, 10, 11, 40), turn(2, 2, 19, 20, 25), turn(3, 3, 29, 30, 35)},
			Verdict{Grants: 3, Overlaps: 2}},
		{"one within another", []Turn{turn(1, 1, 10, 11, 40), turn(2, 2, 19, 20, 21)}, Verdict{Grants: 2, Overlaps: 1}},
		{"three at once", []Turn{turn(1, 1, 10, 11, 40), turn(2, 2, 10, 11, 40), turn(3, 3, 10, 11, 40)},
			Verdict{Grants: 3, Overlaps: 3}},

		{"a newcomer is served before a waiter",
			[]Turn{turn(1, 1, 10, 11, 20), turn(2, 2, 12, 35, 40), turn(3, 3, 14, 25, 30)},
			// The waiter is served with a lower ticket after a higher.
			Verdict{Grants: 3, Inversions: 1, Regressions: 1, HandOffs: []time.Duration{5, 5}}},
		{"a newcomer barges with a new number, and the waiter gets another",
			[]Turn{turn(1, 1, 10, 11, 20), turn(2, 4, 12, 35, 40).took(32, Place{two, 13, Never}), turn(3, 3, 21, 22, 30)},
			Verdict{Grants: 3, Inversions: 1}},
		{"a waiter that crashed was overtaken while it lived",
			around(turn(2, 2, 12, 0, 0).with(func(t *Turn) { t.Gone = 27; t.Places = []Place{{t.Ticket, 13, Never}} })),
			Verdict{Grants: 2, Inversions: 1, HandOffs: []time.Duration{5}}},
		{"a waiter that still waits was overtaken",
			around(turn(2, 2, 12, 0, 0).with(func(t *Turn) { t.Places = []Place{{t.Ticket, 13, Never}} })),
			Verdict{Grants: 2, Inversions: 1, HandOffs: []time.Duration{5}}},
		{"a newcomer with an older number barges",
			around(turn(2, 5, 12, 35, 40)),
			Verdict{Grants: 3, Inversions: 1, HandOffs: []time.Duration{5, 5}}},

		{"no inversion: the row was put after the newcomer took its number",
			around(turn(2, 2, 12, 35, 40).with(func(t *Turn) { t.Places[0].Stood = 15 })),
			Verdict{Grants: 3, Regressions: 1, HandOffs: []time.Duration{5, 5}}},
		{"no inversion: the waiter had died",
			around(turn(2, 2, 12, 0, 0).with(func(t *Turn) { t.Gone = 24; t.Places = []Place{{t.Ticket, 13, Never}} })),
			Verdict{Grants: 2, HandOffs: []time.Duration{5}}},
		{"no inversion: the waiter had let its row expire",
			around(turn(2, 4, 12, 35, 40).took(31, Place{two, 13, 24})),
			Verdict{Grants: 3, HandOffs: []time.Duration{5}}},
		{"no inversion: its number had been passed before its row was there",
			[]Turn{
				turn(1, 1, 10, 11, 20),
				turn(3, 3, 14, 25, 30),
				turn(2, 5, 12, 45, 50).took(41, Place{two, 26, Never}),
				turn(4, 4, 28, 35, 40),
			},
			Verdict{Grants: 4, HandOffs: []time.Duration{5, 5}}},
		{"no inversion: nothing is known of a row",
			around(turn(2, 2, 12, 35, 40).with(func(t *Turn) { t.Places = nil })),
			Verdict{Grants: 3, Regressions: 1, HandOffs: []time.Duration{5}}},

		{"the same ticket twice", []Turn{turn(1, 1, 10, 11, 20), turn(2, 1, 21, 22, 30)}, Verdict{Grants: 2, Regressions: 1}},
		{"a lower ticket", []Turn{turn(1, 9, 10, 11, 20), turn(2, 8, 21, 22, 30), turn(3, 10, 31, 32, 40)},
			Verdict{Grants: 3, Regressions: 1}},

		{"the last turn is incomplete", []Turn{turn(1, 1, 10, 11, 20), turn(2, 2, 21, 22, 0)}, Verdict{Grants: 2, Unfinished: 1}},
		{"a turn in the middle is incomplete", []Turn{turn(1, 1, 10, 11, 0), turn(2, 2, 21, 22, 30)},
			Verdict{Grants: 2, Unfinished: 1, Overlaps: 1}},

		{"a holder is killed, and the next is served", []Turn{inOrder[0], killed, turn(3, 3, 14, 128, 140)},
			Verdict{Grants: 3, HandOffs: []time.Duration{5}, Recoveries: []Recovery{{Took: 100}}}},
		{"a holder is killed, and no worker is served", []Turn{inOrder[0], killed},
			Verdict{Grants: 2, HandOffs: []time.Duration{5}, Recoveries: []Recovery{{Took: -1}}}},
		{"a killed holder's turn lasts until it is gone", []Turn{inOrder[0], killed, turn(3, 3, 14, 29, 140)},
			Verdict{Grants: 3, Overlaps: 1, HandOffs: []time.Duration{5}, Recoveries: []Recovery{{Took: 1}}}},
		{"a lost lock", []Turn{turn(1, 1, 10, 11, 20).with(func(t *Turn) { t.Doubted = 20 }), turn(2, 2, 12, 25, 30)},
			Verdict{Grants: 2, Lost: 1}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			before := slices.Clone(tc.all)
			got := Judge(tc.all)
			got.Problems = nil
			for i := range got.Recoveries {
				got.Recoveries[i].Killed = Turn{}
			}
			if !reflect.DeepEqual(got, tc.want) {
				t.Errorf("got  %+v\nwant %+v", got, tc.want)
			}
			if !reflect.DeepEqual(tc.all, before) {
				t.Errorf("the turns were changed: %+v, before %+v", tc.all, before)
			}
		})
	}
}

func TestPercentile(t *testing.T) {
	var hundred []time.Duration
	for i := range 100 {
		hundred = append(hundred, time.Duration(i+1))
	}
	for _, tc := range []struct {
		sorted []time.Duration
		p      float64
		want   time.Duration
	}{
		{nil, 50, 0},
		{hundred[:1], 50, 1},
		{hundred[:1], 99, 1},
		{hundred[:2], 50, 1},
		{hundred[:3], 50, 2},
		{hundred, 50, 50},
		{hundred, 99, 99},
		{hundred, 100, 100},
		{hundred, 0, 1},
	} {
		if got := Percentile(tc.sorted, tc.p); got != tc.want {
			t.Errorf("percentile %v of %d: %d, want %d", tc.p, len(tc.sorted), got, tc.want)
		}
	}
}
