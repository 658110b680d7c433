// Package conformance holds one suite of what queuelock relies on in DynamoDB, run against every engine of
// internal/testbed/engines. It is test apparatus, and has no code outside its tests.
//
// # What it promises
//
// Every behaviour of DynamoDB that the lock protocol, the library's error handling or the embedded engine depends on is
// one named subtest that states it as a property, in a file for its topic. Those of transactions whose items become
// visible one by one run on the embedded engine alone. The lock's own writes are sent to each engine by TestEngines of
// internal/testbed/conditions and internal/testbed/search.
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
