// Package chaos has real processes take turns at locks, through a real engine
// and real sockets, while it kills and stops them, breaks their connections,
// and kills the engine; then it judges from their records and from what stands
// in the table whether the lock did what it promises.
//
//	worker processes ─► faultproxy ─► dynoxide on its database file
//	    │ records                          ▲
//	    ▼                                  │ what is left, and the ledgers
//	   run: Plan ─► strikes                │
//	    └── History ───────────────────► Judge ─► Report
//
// # What is judged
//
//	overlap         a lock that said it is held, after a later holder's had said so
//	lost update     two turns that wrote the same number, or a number too few
//	regression      a token that is not greater than the one before
//	missing         a turn whose write was answered for, and is not there
//	phantom         a turn whose write was refused, and is there
//	doubled         a transaction that was made twice
//	believer        a holder that was stopped for longer than its lease, and whose
//	                lock said afterwards, even once, that it is held
//	stale accepted  a write under the fence of a lost lock that was made after a
//	                later grant
//	slow            a killed holder that was replaced later than its lease and 1.5 s
//	                after the kill, if no other fault touched the lock meanwhile
//	stuck           nobody served for 25 s while somebody waits
//	ghost           a holder, or a row, that a newcomer cannot clean up within a
//	                lease and 1.5 s once everybody has left
//	unexplained     an error that no fault explains; a worker that does not end
//	                cleanly at SIGTERM; a process or a port that is left
//
// All instants are of one clock of the host, which goes on while a process is
// stopped. Each is read on the side that cannot accuse the innocent: a lock is
// held at the instant before it was asked, if it says so; a process stands
// still from when all of its threads were seen to, to before it is told to go
// on.
//
// # What it does not promise
//
// That a lock that passes is correct. That a seed repeats a run: it decides
// what is done when, and what becomes of the n-th request, but not which
// request that is, nor who is served then. That power may fail: a SIGKILL of
// the engine loses nothing that it has written.
package chaos
