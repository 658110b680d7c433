package queue

import (
	"testing"
	"time"

	"github.com/queuelock/queuelock/ticket"
)

// state returns a record with a last ticket, and holders with tickets, of which the last is granted.
func state(issued, granted uint64, holders ...Holder) Record {
	return Record{
		Exists: true, TicketNumber: ticket.FromUint64(issued), Granted: ticket.FromUint64(granted),
		Present: true, Holders: holders,
	}
}

func holderOf(id string, t uint64, beat int64) Holder {
	return Holder{ID: id, Ticket: ticket.FromUint64(t), Lease: Lease{Beat: beat}}
}

func TestFollows(t *testing.T) {
	idle := state(5, 5)
	idle.Present = false
	held, renewed := state(5, 5, holderOf("a", 5, 0)), state(5, 5, holderOf("a", 5, 1))
	shared := state(5, 5, holderOf("r", 4, 7), holderOf("a", 5, 0))
	for name, test := range map[string]struct {
		now, before Record
		follows     bool // of overlapping requests, when now arrived later
		back        bool // the other way round
	}{
		"TicketTaken":            {state(6, 5, holderOf("a", 5, 0)), held, true, false},
		"LaterGrant":             {state(6, 6, holderOf("b", 6, 0)), state(6, 5, holderOf("a", 5, 9)), true, false},
		"TakenAndGranted":        {state(7, 6, holderOf("b", 6, 0)), held, true, false},
		"HolderLeft":             {state(5, 5), held, true, false},
		"OneOfTwoLeft":           {held, shared, true, false},
		"Reset":                  {idle, state(5, 5), true, false},
		"Renewed":                {renewed, held, true, false},
		"RenewedAndJoined":       {state(6, 6, holderOf("a", 5, 1), holderOf("b", 6, 0)), held, true, false},
		"Same":                   {held, held, true, false},
		"SameHolderOfNewTicket":  {state(6, 6, holderOf("a", 6, 0)), renewed, true, false},
		"SeededAbove":            {state(900, 900, holderOf("n", 900, 0)), held, true, false},
		"SeededBelow":            {state(1, 1, holderOf("n", 1, 0)), held, false, true},
		"Deleted":                {Record{}, held, false, true},
		"CounterRestoredBelow":   {state(3, 6, holderOf("b", 6, 0)), held, false, false},
		"BeatFellWithLaterGrant": {state(6, 6, holderOf("a", 5, 0), holderOf("b", 6, 0)), renewed, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			at := func(r Record, sent, read int) Record {
				r.sent, r.read = time.Unix(int64(sent), 0), time.Unix(int64(read), 0)
				return r
			}
			check := func(what string, got, want bool) {
				if t.Helper(); got != want {
					t.Errorf("%s: %v, want %v", what, got, want)
				}
			}
			check("overlapping, arrived later", at(test.now, 1, 4).Follows(at(test.before, 2, 3)), test.follows)
			check("overlapping, before arrived later", at(test.before, 1, 4).Follows(at(test.now, 2, 3)), test.back || name == "Same")
			check("sent after the answer", at(test.now, 4, 5).Follows(at(test.before, 1, 3)), true)
			check("answered before the other was sent", at(test.now, 1, 3).Follows(at(test.before, 4, 5)), false)
			check("the first", at(test.now, 1, 2).Follows(Record{}), true)
			check("itself", at(test.now, 1, 2).Follows(at(test.now, 1, 2)), false)
		})
	}
}
