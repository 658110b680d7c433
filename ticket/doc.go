// Package ticket has ticket numbers, and the [Scope] of the counter that issues
// them: one queue, one entity or the table.
//
// A [Number] is a place in one queue and, once it is served, the fencing token of
// the lock: it is greater than that of every earlier holder. Send it with each
// write to the protected resource, and let the resource refuse a lower number.
//
// Numbers range from 0, which is no ticket, to 10^38-1, the largest whole number
// that DynamoDB keeps exactly. They are compared with [Number.Compare]. As strings
// they sort in numeric order in the form of [Number.Padded]. In JSON they are
// strings, because most readers of JSON numbers lose digits after the sixteenth.
package ticket
