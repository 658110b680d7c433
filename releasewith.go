package queuelock

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// ReleaseWith makes the writes, all or none, only if the lock is still held, and
// then releases it. Items are as for Transact.
//
// The release is sent after the answer to the writes: DynamoDB makes the items of
// a transaction visible one after another, and only the answer says that all of
// them are. Released with the writes, the lock could be granted to a holder that
// still reads the old values.
//
// It returns nil if the writes were made, once, and the lock was released after
// them. Returns
//
//   - *ReleaseError if the writes were made, and the release failed.
//   - any other error as Transact does. The lock is then held as before, unless
//     the error says otherwise, and must be released.
//
// Two requests. Three if others have queued unnoticed; after a wait in the queue
// one more in the background if it is empty.
func (l *Lock) ReleaseWith(ctx context.Context, items ...types.TransactWriteItem) error {
	if err := validItems("ReleaseWith", items); err != nil {
		return err
	}
	return l.publicError(l.session.ReleaseWith(ctx, items...))
}
