// Package demo is the command "queuelock demo": worker processes take turns at one
// lock, one of them is killed while it holds the lock, and the records of all
// show whether the lock did what it promises. It is a demonstration and no test.
//
// Each worker is a process of its own, with the real library and real sockets. It
// reports what it did and when over a pipe; the parent judges the reports. The
// package testbed/crew runs the processes, and testbed/turns has the records, the
// clock and the judge.
//
//	parent                              worker (one process each)
//	──────                              ─────────────────────────
//	starts it, sends an Assignment ───► ready
//	says go                        ───► asked, took, queued, renewed, granted,
//	                               ◄─── ended, released, … done
//	SIGKILL at the victim's granted,
//	and a new process for its rest
package demo
