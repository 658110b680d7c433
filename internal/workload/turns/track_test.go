package turns

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/queuelock/queuelock/ticket"
)

func track(records ...Record) *Track {
	t := NewTrack("w", 100)
	for _, r := range records {
		t.Add(r)
	}
	return t
}

func TestTrackDied(t *testing.T) {
	granted := []Record{{Kind: Asked, At: 10}, {Kind: Granted, At: 11, Believed: 11}}
	for name, tc := range map[string]struct {
		records []Record
		want    Turn
	}{
		"WhileItHeld":     {granted, Turn{Granted: 11, From: 11, Until: 11, Gone: 30, KilledAt: 25}},
		"WhileItWaited":   {granted[:1], Turn{Gone: 30, KilledAt: 25}},
		"BetweenTwoTurns": {append(slices.Clone(granted), Record{Kind: Ended, At: 20, Believed: 20}), Turn{Granted: 11, From: 11, Until: 20, Ended: 20}},
		"AfterADenial":    {append(slices.Clone(granted[:1]), Record{Kind: Denied, At: 20}), Turn{Denied: 20}},
	} {
		t.Run(name, func(t *testing.T) {
			h := track(tc.records...)
			h.Died(30, 25)
			tc.want.Worker, tc.want.Asked, tc.want.Took = "w", 10, 10
			if got := h.Current(); !reflect.DeepEqual(got, &tc.want) {
				t.Errorf("got  %+v\nwant %+v", got, &tc.want)
			}
		})
	}
	track().Died(30, 25) // before it did anything
}

func TestTrackAdd(t *testing.T) {
	t.Run("LateAnswerBelongsToItsTicket", func(t *testing.T) {
		h := track(
			Record{Kind: Asked, At: 10},
			Record{Kind: Took, At: 11, Ticket: ticket.FromUint64(5)},
			Record{Kind: Took, At: 13, Ticket: ticket.FromUint64(8)}, // overtaken, and a new number
			Record{Kind: Granted, At: 20, Ticket: ticket.FromUint64(8)},
			Record{Kind: Ended, At: 21},
			Record{Kind: Asked, At: 22},
			Record{Kind: Queued, At: 24, Sent: 12, Ticket: ticket.FromUint64(5)},
			Record{Kind: Renewed, At: 30, Ticket: ticket.FromUint64(5)},
			Record{Kind: Queued, At: 31, Sent: 30, Ticket: ticket.FromUint64(99)}, // of a number that was never taken
		)
		first, second := h.Turns[0], h.Turns[1]
		if first.Took != 13 || len(first.Places) != 1 || first.Places[0] != (Place{ticket.FromUint64(5), 24, 130}) {
			t.Errorf("first turn %+v", first)
		}
		if second.Took != 22 || len(second.Places) != 0 {
			t.Errorf("second turn %+v", second)
		}
	})
	t.Run("FollowsAProcess", func(t *testing.T) {
		nine, h := ticket.FromUint64(9), track()
		for _, r := range []Record{
			{Kind: Asked, At: 1, Entity: "e", Waits: true},
			{Kind: Denied, At: 2, Entity: "e", Error: "busy"},
			{Kind: Asked, At: 3, Entity: "e"},
			{Kind: Granted, At: 4, Entity: "e", Ticket: nine, Believed: 5},
			{Kind: Writing, At: 6, Entity: "e", Ticket: nine, Write: &Write{ID: "x", Seq: 2}},
			{Kind: Wrote, At: 8, Entity: "e", Ticket: nine, Write: &Write{ID: "x", Seq: 2, Outcome: Applied}},
			{Kind: Ended, At: 10, Entity: "e", Ticket: nine, Believed: 9},
			{Kind: Done, At: 11, Usage: Usage{Requests: 3}},
		} {
			h.Add(r)
			if got := h.Holding() != nil; got != (r.At >= 4 && r.At < 10) {
				t.Errorf("holding after %s: %v", r.Kind, got)
			}
			if got := h.Waiting() != nil; got != (r.Kind == Asked) {
				t.Errorf("waiting after %s: %v", r.Kind, got)
			}
		}
		want := []*Turn{
			{Worker: "w", Entity: "e", Asked: 1, Took: 1, Waits: true, Denied: 2},
			{Worker: "w", Entity: "e", Asked: 3, Took: 3, Ticket: nine, Granted: 4, From: 5, Until: 9, Ended: 10},
		}
		if !reflect.DeepEqual(h.Turns, want) {
			t.Errorf("got  %+v\nwant %+v", h.Turns, want)
		}
		if over := []Instant{h.Turns[0].Over(), h.Turns[1].Over()}; !slices.Equal(over, []Instant{2, 4}) || h.Usage.Requests != 3 {
			t.Errorf("over %v, used %+v", over, h.Usage)
		}
	})
}

// TestCallers checks that a step belongs to the turn of its caller, and that a process that
// dies ends the turns of all of its callers.
func TestCallers(t *testing.T) {
	one, two := ticket.FromUint64(1), ticket.FromUint64(2)
	h := track(
		Record{Kind: Asked, At: 1, Caller: 2},
		Record{Kind: Asked, At: 2},
		Record{Kind: Granted, At: 3, Caller: 2, Ticket: one, Believed: 3},
		Record{Kind: Ended, At: 4, Caller: 2, Believed: 3},
		Record{Kind: Granted, At: 5, Ticket: two, Believed: 5},
		Record{Kind: Released, At: 6, Caller: 2, Followed: true},
		Record{Kind: Asked, At: 7, Caller: 2},
	)
	if all := h.UnderWay(); len(all) != 2 || h.Holding() != h.Turns[1] || h.Waiting() != h.Turns[2] {
		t.Errorf("under way: %+v", all)
	}
	h.Died(9, 8)
	want := []*Turn{
		{Worker: "w", Asked: 1, Took: 1, Ticket: one, Granted: 3, From: 3, Until: 3, Ended: 4, Followed: true},
		{Worker: "w", Asked: 2, Took: 2, Ticket: two, Granted: 5, From: 5, Until: 5, Gone: 9, KilledAt: 8},
		{Worker: "w", Asked: 7, Took: 7, Gone: 9, KilledAt: 8},
	}
	if !reflect.DeepEqual(h.Turns, want) {
		t.Errorf("got  %+v\nwant %+v", h.Turns, want)
	}
}

func TestInstant(t *testing.T) {
	if got := Instant(5).Add(time.Second).Sub(5); got != time.Second {
		t.Error(got)
	}
	if a := Now(); a <= 0 || Now() < a {
		t.Error("the clock does not advance")
	}
}
