package chaos

import (
	"testing"

	"github.com/queuelock/queuelock/internal/workload/crew"
	"github.com/queuelock/queuelock/internal/workload/turns"
	"github.com/queuelock/queuelock/ticket"
)

func TestHistoryAdd(t *testing.T) {
	h, p, nine := &History{}, &crew.Process{Track: turns.NewTrack("w", 0)}, ticket.FromUint64(9)
	for _, r := range []turns.Record{
		{Kind: turns.Writing, At: 6, Entity: "e", Ticket: nine, Write: &turns.Write{ID: "x", Seq: 2}},
		{Kind: turns.Wrote, At: 8, Entity: "e", Ticket: nine, Write: &turns.Write{ID: "x", Seq: 2, Outcome: turns.Applied}},
		{Kind: turns.Wrote, At: 8, Entity: "e", Error: "read the ledger: nonsense", Odd: true},
		{Kind: turns.Writing, At: 9, Entity: "e", Ticket: nine, Write: &turns.Write{ID: "y"}},
		{Kind: turns.Ended, At: 10, Entity: "e", Ticket: nine},
	} {
		h.add(p, r)
	}
	if w := h.Writes; len(w) != 2 || w[0].Outcome != turns.Applied || w[0].Sent != 6 || w[0].Answered != 8 || w[0].Worker != "w" || w[0].Ticket != nine ||
		w[1].Outcome != turns.Unknown || w[1].Answered != 0 {
		t.Errorf("writes %+v", w)
	}
	if len(h.Errors) != 1 || h.Errors[0] != (Error{"w", "wrote: read the ledger: nonsense"}) {
		t.Errorf("errors %v", h.Errors)
	}
}
