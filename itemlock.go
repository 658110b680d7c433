package queuelock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/clause"
	"github.com/queuelock/queuelock/internal/itemkey"
	"github.com/queuelock/queuelock/internal/play"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
	"github.com/queuelock/queuelock/waitpolicy"
)

// ItemLock is a lock on an item of the caller's own. It cannot be shared or resumed. Transact must not name the item.
type ItemLock struct {
	held
	itemKey ItemKey
	item    clause.Item // without the lock's attributes
}

// ItemKey returns the key of the locked item.
func (l *ItemLock) ItemKey() ItemKey { return l.itemKey }

// Item returns the whole item as it was when the lock was granted, without the lock's attributes. It is a
// consistent read, and no later holder has changed it. The map is the caller's own, its values are not.
func (l *ItemLock) Item() map[string]types.AttributeValue { return maps.Clone(l.item) }

// LockItem acquires a lock on an item of the caller's own, in any table of the region, and returns it with the
// item. The lock is kept in the item's attributes that begin with Config.ItemPrefix. Other programs must leave
// them alone: a PutItem of the whole item, or its deletion, ends the lock.
//
// Errors are those of Acquire. Returns [ErrNoItem] for a missing item unless CreateItem is given.
func (c *Client) LockItem(ctx context.Context, item ItemKey, wait waitpolicy.Wait,
	opts ...Option) (*ItemLock, error) {
	cfg := with(c, opts)
	cfg.wait = wait
	if err := item.prepare(c, cfg); err != nil {
		return nil, err
	}
	lock, err := c.serve(ctx, cfg)
	switch {
	case errors.Is(err, ticket.ErrNoItem):
		return nil, fmt.Errorf("%w: %s", ErrNoItem, item)
	case err != nil:
		return nil, err
	}
	home := cfg.queue.Home
	return &ItemLock{lock.held, ItemKey{item.Table, home.Key}, home.Strip(lock.turn.Item())}, nil
}

func (k ItemKey) prepare(c *Client, cfg *settings) error {
	if cfg.Scope != ticket.ScopeQueue {
		cfg.own().Scope = ticket.ScopeQueue
	}
	home := &queue.Home{Table: k.Table, Key: maps.Clone(k.Key), Prefix: cfg.ItemPrefix, Create: cfg.createItem}
	if err := cmp.Or(c.made(), itemkey.Validate(home), cfg.wait.Validate(), cfg.validate()); err != nil {
		return fmt.Errorf("queuelock: %w", err)
	}
	cfg.queue = c.store.Within(cfg.RequestTimeout).Queue(itemkey.Entity(home), ItemReason, home)
	return nil
}

// UpdateAndRelease updates the item and releases the lock, both or neither, if all conditions hold, and returns
// the item without the lock's attributes. The update must leave these and the key alone. Returns
//
//   - [*ConditionError] if a condition was false. The lock is held.
//   - [ErrReleased], or an error that matches [ErrLost], if the lock had ended.
//   - [*UnknownOutcomeError] if both may have been made, or may yet be, and if the item was deleted or replaced by
//     another program: nothing then shows what has happened.
//   - any other error if the table failed. The lock is held.
func (l *ItemLock) UpdateAndRelease(ctx context.Context, update expression.UpdateBuilder,
	cond ...expression.ConditionBuilder) (map[string]types.AttributeValue, error) {
	users, err := table.UsersUpdate(l.turn.Queue().Home, update, cond)
	if err != nil {
		return nil, fmt.Errorf("queuelock: UpdateAndRelease: %w", err)
	}
	item, err := l.turn.UpdateAndRelease(ctx, users, len(cond) > 0)
	return item, l.updateError(err)
}

// updateError makes the public error of an UpdateAndRelease.
func (l *ItemLock) updateError(err error) error {
	switch e := err.(type) {
	case *play.ConditionError:
		return &ConditionError{l.itemKey, e.Current}
	case *UnknownOutcomeError:
		e.Err = l.updateError(e.Err)
	}
	return err
}
