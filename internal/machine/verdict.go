package machine

import "github.com/queuelock/queuelock/queue"

// verdict is what an answer to RELEASE means.
type verdict int

const (
	released   verdict = iota // by this call; for Release by any call
	earlier                   // by an earlier call: this one was not applied
	evicted                   // lost
	orphaned                  // lost, and an entry that is left must be removed
	declined                  // the caller's condition was false
	unknown                   // not held, and the record does not show how it ended
	handOff                   // others have queued: send the hand-off
	resend                    // send again without asking for that transaction
	crowded                   // send again with the times that the record has
	unreadable                // the entry cannot be read, and may hold the lock
)

// verdicts are what a refusal means if nothing else explains it, by what the record says of the lock: for Release, for
// Release of a lost lock, and for UpdateAndRelease. The record decides, whatever the local clock says.
var verdicts = map[Outcome][3]verdict{
	OutcomeHeld:            {evicted, evicted, declined},
	OutcomeReleased:        {released, evicted, released},
	OutcomeReleasedEarlier: {released, evicted, earlier},
	OutcomeReleasedSome:    {released, evicted, unknown},
	OutcomeEvicted:         {evicted, evicted, evicted},
	OutcomeGone:            {unknown, evicted, unknown},
	OutcomeUnknown:         {unknown, evicted, unknown},
}

// ends are the ends of a call, where a verdict is one: for Release, for Release of a lost lock, and for
// UpdateAndRelease.
var ends = map[verdict][3]struct {
	phase  Phase
	result HoldResult
}{
	earlier:  {updates: {PhaseReleased, HoldEarlier}},
	evicted:  {{PhaseCleared, HoldLost}, {PhaseCleared, HoldLost}, {PhaseLost, HoldLost}},
	declined: {updates: {PhaseHeld, HoldDeclined}},
	unknown:  {releases: {PhaseUnknown, HoldOverwritten}, updates: {PhaseLost, HoldOverwritten}},
}

// judge returns what a record means that refused RELEASE. The first line that fits counts.
//
//	| the record                                                | means      | of                                |
//	|-----------------------------------------------------------|------------|-----------------------------------|
//	| has an entry that cannot be read, and may hold the lock   | unreadable | UpdateAndRelease                  |
//	|                                                           | orphaned   | Release, but handOff after PASS   |
//	| has other times than were read                            | crowded    | a shared lock                     |
//	| has a late copy of a transaction                          | resend     | each call                         |
//	| holds the lock, and the fast form or PASS was refused     | handOff    | each call (1)                     |
//	| has an entry with the id, perhaps of another ticket       | orphaned   | Release, if verdicts says evicted |
//	| says that one of several calls has released the lock      | released   | the first call                    |
//	| is gone with the user's item, which its owner may delete  | released   | Release                           |
//	| says anything else                                        | verdicts   | each call                         |
//
// (1) Unless UpdateAndRelease sent the fast form, with a condition, and that form is possible: the condition was false.
func (s releaseStep) judge(rec queue.Record) verdict {
	c, id, t := s.c, s.grant.ID, s.grant.Ticket
	outcome, fast := s.outcome(rec), rec.Fast(id, t, s.grant.Turns)
	_, left := rec.Mine(id)
	v := verdicts[outcome][c.kind]
	hidden := rec.Hides(id, t) != nil && c.kind != clears && !rec.Holds(id, t)
	switch {
	case hidden && c.form == queue.FormPass:
		return handOff
	case hidden && c.kind == updates:
		return unreadable
	case hidden:
		return orphaned
	case c.ending.Bounded && rec.Holds(id, t) && (c.form != queue.FormFast || fast):
		return crowded
	case c.ending.Unmade != 0 && MadeOf(rec, id, t, c.ending.Unmade) == MadeYes:
		return resend
	case outcome == OutcomeHeld && (c.form == queue.FormPass || c.form == queue.FormFast && !(c.asks && fast)):
		return handOff
	case v == evicted && left && c.kind != updates:
		return orphaned
	case outcome == OutcomeReleasedSome && c.kind == updates && c.ending.Call == 1,
		outcome == OutcomeGone && c.kind == releases && s.grant.Home && len(rec.Item) == 0:
		return released
	}
	return v
}
