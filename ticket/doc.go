// Package ticket holds ticket numbers and the ticket master that issues them. Of
// it, users of locks need Number, the fencing token.
//
// A ticket is a place in one queue, and, once served, the fencing token of
// the lock. The ticket master is a counter in one item; a number is issued by
// one atomic increment of it, so no two processes have the same, and a later
// increment gives a higher number. That is all it promises. It does not
// promise that numbers are used: an increment whose answer was lost burns one.
// Nor that the order of increments is the order of anything that its takers do
// afterwards: whose turn it is, is decided by package serving.
//
// The counter is authoritative as it stands in the table. It is never reset,
// never expires, and is never read and then written.
//
//	            Take, the item is there: +1
//	                 ┌──────────┐
//	                 ▼          │
//	(no item) ──► counter ──────┘
//	        Seed: 1
//
//	| failure                                     | outcome                                    |
//	|---------------------------------------------|--------------------------------------------|
//	| the item is missing                         | seeded with ticket 1                       |
//	| somebody else seeded first                  | ErrSeeded: take again                      |
//	| the answer is lost                          | a number may be burnt; see MayHaveTaken    |
//	| the item is not a counter                   | *table.MalformedError; nothing is written  |
//	| the counter stands at 10^38-1               | ErrExhausted; nothing is written           |
//
// A counter may also be an item by itself, and issue the tickets of several
// queues: Next, and Raise, should it have been lost.
//
// Where the neighbours are: serving rides its own attributes on the increment,
// so that taking a number and being served at once are one request.
package ticket
