package queuelock

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/internal/counter"
	"github.com/queuelock/queuelock/internal/itemkey"
	"github.com/queuelock/queuelock/internal/serving"
	"github.com/queuelock/queuelock/internal/session"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/waitpolicy"
)

// ItemLock is a lock on an item of the caller's own. It is a Lock in all else:
// it keeps its lease, has a fencing token, and is released or lost. Its Key is
// that of its queue in the client's table, which is made of the item's key: for
// errors and logs, which print the item, and not for Acquire, which would make a lock of its own there.
// Transact and ReleaseWith are for writes of other items: DynamoDB refuses a
// transaction that names one item twice. Its Handle cannot be resumed.
type ItemLock struct {
	*Lock
	itemKey ItemKey
	item    table.Item // without the lock's attributes
}

// ItemKey is which item is locked.
func (l *ItemLock) ItemKey() ItemKey { return l.itemKey }

// String prints the lock for people: item "orders" {id S:"7"} ticket 12.
func (l *ItemLock) String() string { return fmt.Sprintf("item %s ticket %s", l.itemKey, l.Ticket()) }

// Item is the whole item as it was when the lock was granted, without the lock's
// own attributes: a consistent read, made by the request that was granted, and
// nobody who takes the lock has changed it since. The map is the caller's own,
// its values are not.
func (l *ItemLock) Item() map[string]types.AttributeValue { return maps.Clone(l.item) }

// LockItem takes its turn at an item of the caller's own, in any table of the
// region, and returns it locked, with the item as it is: a lock and a consistent
// read in one. UpdateAndRelease writes it and gives it back.
//
// The lock is kept on the item itself, in attributes whose names begin with
// Config.ItemPrefix; while nobody is there, in two numbers, ticketNumber and
// granted. The item's own attributes are never touched. Those who wait have
// their rows in the client's table. Every program that writes the item must leave
// the lock's attributes as they are: a PutItem of the whole item removes them,
// and thereby the lock.
//
// Waiting, errors and options are those of Acquire. A missing item is ErrNoItem,
// unless CreateItem is given. An item that is deleted, or put anew without the
// lock's attributes, while it is locked: its lock is lost, with cause Evicted,
// known by the next heartbeat; those who wait get ErrNoItem, or go on with the
// new item. A new item counts tickets from 1 again: what was fenced with the
// deleted one's tickets refuses them. An attribute with one of the lock's names
// that holds something else is a *MalformedError. Shared, Permits, FailClosed and
// OnHandle are refused, and Config.Scope does not apply: an item has a counter of its own.
//
// An idle item costs one request (a client's first lock a read more), the first lock of an item two, a missing one
// one (two where it is the process's first refusal of all). A look while waiting
// is two, the item and the rows, or one where nobody can be ahead. DynamoDB counts write units by the size of the
// whole item, for each heartbeat and each ticket: locks on items of more than a
// few KB are better kept apart, by Acquire.
func (c *Client) LockItem(ctx context.Context, item ItemKey, wait waitpolicy.Wait, opts ...Option) (*ItemLock, error) {
	begun := time.Now()
	cfg, q, err := c.prepareItem(item, wait, opts)
	if err != nil {
		return nil, err
	}
	key := Key{Entity: q.Entity, Reason: q.Reason}
	lock, err := c.serve(ctx, begun, key, cfg, q, wait, nil)
	switch {
	case errors.Is(err, counter.ErrNoItem):
		return nil, fmt.Errorf("%w: %s", ErrNoItem, item)
	case err != nil:
		return nil, err
	}
	return &ItemLock{Lock: lock, itemKey: ItemKey{item.Table, q.Home.Key}, item: q.Home.Strip(lock.session.Granted().Item)}, nil
}

// prepareItem checks the arguments of a call about an item.
func (c *Client) prepareItem(item ItemKey, wait waitpolicy.Wait, opts []Option) (settings, table.Queue, error) {
	cfg := c.cfg.with(opts)
	cfg.Scope = ScopeQueue
	home := &table.Home{Table: item.Table, Key: maps.Clone(item.Key), Prefix: cfg.ItemPrefix, Create: cfg.createItem}
	var err error
	switch {
	case cfg.mode != (serving.Mode{}):
		err = errors.New("LockItem: Shared and Permits are for Acquire: an item is locked by one at a time")
	case cfg.failClosed:
		err = errors.New("LockItem: FailClosed is for Acquire: an operator has no way to evict the holder of an item")
	case cfg.placed != nil:
		err = errors.New("LockItem: OnHandle is for Acquire: a lock on an item cannot be resumed")
	}
	for _, err := range []error{c.made(), itemkey.Validate(home), wait.Validate(), cfg.validate(), err} {
		if err != nil {
			return cfg, table.Queue{}, fmt.Errorf("queuelock: %w", err)
		}
	}
	return cfg, table.Queue{
		Store: c.store.Within(cfg.RequestTimeout), Entity: itemkey.Entity(home), Reason: ItemReason, Home: home,
	}, nil
}

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
