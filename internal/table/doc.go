// Package table is what every package that talks to DynamoDB shares: the
// names of keys and attributes, the five calls the library makes, and one
// place where each call is bounded, timed and translated.
//
// It promises that
//
//   - no call outlives its bound: each carries a time-out of its own, beside
//     the caller's context (a black-holed connection otherwise hangs for as
//     long as the operating system likes);
//   - every answer, also a refusal, feeds the estimate of DynamoDB's clock
//     (package dbclock);
//   - a refused condition comes back as *Refused, which has the item that
//     refused it, or reads it where an older engine does not send it;
//   - an error says whether the request may have been applied all the same
//     (Applied), whether trying again can help (Transient), and, where the
//     table itself is the cause, what was found and what is needed
//     (*SchemaError).
//
// It does not retry, beyond what the caller's SDK client does, and it knows
// nothing of tickets, records or rows: those are packages ticket, serving and
// queue.
package table
