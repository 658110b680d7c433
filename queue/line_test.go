package queue_test

import (
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/queue"
)

func woken(s *queue.Spot) bool {
	select {
	case <-s.Woken():
		return true
	default:
		return false
	}
}

func onPaper(entity, reason string) table.Queue {
	return table.Queue{Store: table.NewStore(nil, table.Layout{Table: "t"}, time.Second), Entity: entity, Reason: reason}
}

// Whoever joins and leaves: the first is the lowest ticket, and whoever becomes
// the first because another left has been woken.
func TestTheFirstOfALineIsItsLowestTicket(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lines, q := queue.NewLines(), onPaper("e", "lock")
		other := lines.Join(onPaper("e", "lock2"), n(1)) // another queue does not count
		in := map[int]*queue.Spot{}
		first := func() int {
			lowest := 0
			for ticket := range in {
				if lowest == 0 || ticket < lowest {
					lowest = ticket
				}
			}
			return lowest
		}
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			ticket := rapid.IntRange(1, 12).Draw(t, "ticket")
			before := first()
			if spot, ok := in[ticket]; ok {
				woken(in[first()])
				spot.Leave()
				delete(in, ticket)
				if now := first(); now != 0 && woken(in[now]) != (now != before) {
					t.Fatalf("ticket %d left, %d was the first and %d is: woken is wrong", ticket, before, now)
				}
				spot.Leave() // again: nothing happens
			} else {
				in[ticket] = lines.Join(q, n(ticket))
			}
			for other, spot := range in {
				if spot.First() != (other == first()) {
					t.Fatalf("of %v, ticket %d says First is %v", in, other, spot.First())
				}
			}
			lines.Wake(q)
			lines.Wake(q)
			for other, spot := range in {
				if got := woken(spot); got != (other == first()) {
					t.Fatalf("a turn ended: ticket %d woken: %v, the first is %d", other, got, first())
				}
				if woken(spot) {
					t.Fatal("two turns are two signals")
				}
			}
		}
		if woken(other) || !other.First() {
			t.Fatal("the line of another queue was touched")
		}
	})
}

func TestASignalOfOneThatLeavesIsNotLost(t *testing.T) {
	lines, q := queue.NewLines(), onPaper("e", "lock")
	first, second := lines.Join(q, n(1)), lines.Join(q, n(2))
	lines.Wake(q) // to the first, who leaves without having heard
	first.Leave()
	if !woken(second) {
		t.Error("the second was not woken")
	}
	second.Leave()
	lines.Wake(q) // an empty line
}

func TestEveryWaiterOfALineComesFirstInTheEnd(t *testing.T) {
	lines, q := queue.NewLines(), onPaper("e", "lock")
	const waiters = 50
	var mu sync.Mutex
	var order []int
	var all, joined sync.WaitGroup
	joined.Add(waiters)
	for i := range waiters {
		all.Go(func() {
			spot := lines.Join(q, n(i+1))
			joined.Done()
			joined.Wait()
			for !spot.First() {
				<-spot.Woken()
			}
			mu.Lock()
			order = append(order, i)
			mu.Unlock()
			lines.Wake(q)
			spot.Leave()
		})
	}
	all.Wait()
	for i, got := range order {
		if got != i {
			t.Fatalf("they came first in the order %v", order)
		}
	}
}
