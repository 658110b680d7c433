package queuelock

import (
	"context"
	"errors"
	"fmt"

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
func (l *Lock) Condition() types.ConditionCheck {
	check, err := serving.Fence(l.queue, l.id, l.ticket)
	if err != nil {
		panic("queuelock: the condition of a lock cannot be built: " + err.Error()) // it has no part that could be wrong
	}
	return check
}

// maxTransactItems is how many items of the caller's fit beside the check.
// https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html
const maxTransactItems = 99

// Transact makes the writes, all or none, only if the lock is still held when
// they are made: one request, a TransactWriteItems of the items with Condition
// behind them. Items are as DynamoDB defines them, 99 at the most; they may be
// in any table of the region, but none may be the lock's own record.
//
// nil says that the writes were made, once. *LostError, which matches ErrLost,
// says that the lock had been lost, and ErrReleased that it had been released:
// nothing was written. An error that matches *types.TransactionCanceledException
// says that one of the caller's items stood in the way, and nothing was written;
// its reasons are in the order of the items, with that of the check behind them.
// Other errors are the table's. After one whose request may have got through
// (a time-out, a broken connection, the end of ctx), the writes may have been
// made, or may yet be, as long as the lock is held.
//
// Conflicts with other transactions, throttles and lost answers are retried
// until ctx or the lock ends, with one ClientRequestToken, so that a transaction
// that did get through is not made twice.
func (l *Lock) Transact(ctx context.Context, items ...types.TransactWriteItem) error {
	if len(items) == 0 || len(items) > maxTransactItems {
		return fmt.Errorf("queuelock: Transact: %d items: between 1 and %d are possible", len(items), maxTransactItems)
	}
	if err := l.Err(); err != nil {
		return err
	}
	held, cancel := l.within(ctx)
	defer cancel()
	check := l.Condition()
	fenced := append(append([]types.TransactWriteItem{}, items...), types.TransactWriteItem{ConditionCheck: &check})
	token := random.Text(held)
	for retries := retry.For(0); ; {
		err := l.queue.Transact(held, token, fenced)
		reasons := table.Reasons(err)
		switch {
		case err == nil:
			return nil
		case len(reasons) == len(fenced) && reasons[len(items)] == table.ReasonFailed:
			return l.fenced()
		case !table.Passing(reasons) && !table.Transient(err), !retries.Pause(held):
			return fmt.Errorf("queuelock: %s: transact: %w", l.key, errors.Join(err, ctx.Err(), l.Err()))
		}
	}
}

// fenced is the error of a lock whose record says that it is held no more.
func (l *Lock) fenced() error {
	l.lose(&heartbeat.LossError{Cause: heartbeat.Evicted, Err: errors.New("a protected write was refused by the serving record")})
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.end
}
