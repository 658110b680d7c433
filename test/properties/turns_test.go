package properties_test

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/queuelock/queuelock/internal/workload/turns"
	"github.com/queuelock/queuelock/ticket"
)

// TestJudgeByDefinitions compares with the definitions written down without
// regard to their cost.
func TestJudgeByDefinitions(t *testing.T) {
	instant := rapid.Custom(func(t *rapid.T) turns.Instant { return turns.Instant(rapid.IntRange(1, 40).Draw(t, "instant")) })
	one := rapid.Custom(func(t *rapid.T) turns.Turn {
		a := turns.Turn{Asked: instant.Draw(t, "asked")}
		a.Took = a.Asked.Add(time.Duration(rapid.IntRange(0, 5).Draw(t, "took")))
		a.Ticket = ticket.FromUint64(uint64(rapid.IntRange(1, 9).Draw(t, "ticket")))
		for range rapid.IntRange(0, 2).Draw(t, "places") {
			stood := a.Asked.Add(time.Duration(rapid.IntRange(1, 10).Draw(t, "put")))
			a.Places = append(a.Places, turns.Place{
				Ticket: ticket.FromUint64(uint64(rapid.IntRange(1, 9).Draw(t, "row"))),
				Stood:  stood, Until: stood.Add(time.Duration(rapid.IntRange(1, 40).Draw(t, "until"))),
			})
		}
		switch rapid.IntRange(0, 4).Draw(t, "end") {
		case 0:
			a.Gone = a.Took.Add(10)
		case 1:
		default:
			a.Granted = a.Took.Add(time.Duration(rapid.IntRange(1, 30).Draw(t, "granted")))
			a.Ended = a.Granted.Add(time.Duration(rapid.IntRange(1, 10).Draw(t, "held")))
			a.From, a.Until = a.Granted, a.Ended
		}
		return a
	})
	rapid.Check(t, func(t *rapid.T) {
		all := rapid.SliceOfN(one, 0, 8).Draw(t, "turns")
		// Two at the same instant have no order to be judged by.
		slices.SortStableFunc(all, func(a, b turns.Turn) int { return int(a.Granted - b.Granted) })
		all = slices.CompactFunc(all, func(a, b turns.Turn) bool { return a.Granted != 0 && a.Granted == b.Granted })

		overlaps, inversions := 0, 0
		for i, a := range all {
			for j, b := range all {
				if i < j && a.Granted != 0 && b.Granted != 0 && a.Granted < b.Ended && b.Granted < a.Ended {
					overlaps++
				}
				if b.Granted != 0 && overtook(b, a, all) {
					inversions++
				}
			}
		}
		v := turns.Judge(all)
		if v.Overlaps != overlaps || v.Inversions != inversions {
			t.Fatalf("%d overlaps and %d inversions, want %d and %d", v.Overlaps, v.Inversions, overlaps, inversions)
		}
	})
}

// overtook is the protocol's third invariant, broken.
func overtook(newcomer, waiter turns.Turn, all []turns.Turn) bool {
	if waiter.Granted != 0 && waiter.Granted <= newcomer.Granted || waiter.Gone != 0 && waiter.Granted == 0 && waiter.Gone <= newcomer.Granted {
		return false
	}
	for _, p := range waiter.Places {
		passed := false
		for _, other := range all {
			passed = passed || other.Granted != 0 && other.Granted < newcomer.Granted && p.Ticket.Less(other.Ticket)
		}
		if !passed && p.Stood < newcomer.Took && newcomer.Granted < p.Until {
			return true
		}
	}
	return false
}
