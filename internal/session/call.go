package session

import (
	"context"
	"errors"
	"time"

	"github.com/queuelock/queuelock/internal/retry"
	"github.com/queuelock/queuelock/internal/serving"
	"github.com/queuelock/queuelock/internal/table"
)

// call is one call that releases the lock. All of its requests have the same number, which
// is in the mark of the release.
type call struct {
	session *Session
	kind    kind
	first   serving.Form // the fast form if the queue is believed to be empty
	form    serving.Form // of the next request
	ending  serving.Ending
	asks    bool // the requests have a condition of the caller's
	open    bool // a request had no answer: it may have been applied, or may yet be
	unread  bool // the last refusal did not show the record: a copy may have been applied
	idle    bool // it was applied, and RESET would be applied
	send    func(ctx context.Context, form serving.Form, e serving.Ending) (serving.Record, error)
}

// newCall begins a call. The turnstile of the transactions is held.
func (s *Session) newCall(k kind) *call {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	c := &call{session: s, kind: k, first: serving.FormHandOff, ending: serving.Ending{
		ID: s.grant.ID, Ticket: s.grant.Ticket, Call: s.calls, Turn: s.seen.Turn.Add(time.Since(s.grant.Sent)),
	}}
	// Behind a lock that was granted by CLAIM others probably wait: the fast form would mostly
	// be refused, and the lock idle for a round trip. RESET follows if none wait.
	if k != clears && !s.grant.Claimed && s.seen.Fast(s.grant.ID, s.grant.Ticket) {
		c.first = serving.FormFast
	}
	c.form = c.first
	switch s.last.state {
	case refused:
		c.ending.Unmade = s.last.number
	case unsettled:
		c.ending.Open = s.tableTime(time.Now())
	}
	if mark := s.grant.Record.Marks.Released.Open; c.ending.Open.IsZero() && s.recent(mark) {
		c.ending.Open = mark // the next holder may be granted a moment later
	}
	var opts []table.Option
	if k != clears {
		opts = append(opts, table.Once()) // the call repeats requests itself
	}
	c.send = func(ctx context.Context, form serving.Form, e serving.Ending) (serving.Record, error) {
		return serving.Release(ctx, s.config.Queue, form, e, opts...)
	}
	return c
}

// run sends the call until it is answered, and returns what the answer means and its record.
// An error reports that the last request had no answer.
func (c *call) run(ctx context.Context, policy retry.Policy) (v verdict, rec serving.Record, err error) {
	err = policy.Do(ctx, func(ctx context.Context) error {
		v, rec, err = c.attempt(ctx)
		return err
	})
	return v, rec, err
}

// attempt sends one request, and another one at once if judge returns resend or handOff.
func (c *call) attempt(ctx context.Context) (verdict, serving.Record, error) {
	s := c.session
	if c.kind != updates {
		c.form = c.first // other holders that share may have left since it was refused
	}
	for {
		rec, err := c.send(ctx, c.form, c.ending)
		switch {
		case err == nil:
			c.idle = c.first == serving.FormHandOff && rec.Resettable(s.grant.Ticket)
			return released, rec, nil
		case !errors.Is(err, serving.ErrRefused):
			if table.IsUnread(err) {
				c.unread = true
			} else {
				c.open = c.open || table.Applied(err, true)
			}
			return unknown, rec, err
		}
		c.unread = false
		switch v := judge(c.refusal(rec)); v {
		case resend:
			if !s.last.tx.visible(ctx) {
				c.ending.Open = s.tableTime(time.Now())
			}
			c.ending.Unmade = 0
		case handOff:
			c.form = serving.FormHandOff
		default:
			return v, rec, nil
		}
	}
}

// refusal returns what is known of the record that refused a request.
func (c *call) refusal(rec serving.Record) refusal {
	s := c.session
	_, entry := rec.Mine(s.grant.ID)
	return refusal{
		kind: c.kind, form: c.form, outcome: s.outcome(rec, c.ending.Call), entry: entry,
		copied:   c.ending.Unmade != 0 && rec.Made(s.grant.ID, s.grant.Ticket, c.ending.Unmade) == serving.MadeYes,
		fast:     rec.Fast(s.grant.ID, s.grant.Ticket),
		asks:     c.asks,
		open:     c.open,
		first:    c.ending.Call == 1,
		itemGone: s.config.Queue.Home != nil && len(rec.Item) == 0,
	}
}

// outcome returns what became of the lock and its release call, by a record.
func (s *Session) outcome(rec serving.Record, call int64) serving.Outcome {
	s.mu.Lock()
	defer s.mu.Unlock()
	return rec.Outcome(s.grant.ID, s.grant.Ticket, call, s.seen.Marks)
}

// confirmRelease reports whether a lock that is not in its record was or may have been
// released by its own call. If the record shows it, the session is released.
func (s *Session) confirmRelease(rec serving.Record) bool {
	s.mu.Lock()
	phase, calls := s.state.Phase, s.calls
	s.mu.Unlock()
	switch {
	case calls == 0:
		return false // none was ever sent
	case phase == Updating, phase == Released:
		return true
	case !s.outcome(rec, calls).Released():
		return false
	}
	s.move(s.released())
	return true
}
