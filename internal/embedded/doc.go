// Package embedded is a DynamoDB table in memory: an http.Handler that speaks
// DynamoDB's JSON 1.0 protocol, for tests, trials and simulation.
//
// It is never a production store: nothing is durable, nothing is
// authenticated, and everything is gone with the process.
//
// # What it promises
//
//   - Every request is atomic and takes effect in one total order: one mutex
//     guards the engine, and it is held for a computation, never for a wait.
//   - Conditions, updates, projections, number arithmetic, capacity units and
//     refusals follow DynamoDB, whose documentation is authoritative; where a
//     rule is not documented, AWS's own DynamoDB Local decided.
//   - It starts no goroutine, sleeps never and keeps no timer. Time is what
//     Config.Now says, so it may run inside a testing/synctest bubble.
//   - No request makes it panic, and none gets an answer with status 500.
//
// # What it does not
//
//   - Secondary indexes, streams, backups, tags, PartiQL and the parameters from
//     before expressions (Expected, KeyConditions, AttributesToGet, …) are
//     refused with a ValidationException or UnknownOperationException.
//   - An eventually consistent read is never stale; it only costs half.
//   - Nothing is ever throttled, and no transaction conflicts with another.
//     Such faults are wrapped around this handler, not built into it.
//   - Signatures are not checked.
//   - A table changes its time to live at once and as often as asked, is created
//     and deleted at once, and counts its items exactly.
//
// # Where the engines disagree
//
// DynamoDB Local was not followed where DynamoDB itself is known to differ from
// it. An update that only removes does not create its item. UPDATED_OLD and
// UPDATED_NEW give the part of a document that an update touched, not the whole
// attribute. An empty string is a value. A read that finds nothing costs a
// unit. What a transaction finds wrong with a key or an item cancels it.
//
// # Refusals
//
//	what is wrong                                error
//	the body is no JSON, or of the wrong shape   SerializationException
//	the operation is not one of those here       UnknownOperationException
//	a parameter, expression or value             ValidationException
//	the table is missing                         ResourceNotFoundException
//	the table exists already                     ResourceInUseException
//	a condition does not hold                    ConditionalCheckFailedException
//	the same, inside a transaction               TransactionCanceledException
//	a token comes again with another request     IdempotentParameterMismatchException
package embedded
