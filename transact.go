package queuelock

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Condition returns a check on the lock's serving record, for a TransactWriteItems of
// the caller's own: the transaction commits only while the lock is held, and is
// otherwise cancelled with ConditionalCheckFailed. It makes no request. It conflicts
// with heartbeats; retry a TransactionConflict. The check of an exclusive lock fails
// after Downgrade once another holder has joined. Prefer Transact.
func (l *Lock) Condition() types.ConditionCheck { return l.session.Condition() }

// maxTransactItems is the limit of a transaction less the check on the lock.
// https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html
const maxTransactItems = 99

// Transact makes the writes, all or none, only if the lock is still held when they are
// made. It takes up to 99 items of any tables of the region, without the lock's own
// record. They are made once, however often and however late the request arrives.
// Transactions of one lock are made one after another. Returns
//
//   - an error that matches ErrLost or ErrReleased if the lock had ended.
//   - an error that matches *types.TransactionCanceledException, with reasons in the
//     order of the items, if an item refused it. Nothing was written.
//   - *UnknownOutcomeError if the writes may have been made, or may yet be while the
//     lock is held. It never matches ErrLost.
//   - any other error if the table failed or ctx had ended. Nothing was written.
func (l *Lock) Transact(ctx context.Context, items ...types.TransactWriteItem) error {
	if err := validItems("Transact", items); err != nil {
		return err
	}
	return l.session.Transact(ctx, items...)
}

func validItems(what string, items []types.TransactWriteItem) error {
	if len(items) == 0 || len(items) > maxTransactItems {
		return fmt.Errorf("queuelock: %s: %d items: between 1 and %d are possible", what, len(items), maxTransactItems)
	}
	return nil
}
