package table

import (
	"context"
	"errors"
)

// Refused is the error of a write with a false condition. The attempt that was answered
// wrote nothing. A retry of the SDK's may have been refused by what its own lost first
// attempt wrote, so the caller looks for its own id in the item.
type Refused struct {
	// Item is the item that refused the write, as the answer showed it. Nil: there is
	// none, or the engine did not show it. See Read.
	Item Item

	read func(context.Context) (Item, error) // nil: Item is all there is
}

func (e *Refused) Error() string { return "the condition was false" }

// Read returns the item that refused the write; nil if there is none. It makes no
// request if the answer showed the item, or the engine is known to show items.
// Engines older than 2023 do not, so the item is read as it is now.
//
// After an error of that read the write may have been applied: a transport that repeats
// requests may have been refused by its own first copy, and only the item would show it.
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

// refusable completes the error of a write to the item with that key, if it is a
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

// proven is an error that reports whether its write was applied; see Applied.
type proven struct {
	error
	not bool
}

func (e *proven) Unwrap() error { return e.error }

// Unread marks the error of reading the item that refused a write: the write may have
// been applied. Unread of nil is nil.
func Unread(err error) error { return mark(err, false) }

// NotApplied marks the error of a write that was refused by an item that is not what
// the caller expected: the write was not applied. NotApplied of nil is nil.
func NotApplied(err error) error { return mark(err, true) }

func mark(err error, not bool) error {
	if err == nil {
		return nil
	}
	return &proven{err, not}
}

// IsUnread reports whether err is marked by Unread.
func IsUnread(err error) bool {
	p, ok := errors.AsType[*proven](err)
	return ok && !p.not
}
