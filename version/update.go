package version

import (
	"context"
	"errors"
	"fmt"
	"maps"
)

// Update loads the item, calls change with a copy, and saves the Attributes that change
// returns. After a conflict it begins again, up to Config.Attempts times, with random
// pauses of 20 ms that double up to a second. change must have no outside effects.
// Returns
//
//   - ErrNotFound if the item does not exist, unless OrCreate is given.
//   - the error of change. Nothing was written.
//   - ErrConflict if all attempts failed, or ctx ended in a pause. Nothing was written.
//   - any other error of Load or Save. After ErrUnknown repeat it with the same
//     WithToken.
func (t *Table) Update(ctx context.Context, key Attributes, change func(Item) (Item, error), opts ...Option) (Item, error) {
	o, err := with(ctx, opts)
	if err == nil && change == nil {
		err = errors.New("the function is nil")
	}
	if err != nil {
		return Item{}, fmt.Errorf("version: update: %w", err)
	}
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
			return Item{}, fmt.Errorf("version: update %s: %w", t.show(key), err)
		}
		item.Attributes = changed.Attributes
		saved, err := t.Save(ctx, item, WithToken(o.token))
		if !errors.Is(err, ErrConflict) {
			return saved, err
		}
		if attempt == t.cfg.Attempts {
			return Item{}, fmt.Errorf("version: update %s: given up after %d attempts: %w", t.show(key), attempt, err)
		}
		pause(ctx, delay(attempt, conflictPause))
		if ctx.Err() != nil {
			return Item{}, fmt.Errorf("version: update %s: %w: %w", t.show(key), ctx.Err(), err)
		}
	}
}
