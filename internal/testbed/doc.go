// Package testbed documents the packages below it, which test the library: faults,
// processes, judges and simulation. It has no code. No package of the library imports
// any of them. The public package queuelocktest and the command "queuelock demo" do.
//
//	fault        what can happen to a request: kinds, mixes, fates, refusals
//	faultnet     plays fates in memory: for queuelocktest and sim
//	faultproxy   plays fates over TCP: for chaos
//	crew         worker processes: started, followed, killed; for demo, chaos and bench
//	turns        what workers report of their turns, and the judge of grants
//	audit        an engine under watch: judges every change of the table
//	transition   judges that a write of package queue describes each change of the table
//	hints        carries wake-up hints in memory
//	conditions   a story for each condition of each write, which goes wrong without it
//	story        the words in which search and sim print what happens to a queue
//	search       all interleavings of the machines of package queue, within bounds ("make spec")
//	sim          whole clusters in a synctest bubble, from a seed ("make sim")
//	chaos        real processes, sockets and an engine that fail ("make chaos")
//	engines      the DynamoDB engines that test suites run on
//	conformance  the suite that compares these engines
//	locktest     what the tests under test/ share
//	attr         items and attribute values in few words
package testbed
