// Package ticket issues tickets: the [Master] is an atomic counter in one item of DynamoDB, a [Number] is what it
// issues, and a [Scope] says whose counter it is: one queue's, one entity's or the table's.
//
// A [Number] is a place in one queue and, once it is served, the fencing token of the lock: it is greater than that of
// every earlier holder, but for the cases of a restored or deleted record that docs/failures.md lists. Send it with
// each write to the protected resource, and let the resource refuse a lower number.
//
// Numbers range from 0, which is no ticket, to 10^38-1, the largest whole number that DynamoDB keeps exactly. They are
// compared with [Number.Compare]. As strings they sort in numeric order in the form of [Number.Padded]. In JSON they
// are strings, because most readers of JSON numbers lose digits after the sixteenth.
//
// The Master is plain values: the conditional write that takes a number, the one that seeds a counter which is missing,
// and what a refusal of either means. It sends nothing: internal/counter does. It decides nothing about whose turn it
// is: that is a condition of the writes in package queue. Master, [Rider], [Take], Base and Read are of the protocol
// and may change in any version. Number and Scope will not change.
package ticket
