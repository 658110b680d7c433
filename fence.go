package queuelock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/heartbeat"
	"github.com/queuelock/queuelock/internal/random"
	"github.com/queuelock/queuelock/internal/retry"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/serving"
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

// transactPatience is for how long a transaction is repeated: for less than
// DynamoDB remembers its token, after which a repetition would be made anew.
const transactPatience = 8 * time.Minute

// UnknownOutcomeError says that writes were sent and not answered: they may
// have been made or not. Read them, under the next lock, to know.
type UnknownOutcomeError struct {
	Key Key
	Err error // the last attempt's
	Ctx error // the context's, if that has ended
	End error // why the lock is not held any more, or nil
}

func (e *UnknownOutcomeError) Error() string {
	s := fmt.Sprintf("queuelock: %s: it is not known whether the writes were made: %v", e.Key, e.Err)
	if e.Ctx != nil {
		s += fmt.Sprintf("; %v", e.Ctx)
	}
	if e.End != nil {
		s += fmt.Sprintf("; %v", e.End)
	}
	return s
}

// Unwrap returns Ctx. Err and End are not among what it matches: ErrLost, and a
// *types.TransactionCanceledException, would say that nothing was written.
func (e *UnknownOutcomeError) Unwrap() error { return e.Ctx }

// Transact makes the writes, all or none, only if the lock is still held when
// they are made: one request, a TransactWriteItems of the items with Condition
// behind them. Items are as DynamoDB defines them, 99 at the most; they may be
// in any table of the region, but none may be the lock's own record.
//
// nil says that the writes were made, once. *LostError, which matches ErrLost,
// says that the lock had been lost, and ErrReleased that it had been released:
// nothing was written. An error that matches *types.TransactionCanceledException
// says that one of the caller's items stood in the way, or that others were in
// the way until the end, and nothing was written; its reasons are in the order of
// the items, with that of the check behind them.
// *UnknownOutcomeError says that no answer came, and that the writes may have
// been made, or may yet be, as long as the lock is held; it never matches
// ErrLost, even if the lock was lost meanwhile. Other errors are the table's, or
// that of a ctx that had ended before the call, and nothing was written.
//
// Conflicts with other transactions, throttles and lost answers are retried
// until ctx or the lock ends, or for eight minutes, with one
// ClientRequestToken, so that a transaction that did get through is not made
// twice: DynamoDB knows a token for ten minutes.
func (l *Lock) Transact(ctx context.Context, items ...types.TransactWriteItem) error {
	if len(items) == 0 || len(items) > maxTransactItems {
		return fmt.Errorf("queuelock: Transact: %d items: between 1 and %d are possible", len(items), maxTransactItems)
	}
	if err := l.Err(); err != nil {
		return err
	}
	return transact(ctx, []*Lock{l}, l.Err, items)
}

// stillHeld reads the record, and reports whether the lock is in it. A read that
// fails says nothing: the next heartbeat tells.
func (l *Lock) stillHeld(ctx context.Context) bool {
	rec, err := serving.Get(ctx, l.queue)
	if err != nil {
		return true
	}
	_, held := rec.Held(l.id, l.ticket)
	return held
}

// transact makes the writes only if all of the locks are held, one or more; end
// is the reason if not.
func transact(ctx context.Context, locks []*Lock, end func() error, items []types.TransactWriteItem) error {
	if err := ctx.Err(); err != nil {
		// A request of an ended context is never sent, but fails like one that was.
		return fmt.Errorf("queuelock: %s: transact: nothing was sent: %w", locks[0].key, err)
	}
	held := ctx
	fenced := append([]types.TransactWriteItem{}, items...)
	alone := make([]bool, len(locks))
	for i, l := range locks {
		var cancel func()
		held, cancel = l.within(held)
		defer cancel()
		alone[i] = l.isAlone()
		check := l.condition(alone[i])
		fenced = append(fenced, types.TransactWriteItem{ConditionCheck: &check})
	}
	first, token := locks[0], random.Text(held)
	unknown, begun := false, time.Now()
	for retries := retry.For(transactPatience); ; {
		err := first.queue.Transact(held, token, fenced)
		reasons := table.Reasons(err)
		unknown = unknown || err != nil && reasons == nil && table.Applied(err, true)
		if len(reasons) == len(fenced) {
			if i := slices.Index(reasons[len(items):], table.ReasonFailed); i >= 0 {
				if alone[i] && !locks[i].isAlone() && locks[i].stillHeld(held) {
					return fmt.Errorf("queuelock: %s: transact: the lock was downgraded meanwhile, and others share it", locks[i].key)
				}
				return locks[i].fenced()
			}
		}
		switch {
		case err == nil:
			return nil
		case !table.Passing(reasons) && !table.Transient(err), !retries.Pause(held), time.Since(begun) > transactPatience+time.Minute:
			// The last: this process stood still, and the token may be forgotten.
			if unknown {
				return &UnknownOutcomeError{Key: first.key, Err: err, Ctx: ctx.Err(), End: end()}
			}
			return fmt.Errorf("queuelock: %s: transact: %w", first.key, errors.Join(err, ctx.Err(), end()))
		}
	}
}

// fenced is the error of a lock whose record says that it is held no more.
func (l *Lock) fenced() error {
	if l.parted(nil) {
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
