package search

import (
	"slices"
	"time"

	"github.com/queuelock/queuelock/queue"
)

// resultOf is the result of the holder with a ticket.
func resultOf(t uint8) *queue.Result { return &queue.Result{Ticket: tickets[t], Value: []byte{t}} }

// resultLeft checks that there is a result, as a client hears.
func (s *search) resultLeft(w *world, i int) {
	if !s.items.recs[w.rec].Result.Exists() && !w.has(deletes) {
		s.fail("reported: %s hears of a result, and there is none", nameOf(i))
	}
}

// results checks that a result never grows old here, so none replaces it.
func (s *search) results(name string, before, rec *queue.Record) {
	if was, is := before.Result, rec.Result; was.Exists() && was.Ticket != is.Ticket {
		s.fail("result: %s leaves the result of ticket %s in place of that of ticket %s", name, is.Ticket, was.Ticket)
	}
}

// leaveResult leaves a result after the release, as ResultLater says.
func (s *search) leaveResult(w *world, i int) {
	h := &w.nodes[i].hold
	later := queue.Ending{ID: s.ids[h.number], Ticket: tickets[h.ticket], Result: resultOf(h.ticket)}.Release(queue.FormHandOff, time.Time{})
	k := slices.Index(later.Changes(), "sets result")
	later.Name, later.If, later.Do = "RESULT", nil, later.Do[k:k+1]
	m := msg{role: byNone, node: int8(i)}
	m.write[0] = s.items.send(later, 0, "")
	s.say("    %s sends %s", nameOf(i), s.name(&m))
	s.post(w, m)
}
