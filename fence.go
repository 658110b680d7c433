package queuelock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/heartbeat"
	"github.com/queuelock/queuelock/internal/random"
	"github.com/queuelock/queuelock/internal/retry"
	"github.com/queuelock/queuelock/internal/serving"
	"github.com/queuelock/queuelock/internal/table"
)

// Condition is a check on the lock's serving record, for a TransactWriteItems
// of the caller's own: the transaction commits only while the lock is held,
// whatever the caller's clock says. It makes no request, and works on after
// the lock has ended: the transaction is then cancelled, with
// ConditionalCheckFailed as the reason of this item. Transact is easier.
//
// It costs two write units, as each item of a transaction does, needs the
// permission dynamodb:ConditionCheckItem, and conflicts for the moment with
// the lock's own heartbeat: DynamoDB then cancels the transaction with
// TransactionConflict, and it may be sent again.
//
// Made while the lock is exclusive, the check also asks that no later ticket was
// granted: after Downgrade it fails once another has joined.
func (l *Lock) Condition() types.ConditionCheck {
	return l.condition(l.isAlone())
}

// condition is the check of a lock that is alone, or of one that may not be.
func (l *Lock) condition(alone bool) types.ConditionCheck {
	check, err := serving.Fence(l.queue, l.id, l.ticket, alone)
	if err != nil {
		panic("queuelock: the condition of a lock cannot be built: " + err.Error()) // it has no part that could be wrong
	}
	return check
}

// maxTransactItems is how many items of the caller's fit beside the check.
// https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html
const maxTransactItems = 99

// Transact makes the writes, all or none, only if the lock is still held when
// they are made. Items are as DynamoDB defines them, 99 at most, in any tables of
// the region; none may be the lock's own record.
//
// It returns nil if the writes were made, once. Returns
//
//   - an error that matches ErrLost or ErrReleased if the lock had ended. Nothing
//     was written.
//   - an error that matches *types.TransactionCanceledException if one of the
//     items stood in the way. Its reasons are in the order of the items. Nothing
//     was written.
//   - *UnknownOutcomeError if an attempt had no answer and the table could not be
//     asked. The writes may have been made, or may yet be while the lock is held. It
//     never matches ErrLost.
//   - any other error if the table failed, or ctx had ended. Nothing was written.
//
// Conflicts, throttles and lost answers are retried until ctx or the lock ends.
// The transaction has a number, which it writes into the lock's entry, so it is
// made once however often and however late it arrives. Transactions of one lock
// are made one after another.
//
// One request, a TransactWriteItems of the items and the lock's record: four write
// units for one item. One more if the last attempt had no answer.
func (l *Lock) Transact(ctx context.Context, items ...types.TransactWriteItem) error {
	return l.write(ctx, "Transact", items)
}

func (l *Lock) write(ctx context.Context, what string, items []types.TransactWriteItem) error {
	if len(items) == 0 || len(items) > maxTransactItems {
		return fmt.Errorf("queuelock: %s: %d items: between 1 and %d are possible", what, len(items), maxTransactItems)
	}
	return transact(ctx, []*Lock{l}, l.Err, items)
}

// transact makes the writes only if all of the locks are held, one or more; end
// is the reason if not.
func transact(ctx context.Context, locks []*Lock, end func() error, items []types.TransactWriteItem) error {
	t := &transaction{caller: ctx, held: ctx, locks: locks, end: end, items: slices.Clone(items)}
	if err := ctx.Err(); err != nil {
		// A request of an ended context is never sent, but fails like one that was.
		return fmt.Errorf("queuelock: %s: transact: nothing was sent: %w", locks[0].key, err)
	}
	for _, l := range locks {
		var cancel func()
		t.held, cancel = l.within(t.held)
		defer cancel()
		select {
		case l.writes <- struct{}{}:
			defer func() { <-l.writes }()
		case <-t.held.Done():
			return fmt.Errorf("queuelock: %s: transact: nothing was sent: %w", l.key, errors.Join(ctx.Err(), end()))
		}
		if err := end(); err != nil {
			return err
		}
		if err := cmp.Or(l.settle(t.held), ctx.Err()); err != nil {
			return fmt.Errorf("queuelock: %s: transact: nothing was sent: %w", l.key, err)
		}
		l.made, l.denied = serving.NextCall(l.made), nil
		fence, err := serving.NumberedFence(l.queue, l.id, l.ticket, l.isAlone(), l.made)
		if err != nil {
			return fmt.Errorf("queuelock: %s: transact: %w", l.key, err)
		}
		t.items = append(t.items, types.TransactWriteItem{Update: &fence})
	}
	return t.run()
}

// transaction is one Transact.
type transaction struct {
	caller, held context.Context // held ends with caller and with each lock
	locks        []*Lock
	end          func() error
	items        []types.TransactWriteItem // the caller's, and the fence of each lock
	token        string
	open         bool // an attempt had no answer: it may have been made, or may yet be
	doubt        bool // open, or an attempt was refused by what proves nothing (table.Applied)
}

// tokenLife is less than DynamoDB remembers a ClientRequestToken, ten minutes.
// Within it, a refusal proves that no earlier attempt with the token was made.
// https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html
const tokenLife = 9 * time.Minute

// run sends the transaction until its outcome is known.
func (t *transaction) run() error {
	store := t.locks[0].queue
	t.token = random.Text(t.held)
	begun, renamed := store.Clock().Mark(time.Now()), false // with another token
	for retries := retry.For(0); ; {
		err := store.Transact(t.held, t.token, t.items)
		if err == nil {
			return nil
		}
		reasons := table.Reasons(err)
		if table.TokenMismatch(err) {
			// DynamoDB Local takes some repetitions for another transaction. The number
			// guards against a second one, whatever the token.
			t.open, t.doubt, t.token, renamed = true, true, random.Text(t.held), true
			if !retries.Pause(t.held) {
				return t.failed(err)
			}
			continue
		}
		t.open = t.open || reasons == nil && table.Applied(err, true)
		again := table.Passing(reasons) || table.Transient(err)
		t.doubt = t.doubt || t.open || again
		if len(reasons) == len(t.items) && slices.Contains(reasons[len(reasons)-len(t.locks):], table.ReasonFailed) {
			made, why := t.judge(err, reasons)
			switch {
			case made == serving.MadeYes && t.visible(t.held):
				return nil
			case made == serving.MadeYes:
				return t.unknown(t.held.Err())
			case made == serving.MadeUnknown && (renamed || store.Clock().Since(begun, time.Now()) > tokenLife):
				return t.unknown(why)
			case made != serving.MadeNotYet:
				return why
			}
			err, again = why, true
		}
		if !t.open {
			// It was cancelled, and no attempt is under way.
			t.token, begun = random.Text(t.held), store.Clock().Mark(time.Now())
		}
		if !again || !retries.Pause(t.held) {
			return t.failed(err)
		}
	}
}

// judge says what the records that refused a transaction say of it, and why the
// first of them refused.
func (t *transaction) judge(err error, reasons []string) (made serving.Made, why error) {
	fences := len(t.items) - len(t.locks)
	for i, l := range t.locks {
		if reasons[fences+i] != table.ReasonFailed {
			continue
		}
		rec, readErr := serving.Refusal(t.held, l.queue, table.ReasonItem(err, fences+i))
		if readErr != nil {
			return serving.MadeNotYet, readErr
		}
		switch m := rec.Made(l.id, l.ticket, l.made); {
		case m == serving.MadeYes:
			return m, nil
		case why != nil:
		case m != serving.MadeNotYet:
			made, why = m, l.fenced(rec)
		default:
			made, why = m, err
		}
	}
	return made, why
}

// visible repeats a transaction that was made until an answer says that all of
// its items are visible: the record alone may be. Within the life of its token
// that is a success. Later it is refused by its number, and has long been visible.
func (t *transaction) visible(ctx context.Context) bool {
	for retries := retry.For(0); ; {
		err := t.locks[0].queue.Transact(ctx, t.token, t.items)
		if table.TokenMismatch(err) {
			t.token = random.Text(ctx)
		}
		reasons := table.Reasons(err)
		if err == nil || len(reasons) == len(t.items) && !slices.Contains(reasons, table.ReasonConflict) {
			return true
		}
		if !retries.Pause(ctx) {
			return false
		}
	}
}

// settleLimit bounds the requests that end the doubt about a transaction, after
// its caller has given up.
const settleLimit = time.Second

// failed is the error of a transaction that ends with err. If an attempt had no
// answer it asks the table first; nil says that the transaction was made.
func (t *transaction) failed(err error) error {
	if t.doubt {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.caller), settleLimit)
		defer cancel()
		made, settled := t.settle(ctx, t.locks...)
		if !settled {
			return t.unknown(err)
		}
		if made {
			return nil
		}
	} else {
		for _, l := range t.locks {
			l.denied = t
		}
	}
	return fmt.Errorf("queuelock: %s: transact: %w", t.locks[0].key, errors.Join(err, t.caller.Err(), t.end()))
}

// unknown is the error of a transaction of which the outcome is not known, or
// that was made and may not be visible yet.
func (t *transaction) unknown(err error) error {
	for _, l := range t.locks {
		l.mu.Lock()
		l.unsettled = t
		l.mu.Unlock()
	}
	return &UnknownOutcomeError{Key: t.locks[0].key, Err: err, Ctx: t.caller.Err(), End: t.end()}
}

// settle asks the table whether the transaction was made, and keeps it from being
// made later. It reports whether that is known, and all that was made is visible.
// It must be the last transaction of those locks, one of which is enough; their
// gates are held.
func (t *transaction) settle(ctx context.Context, locks ...*Lock) (made, settled bool) {
	for _, l := range locks {
		var m serving.Made
		_ = passing(ctx, func() (err error) {
			var rec serving.Record
			m, rec, err = serving.Settle(ctx, l.queue, l.id, l.ticket, l.made)
			if m == serving.MadeUnknown && err == nil {
				_ = l.fenced(rec)
			}
			return err
		})
		switch m {
		case serving.MadeYes:
			return true, t.visible(ctx)
		case serving.MadeNever:
			return false, true
		}
	}
	return false, false
}

// settle settles a transaction of the lock's that had no answer. The gate of
// writes is held. Nil says that none is left.
func (l *Lock) settle(ctx context.Context) error {
	l.mu.Lock()
	open := l.unsettled
	l.mu.Unlock()
	if open == nil {
		return nil
	}
	if _, settled := open.settle(ctx, l); !settled {
		return cmp.Or(l.Err(), errUnsettled)
	}
	l.mu.Lock()
	l.unsettled = nil
	l.mu.Unlock()
	return nil
}

// lateCopy reports whether a record refused a release because a copy of the last
// transaction, which was refused, has been made after that: a transport that
// retries on its own may have sent it. It waits until the copy is visible, and
// changes the release so that it can be sent again.
func (l *Lock) lateCopy(ctx context.Context, rec serving.Record, e *serving.Ending) bool {
	if e.Unmade == 0 || rec.Made(l.id, l.ticket, e.Unmade) != serving.MadeYes {
		return false
	}
	if !l.denied.visible(ctx) {
		e.Open = l.tableTime(time.Now())
	}
	e.Unmade = 0
	return true
}

// errUnsettled says that an earlier transaction of a lock may still be made, or
// become visible.
var errUnsettled = errors.New("an earlier transaction of the lock had no answer, and may still be made or become visible")

// fenced is the error of a lock that a record, which has refused a protected
// write, does not hold any more.
func (l *Lock) fenced(rec serving.Record) error {
	if l.parted(rec) {
		return ErrReleased
	}
	return l.evicted()
}

// evicted ends a lock whose record says that it is held no more.
func (l *Lock) evicted() error {
	l.lose(&heartbeat.LossError{Cause: heartbeat.Evicted, Err: errors.New("a protected write was refused by the serving record")})
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.end
}

// passing makes a request, and again if it failed in passing.
func passing(ctx context.Context, request func() error) error {
	for retries := retry.For(minRetryTimeout); ; {
		err := request()
		if err == nil || !table.Transient(err) || !retries.Pause(ctx) {
			return err
		}
	}
}
