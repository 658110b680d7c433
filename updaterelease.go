package queuelock

import (
	"context"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/internal/session"
	"github.com/queuelock/queuelock/internal/table"
)

// UpdateAndRelease updates the item and releases the lock, both or neither, in
// one conditional request, and returns the item as it then is, without the
// lock's attributes. The update must leave the key and the lock's attributes
// alone. Conditions must all hold; they may name anything.
//
// It returns nil if the update was made, once, and the lock was released with it.
// The lock's context is cancelled then, and not before. Returns
//
//   - *ConditionError if a condition was false. Nothing was written, and the lock
//     is held.
//   - ErrReleased if the lock had been released, also by an earlier call that
//     returned *UnknownOutcomeError: that one's update was made, this one's was not.
//   - an error that matches ErrLost if the lock had been lost. Nothing was written.
//   - *UnknownOutcomeError if the update and the release may have been made
//     together, or may yet be while the lock is held. It is returned, too, if one
//     attempt had no answer and a later one was refused by a condition, and if the
//     item was deleted meanwhile.
//   - any other error if the table failed. Nothing was written, and the lock is
//     held.
//
// Conflicts, throttles and lost answers are retried until ctx or the lock ends, or
// the client is closed. The mark that each release leaves says which call was
// made; the item is then returned as it is at that time, perhaps with changes of
// later holders. Another release of the same lock waits for this one.
//
// One request. Two if others have queued unnoticed; after a wait in the queue one
// more in the background if it is empty.
func (l *ItemLock) UpdateAndRelease(ctx context.Context, update expression.UpdateBuilder, cond ...expression.ConditionBuilder) (map[string]types.AttributeValue, error) {
	users, err := l.usersUpdate(update, cond)
	if err != nil {
		return nil, fmt.Errorf("queuelock: UpdateAndRelease: %w", err)
	}
	item, err := l.session.UpdateAndRelease(ctx, users, len(cond) > 0)
	return item, l.updateError(err)
}

// updateError makes the error of an UpdateAndRelease of one that the session returned.
func (l *ItemLock) updateError(err error) error {
	switch e := err.(type) {
	case *session.ConditionError:
		return &ConditionError{l.itemKey, e.Current}
	case *UnknownOutcomeError:
		e.Err = l.updateError(e.Err)
		return e
	default:
		return e
	}
}

// usersUpdate builds the caller's expressions, and says what is wrong with them.
func (l *ItemLock) usersUpdate(update expression.UpdateBuilder, cond []expression.ConditionBuilder) (expression.Expression, error) {
	b := expression.NewBuilder().WithUpdate(update)
	switch len(cond) {
	case 0:
	case 1:
		b = b.WithCondition(cond[0])
	default:
		b = b.WithCondition(expression.And(cond[0], cond[1], cond[2:]...))
	}
	users, err := b.Build()
	if err != nil {
		return users, err
	}
	names := table.TopNames(users)
	slices.Sort(names)
	for _, name := range names {
		switch _, key := l.itemKey.Key[name]; {
		case key:
			return users, fmt.Errorf("the update names the item's key attribute %q, which cannot be changed", name)
		case l.session.Queue().Home.Owns(name):
			return users, fmt.Errorf("the update names the lock's own attribute %q", name)
		}
	}
	return users, nil
}
