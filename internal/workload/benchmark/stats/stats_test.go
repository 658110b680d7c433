package stats

import (
	"math"
	"slices"
	"testing"
	"time"
)

func TestSummary(t *testing.T) {
	values := []float64{5, 1, 4, 2, 3}
	for _, test := range []struct {
		name      string
		got, want float64
	}{
		{"Mean", Mean(values), 3},
		{"Median", Median(values), 3},
		{"MedianOfTwo", Median([]float64{1, 4}), 2.5},
		{"P50", Quantile(values, 0.5), 3},
		{"P99", Quantile(values, 0.99), 5},
		{"P99OfHundred", Quantile(upTo(100), 0.99), 99},
		{"P0", Quantile(values, 0), 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			if test.got != test.want {
				t.Errorf("%v, want %v", test.got, test.want)
			}
		})
	}
	for _, got := range []float64{Mean(nil), Median(nil), Quantile(nil, 0.5)} {
		if !math.IsNaN(got) {
			t.Errorf("%v of nothing, want NaN", got)
		}
	}
	if !slices.Equal(values, []float64{5, 1, 4, 2, 3}) {
		t.Errorf("the values were changed: %v", values)
	}
}

func upTo(n int) []float64 {
	var values []float64
	for i := range n {
		values = append(values, float64(i+1))
	}
	return values
}

// at returns a time that many milliseconds after a fixed one. Zero is no time.
func at(ms int) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.Unix(0, 0).Add(time.Duration(ms) * time.Millisecond)
}

// turn is a turn whose release takes 6 ms.
func turn(called, granted, released int) Turn {
	t := Turn{Called: at(called), Granted: at(granted), Released: at(released)}
	if released > 0 {
		t.Ended = at(released + 6)
	}
	return t
}

var all = Window{at(1), at(1000)}

func TestTurns(t *testing.T) {
	const ms = time.Millisecond
	for _, test := range []struct {
		name      string
		turns     []Turn
		window    Window
		handOvers []time.Duration
		overtakes int
		overlaps  int
		cycles    int
	}{
		{name: "InOrder", turns: []Turn{turn(1, 10, 20), turn(2, 25, 30), turn(3, 37, 40)}, window: all,
			handOvers: []time.Duration{5 * ms, 7 * ms}, cycles: 3},
		{name: "IdleBetween", turns: []Turn{turn(1, 10, 20), turn(50, 60, 70)}, window: all, cycles: 2},
		{name: "WindowCutsOff", turns: []Turn{turn(1, 10, 20), turn(2, 25, 30), turn(3, 37, 40)}, window: Window{at(25), at(35)},
			handOvers: []time.Duration{7 * ms}, cycles: 1},
		{name: "OvertookOneThatWaits", turns: []Turn{turn(1, 10, 20), turn(2, 0, 0), turn(15, 25, 30)}, window: all,
			handOvers: []time.Duration{5 * ms}, overtakes: 1, cycles: 2},
		{name: "OvertookOneThatIsGrantedLater", turns: []Turn{turn(1, 10, 20), turn(2, 40, 45), turn(15, 25, 30)}, window: all,
			handOvers: []time.Duration{5 * ms, 10 * ms}, overtakes: 1, cycles: 3},
		{name: "WithinSlack", turns: []Turn{turn(1, 10, 20), turn(2, 40, 45), turn(7, 25, 30)}, window: all,
			handOvers: []time.Duration{5 * ms, 10 * ms}, cycles: 3},
		{name: "Overlap", turns: []Turn{turn(1, 10, 20), turn(2, 15, 30)}, window: all, overlaps: 1, cycles: 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := HandOvers(test.turns, test.window); !slices.Equal(got, test.handOvers) {
				t.Errorf("hand-overs %v, want %v", got, test.handOvers)
			}
			var after []time.Duration
			for _, d := range test.handOvers {
				after = append(after, d-6*time.Millisecond)
			}
			if got := AfterRelease(test.turns, test.window); !slices.Equal(got, after) {
				t.Errorf("after releases %v, want %v", got, after)
			}
			if got := Overtakes(test.turns, test.window, 10*time.Millisecond); got != test.overtakes {
				t.Errorf("%d overtakes, want %d", got, test.overtakes)
			}
			if got := Overlaps(test.turns); got != test.overlaps {
				t.Errorf("%d overlaps, want %d", got, test.overlaps)
			}
			if got := Cycles(test.turns, test.window); got != test.cycles {
				t.Errorf("%d cycles, want %d", got, test.cycles)
			}
		})
	}
}

// TestAfterRelease leaves out a release that did not return.
func TestAfterRelease(t *testing.T) {
	lost := turn(1, 10, 20)
	lost.Ended = time.Time{}
	got := AfterRelease([]Turn{lost, turn(2, 25, 30), turn(3, 34, 40)}, all)
	if want := []time.Duration{-2 * time.Millisecond}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
