package machine

import "slices"

// Phase is a phase of a Hold.
//
//	          UpdateAndRelease
//	  ┌──────────────────────────► updating ──┐
//	held ◄──── declined, no answer ────┘      │
//	  │                                       │
//	  ├── Release ──► releasing ──┬──► released ◄── the record shows a release
//	  │                           ├──► cleared      by the holder's own call,
//	  │                           └──► unknown      from any phase that is not final
//	  └── the lease ended, or evicted ──► lost ── Release ──► cleared
//
// A lock that is updating may become lost as one that is held does. Moves returns the table.
type Phase uint8

// The phases. PhaseReleased, PhaseCleared and PhaseUnknown are final.
const (
	PhaseHeld      Phase = iota // the lease runs
	PhaseUpdating               // held, and an UpdateAndRelease is under way, which a heartbeat may meet
	PhaseReleasing              // Release was called, and the table has not confirmed it
	PhaseReleased               // the table shows that a call of the holder released the lock
	PhaseLost                   // the lease is over, or the record does not hold the lock; an entry may be left
	PhaseCleared                // lost, and Release has removed what it may have left
	PhaseUnknown                // not in the table, and the marks of its end were replaced
)

var phaseNames = []string{"held", "updating", "releasing", "released", "lost", "cleared", "unknown"}

func (p Phase) String() string { return phaseNames[p] }

// Held reports whether the lock is held, as far as the holder knows.
func (p Phase) Held() bool { return p == PhaseHeld || p == PhaseUpdating }

// Lost reports whether the lock was lost.
func (p Phase) Lost() bool { return p == PhaseLost || p == PhaseCleared }

// Final reports whether the lock has ended and nothing of it has to be removed.
func (p Phase) Final() bool {
	return !slices.ContainsFunc(moves, func(m Move) bool { return m.From == p })
}

// Move is a change of the phase of a Hold.
type Move struct {
	From, To Phase
	When     string
}

const (
	confirmed = "the record shows that a call of the holder released the lock"
	ended     = "the lease ended, or the record does not hold the lock"
)

// moves are all that are possible.
var moves = []Move{
	{PhaseHeld, PhaseUpdating, "UpdateAndRelease is called"},
	{PhaseHeld, PhaseReleasing, "Release is called"},
	{PhaseHeld, PhaseReleased, confirmed},
	{PhaseHeld, PhaseLost, ended},
	{PhaseUpdating, PhaseHeld, "UpdateAndRelease was declined, or was not answered"},
	{PhaseUpdating, PhaseReleased, confirmed},
	{PhaseUpdating, PhaseLost, ended},
	{PhaseReleasing, PhaseReleased, confirmed + ", or the next turn of its block has begun"},
	{PhaseReleasing, PhaseCleared, "the record shows that the lock was lost, and an entry that was left is removed"},
	{PhaseReleasing, PhaseUnknown, "the lock is not in the record, and the marks of its end were replaced"},
	{PhaseLost, PhaseReleased, confirmed},
	{PhaseLost, PhaseCleared, "Release has removed what may be left, or leaves it to its lease"},
}

// Moves returns the changes of phases that are possible, for tests and the documentation.
func Moves() []Move { return slices.Clone(moves) }

// becomes reports whether that change is possible.
func (p Phase) becomes(to Phase) bool {
	return slices.ContainsFunc(moves, func(m Move) bool { return m.From == p && m.To == to })
}
