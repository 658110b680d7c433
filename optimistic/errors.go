package optimistic

import (
	"errors"
	"fmt"
)

var (
	// ErrConflict says that the item is not as it was loaded. Nothing was written. Load it, or take it from the
	// *ConflictError, and save again. Update does that by itself.
	ErrConflict = errors.New("optimistic: the item has been changed by another client")

	// ErrNotFound says that the item does not exist.
	ErrNotFound = errors.New("optimistic: no such item")

	// ErrUnknown says that a write may have been made, or may yet be. Load the item to see, or repeat an Update
	// with its WithToken. It wraps the last error.
	ErrUnknown = errors.New("optimistic: it is not known whether the write was made")
)

// ConflictError has the item that refused the write. It matches [ErrConflict].
type ConflictError struct {
	// Current is the item as it was when the write was refused. It can be changed and saved. Nil if it does not
	// exist any more.
	Current *Item

	key      string
	expected string
}

func (e *ConflictError) Error() string {
	found := "it is not there"
	if e.Current != nil {
		found = "it has " + e.Current.state()
	}
	return fmt.Sprintf("%v: %s: saved on %s, and %s", ErrConflict, e.key, e.expected, found)
}

// Unwrap returns [ErrConflict].
func (e *ConflictError) Unwrap() error { return ErrConflict }

// MalformedError says that an item's version or tokens were not written by this package. The item is left
// alone. Repair the attribute, or remove both.
type MalformedError struct {
	Table     string
	Key       string // as "id=order-7, line=3"
	Attribute string
	Problem   string // what is there, and what is needed
}

func (e *MalformedError) Error() string {
	return fmt.Sprintf("optimistic: item %s of table %q: attribute %q: %s", e.Key, e.Table, e.Attribute, e.Problem)
}
