// Package demo lets processes take turns at one lock, kills one of them in the
// middle of its turn, and judges from their own records whether the lock did
// what it promises.
//
// It promises that nothing is assumed: each worker is a process of its own,
// with the real library and real sockets, and reports over a pipe what it did
// and when. The parent only assembles the reports and judges them.
//
//	parent                              worker (one process each)
//	──────                              ───────────────────────────
//	starts it, sends an Assignment ───► ready
//	says go                        ───► asked, took, queued, renewed, granted,
//	                               ◄─── ended, released, … done
//	SIGKILL at the victim's granted,
//	and a new process for its rest
//
// # Time
//
// All instants are of one clock of the host (CLOCK_MONOTONIC on Linux), which
// is the same in every process. Each is read on the side of the event that
// makes the judgement strict or, where a strict one could accuse the innocent,
// sound:
//
//	a turn begins    after Acquire has returned
//	a turn ends      before Release is called; a killed worker's when it was
//	                 waited for, and so surely gone
//	a newcomer came  before the request that took its number was sent
//	a row stands     from after the request that put it was answered, until its
//	                 lease would have ended, counted from before the last
//	                 confirmed renewal was sent
//
// # What is judged
//
//	overlap      two turns that intersect
//	inversion    a turn of a newcomer that began before that of a worker that
//	             lived and waited with its row in the table, and its ticket
//	             not passed yet, before the newcomer took its number
//	regression   a turn whose ticket is not greater than that of the turn before
//	unfinished   a turn whose end nobody reported, in a process that did not die
//
// What it does not promise: that a lock which passes is correct. It is a
// demonstration; the properties are tested elsewhere.
package demo
