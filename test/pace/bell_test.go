package pace_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/queuelock/queuelock/internal/testbed/bells"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
)

// TestRungHandOver bounds the hand-over between hosts that learn of each other by their rows alone, from the call of Release to
// the next grant, in round trips. With three contenders or more, holders have mostly read the row of the next waiter before their
// turn. Of two, the holder reads it during its turn.
func TestRungHandOver(t *testing.T) {
	long, short := locktest.Scaled(96, 32), locktest.Scaled(480, 160) // a look under way delays some, so a mean needs many
	type measured struct {
		name       string
		contenders int
		cycles     int
		hold       func(*rand.Rand) time.Duration
		most       bounds
	}
	for _, test := range locktest.Some([]measured{
		{"3Of50ms", 3, short, always(50 * ms), bounds{trips: 1.2, write: 4.5, read: 4.5}},
		{"8Of5ms", 8, short, always(5 * ms), bounds{trips: 1.2, write: 4.8, read: 4.5}},
		{"32Of5ms", 32, short, always(5 * ms), bounds{trips: 1.2, write: 4.5, read: 7.5}},
		{"8Of50ms", 8, short, always(50 * ms), bounds{trips: 1.2, write: 4.5, read: 5.5}},
		{"32Of50ms", 32, short, always(50 * ms), bounds{trips: 1.2, write: 4.5, read: 9}},
		{"2Of50ms", 2, short, always(50 * ms), bounds{trips: 1.35, write: 4.5, read: 3.5}}, // the first look falls into the bell of some turns
		{"2Of200ms", 2, short, always(200 * ms), bounds{trips: 1.2, write: 4.5, read: 3.5}},
		{"2Of1s", 2, long, always(time.Second), bounds{trips: 1.2, write: 4.5, read: 3.5}},
		{"2Of10s", 2, long, always(10 * time.Second), bounds{trips: 1.2, write: 6.5, read: 2.5}}, // too long for a grant by name
		{"3Of1s", 3, long, always(time.Second), bounds{trips: 1.2, write: 4.5, read: 5}},
		{"3Of3s", 3, long, always(3 * time.Second), bounds{trips: 1.2, write: 5.5, read: 3.5}},
		{"8Of1s", 8, long, always(time.Second), bounds{trips: 1.2, write: 5.5, read: 6}},
		{"32Of1s", 32, long, always(time.Second), bounds{trips: 1.2, write: 8.5, read: 9}},
		{"8Of1sAtRandom", 8, long, exponential(time.Second), bounds{trips: 1.2, write: 5.5, read: 10}},
		{"4Of60s", 4, long, always(time.Minute), bounds{trips: 1.2, write: 35, read: 14}}, // a bell that is lost costs 15 s at most
	}) {
		t.Run(test.name, func(t *testing.T) {
			contest{
				contenders: test.contenders, cycles: max(6, test.cycles/test.contenders), hold: test.hold,
				hub: new(bells.Hub), warm: 2 * test.contenders,
			}.within(t, test.most)
		})
	}
}

// TestBellsAreNoSlower checks that few contenders with short turns hand over with bells as fast as without: there the holder often
// has not read the next row, and the bell comes late. Turns differ by up to a millisecond, or both runs fall into some step.
func TestBellsAreNoSlower(t *testing.T) {
	for _, contenders := range []int{2, 3} {
		for _, turn := range []time.Duration{0, 5 * ms, 20 * ms} {
			about := func(rng *rand.Rand) time.Duration { return turn + time.Duration(rng.Int64N(int64(ms))) }
			c := contest{contenders: contenders, cycles: 240 / contenders, hold: about, warm: 2 * contenders}
			without := c.run(t)
			c.hub = new(bells.Hub)
			with := c.run(t)
			if with.mean() > without.mean()*5/4+ms/2 { // of 240 turns, whose times differ by up to two round trips
				t.Errorf("%d contenders, turns of %v: %v with bells, and %v without", contenders, turn, with, without)
			}
		}
	}
}

// TestRushedBell checks that a bell that is faster than its release is followed later the next time.
func TestRushedBell(t *testing.T) {
	for _, contenders := range locktest.Some([]int{2, 8}) { // a CLAIM or a look follows the bell
		contest{
			contenders: contenders, cycles: 24, hold: always(200 * ms), hub: new(bells.Hub), warm: 2 * contenders,
			slow: func(db *queuelocktest.Client) {
				db.Inject(queuelocktest.DelayRequest(3 * ms).Mentioning("released = "))
			},
		}.within(t, bounds{mean: 4, write: 5.5, read: 5})
	}
}
