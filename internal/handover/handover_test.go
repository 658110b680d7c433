package handover

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/internal/testbed/property"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
	"github.com/queuelock/queuelock/waitpolicy"
)

func woken(s *Waiter) bool {
	select {
	case <-s.wake:
		return true
	default:
		return false
	}
}

func n(i int) ticket.Number { return ticket.FromUint64(uint64(i)) }

func onPaper(entity, reason string) table.Queue {
	return table.NewStore(nil, table.Layout{Table: "t"}, time.Second).Queue(entity, reason, nil)
}

// TestFirst checks that the first waiter of a line has its lowest ticket, whichever
// waiters join and leave. A waiter that becomes the first because another left has been
// woken.
func TestFirst(t *testing.T) {
	property.Check(t, func(t *property.T) {
		lines, q := New(time.Hour), onPaper("e", "lock")
		other := lines.Join(onPaper("e", "lock2"), n(1), 0, nil) // another queue does not count
		in := map[int]*Waiter{}
		first := func() int {
			lowest := 0
			for ticket := range in {
				if lowest == 0 || ticket < lowest {
					lowest = ticket
				}
			}
			return lowest
		}
		for range property.IntRange(1, 40).Draw(t, "steps") {
			ticket := property.IntRange(1, 12).Draw(t, "ticket")
			before := first()
			if waiter, ok := in[ticket]; ok {
				woken(in[first()])
				waiter.Leave()
				delete(in, ticket)
				if now := first(); now != 0 && woken(in[now]) != (now != before) {
					t.Fatalf("ticket %d left, %d was the first and %d is: woken is wrong", ticket, before, now)
				}
				waiter.Leave() // again: nothing happens
			} else {
				in[ticket] = lines.Join(q, n(ticket), 0, nil)
			}
			for other, waiter := range in {
				if waiter.First() != (other == first()) {
					t.Fatalf("of %v, ticket %d says First is %v", in, other, waiter.First())
				}
			}
			lines.Wake(q)
			lines.Wake(q)
			for other, waiter := range in {
				if got := woken(waiter); got != (other == first()) {
					t.Fatalf("a turn ended: ticket %d woken: %v, the first is %d", other, got, first())
				}
				if woken(waiter) {
					t.Fatal("two turns are two signals")
				}
			}
		}
		if woken(other) || !other.First() {
			t.Fatal("the line of another queue was touched")
		}
	})
}

// TestSignalOfLeaver checks that a signal to a waiter that leaves is not lost.
func TestSignalOfLeaver(t *testing.T) {
	lines, q := New(time.Hour), onPaper("e", "lock")
	first, second := lines.Join(q, n(1), 0, nil), lines.Join(q, n(2), 1, nil)
	lines.Wake(q) // to the first, who leaves without having heard
	first.Leave()
	if !woken(second) {
		t.Error("the second was not woken")
	}
	second.Leave()
	lines.Wake(q) // an empty line
}

// TestPassed checks that a release which grants the lock to a waiter that offers it wakes that one only. The
// next waiter would send a CLAIM, which is refused.
func TestPassed(t *testing.T) {
	lines, q := New(time.Hour), onPaper("e", "lock")
	second, third := lines.Join(q, n(2), 0, nil), lines.Join(q, n(3), 0, nil)
	second.RowInserted()
	third.RowInserted()
	woken(second)
	second.Terms.Offer = func() (queue.Entry, bool) { return queue.Entry{ID: "second"}, true }
	second.offering = true
	next := lines.Next(q, "first", n(1), Row{})
	if next.Grant == nil || next.Grant.Ticket != n(2) || next.Grant.Entry.ID != "second" {
		t.Fatalf("the release passes the lock to %+v", next.Grant)
	}
	if again := lines.Next(q, "first", n(1), Row{}); again.Grant != nil {
		t.Error("the offer was taken twice")
	}
	next.Answer(queue.Passed{Reply: queue.ReplyLost})
	next.Answer(queue.Passed{Reply: queue.ReplyApplied}) // to a further request
	if !woken(second) {
		t.Error("the waiter that got the lock was not woken")
	}
	if got := second.withdraw(t.Context()); got != (queue.Event)(nil) && got.(queue.Passed).Reply != queue.ReplyLost {
		t.Errorf("its waiter got %+v", got)
	}
	second.Leave()
	if !woken(third) {
		t.Error("the waiter that has become the first was not woken")
	}
	lines.Released(q, next, queue.AfterPassed, queue.Record{})
	if woken(third) {
		t.Error("a waiter was woken that cannot be next")
	}
	if lines.Ended(q).IsZero() {
		t.Error("the turn has not ended")
	}
	lines.Released(q, next, queue.AfterNothing, queue.Record{})
	if woken(third) {
		t.Error("a waiter was woken by a release that has not ended its turn")
	}
	lines.Released(q, next, queue.AfterWake, queue.Record{})
	if !woken(third) {
		t.Error("the waiter that may be next was not woken")
	}
}

// TestNamed checks that a waiter of this client which was busy as its row was named gets the record of the release, in its
// next rest, and that its client's waiters behind another client's are only woken.
func TestNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := onPaper("e", "lock")
		q.Clock().Observe(time.Now(), time.Now(), time.Now())
		lease := queue.Lease{TTL: time.Minute, Until: time.Now().Add(time.Minute)}
		row := Row{&queue.Waiter{Ticket: n(2), ID: "x", EntryID: "second", Lease: lease}, time.Now()}
		lines := New(time.Hour)
		for name, row := range map[string]Row{"Unknown": {}, "Old": {row.Row, row.ReadAt.Add(-time.Hour)}} {
			if next := lines.Next(q, "first", n(1), row); next.Grant != nil {
				t.Errorf("%s: the release passes the lock to %+v", name, next.Grant)
			}
		}
		next := lines.Next(q, "first", n(1), row)
		if next.Grant == nil || next.Grant.Entry.ID != "second" {
			t.Fatalf("the release passes the lock to %+v", next.Grant)
		}
		next.Answer(queue.Passed{})
		second, third := lines.Join(q, n(2), 0, nil), lines.Join(q, n(3), 0, nil)
		lines.Released(q, next, queue.AfterPassed, queue.Record{Granted: n(2)})
		second.Terms = Terms{Pace: &waitpolicy.Pace{}, Schedule: &waitpolicy.Schedule{Slowest: time.Minute}}
		begun := time.Now()
		_, _, e := second.Rest(t.Context(), time.Hour, nil)
		if passed, ok := e.(queue.Passed); !ok || passed.Record.Granted != n(2) || !time.Now().Equal(begun) {
			t.Errorf("after %v its rest ends with %+v", time.Since(begun), e)
		}
		second.Leave()
		woken(third)
		lines.Released(q, next, queue.AfterPassed, queue.Record{Granted: n(2)})
		if !woken(third) || third.passed != nil {
			t.Error("a waiter behind the one that was named is not woken, or passed the lock")
		}
	})
}

// TestEveryWaiterIsServed checks that every waiter of a line becomes its first in the
// end.
func TestEveryWaiterIsServed(t *testing.T) {
	lines, q := New(time.Hour), onPaper("e", "lock")
	const waiters = 50
	var mu sync.Mutex
	var order []int
	var all, joined sync.WaitGroup
	joined.Add(waiters)
	for i := range waiters {
		all.Go(func() {
			waiter := lines.Join(q, n(i+1), i, nil)
			joined.Done()
			joined.Wait()
			for !waiter.First() {
				<-waiter.wake
			}
			mu.Lock()
			order = append(order, i)
			mu.Unlock()
			lines.Wake(q)
			waiter.Leave()
		})
	}
	all.Wait()
	for i, got := range order {
		if got != i {
			t.Fatalf("they came first in the order %v", order)
		}
	}
}

func TestInactiveWaiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lines, q := New(time.Minute), onPaper("e", "lock")
		first, second := lines.Join(q, n(1), 0, nil), lines.Join(q, n(2), 1, nil)
		for _, s := range []*Waiter{first, second} {
			s.RowInserted()
		}
		time.Sleep(time.Minute)
		second.Touch()
		if !first.Active() || !first.First() {
			t.Error("passed over before its time")
		}
		time.Sleep(time.Nanosecond)
		lines.Wake(q)
		if first.Active() || first.First() || !second.First() || !woken(second) || woken(first) {
			t.Error("an inactive waiter polls for the others")
		}
		first.Touch()
		select {
		case <-first.Reactivated():
		default:
			t.Error("it is not said to be back")
		}
		if !first.First() || second.First() {
			t.Error("a waiter that is back is not the first")
		}
		time.Sleep(time.Hour)
		if !first.First() {
			t.Error("none polls where all are inactive")
		}
	})
}

func TestSpotAhead(t *testing.T) {
	lines, q := New(time.Hour), onPaper("e", "lock")
	ahead := func(what string, want int, s *Waiter) {
		t.Helper()
		if got := s.Ahead(); got != Tickets(want) {
			t.Errorf("%s: %+v ahead, want %d", what, got, want)
		}
	}
	first := lines.Join(q, n(10), 5, nil) // five tickets are above the floor
	ahead("before a look", 5, first)
	first.Saw(&queue.Snapshot{}, Tickets(2))
	ahead("after a look", 2, first)
	second := lines.Join(q, n(14), 9, nil)
	ahead("with three tickets of others between", 2+1+3, second)
	var gone []*Waiter
	for i := range 5 {
		gone = append(gone, lines.Join(q, n(15+i), 10+i, nil))
	}
	third := lines.Join(q, n(20), 15, nil)
	ahead("behind five of its own client", 2+1+3+1+5, third)
	for _, s := range gone {
		s.Leave()
	}
	ahead("after those have left", 2+1+3+1, third)
	ahead("of one that has left", 2+1+3+1, gone[0])
	third.Leave()
	third = lines.Join(q, n(22), 17, nil)
	ahead("come back, with one ticket of others between", 2+1+3+1+1, third)
	first.Saw(&queue.Snapshot{}, Tickets(0))
	ahead("after another look of the first", 0+1+3+1+1, third)
	first.Leave()
	ahead("of the next, after the first has left", 3, second)
	late := lines.Join(q, n(21), 16, nil)
	ahead("in between", 3+1, late)
	ahead("behind it", 3+1+1, third)
	late.Saw(&queue.Snapshot{}, Tickets(2))
	second.Leave()
	ahead("of one that has looked itself, after the one before has left", 2, late)
	wide := lines.Join(onPaper("e", "wide"), n(7), 0, nil)
	next := lines.Join(onPaper("e", "wide"), n(70), 0, nil)
	ahead("where other tickets are of other queues", 1, next)
	wide.Leave()
	ahead("alone", 0, next)
}

// TestBlocksAhead checks what is ahead where a row of another client is of several waiters.
func TestBlocksAhead(t *testing.T) {
	lines, q := New(time.Hour), onPaper("e", "lock")
	ahead := func(what string, want Ahead, s *Waiter) {
		t.Helper()
		if got := s.Ahead(); got != want {
			t.Errorf("%s: %+v ahead, want %+v", what, got, want)
		}
	}
	first := lines.Join(q, n(10), 5, nil)
	first.Saw(&queue.Snapshot{}, Ahead{Rows: 1, Waiters: 5})
	ahead("behind a block", Ahead{1, 5}, first)
	second := lines.Join(q, n(12), 7, nil)
	ahead("behind a waiter of its client, and a ticket", Ahead{3, 7}, second)
	between := lines.Join(q, n(11), 6, nil)
	ahead("between them", Ahead{2, 6}, between)
	ahead("behind it", Ahead{3, 7}, second)
	first.RowInserted()
	first.Leave()
	ahead("after the first has left", Ahead{1, 5}, between)
	between.Saw(&queue.Snapshot{Rows: []queue.Waiter{{Ticket: n(10)}}}, Ahead{Rows: 2, Waiters: 6})
	ahead("whose row is still there", Ahead{1, 5}, between)
}

// TestLate checks that a waiter which counts the rows ahead knows of each that has come since its last look, and is woken.
func TestLate(t *testing.T) {
	lines, q := New(time.Hour), onPaper("e", "lock")
	before, counts, ignores, after := lines.Join(q, n(2), 0, nil), lines.Join(q, n(3), 0, nil), lines.Join(q, n(4), 0, nil), lines.Join(q, n(5), 0, nil)
	counts.CountsRows()
	for _, w := range []*Waiter{counts, ignores, after} {
		w.RowInserted()
	}
	if woken(counts); counts.Late() { // woken as the first whose row is in the table
		t.Error("a row behind is late")
	}
	before.RowInserted()
	if !counts.Late() || !woken(counts) {
		t.Error("a row ahead was missed")
	}
	if ignores.Late() || woken(ignores) {
		t.Error("a waiter that does not count was woken")
	}
	counts.Looks()
	if counts.Late() {
		t.Error("late after a look")
	}
}
