package version

import (
	"context"
	"errors"
	"fmt"
	"maps"
)

// Update loads the item, calls change with it, and saves what change returns,
// again from the start after a conflict: up to Config.Attempts times in all,
// with pauses of 20 ms at first, doubled up to a second, each shortened or
// lengthened at random by up to a half. It returns the item as saved.
//
// change is called once for each attempt, with an item of its own; it must have
// no effects outside of it. Of what it returns, the Attributes are saved. An
// error of it ends the Update: nothing is written, and errors.Is finds it.
//
// Without an item the error matches ErrNotFound, unless OrCreate is given. When
// all attempts were in vain, and when ctx ends in a pause, it matches ErrConflict,
// and nothing was written. Other errors are those of Load and Save. Calling it
// again is safe where nothing was written, and after ErrUnknown with the same
// WithToken, while no more than 15 others have written since.
//
// Two requests, and two more for each conflict.
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
