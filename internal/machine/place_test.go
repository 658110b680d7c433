package machine

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/queuelock/queuelock/clause"
	"github.com/queuelock/queuelock/internal/attr"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
)

var rowItems = queue.Items{PK: "pk", SK: "sk", TTL: "expiresAt", Entity: "e", Reason: "lock"}

// walk is a place, its table, and what its driver knows.
type walk struct {
	Place
	item     clause.Item    // in the table; nil: none
	late     []clause.Write // that may still arrive
	send     *clause.Write  // under way
	todo     PlaceAction    // the last that was not PlaceWait
	clock    int            // writes so far: each has another time and end
	sent     map[int64]time.Time
	withdraw bool // as the driver has asked
	stay     bool // the same
	held     bool
	renewed  int
	came     bool // late
	story    string
}

func (w *walk) fork(event string) *walk {
	n := *w
	n.ids, n.ends, n.late = slices.Clone(w.ids), slices.Clone(w.ends), slices.Clone(w.late)
	n.sent = map[int64]time.Time{}
	for until, at := range w.sent {
		n.sent[until] = at
	}
	n.story += " " + event
	return &n
}

// key names the state, without the story.
func (w *walk) key() string {
	var b strings.Builder
	fmt.Fprint(&b, w.state, w.ids, w.inserted, w.unsure, w.swept, w.below, w.Place.held, w.withdrawn, w.there, w.todo, w.withdraw, w.stay, w.keeps, w.stays, w.sure, w.held, w.renewed, w.came, w.puts, text(w.item, attr.ID), w.clock, w.Row.ID)
	for _, l := range w.late {
		fmt.Fprint(&b, l.Kind, text(l.Item, attr.ID))
	}
	if w.send != nil {
		fmt.Fprint(&b, w.send.Kind)
	}
	return b.String()
}

// TestPlace walks through all sequences of a number of events, in which answers are lost, requests come late, and rows are
// swept. A row is never put after the waiter has left; there are never two requests under way; the delete names each id that
// may be in the table; the end of each lease that may be in the table is known; and there is always something to wait for.
func TestPlace(t *testing.T) {
	const (
		depth    = 10
		puts     = 3 // ENQUEUEs, at most
		renewals = 2
	)
	begin := time.UnixMilli(1_000_000)
	names := rowItems.RowNames()
	seen := map[string]int{}
	states := 0
	var visit func(w *walk, left int)
	mine := func(id string) bool { return strings.HasPrefix(id, "me-") }
	visit = func(w *walk, left int) {
		wrong := func(format string, args ...any) {
			t.Helper()
			t.Fatalf("%s: %s", w.story, fmt.Sprintf(format, args...))
		}
		id, over := text(w.item, attr.ID), w.state == rowGone
		if w.item != nil && mine(id) && !over && !w.stay {
			until := clause.Reader{Item: w.item}
			end := until.OptionalTime(attr.Until)
			if at, known := w.Sent(end); !known || !at.Equal(w.sent[end.UnixMilli()]) {
				wrong("the lease to %v was written at %v, known %v, %v", end, w.sent[end.UnixMilli()], known, at)
			}
		}
		if (w.withdraw || w.stay) && w.send == nil && !over {
			wrong("the waiter has left, and nothing follows")
		}
		if w.send == nil && !w.withdraw && !over && w.state != rowThere && w.state != rowFailed && w.todo != PlaceAgain && w.todo != PlaceRetry {
			wrong("nothing follows")
		}
		if key := w.key(); left <= seen[key] {
			return
		} else {
			seen[key] = left
		}
		states++
		if left == 0 {
			return
		}
		took := func(n *walk, e PlaceEvent) {
			if e.Is == PlacePut || e.Is == PlaceRenew || e.Is == PlaceStay {
				n.clock++
				e.Sent = begin.Add(time.Duration(n.clock) * time.Second)
				e.Lease.TTL, e.Lease.Until, e.CreatedAt = time.Hour, e.Sent.Add(time.Hour), e.Sent
			}
			busy := n.send != nil && e.Is != PlaceReply
			todo := n.Step(e)
			if e.Is == PlaceReply {
				n.send = nil
			}
			if todo.First != (n.inserted && !w.inserted) {
				t.Fatalf("%s: the row is there for the first time: %v", n.story, todo.First)
			}
			r := clause.Reader{Item: n.item}
			if newest := r.OptionalTime(attr.Until).Equal(n.Row.Lease.Until); todo.Do == PlaceKeep && todo.Fresh && mine(text(n.item, attr.ID)) && !newest {
				t.Fatalf("%s: the lease is not the last", n.story)
			}
			if todo.Do != PlaceWait {
				n.todo = todo.Do
			}
			if todo.Do == PlaceSend {
				write := todo.Write
				if n.send = &write; busy {
					t.Fatalf("%s: two requests under way", n.story)
				}
				switch write.Kind {
				case clause.Put, clause.Update:
					if n.withdraw {
						t.Fatalf("%s: sends %s after the waiter has left", n.story, write.Name)
					}
					if id := text(write.Item, attr.ID); slices.Contains(w.ids, id) {
						t.Fatalf("%s: puts a row with the id of an earlier one", n.story)
					}
					n.sent[e.Lease.Until.UnixMilli()] = e.Sent
				case clause.Delete:
					if !n.withdraw && !n.stay && !(n.swept && n.below) {
						t.Fatalf("%s: deletes the row of a waiter that has not left", n.story)
					}
					for _, may := range append(slices.Clone(n.late), clause.Write{Item: n.item}) {
						if id := text(may.Item, attr.ID); mine(id) && write.Refuses(names, may.Item) != nil {
							t.Fatalf("%s: the delete does not name %s", n.story, id)
						}
					}
				}
			}
			if todo.Do == PlaceOver {
				stays, sure := n.Stays()
				id, r := text(n.item, attr.ID), clause.Reader{Item: n.item}
				switch kept := r.OptionalTime(attr.Until).Equal(n.kept.Lease.Until) && r.Has(attr.Kept); {
				case stays && !n.stay:
					t.Fatalf("%s: the row stays, and its waiter has not said so", n.story)
				case stays && sure && !(mine(id) && kept):
					t.Fatalf("%s: the place is kept, and its row is not there with that lease", n.story)
				case !stays && mine(id) && e.Reply != ReplyUnknown:
					t.Fatalf("%s: over, and %s is in the table", n.story, id)
				}
				if stays {
					return
				}
				for _, may := range n.late {
					if w.send == nil && may.Kind == clause.Put {
						t.Fatalf("%s: over, and %s may come", n.story, text(may.Item, attr.ID))
					}
				}
			}
			visit(n, left-1)
		}
		if w.puts < puts {
			took(w.fork("put"), PlaceEvent{Is: PlacePut})
		}
		if w.renewed < renewals {
			n := w.fork("renew")
			n.renewed++
			took(n, PlaceEvent{Is: PlaceRenew})
		}
		took(w.fork("lost"), PlaceEvent{Is: PlaceLost})
		took(w.fork("give-up"), PlaceEvent{Is: PlaceGiveUp})
		if !w.withdraw {
			n := w.fork("leave")
			n.withdraw = true
			took(n, PlaceEvent{Is: PlaceLeave})
			n = w.fork("end")
			n.withdraw = !n.held
			took(n, PlaceEvent{Is: PlaceEnd})
		}
		if !w.withdraw && !w.stay {
			n := w.fork("stay")
			n.stay = true
			took(n, PlaceEvent{Is: PlaceStay})
		}
		if !w.held {
			n := w.fork("hold")
			if n.held = n.Hold(); n.held == (w.withdraw || w.withdrawn) {
				wrong("hold is %v", n.held)
			}
			visit(n, left-1)
		}
		if !w.below {
			n := w.fork("below")
			n.Below(true)
			visit(n, left-1)
		}
		if w.item != nil {
			n := w.fork("sweep")
			n.item = nil
			visit(n, left-1)
		}
		if len(w.late) > 0 {
			n := w.fork("late")
			n.item, _ = n.late[0].Apply(names, n.item)
			n.late, n.came = n.late[1:], true
			visit(n, left-1)
		}
		if w.send == nil {
			return
		}
		apply := func(n *walk) (e PlaceEvent) {
			e = PlaceEvent{Is: PlaceReply, ID: text(n.item, attr.ID)}
			was := n.item
			var fate clause.Fate
			if n.item, fate = n.send.Apply(names, n.item); fate == clause.Refused {
				switch n.send.Refused(names, was) {
				case clause.Made:
					e.Reply = ReplyMade
				case clause.Lost:
					if e.Reply = ReplyRefusedForGood; mine(e.ID) && !n.came {
						wrong("its %s is refused by its own row", n.send.Name)
					}
				default:
					e.Reply = ReplyRefused
				}
			}
			return e
		}
		n := w.fork("answer")
		took(n, apply(n))
		n = w.fork("answer-lost")
		apply(n)
		took(n, PlaceEvent{Is: PlaceReply, Reply: ReplyUnknown})
		n = w.fork("comes-late")
		n.late = append(n.late, *n.send)
		took(n, PlaceEvent{Is: PlaceReply, Reply: ReplyUnknown})
		if w.item == nil && w.send.Kind == clause.Put && w.from == nil {
			n = w.fork("taken")
			n.item = queue.Waiter{ID: "other", Ticket: w.Row.Ticket}.Item(rowItems)
			took(n, apply(n))
		}
	}
	for _, from := range [][]string{nil, {"new", "old"}} {
		w := &walk{Place: NewPlace(&rowItems, queue.Waiter{Ticket: ticket.FromUint64(7)}, "me", from), todo: PlaceAgain, sent: map[int64]time.Time{}, story: fmt.Sprintf("from %q:", from)}
		if from != nil {
			w.item = queue.Waiter{ID: "old-r0-7", Ticket: w.Row.Ticket}.Item(rowItems)
		}
		visit(w, depth)
		clear(seen)
	}
	t.Logf("%d states", states)
}

// TestPlaceSent checks from which request the lease of a row counts whose end a grant by name has.
func TestPlaceSent(t *testing.T) {
	begun := time.UnixMilli(1_000_000)
	at := func(seconds int) time.Time { return begun.Add(time.Duration(seconds) * time.Second) }
	for name, test := range map[string]struct {
		written [][2]int // the end, and when it was sent
		until   int
		sent    int // -1: not known
	}{
		"Known":                 {written: [][2]int{{15, 0}, {22, 7}}, until: 15, sent: 0},
		"Last":                  {written: [][2]int{{15, 0}, {22, 7}}, until: 22, sent: 7},
		"FirstWithThatEnd":      {written: [][2]int{{15, 0}, {15, 7}}, until: 15, sent: 0},
		"NeverWritten":          {written: [][2]int{{15, 0}}, until: 16, sent: -1},
		"KeptWhileItMayLast":    {written: [][2]int{{15, 0}, {30, 15}}, until: 15, sent: 0},
		"ForgottenWhenItIsOver": {written: [][2]int{{15, 0}, {31, 16}}, until: 15, sent: -1},
	} {
		t.Run(name, func(t *testing.T) {
			p := NewPlace(&rowItems, queue.Waiter{Ticket: ticket.FromUint64(7)}, "me", nil)
			for i, w := range test.written {
				e := PlaceEvent{Is: PlaceRenew, Sent: at(w[1]), Lease: queue.Lease{TTL: 15 * time.Second, Until: at(w[0])}}
				if i == 0 {
					e.Is = PlacePut
				}
				if p.Step(e).Do != PlaceSend {
					t.Fatalf("request %d is not sent", i)
				}
				p.Step(PlaceEvent{Is: PlaceReply})
			}
			sent, known := p.Sent(at(test.until).Add(300 * time.Microsecond)) // the table keeps milliseconds
			if known != (test.sent >= 0) || known && !sent.Equal(at(test.sent)) {
				t.Errorf("sent %v after the beginning, known: %v", sent.Sub(begun), known)
			}
		})
	}
}

// TestPlaceManyPuts lets a table that does not answer be asked so often that most ids are forgotten. That of the row in the
// table is not: an ENQUEUE that finds it has found the waiter's own row, and the delete names it.
func TestPlaceManyPuts(t *testing.T) {
	p := NewPlace(&rowItems, queue.Waiter{Ticket: ticket.FromUint64(3)}, "me", nil)
	at := time.UnixMilli(1_000_000)
	put := func() PlaceTodo {
		at = at.Add(time.Second)
		return p.Step(PlaceEvent{Is: PlacePut, Sent: at, CreatedAt: at, Lease: queue.Lease{TTL: time.Minute, Until: at.Add(time.Minute)}})
	}
	row := put().Write.Item
	first := p.Row.ID
	p.Step(PlaceEvent{Is: PlaceReply, Reply: ReplyApplied})
	for outage := range 3 {
		p.Step(PlaceEvent{Is: PlaceLost})
		for range 2 * maxRowIDs {
			put()
			p.Step(PlaceEvent{Is: PlaceReply, Reply: ReplyFailed})
		}
		if because := put().Write.Refused(rowItems.RowNames(), row); because != clause.Made {
			t.Fatalf("outage %d: the own row is taken for that of another: %v", outage, because)
		}
		if do := p.Step(PlaceEvent{Is: PlaceReply, Reply: ReplyMade, ID: first}); do.Do != PlaceKeep {
			t.Fatalf("outage %d: %v", outage, do.Do)
		}
	}
	if p.Step(PlaceEvent{Is: PlaceLeave}).Write.Refuses(rowItems.RowNames(), row) != nil {
		t.Error("the delete does not name the row")
	}
}

func text(item clause.Item, attribute string) string {
	return (&clause.Reader{Item: item}).OptionalText(attribute)
}
