package optimistic

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/internal/retry"
)

// Load reads the item with its version, consistently. key has the key attributes; others are ignored. Returns
//
//   - an error at once if the key is invalid.
//   - [ErrNotFound] if the item does not exist.
//   - [*MalformedError] if its version cannot be read.
//   - [*queue.TableError] if the table is missing or has another key.
//   - any other error of DynamoDB or ctx.
func (t *Table) Load(ctx context.Context, key map[string]types.AttributeValue) (Item, error) {
	if err := t.validateKey(key); err != nil {
		return Item{}, fmt.Errorf("optimistic: load: %w", err)
	}
	current, err := t.read(ctx, key)
	switch {
	case err != nil:
		return Item{}, fmt.Errorf("optimistic: load %s: %w", t.show(key), err)
	case current == nil:
		return Item{}, fmt.Errorf("%w: %s", ErrNotFound, t.show(key))
	}
	return *current, nil
}

// read returns the item, or nil if there is none.
func (t *Table) read(ctx context.Context, key map[string]types.AttributeValue) (*Item, error) {
	var found map[string]types.AttributeValue
	sent := t.send(ctx, key, func(ctx context.Context, once func(*dynamodb.Options)) error {
		get := dynamodb.GetItemInput{TableName: &t.name, Key: t.keyOf(key), ConsistentRead: aws.Bool(true)}
		out, err := t.db.GetItem(ctx, &get, once)
		if err == nil {
			found = out.Item
		}
		return err
	})
	if sent.err != nil || len(found) == 0 {
		return nil, sent.err
	}
	return t.decode(found)
}

// Update loads the item, calls change with a copy, and saves the Attributes that change returns. After a
// conflict it begins again, up to Config.Attempts times, with random pauses of 20 ms that double up to a
// second. change must have no outside effects. Returns
//
//   - [ErrNotFound] if the item does not exist, unless OrCreate is given.
//   - the error of change. Nothing was written.
//   - [ErrConflict] if all attempts failed, or ctx ended in a pause. Nothing was written.
//   - any other error of Load or Save. After [ErrUnknown] repeat it with the same WithToken.
func (t *Table) Update(ctx context.Context, key map[string]types.AttributeValue,
	change func(Item) (Item, error), opts ...Option) (Item, error) {
	o, err := with(ctx, opts)
	if err == nil && change == nil {
		err = errors.New("the function is nil")
	}
	if err != nil {
		return Item{}, fmt.Errorf("optimistic: update: %w", err)
	}
	pauses := retry.Between(conflictPause, longestPause)
	for attempt := 1; ; attempt++ {
		item, err := t.Load(ctx, key)
		switch {
		case errors.Is(err, ErrNotFound) && o.create:
			item = Item{Attributes: t.keyOf(key)}
		case err != nil:
			return Item{}, err
		case item.Wrote(o.token):
			return item, nil // by an earlier call
		}
		own := item
		own.Attributes = maps.Clone(item.Attributes)
		changed, err := change(own)
		if err != nil {
			return Item{}, fmt.Errorf("optimistic: update %s: %w", t.show(key), err)
		}
		item.Attributes = changed.Attributes
		saved, err := t.Save(ctx, item, WithToken(o.token))
		if !errors.Is(err, ErrConflict) {
			return saved, err
		}
		if attempt == t.cfg.Attempts {
			return Item{}, fmt.Errorf("optimistic: update %s: given up after %d attempts: %w", t.show(key), attempt, err)
		}
		if !pauses.Pause(ctx) {
			return Item{}, fmt.Errorf("optimistic: update %s: %w: %w", t.show(key), ctx.Err(), err)
		}
	}
}
