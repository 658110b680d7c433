package turns

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/queuelock/queuelock/ticket"
)

// Verdict is what the turns at one lock show.
type Verdict struct {
	Grants      int
	Lost        int // turns that ended because the lock was lost
	Overlaps    int // pairs of turns that intersect
	Inversions  int // pairs of which a newcomer was served before a waiter
	Regressions int // turns whose ticket is not greater than the one before
	Unfinished  int // turns whose end is not known

	// HandOffs are the times from the end of a turn to the next one, where the
	// next worker was waiting already and no kill or loss lies between; sorted.
	HandOffs []time.Duration
	// Recoveries are those from each kill of a holder, in order.
	Recoveries []Recovery
	// Problems describe the overlaps and the regressions.
	Problems []string
}

// Recovery is the time from the kill of a holder to the next turn.
type Recovery struct {
	Killed Turn
	Took   time.Duration // less than zero: there was no next turn
}

// Never is later than every instant.
const Never = Instant(math.MaxInt64)

// Judge judges turns at one lock, in any order. It is a pure function.
func Judge(all []Turn) Verdict {
	granted := slices.DeleteFunc(slices.Clone(all), func(t Turn) bool { return t.Granted == 0 })
	slices.SortStableFunc(granted, func(a, b Turn) int { return cmp.Compare(a.Granted, b.Granted) })
	// A holder that learnt of its grant after its end shows nothing of its order.
	held := slices.DeleteFunc(slices.Clone(granted), func(t Turn) bool { return t.From == 0 })
	v := Verdict{Grants: len(granted)}
	for _, t := range granted {
		if t.Lost() {
			v.Lost++
		}
		if t.Holding() {
			v.Unfinished++
		}
	}
	v.overlaps(held)
	v.order(held)
	v.recoveries(held, granted)
	floors := floorsBefore(held)
	for _, waiter := range all {
		v.Inversions += inversions(waiter, held, floors)
	}
	return v
}

func (v *Verdict) wrong(count *int, format string, args ...any) {
	*count++
	v.Problems = append(v.Problems, fmt.Sprintf(format, args...))
}

// overlaps counts pairs of turns that are held at one time.
func (v *Verdict) overlaps(held []Turn) {
	held = slices.Clone(held)
	slices.SortStableFunc(held, func(a, b Turn) int { return cmp.Compare(a.From, b.From) })
	for i, t := range held {
		until := t.Until
		if t.Holding() {
			until = Never // for all that is known
		}
		for _, later := range held[i+1:] {
			if later.From >= until {
				break
			}
			v.wrong(&v.Overlaps, "%s: %s with ticket %s held the lock %v before %s with ticket %s ceased to",
				t.Entity, later.Worker, later.Ticket, until.Sub(later.From), t.Worker, t.Ticket)
		}
	}
}

// order judges each turn by the one before.
func (v *Verdict) order(held []Turn) {
	for i := 1; i < len(held); i++ {
		t, before := &held[i], &held[i-1]
		if t.Ticket.Compare(before.Ticket) <= 0 {
			v.wrong(&v.Regressions, "%s: ticket %s was granted to %s after ticket %s to %s", t.Entity, t.Ticket, t.Worker, before.Ticket, before.Worker)
		}
		if before.Ended != 0 && !before.Lost() && t.queuedBefore(before.Ended) {
			v.HandOffs = append(v.HandOffs, t.Granted.Sub(before.Ended))
		}
	}
	slices.Sort(v.HandOffs)
}

// recoveries finds the first turn after each kill of a holder.
func (v *Verdict) recoveries(held, granted []Turn) {
	for _, t := range held {
		if t.KilledAt == 0 || t.Lost() {
			continue
		}
		r := Recovery{Killed: t, Took: -1}
		if i := slices.IndexFunc(granted, func(next Turn) bool { return next.Granted > t.KilledAt }); i >= 0 {
			r.Took = granted[i].Granted.Sub(t.KilledAt)
		}
		v.Recoveries = append(v.Recoveries, r)
	}
}

// floorsBefore returns, for each turn, the highest ticket that was served before
// it. A row with a lower ticket can be served no more: its owner stalled between
// its number and its row, and takes a new number.
func floorsBefore(held []Turn) []ticket.Number {
	floors := make([]ticket.Number, len(held))
	for i := 1; i < len(held); i++ {
		floors[i] = floors[i-1]
		if floors[i].Less(held[i-1].Ticket) {
			floors[i] = held[i-1].Ticket
		}
	}
	return floors
}

// inversions counts the turns, sorted by their grants, that newcomers got before
// a waiter.
func inversions(waiter Turn, held []Turn, floors []ticket.Number) int {
	// It waited until it was served, or gave up, or died, or to this day.
	until := cmp.Or(waiter.Over(), Never)
	first := len(held)
	for _, p := range waiter.Places {
		// A later newcomer was served later still.
		i, _ := slices.BinarySearchFunc(held, p.Stood, func(t Turn, at Instant) int { return cmp.Compare(t.Granted, at) })
		first = min(first, i)
	}
	count := 0
	for i := first; i < len(held) && held[i].Granted < until; i++ {
		newcomer := held[i]
		if slices.ContainsFunc(waiter.Places, func(p Place) bool {
			return p.Stood < newcomer.Took && newcomer.Granted < p.Until && !p.Ticket.Less(floors[i])
		}) {
			count++
		}
	}
	return count
}

// Percentile returns the smallest of the sorted durations that at least p percent
// do not exceed, or zero.
func Percentile(sorted []time.Duration, p float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	rank := int(math.Ceil(p / 100 * float64(len(sorted))))
	return sorted[min(max(rank, 1), len(sorted))-1]
}
