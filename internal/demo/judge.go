package demo

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/queuelock/queuelock/ticket"
)

// Verdict is what the records say about the lock.
type Verdict struct {
	Grants      int
	Overlaps    int // pairs of turns that intersect
	Inversions  int // pairs of which a newcomer was served before one who waited
	Regressions int // turns whose ticket is not greater than the one before
	Unfinished  int // turns whose end is not known

	// HandOffs are the times from the end of a turn to the next one, where
	// that one's worker was waiting already and no kill lies between; sorted.
	HandOffs []time.Duration
	// Recoveries are the times from each kill of a holder to the next turn;
	// less than zero if there was none.
	Recoveries []time.Duration
	Lost       int // turns that ended because the lock was lost
}

// never is later than every instant.
const never = Instant(math.MaxInt64)

// Judge judges attempts, in any order. It is a pure function.
func Judge(attempts []Attempt) Verdict {
	turns := slices.DeleteFunc(slices.Clone(attempts), func(a Attempt) bool { return a.Granted == 0 })
	slices.SortFunc(turns, func(a, b Attempt) int { return cmp.Compare(a.Granted, b.Granted) })
	v := Verdict{Grants: len(turns)}
	for i, t := range turns {
		if t.Lost {
			v.Lost++
		}
		end := t.Ended
		if end == 0 {
			v.Unfinished++
			end = never // for all that is known
		}
		for _, later := range turns[i+1:] {
			if later.Granted >= end {
				break
			}
			v.Overlaps++
		}
		if i > 0 && t.Ticket.Compare(turns[i-1].Ticket) <= 0 {
			v.Regressions++
		}
		if i > 0 {
			before := turns[i-1]
			if before.Ended != 0 && before.Gone == 0 && !before.Lost && t.queuedBefore(before.Ended) {
				v.HandOffs = append(v.HandOffs, t.Granted.Sub(before.Ended))
			}
		}
		if t.KilledAt != 0 {
			recovery := time.Duration(-1)
			if i+1 < len(turns) {
				recovery = turns[i+1].Granted.Sub(t.KilledAt)
			}
			v.Recoveries = append(v.Recoveries, recovery)
		}
	}
	slices.Sort(v.HandOffs)
	floors := floorsBefore(turns)
	for _, waiter := range attempts {
		v.Inversions += inversions(waiter, turns, floors)
	}
	return v
}

// floorsBefore is, for each turn, the highest ticket that was served before it.
// A row with a lower ticket can be served no more: its owner stalled between
// its number and its row, and takes a new number.
func floorsBefore(turns []Attempt) []ticket.Number {
	floors := make([]ticket.Number, len(turns))
	for i := 1; i < len(turns); i++ {
		floors[i] = floors[i-1]
		if floors[i].Less(turns[i-1].Ticket) {
			floors[i] = turns[i-1].Ticket
		}
	}
	return floors
}

// inversions counts the turns, sorted by their beginnings, that were given to
// newcomers before one who waited.
func inversions(waiter Attempt, turns []Attempt, floors []ticket.Number) int {
	// It waited until it was served, or died, or to this day.
	until := never
	switch {
	case waiter.Granted != 0:
		until = waiter.Granted
	case waiter.Gone != 0:
		until = waiter.Gone
	}
	first := len(turns)
	for _, p := range waiter.Places {
		// Whoever came later was served later still.
		i, _ := slices.BinarySearchFunc(turns, p.Stood, func(t Attempt, at Instant) int { return cmp.Compare(t.Granted, at) })
		first = min(first, i)
	}
	count := 0
	for i := first; i < len(turns) && turns[i].Granted < until; i++ {
		newcomer := turns[i]
		if slices.ContainsFunc(waiter.Places, func(p Place) bool {
			return p.Stood < newcomer.Took && newcomer.Granted < p.Until && !p.Ticket.Less(floors[i])
		}) {
			count++
		}
	}
	return count
}

// Percentile is the smallest of the sorted durations that at least p percent
// do not exceed; zero of none.
func Percentile(sorted []time.Duration, p float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	rank := int(math.Ceil(p / 100 * float64(len(sorted))))
	return sorted[min(max(rank, 1), len(sorted))-1]
}
