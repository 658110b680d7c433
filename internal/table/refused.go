package table

import (
	"context"
	"errors"
)

// Refused is the error of a write with a false condition: the attempt that was
// answered wrote nothing. An SDK retry may have been refused by what its own lost
// first attempt wrote: look for one's own id in the item.
type Refused struct {
	// Item is the item that refused the write, as the answer showed it. Nil: there is
	// none, or the engine did not show it. See Read.
	Item Item

	read func(context.Context) (Item, error) // nil: Item is all there is
}

func (e *Refused) Error() string { return "the condition was false" }

// Read returns the item that refused the write; nil if there is none. It makes no
// request if the answer showed the item, or the engine is known to show items.
// Engines older than 2023 do not: then the item is read, as it is now.
//
// After an error of that read the write counts as one that may have been applied. A
// transport that repeats requests on its own may have been refused by its own first
// copy, and only the item would show it.
func (e *Refused) Read(ctx context.Context) (Item, error) {
	if e.read == nil {
		return e.Item, nil
	}
	item, err := e.read(ctx)
	if err != nil {
		return nil, Unread(err)
	}
	e.Item, e.read = item, nil
	return item, nil
}

// refusable completes the error of a write to the item with that key, if that is a
// refusal.
func (s *Store) refusable(key Item, err error) error {
	refused, ok := err.(*Refused)
	switch {
	case !ok:
	case len(refused.Item) > 0:
		s.shows.Store(true)
	case !s.shows.Load():
		refused.read = func(ctx context.Context) (Item, error) { return s.Get(ctx, key) }
	}
	return err
}

// Unread marks the error of reading the item that refused a write: the write may have
// been applied (Applied). Nil of nil.
func Unread(err error) error {
	if err == nil {
		return nil
	}
	return &unreadError{err}
}

// IsUnread reports whether err is marked by Unread.
func IsUnread(err error) bool {
	_, ok := errors.AsType[*unreadError](err)
	return ok
}

type unreadError struct{ err error }

func (e *unreadError) Error() string { return e.err.Error() }
func (e *unreadError) Unwrap() error { return e.err }

// NotApplied marks the error of a write that was refused by an item that is not what it
// was expected to be. The write was not applied (Applied). Nil of nil.
func NotApplied(err error) error {
	if err == nil {
		return nil
	}
	return &notApplied{err}
}

type notApplied struct{ err error }

func (e *notApplied) Error() string { return e.err.Error() }
func (e *notApplied) Unwrap() error { return e.err }
