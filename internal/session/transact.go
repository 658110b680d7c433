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
}

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

// run plays the transaction until its outcome is known.
func (t *transaction) run() error {
	left := queue.TransactionUnsettled // if the DynamoDB client panics
	defer func() {
		for _, s := range t.sessions {
			s.transacts.leave(left)
		}
	}()
	var machine queue.Transaction
	pauses := retry.For(0)
	do := machine.Step(queue.TransactionEvent{})
	for do.Do != queue.TransactDone {
		var e queue.TransactionEvent
		switch do.Do {
		case queue.TransactSend:
			if do.Renew {
				t.token, t.begun = random.Text(t.held), t.store().Clock().Mark(time.Now())
			}
			e = t.attempt()
		case queue.TransactPause:
			if !pauses.Pause(t.held) {
				e.Err = do.Err
			}
		case queue.TransactShow:
			if !t.visible(t.held) {
				e.Err = t.held.Err()
			}
		case queue.TransactSettle:
			e.Made = t.settleLast()
		}
		do = machine.Step(e)
	}
	left = do.Left
	switch do.Result {
	case queue.TransactMade:
		return nil
	case queue.TransactUnknown:
		return t.sessions[0].unknown(do.Err, t.caller.Err(), t.end())
	case queue.TransactLost:
		return do.Err
	}
	return fmt.Errorf("queuelock: %s: transact: %w", t.sessions[0].config.Name, errors.Join(do.Err, t.caller.Err(), t.end()))
}

func (t *transaction) store() *table.Store { return t.sessions[0].config.Queue.Store }

// attempt sends the transaction once.
func (t *transaction) attempt() queue.TransactionEvent {
	err := t.store().Transact(t.held, t.token, t.items)
	reasons := table.Reasons(err)
	e := queue.TransactionEvent{
		Err: err, Mismatch: table.TokenMismatch(err), Transient: err != nil && transient(err),
		Open: err != nil && reasons == nil && table.Applied(err), Forgotten: t.store().Clock().Since(t.begun, time.Now()) > tokenLife,
	}
	if len(reasons) == len(t.items) && slices.Contains(reasons[len(reasons)-len(t.sessions):], table.ReasonFailed) {
		e.Fenced = true
		t.judge(&e, err, reasons)
	}
	return e
}

// judge says what became of the transaction by the records that refused it, and why.
func (t *transaction) judge(e *queue.TransactionEvent, err error, reasons []string) {
	fences := len(t.items) - len(t.sessions)
	e.Err = nil
	for i, s := range t.sessions {
		if reasons[fences+i] != table.ReasonFailed {
			continue
		}
		rec, malformed := queue.DecodeRecord(s.config.Queue.Items, table.ReasonItem(err, fences+i))
		if malformed != nil {
			e.Made, e.Malformed, e.Err = queue.MadeNotYet, true, malformed
			return
		}
		switch m := s.transacts.made(rec); {
		case m == queue.MadeYes:
			e.Made, e.Err = m, err
			return
		case e.Err != nil:
		case m != queue.MadeNotYet:
			e.Made, e.Err = m, s.fenced(rec)
		default:
			e.Made, e.Err = m, err
		}
	}
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

// settleLast settles the transaction after its caller has given up.
func (t *transaction) settleLast() queue.Made {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.caller), settleLimit)
	defer cancel()
	var of []*transactions
	for _, s := range t.sessions {
		of = append(of, s.transacts)
	}
	return t.settle(ctx, of...)
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
