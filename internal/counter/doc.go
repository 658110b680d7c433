// Package counter issues ticket numbers by atomic increments of a counter in one
// item.
//
// # Promises
//
// No two callers get the same number, and a later increment gives a higher one.
// The counter is never reset, never expires, and is never read and then written.
//
// # Does not promise
//
// Numbers may stay unused: an increment whose answer was lost burns one. Package
// serving decides the order in which tickets are served.
//
//	            Take, the item is there: +1
//	                 ┌──────────┐
//	                 ▼          │
//	(no item) ──► counter ──────┘
//	        Seed: 1
//
//	| failure                         | outcome                                   |
//	|---------------------------------|-------------------------------------------|
//	| the item is missing             | seeded with ticket 1                      |
//	| another client seeded it first  | ErrSeeded: take again                     |
//	| the answer is lost              | a number may be burnt; see MayHaveTaken   |
//	| the item is not a counter       | *table.MalformedError; nothing is written |
//	| the counter is at 10^38-1       | ticket.ErrExhausted; nothing is written   |
//
// # Neighbours
//
// Package serving adds its own attributes to the increment, so that taking a
// number and being served at once are one request. Package ticket holds the
// numbers.
package counter
