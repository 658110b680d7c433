package queue

import (
	"github.com/queuelock/queuelock/clause"
	"github.com/queuelock/queuelock/internal/attr"
	"github.com/queuelock/queuelock/ticket"
)

// A block is adjacent tickets that one client takes by one request, for callers that wait for the same lock. It has one
// row and one entry, both with its first ticket, and one lease. Inside the block the client passes the lock on in
// memory: each turn has a ticket of its own, and a Hold. Others see one holder, whose turn ends with the last of them.
//
// A protected write is of one turn, and the entry outlives that. So the entry has the lowest ticket whose writes are
// accepted (attr.Reached): a turn after one that may have such writes under way begins with ADVANCE, which refuses
// them. Heartbeats write it too. It never falls.

// MaxTurns is the largest number of tickets of a block.
const MaxTurns = 1000

// Last returns the last ticket of the holder's block, its own if that is all.
func (h Holder) Last() ticket.Number { return lastOf(h.Ticket, h.Turns) }

// Last returns the last ticket of the waiter's block, its own if that is all.
func (w Waiter) Last() ticket.Number { return lastOf(w.Ticket, w.Turns) }

// Follow returns how many tickets of the holder's block come after Reached. Some may have had their turns, or given up.
func (h Holder) Follow() int { return int(h.Last().After(h.Turn())) }

// Turn returns Reached, or Ticket if that is not known.
func (h Holder) Turn() ticket.Number {
	if h.Reached.Less(h.Ticket) || h.Last().Less(h.Reached) {
		return h.Ticket
	}
	return h.Reached
}

// turns returns how many callers the row is of.
func (w Waiter) turns() int { return max(w.Turns, 1) }

func lastOf(first ticket.Number, turns int) ticket.Number {
	return first.Plus(uint64(max(turns, 1) - 1))
}

// fillTurns writes the number of tickets of a block into an entry or a row.
func fillTurns(item clause.Item, turns int) {
	if turns > 1 {
		item[attr.Turns] = clause.Int(int64(turns))
	}
}

// readTurns reads it. No grant depends on it, so a malformed one counts as one ticket.
func readTurns(item clause.Item) int {
	turns, ok := (&clause.Reader{Item: item}).OptionalInt(attr.Turns)
	if !ok || turns < 1 || turns > MaxTurns {
		return 1
	}
	return int(turns)
}

// Reach returns the highest ticket with which no client can wait, nor with a lower one: the floor, or the last of a
// block that holds.
func (r Record) Reach() ticket.Number {
	highest := r.Floor()
	for _, h := range r.Holders {
		if last := h.Last(); highest.Less(last) {
			highest = last
		}
	}
	return highest
}

// OfTurn adds to a write of a holder that no later turn of its block has begun with ADVANCE.
func OfTurn(w clause.Write, id string, turn ticket.Number) clause.Write {
	reached := entry(id).Field(attr.Reached)
	w.If = append(w.If, clause.Any(reached.Absent(), reached.AtMost(number(turn))).As("no later turn"))
	return w
}

// Advance begins a turn of the block with the first ticket t: from now on, writes of earlier turns are refused. If data
// is not zero, it also removes their data, as the SetData call of that number does.
func Advance(id string, t, turn ticket.Number, data int64) clause.Write {
	reached := entry(id).Field(attr.Reached)
	w := clause.Write{
		Name: "ADVANCE", If: holds(id, t), Do: []clause.Change{reached.Set(number(turn))},
		Made: append(holds(id, t), reached.AtLeast(number(turn))), Else: clause.Lost,
	}
	if data > 0 {
		removal := SetData(id, t, data, nil)
		w.If, w.Do = append(w.If, removal.If[len(removal.If)-1]), append(w.Do, removal.Do...)
	}
	return OfTurn(w, id, turn)
}
