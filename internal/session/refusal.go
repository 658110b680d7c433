package session

import "github.com/queuelock/queuelock/internal/serving"

// kind is the kind of a call that releases the lock.
type kind int

const (
	releases kind = iota // Release
	clears               // Release of a lock that was lost
	updates              // UpdateAndRelease
)

// refusal is what is known when the record refuses a request that releases the lock.
type refusal struct {
	kind     kind
	form     serving.Form    // of the request
	outcome  serving.Outcome // of the lock and this call, by the record
	copied   bool            // a late copy of a refused transaction was applied meanwhile
	entry    bool            // an entry with the session's id is there, perhaps of another ticket
	fast     bool            // the record allows the fast form
	asks     bool            // the request has a condition of the caller's
	open     bool            // an earlier request of this call had no answer
	first    bool            // no call was sent before this one
	itemGone bool            // the user's item that carried the record was deleted
}

// verdict is the meaning of a refusal.
type verdict int

const (
	released verdict = iota // by this call; for Release by any call
	earlier                 // by an earlier call: this one was not applied
	evicted                 // lost
	orphaned                // lost, and an entry that is left must be removed
	declined                // the caller's condition was false
	doubtful                // the caller's condition was false, and an earlier request may be applied
	unknown                 // not held, and the record does not show how it ended
	handOff                 // others have queued: send the hand-off
	resend                  // send again without asking for the transaction
)

// judge returns the meaning of a refusal. The first line that fits counts:
//
//	| the record                            | Release   | of a lost lock | UpdateAndRelease |
//	|---------------------------------------|-----------|----------------|------------------|
//	| has a late copy of a transaction      | resend    | resend         | resend           |
//	| holds the lock, fast form was refused | handOff   | never sent     | handOff (1)      |
//	| holds the lock                        | orphaned  | orphaned       | declined (2)     |
//	| released by this call                 | released  | evicted        | released         |
//	| released by an earlier call           | released  | evicted        | earlier          |
//	| released by one of several calls      | released  | evicted        | released if it is the first call, else unknown |
//	| evicted, an entry is left             | orphaned  | orphaned       | evicted          |
//	| evicted                               | evicted   | evicted        | evicted          |
//	| does not say, the item is gone (3)    | released  | evicted        | unknown          |
//	| does not say                          | unknown   | evicted        | unknown          |
//
// (1) Unless the fast form was possible: the caller's condition was then false.
// (2) doubtful if an earlier request of this call had no answer.
// (3) Its owner may delete it, and the lock with it.
//
// A loss between the fast form and the hand-off is in the line "evicted": only the last
// refusal counts, so Release returns the loss. A loss by the local clock after a request was
// sent changes no line, because the record decides.
func judge(r refusal) verdict {
	switch {
	case r.copied:
		return resend
	case r.form == serving.FormFast && r.outcome == serving.OutcomeHeld && !(r.asks && r.fast):
		return handOff
	case r.kind == updates:
		return judgeUpdate(r)
	case r.kind == clears, r.outcome == serving.OutcomeHeld, r.outcome == serving.OutcomeEvicted:
		if r.entry {
			return orphaned
		}
		return evicted
	case r.outcome.Released(), r.itemGone:
		return released
	}
	return unknown
}

func judgeUpdate(r refusal) verdict {
	switch {
	case r.outcome == serving.OutcomeHeld && r.open:
		return doubtful
	case r.outcome == serving.OutcomeHeld:
		return declined
	case r.outcome == serving.OutcomeReleased, r.outcome == serving.OutcomeReleasedSome && r.first:
		return released
	case r.outcome == serving.OutcomeReleasedEarlier:
		return earlier
	case r.outcome == serving.OutcomeEvicted:
		return evicted
	}
	return unknown
}
