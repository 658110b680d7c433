// Package conformance holds one suite of what queuelock relies on in DynamoDB, run against every engine of
// internal/testbed/engines. It is test apparatus, and has no code outside its tests.
//
// # What it promises
//
// Every behaviour of DynamoDB that the lock protocol, the library's error handling or the embedded engine depends on is
// one named subtest that states it as a property, in a file for its topic:
//
//	taking        the exact expressions of the lock protocol: TAKE, the seed, NoWait, CLAIM
//	holding       the same: HEARTBEAT, RELEASE, the hand-off, RESET, EVICT, FENCE
//	waiting       the same: ENQUEUE, a row's heartbeat and sweep, LOOK
//	conditions    the condition grammar, its functions, and what a failed condition returns
//	concurrency   of conditional writes at once on one item, exactly one wins
//	updates       the update grammar; every action reads the item as it was
//	numbers       38 digits, exactly; what happens past them
//	values        the ten types survive a round trip
//	returns       the five return values
//	queries       key conditions, order, filters, projections, pages by Limit and by 1 MB
//	scans         the same for whole tables
//	batches       BatchWriteItem
//	transactions  all or nothing, the reasons of a cancellation, idempotence by token
//	split         the same where items become visible one by one; on the embedded engine alone
//	tables        create, describe, list, delete, TTL
//	capacity      the units that each request consumes
//	wait list     a probe of a format that no version has: the record lists its waiters
//	validation    what is refused, and with which message
//	responses     the headers that the library reads
//
// The authority is DynamoDB itself. Where its documentation says so, the check names the page; elsewhere the checks hold
// what the service is known to answer. Messages are compared only in the part that distinguishes one mistake from another.
//
// # Where engines differ
//
// An engine that is known to answer otherwise has an entry in the table of known differences: engine, check, and what
// the failure says. The check still runs there, and must fail, in just that way; once it passes, the suite asks for the
// entry to be removed. The embedded engine has no entries, and may have none.
//
// # What it does not promise
//
// Anything about indexes, streams, PartiQL, legacy parameters or provisioned throughput, which queuelock does not use;
// nor that an engine which passes behaves as DynamoDB does under load, or when it fails.
package conformance
