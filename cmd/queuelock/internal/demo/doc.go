// Package demo is the command "queuelock demo". Worker processes take turns at one lock,
// one of them is killed while it holds the lock, and the records of all show whether the
// lock kept its promises. It is a demonstration, not a test.
//
// Each worker uses the real library and real sockets. It reports its turns over a pipe, and
// the parent judges the reports. Package crew runs the processes. Package
// turns has the records, the clock and the judge.
//
//	parent                              worker (one process each)
//	──────                              ─────────────────────────
//	starts it, sends an Assignment ───► ready
//	says go                        ───► asked, took, queued, renewed, granted,
//	                               ◄─── ended, released, … done
//	SIGKILL at the victim's granted,
//	and a new process for its rest
package demo
