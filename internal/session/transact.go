package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/internal/dbclock"
	"github.com/queuelock/queuelock/internal/random"
	"github.com/queuelock/queuelock/internal/retry"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/queue"
)

// transaction is one Transact, under one session or several.
type transaction struct {
	caller, held context.Context // held ends with caller and with each session
	sessions     []*Session
	end          func() error              // why the sessions are not all held; nil while they are
	items        []types.TransactWriteItem // the caller's, and the fence of each session
	token        string
	begun        dbclock.Instant // when the token was first sent
	renamed      bool            // it was sent with another token before
	doubt        doubt           // of all attempts so far
}

// doubt is what the answers to the attempts do not prove.
type doubt int

const (
	none       doubt = iota // each attempt was refused, which proves that it was not made
	unproven                // an attempt was refused by what proves nothing (table.Applied)
	unanswered              // an attempt had no answer: it may have been made, or may yet be
)

// maxItems is DynamoDB's limit of a transaction.
// https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html
// https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactGetItems.html
const maxItems = 100

// validItems returns an error if the caller's items do not fit beside so many checks on locks.
func validItems(what string, items, checks int) error {
	if items == 0 || items+checks > maxItems {
		return fmt.Errorf("queuelock: %s: %d items and %d checks on locks: between 1 and %d items are possible, %d in all",
			what, items, checks, maxItems-checks, maxItems)
	}
	return nil
}

// Transact makes the writes, all or none, only if all of the sessions are held; end is the
// reason if they are not. It returns nil if the writes were made, once, and Client.Unknown's
// error if that is not known. With any other error nothing was written. Conflicts, throttles
// and lost answers are repeated until ctx or a session ends.
func Transact(ctx context.Context, sessions []*Session, end func() error, items []types.TransactWriteItem) error {
	if err := validItems("Transact", len(items), len(sessions)); err != nil {
		return err
	}
	t := &transaction{caller: ctx, held: ctx, sessions: sessions, end: end, items: slices.Clone(items)}
	if err := ctx.Err(); err != nil {
		// A request of an ended context is never sent, but fails like one that was.
		return fmt.Errorf("queuelock: %s: transact: nothing was sent: %w", sessions[0].config.Name, err)
	}
	for _, s := range sessions {
		var cancel func()
		t.held, cancel = s.Within(t.held)
		defer cancel()
		if err := s.transacts.Lock(t.held); err != nil {
			return fmt.Errorf("queuelock: %s: transact: nothing was sent: %w", s.config.Name, errors.Join(ctx.Err(), end()))
		}
		defer s.transacts.Unlock()
		if err := t.number(s); err != nil {
			return err
		}
	}
	return t.run()
}

// Transact is the function Transact with one session.
func (s *Session) Transact(ctx context.Context, items ...types.TransactWriteItem) error {
	return Transact(ctx, []*Session{s}, s.Err, items)
}

// number gives the transaction its number in the session, and adds the fence that asks for
// it. The session's turnstile is held.
func (t *transaction) number(s *Session) error {
	if err := t.end(); err != nil {
		return err
	}
	if err := cmp.Or(s.transacts.settle(t.held, queue.TransactionRefused), t.caller.Err()); err != nil {
		return fmt.Errorf("queuelock: %s: transact: nothing was sent: %w", s.config.Name, err)
	}
	q := s.config.Queue
	s.transacts.last = t
	fence, err := q.Record().InTransaction(q.RecordKey(), of(s.life, (*queue.Hold).Transact), q.Names())
	if err != nil {
		return fmt.Errorf("queuelock: %s: transact: %w", s.config.Name, err)
	}
	t.items = append(t.items, types.TransactWriteItem{Update: &fence})
	return nil
}

// tokenLife is less than DynamoDB remembers a ClientRequestToken, ten minutes. Within
// it, a refusal proves that no earlier attempt with the token was made.
// https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html
const tokenLife = 9 * time.Minute

// run sends the transaction until its outcome is known.
func (t *transaction) run() error {
	t.rename()
	again := false
	err := retry.Policy{Retryable: func(error) bool { return again }}.Do(t.held, func(ctx context.Context) (err error) {
		again, err = t.attempt(ctx)
		return err
	})
	if again {
		return t.failed(err)
	}
	return err
}

func (t *transaction) rename() {
	t.token, t.begun = random.Text(t.held), t.store().Clock().Mark(time.Now())
}

func (t *transaction) store() *table.Store { return t.sessions[0].config.Queue.Store }

// attempt sends the transaction once. It reports whether another attempt may succeed, and
// otherwise returns the result of the transaction.
func (t *transaction) attempt(ctx context.Context) (again bool, err error) {
	err = t.store().Transact(ctx, t.token, t.items)
	if err == nil {
		return false, nil
	}
	if table.TokenMismatch(err) {
		// DynamoDB Local takes some repetitions for another transaction. The number
		// guards against a second one, whatever the token.
		t.doubt, t.renamed, t.token = unanswered, true, random.Text(ctx)
		return true, err
	}
	reasons := table.Reasons(err)
	if transient(err) {
		again, t.doubt = true, max(t.doubt, unproven)
	}
	if reasons == nil && table.Applied(err) {
		t.doubt = unanswered
	}
	if t.fenced(reasons) {
		if again, err = t.refused(ctx, err, reasons); !again {
			return false, err
		}
	}
	if again {
		if t.doubt < unanswered {
			t.rename() // it was cancelled, and no attempt is under way, unless the transport has a copy
			t.renamed = true
		}
		return true, err
	}
	return false, t.failed(err)
}

// fenced reports whether a fence was among the reasons of a refusal.
func (t *transaction) fenced(reasons []string) bool {
	return len(reasons) == len(t.items) && slices.Contains(reasons[len(reasons)-len(t.sessions):], table.ReasonFailed)
}

// refused is the end of an attempt that records have refused. It returns the same as attempt.
func (t *transaction) refused(ctx context.Context, err error, reasons []string) (again bool, _ error) {
	made, why := t.judge(ctx, err, reasons)
	switch {
	case made == queue.MadeYes && t.visible(ctx):
		return false, nil
	case made == queue.MadeYes:
		return false, t.unknown(ctx.Err())
	case made == queue.MadeUnknown && (t.renamed || t.store().Clock().Since(t.begun, time.Now()) > tokenLife):
		return false, t.unknown(why)
	}
	return made == queue.MadeNotYet, why
}

// judge returns what became of the transaction by the records that refused it, and why.
func (t *transaction) judge(ctx context.Context, err error, reasons []string) (made queue.Made, why error) {
	fences := len(t.items) - len(t.sessions)
	for i, s := range t.sessions {
		if reasons[fences+i] != table.ReasonFailed {
			continue
		}
		rec, malformed := queue.DecodeRecord(s.config.Queue.Items, table.ReasonItem(err, fences+i))
		if malformed != nil {
			t.doubt = max(t.doubt, unproven) // the transport may have sent a copy
			return queue.MadeNotYet, malformed
		}
		switch m := s.transacts.made(rec); {
		case m == queue.MadeYes:
			return m, nil
		case why != nil:
		case m != queue.MadeNotYet:
			made, why = m, s.fenced(rec)
		default:
			made, why = m, err
		}
	}
	return made, why
}

// visible repeats a transaction that was made until an answer shows that all of its items,
// and not the record alone, are visible. Within the life of its token that is a success.
// Later it is refused by its number, and has long been visible.
func (t *transaction) visible(ctx context.Context) bool {
	token := t.token // several sessions may settle the transaction side by side
	return retry.Policy{Retryable: func(error) bool { return true }}.Do(ctx, func(ctx context.Context) error {
		err := t.store().Transact(ctx, token, t.items)
		if table.TokenMismatch(err) {
			token = random.Text(ctx)
		}
		if reasons := table.Reasons(err); len(reasons) == len(t.items) && !table.Undecided(reasons) {
			return nil
		}
		return err
	}) == nil
}

// failed returns the error of a transaction that ends with err. If an attempt had no answer,
// it asks the table first. Nil: the transaction was made.
func (t *transaction) failed(err error) error {
	if t.doubt == none {
		t.leave(queue.TransactionRefused)
	} else {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.caller), settleLimit)
		defer cancel()
		var of []*transactions
		for _, s := range t.sessions {
			of = append(of, s.transacts)
		}
		switch t.settle(ctx, of...) {
		case queue.MadeYes:
			return nil
		case queue.MadeUnknown:
			return t.unknown(err)
		}
	}
	return fmt.Errorf("queuelock: %s: transact: %w", t.sessions[0].config.Name, errors.Join(err, t.caller.Err(), t.end()))
}

// unknown returns the error of a transaction that may have been made, or may not be visible yet.
func (t *transaction) unknown(err error) error {
	t.leave(queue.TransactionUnsettled)
	return t.sessions[0].unknown(err, t.caller.Err(), t.end())
}

// leave records the state of the transaction in the sessions. Their turnstiles are held.
func (t *transaction) leave(state queue.TransactionState) {
	for _, s := range t.sessions {
		s.transacts.leave(state)
	}
}

// Condition returns a check that the lock is held, for a transaction of the caller's own.
func (s *Session) Condition() types.ConditionCheck {
	q := s.config.Queue
	check, err := q.Record().Check(q.RecordKey(), of(s.life, (*queue.Hold).Fence), q.Names())
	if err != nil {
		panic("queuelock: the condition of a lock cannot be built: " + err.Error()) // it has no part that could be wrong
	}
	return check
}

// settle asks the table whether the transaction was made, and prevents it from being made
// later. MadeYes reports that all writes are visible. It is the last of those
// transactions of sessions, one of which is enough. Their turnstiles are held.
func (t *transaction) settle(ctx context.Context, of ...*transactions) queue.Made {
	for _, one := range of {
		switch made := one.ask(ctx); {
		case made == queue.MadeYes && t.visible(ctx), made == queue.MadeNever:
			return made
		case made == queue.MadeYes:
			return queue.MadeUnknown
		}
	}
	return queue.MadeUnknown
}
