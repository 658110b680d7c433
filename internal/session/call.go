package session

import (
	"context"
	"errors"
	"time"

	"github.com/queuelock/queuelock/internal/localqueue"
	"github.com/queuelock/queuelock/internal/retry"
	"github.com/queuelock/queuelock/internal/serving"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/queue"
)

// call is one call that releases the lock. The mark of the release has its number.
type call struct {
	session   *Session
	kind      kind
	first     queue.Form // the fast form if the queue is believed to be empty
	form      queue.Form // of the next request
	ending    queue.Ending
	asks      bool        // the requests have a condition of the caller's
	unsettled bool        // a transaction of the session may not be visible yet
	times     []time.Time // of the record that refused the last request
	crowded   int         // refusals after which the set of such times was read again
	bounds    bool        // times of earlier ones that are far ahead are replaced by that of this turn's end
	open      bool        // a request had no answer: it may have been applied, or may yet be
	idle      bool        // it was applied, and RESET would be applied
	offered   bool        // it has looked for a waiter to pass the lock to
	named     bool        // that waiter may be another client's: it was named by its row
	hinted    bool        // other clients got a hint with the last request
	send      func(ctx context.Context, form queue.Form, e queue.Ending) (queue.Record, error)
}

// newCall begins a call. The turnstile of the transactions is held.
func (s *Session) newCall(k kind) *call {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	c := &call{session: s, kind: k, first: queue.FormHandOff, ending: queue.Ending{
		ID: s.grant.ID, Ticket: s.grant.Ticket, Call: s.calls, HoldTime: s.seen.HoldTime.Add(time.Since(s.grant.Sent)), Lost: k == clears,
	}}
	// Behind a lock that was granted by CLAIM others probably wait: the fast form would mostly
	// be refused, and the lock idle for a round trip. RESET follows if none wait.
	if k != clears && !s.grant.Claimed && s.seen.Fast(s.grant.ID, s.grant.Ticket) {
		c.first = queue.FormFast
	}
	c.form = c.first
	switch {
	case s.last.state == refused:
		c.ending.Unmade = s.last.number
	case k == updates: // it must not arrive after the next transaction
		c.ending.Unmade = queue.NextTransaction(s.last.number)
	}
	c.unsettled, c.ending.Replaces = s.last.state == unsettled, s.sharing == alone
	s.tidyMarks(c)
	c.send = func(ctx context.Context, form queue.Form, e queue.Ending) (queue.Record, error) {
		return serving.Release(ctx, s.config.Queue, form, e)
	}
	return c
}

// lateFor is how late a request may arrive that DynamoDB does not refuse for the age of its
// signature. A release that is so late finds a transaction open that is as late.
const lateFor = 15 * time.Minute

// tidyMarks lets the call remove times of the record that no longer matter. An exclusive
// holder replaces times that are far ahead. A holder that shares the lock removes those that
// were there for a minute of its own turn.
func (s *Session) tidyMarks(c *call) {
	clock, times := s.config.Queue.Clock(), s.grant.Record.Marks.Unsettled
	earliest, latest, known := clock.At(time.Now())
	if !known || len(times) == 0 {
		return
	}
	_, held, _ := clock.At(s.grant.Held)
	for _, at := range times {
		switch {
		case earliest.Sub(at) >= unsettledFor, earliest.Sub(held) >= unsettledFor:
			c.ending.Settled = append(c.ending.Settled, at)
		case at.After(latest):
			c.bounds = c.ending.Replaces
		}
	}
}

// run sends the call until it is answered, and returns what the answer means and its record, which
// the fast form does not return. An error reports that the last request had no answer.
func (c *call) run(ctx context.Context, policy retry.Policy) (v verdict, rec queue.Record, err error) {
	err = policy.Do(ctx, func(ctx context.Context) error {
		v, rec, err = c.attempt(ctx)
		return err
	})
	return v, rec, err
}

// attempt sends one request, and another one at once as long as its answer means crowded, resend or handOff.
func (c *call) attempt(ctx context.Context) (verdict, queue.Record, error) {
	if c.kind != updates {
		c.form = c.first // other holders that share may have left since it was refused
	}
	for {
		rec, err := c.request(ctx)
		switch v := c.answered(rec, err); v {
		case crowded:
			c.crowded, c.times = c.crowded+1, rec.Marks.Unsettled
		case resend:
			c.settled(ctx)
		case handOff:
			c.form = queue.FormHandOff
		default:
			if errors.Is(err, serving.ErrRefused) {
				err = nil
			}
			return v, rec, err
		}
	}
}

// answered returns what the answer to a request means.
func (c *call) answered(rec queue.Record, err error) verdict {
	switch {
	case err == nil:
		c.idle = c.first == queue.FormHandOff && rec.Resettable(c.session.grant.Ticket)
		return released
	case errors.Is(err, serving.ErrRefused):
		return judge(c.refusal(rec))
	case c.form == queue.FormPass && !table.Applied(err), // what it writes for the waiter may be the reason
		c.form == queue.FormFast && table.Contradicted(err): // the record does not show the reason
		return handOff
	}
	c.open = c.open || table.Applied(err)
	return unknown
}

// settled lets the next request not ask for a transaction that was made after all.
func (c *call) settled(ctx context.Context) {
	s := c.session
	soon, cancel := context.WithTimeout(ctx, settleLimit)
	defer cancel()
	if !s.last.tx.visible(soon) {
		c.unsettled = true
	}
	c.ending.Unmade = 0
	if c.kind == updates {
		c.ending.Unmade = queue.NextTransaction(s.last.number)
	}
	if c.form == queue.FormPass {
		c.form = queue.FormHandOff // the offer was answered
	}
}

// maxCrowded is how often a call is sent with a condition on the set of times, which other holders change. The next
// request has none, so a refusal has another reason.
const maxCrowded = 4

// errPanic is the answer to a request that ended with a panic.
var errPanic = errors.New("the DynamoDB client has panicked")

// request sends one request. The first Release of an exclusive lock passes it to the next waiter of the client, if
// that one has the next ticket. Its further requests leave the lock to all waiters.
func (c *call) request(ctx context.Context) (queue.Record, error) {
	s, form := c.session, c.form
	switch now := s.latest(time.Now()); {
	case c.unsettled:
		c.ending.Bounded = !c.ending.Replaces && c.crowded < maxCrowded
		c.ending.Add(now.Add(lateFor), c.times)
	case c.bounds:
		c.ending.Unsettled = now
	}
	if c.kind != releases || c.offered || !s.shares(alone) {
		c.hint()
		return c.send(ctx, form, c.ending)
	}
	c.offered = true
	next, answer := s.client.Local.Take(s.config.Queue, s.grant.Ticket)
	if answer == nil {
		if next, c.named = s.grant.Successor(c.ending.HoldTime, s.config.Queue.Clock(), time.Now()); c.named {
			c.form, c.ending.Next = queue.FormPass, next
		}
		c.hint()
		return c.send(ctx, c.form, c.ending)
	}
	e := c.ending
	c.form, e.Next = queue.FormPass, next
	c.hint()
	answered := localqueue.Answer{Err: errPanic}
	defer func() { answer(answered) }()
	rec, err := c.send(ctx, c.form, e)
	answered = localqueue.Answer{Record: rec, Err: err}
	return rec, err
}

// hint sends a hint with a request that probably ends the turn, and after which others may wait.
func (c *call) hint() {
	c.hinted = c.kind != clears && !c.asks && c.form != queue.FormFast
	if c.hinted {
		c.session.client.Local.Hint(c.session.config.Queue)
	}
}

// refusal returns what is known of the record that refused a request.
func (c *call) refusal(rec queue.Record) refusal {
	s := c.session
	_, entry := rec.Mine(s.grant.ID)
	fast := rec.Fast(s.grant.ID, s.grant.Ticket)
	return refusal{
		crowded: c.ending.Bounded && rec.Holds(s.grant.ID, s.grant.Ticket) && (c.form != queue.FormFast || fast),
		kind:    c.kind, form: c.form, outcome: s.outcome(rec), entry: entry,
		copied:   c.ending.Unmade != 0 && rec.Made(s.grant.ID, s.grant.Ticket, c.ending.Unmade) == queue.MadeYes,
		fast:     fast,
		asks:     c.asks,
		open:     c.open,
		first:    c.ending.Call == 1,
		itemGone: s.config.Queue.Home != nil && len(rec.Item) == 0,
	}
}

// outcome returns what became of the lock and its last release call, by a record.
func (s *Session) outcome(rec queue.Record) queue.Outcome {
	s.mu.Lock()
	defer s.mu.Unlock()
	return rec.Outcome(s.grant.ID, s.grant.Ticket, s.calls, s.seen.Marks)
}

// confirmRelease reports whether a lock that is not in its record was or may have been
// released by its own call. If the record shows it, the session is released.
func (s *Session) confirmRelease(rec queue.Record) bool {
	s.mu.Lock()
	phase, calls := s.state.Phase, s.calls
	s.mu.Unlock()
	switch {
	case calls == 0: // none was ever sent
		return false
	case phase == Updating, phase == Released:
		return true
	case s.outcome(rec).Released():
		s.move(s.released())
		return true
	}
	return false
}

// kind is the kind of a call that releases the lock.
type kind int

const (
	releases kind = iota // Release
	clears               // Release of a lock that was lost
	updates              // UpdateAndRelease
)

// refusal is what is known when the record refuses a request that releases the lock.
type refusal struct {
	crowded  bool // other holders have changed the set of times that the request asks for
	kind     kind
	form     queue.Form    // of the request
	outcome  queue.Outcome // of the lock and this call, by the record
	copied   bool          // a late copy of a refused transaction was applied meanwhile
	entry    bool          // an entry with the session's id is there, perhaps of another ticket
	fast     bool          // the record allows the fast form
	asks     bool          // the request has a condition of the caller's
	open     bool          // an earlier request of this call had no answer
	first    bool          // no call was sent before this one
	itemGone bool          // the user's item that carried the record was deleted
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
	resend                  // send again without asking for that transaction
	crowded                 // send again with the times that the record has
)

// judge returns the meaning of a refusal. The first line that fits counts, and the record
// decides, whatever the local clock says:
//
//	| the record                            | Release   | of a lost lock | UpdateAndRelease |
//	|---------------------------------------|-----------|----------------|------------------|
//	| has other times than were read        | crowded   | never sent     | crowded          |
//	| has a late copy of a transaction      | resend    | resend         | resend           |
//	| holds the lock, fast form was refused | handOff   | never sent     | handOff (1)      |
//	| holds the lock, passing was refused   | handOff   | never sent     | never sent       |
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
func judge(r refusal) verdict {
	switch {
	case r.crowded:
		return crowded
	case r.copied:
		return resend
	case r.form == queue.FormFast && r.outcome == queue.OutcomeHeld && !(r.asks && r.fast),
		r.form == queue.FormPass && r.outcome == queue.OutcomeHeld:
		return handOff
	case r.kind == updates:
		return judgeUpdate(r)
	case r.kind == clears, r.outcome == queue.OutcomeHeld, r.outcome == queue.OutcomeEvicted:
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
	case r.outcome == queue.OutcomeHeld && r.open:
		return doubtful
	case r.outcome == queue.OutcomeHeld:
		return declined
	case r.outcome == queue.OutcomeReleased, r.outcome == queue.OutcomeReleasedSome && r.first:
		return released
	case r.outcome == queue.OutcomeReleasedEarlier:
		return earlier
	case r.outcome == queue.OutcomeEvicted:
		return evicted
	}
	return unknown
}
