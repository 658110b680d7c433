package stats

import (
	"slices"
	"time"
)

// Turn is one call of Acquire and what came of it.
type Turn struct {
	Called   time.Time
	Granted  time.Time // zero if it was still waiting at the end
	Released time.Time // when Release was called; zero if it was not
	Ended    time.Time // when Release returned; zero if it did not
}

// Window is a part of a measurement: from From until before To.
type Window struct{ From, To time.Time }

func (w Window) has(t time.Time) bool { return !t.Before(w.From) && t.Before(w.To) }

// Cycles returns the number of turns that ended in the window.
func Cycles(turns []Turn, w Window) int {
	n := 0
	for _, t := range turns {
		if w.has(t.Released) {
			n++
		}
	}
	return n
}

// HandOvers returns, for each release in the window that left a waiter, the time from
// the call of Release until the next grant. Nothing is returned for a release of an idle lock.
func HandOvers(turns []Turn, w Window) []time.Duration {
	return untilNext(turns, w, func(t Turn) time.Time { return t.Released })
}

// AfterRelease is HandOvers, but counts from the return of Release. It is negative if the
// next holder had its grant before that.
func AfterRelease(turns []Turn, w Window) []time.Duration {
	return untilNext(turns, w, func(t Turn) time.Time { return t.Ended })
}

func untilNext(turns []Turn, w Window, from func(Turn) time.Time) []time.Duration {
	granted := inOrder(turns)
	var times []time.Duration
	for i := 0; i+1 < len(granted); i++ {
		t := granted[i]
		if w.has(t.Released) && waited(turns, t, t.Released) && !from(t).IsZero() {
			times = append(times, granted[i+1].Granted.Sub(from(t)))
		}
	}
	return times
}

// waited reports whether a call other than t was waiting at that time.
func waited(turns []Turn, t Turn, at time.Time) bool {
	return slices.ContainsFunc(turns, func(other Turn) bool {
		return other != t && other.Called.Before(at) && (other.Granted.IsZero() || other.Granted.After(at))
	})
}

// Overlaps returns how many turns began before the turn that was granted just before
// them had ended.
func Overlaps(turns []Turn) int {
	granted := inOrder(turns)
	n := 0
	for i := 1; i < len(granted); i++ {
		if end := granted[i-1].Released; end.IsZero() || granted[i].Granted.Before(end) {
			n++
		}
	}
	return n
}

// Overtakes returns how many grants in the window overtook an earlier caller: one that
// had called longer than slack before the granted one, and was granted later or never.
// Within slack, requests of two callers may reach the table in either order.
func Overtakes(turns []Turn, w Window, slack time.Duration) int {
	n := 0
	for _, t := range turns {
		if !w.has(t.Granted) {
			continue
		}
		if slices.ContainsFunc(turns, func(other Turn) bool {
			return other.Called.Add(slack).Before(t.Called) && (other.Granted.IsZero() || other.Granted.After(t.Granted))
		}) {
			n++
		}
	}
	return n
}

// inOrder returns the turns that were granted, in this order.
func inOrder(turns []Turn) []Turn {
	var granted []Turn
	for _, t := range turns {
		if !t.Granted.IsZero() {
			granted = append(granted, t)
		}
	}
	slices.SortFunc(granted, func(a, b Turn) int { return a.Granted.Compare(b.Granted) })
	return granted
}
