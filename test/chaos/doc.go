// Package chaos runs worker processes that take turns at locks, through a real
// engine and real sockets, while it kills and stops them, breaks their connections
// and kills the engine. Then it judges from their records and from the table
// whether the locks did what they promise. It is test apparatus: "make chaos" runs
// it, and no package of the library imports it.
//
//	worker processes ─► proxy ─► dynoxide on its database file
//	    │ records                          ▲
//	    ▼                                  │ what is left, and the ledgers
//	   run: Plan ─► strikes                │
//	    └── History ───────────────────► Judge ─► Verdict
//
// "make chaos-local" has "queuelock local --file" for its engine, which is killed and
// started again while nothing else is broken.
//
// Its neighbours in testbed are crew (the processes), turns (their records and the
// judge of grants), fault and faultnet (what happens to requests). Its own parts
// are worker (one process), ledger (what turns write), and cmd (the command).
//
// # Checks
//
//	overlap         a lock said that it is held, after a later holder's had said so
//	lost update     two turns that wrote the same number, or a number too few
//	regression      a token that is not greater than the one before
//	inversion       a newcomer that was served before a waiter, where the engine alone is
//	                killed: a client that fails may lose its place
//	missing         a turn whose write was confirmed, and is not there
//	phantom         a turn whose write was refused, and is there
//	doubled         a transaction that was made twice
//	believer        a holder that was stopped for longer than its lease, and whose
//	                lock said afterwards, even once, that it is held
//	stale accepted  a write under the fence of a lost or released lock that was made
//	                after a later grant, also in the same block
//	slow            a killed holder that was replaced later than its lease and 1.5 s
//	                after the kill, if no other fault touched the lock meanwhile
//	stuck           no grant for 25 s while a worker waits
//	orphan          a holder, or a row, that a newcomer cannot clean up within a
//	                lease and 1.5 s once all workers have left
//	unexplained     an error that no fault explains; a worker that does not end
//	                cleanly at SIGTERM; a process or a port that is left
//
// A lock is held at the instant before it was asked, if it says so. A process is
// stopped from when all of its threads were seen to be, until before SIGCONT is
// sent.
//
// # Limits
//
// A run without problems does not show that a lock is correct. A seed does not
// repeat a run: it decides what is done when, and what happens to the n-th request,
// but not which request that is, nor which worker is served then. Power does not
// fail: a SIGKILL of the engine loses nothing that it has written.
package chaos
