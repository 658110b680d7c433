package queue

import "github.com/queuelock/queuelock/clause"

// Read returns the holder with what the record says of its entry.
func (h Holder) Read(claimed, numbered bool) Holder {
	h.claimed, h.numbered = claimed, numbered
	return h
}

// Read returns the waiter as its row was read from an item.
func (w Waiter) Read(item clause.Item) Waiter {
	w.raw = item
	return w
}

// Padded returns the digits in the sort key of an item.
func (q Items) Padded(item clause.Item) (string, bool) { return q.padded(item) }
