// Package testbed documents the packages below it, which test the library. It has no code.
// They import no other modules than the library does: what needs more, and the largest of
// what tests the library, is in the module test. No package of the library imports any of
// them, but for the public package queuelocktest. The command imports none.
//
//	fault        what can happen to a request: kinds, mixes, fates, refusals
//	faultnet     plays fates in memory: for queuelocktest and test/sim
//	audit        an engine under watch: judges every change of the table
//	transition   judges that a write of package queue describes each change of the table
//	bells        carries bells in memory
//	conditions   why each condition of each write is there
//	story        the words in which search and test/sim print what happens to a queue
//	search       all interleavings of members, within bounds ("make spec")
//	engines      the DynamoDB engines that test suites run on
//	locktest     what the tests share
//	writetest    compares writes of package clause with what a table does
//	docpages     reads the pages, and writes what is generated in them
//	plant        mistakes in the source, which tests must find
//	av           items and attribute values in few words
package testbed
