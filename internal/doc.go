// Package internal lists the packages below it: the parts of the library, those that the public packages call
// first, and then its command, its tests and its tools.
//
//	oncecall    is how package once reaches the facade
//	multilock   acquires several locks, all or none
//	play        drives members: it sends what they ask for, and lets the callers rest that want or have a lock
//	member      is one client in one queue as one pure machine: its callers, their rows, and the lock that they hold
//	machine     is what becomes of one ticket: the machines of a wait, its row, a held lock, a transaction
//	listing     scans a table for its queues
//	handover    says when a turn has ended: bells
//	requests    sends the requests of the record and the rows of a queue
//	counter     sends the requests of a ticket.Master
//	itemkey     names the items that carry locks
//	table       sends the requests
//	notify      reports events to the Logger and the Observer, which it keeps from delaying the library
//	callback    calls the caller's functions
//	group       counts what is under way
//	retry       repeats requests, and lets one outlive its caller
//	load        says how many holders a record sustains
//	attr        names the attributes of records and rows
//	planted     leaves conditions out of writes, for tests that see such mistakes found
//	random      draws random numbers
//	quote       quotes text of other writers
//	child       starts processes that end with their parent: workers of the demo, of tests and of benchmarks
//	embedded    is a DynamoDB in memory
//	testbed     tests the library
//	workload    is what the demo, the benchmarks and the chaos run do with locks: workers, their turns, scenarios
//	tools       has the scripts and commands of the Makefile: lint, api, cross, fuzz, measure, nightly
package internal
