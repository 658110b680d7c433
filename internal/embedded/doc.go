// Package embedded is a DynamoDB table in memory: an http.Handler that speaks
// DynamoDB's JSON 1.0 protocol, for tests, trials and simulation.
//
// It is never a production store: nothing is authenticated, and everything is
// gone with the process, unless Config.Journal keeps it.
//
// # What it promises
//
//   - Every request takes effect in one total order: one mutex guards the
//     engine, and it is held for a computation, never for a wait. All requests
//     are atomic, except for transactions that are split: see below.
//   - Conditions, updates, projections, number arithmetic, capacity units and
//     refusals follow DynamoDB, whose documentation is authoritative; where a
//     rule is not documented, AWS's own DynamoDB Local decided.
//   - It starts no goroutine, and only the answer to a split transaction waits,
//     and with a Journal each answer, until what it depends on is kept.
//     Time is what Config.Now says, and for split transactions what package time
//     says, so it may run inside a testing/synctest bubble.
//   - No request makes it panic. The only answers with status 500 are that to a
//     split transaction whose sender has gone away, and those that a Journal could
//     not keep.
//
// # What it does not
//
//   - Secondary indexes, streams, backups, tags, PartiQL and the parameters from
//     before expressions (Expected, KeyConditions, AttributesToGet, …) are
//     refused with a ValidationException or UnknownOperationException that names
//     them. The package documentation of queuelocktest has the whole list.
//   - An eventually consistent read is never stale; it only costs half.
//   - Nothing is ever throttled, and no transaction conflicts with another
//     unless one of them is split. Such faults are wrapped around this handler,
//     not built into it.
//   - Signatures are not checked.
//   - A table changes its time to live at once and as often as asked, is created
//     and deleted at once, and counts its items exactly.
//
// # Split transactions
//
// DynamoDB's transactions are serializable, but not strictly serializable: each
// item commits separately, and only the sender learns, from the answer, that all
// are visible. Config.Split and WithSplit make this engine do the same. All
// conditions are checked and all items locked at once; from then on the
// transaction cannot fail, whether or not its sender waits. Until its time has
// come, an item, also one that is only checked,
//
//	GetItem, Query, Scan, BatchGetItem   is read as it was, also consistently
//	PutItem, UpdateItem, DeleteItem      refuses: TransactionConflictException
//	BatchWriteItem                       is left unprocessed
//	TransactWriteItems, TransactGetItems cancels with the reason TransactionConflict
//
// and the transaction's token gives TransactionInProgressException. Sources:
// docs.aws.amazon.com/amazondynamodb/latest/developerguide/transaction-apis.html,
// sections "Isolation levels" and "Transaction conflict handling", and Listing 4
// of "Distributed Transactions at Scale in Amazon DynamoDB" (USENIX ATC 2023).
// DynamoDB documents no conflict for BatchWriteItem; this engine's is a choice.
//
// # Where the engines disagree
//
// DynamoDB Local was not followed where DynamoDB itself is known to differ from
// it. An update that only removes does not create its item, and its paths may
// lead nowhere. UPDATED_OLD and UPDATED_NEW give the part of a document that an
// update touched, not the whole attribute. An empty string is a value. A read
// that finds nothing costs a unit. What a transaction finds wrong with a key or
// an item cancels it, except for an empty key value, which refuses the request.
//
// # Refusals
//
//	what is wrong                                error
//	the body is no JSON, or of the wrong shape   SerializationException
//	the body is above 16 MB                      the same, with status 413
//	the operation is not one of those here       UnknownOperationException
//	a parameter, expression or value             ValidationException
//	the table is missing                         ResourceNotFoundException
//	the table exists already                     ResourceInUseException
//	a condition does not hold                    ConditionalCheckFailedException
//	the same, inside a transaction               TransactionCanceledException
//	a token comes again with another request     IdempotentParameterMismatchException
//	a token comes again during its commit        TransactionInProgressException
//	a transaction holds the item                 TransactionConflictException
package embedded
