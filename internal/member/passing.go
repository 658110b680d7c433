package member

import (
	"github.com/queuelock/queuelock/internal/machine"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
)

// passing says how a lock may come to a waiter without a claim. It is decided here, and nowhere else.
type passing struct {
	block   bool // its caller may wait together with others: the turn comes in memory
	offered bool // a release of its client may grant it
	named   bool // a release of another client may, by its row
	rings   bool // its release rings the waiter with the next ticket
	reads   bool // its holder may read the next row, and take tickets for those that have none
}

// passing decides by what a caller wants.
//
//   - Only one exclusive holder may pass its lock on, to the ticket after its own, and rings its waiter. In a wider
//     scope that is of another queue, and a lock on a user's item may be released with an update.
//   - A waiter that may be superseded looks first, and one that resumes a place has the ids of another.
//   - A grant by name cannot have what a row does not say: data, a delay, an AtLeast, a confirmation, a whole lease.
//   - Callers of a block are alike in all of this, and have nothing of their own: no handle to save, no place to keep.
func (k *Kind) passing() passing {
	queueAlone := k.Scope == ticket.ScopeQueue && !k.Home
	exclusive := queueAlone && k.Mode == queue.Mode{}
	waits := !k.NoWait && k.Resume == nil && k.Policy.Group == ""
	plain := exclusive && k.Data == "" && k.Delay == 0 && k.AtLeast == 0 && !k.FailClosed && !k.Whole && k.Wanted == nil
	return passing{
		block:   plain && waits && k.Policy == (machine.Policy{}) && !k.Saves && k.Keep == 0,
		offered: queueAlone && waits && k.Mode.Permits == 0,
		named:   plain && waits,
		rings:   exclusive,
		reads:   exclusive && k.AtLeast == 0,
	}
}
