// Package turns holds what worker processes report of their turns at locks, and
// judges whether the locks did what they promise. The command "queuelock demo"
// (cmd/queuelock/internal/demo) and "make chaos" (test/chaos) share it. The package crew
// starts the processes.
//
//	worker process ── Record (a line of JSON) ──► Track ── Turn ──► Judge ── Verdict
//
// # Time
//
// All instants are of one clock of the host (CLOCK_MONOTONIC on Linux), which all
// processes share and which continues while a process is stopped. Each instant is
// read on the side of its event that cannot accuse a correct lock:
//
//	a turn is asked for      before Acquire is called
//	a number is taken        before its request is sent
//	a row is present         from after the answer to its PutItem, until a lease
//	                         after its last confirmed renewal was sent
//	a turn is granted        after Acquire has returned
//	a turn is held           from when the lock was first asked and said that it
//	                         is held, to when it last said so
//	a turn ends              before Release is called
//	a process is gone        after it was waited for
//
// # Checks
//
//	overlap      two turns of which each is held while the other is
//	inversion    a turn of a newcomer, granted before that of a live worker whose
//	             row was present, and its ticket not passed yet, before the
//	             newcomer took its number
//	regression   a turn whose ticket is not greater than that of the turn before
//	unfinished   a turn without an end, of a process that did not die
//	recovery     how long after the kill of a holder the next turn is granted
//
// A verdict without problems does not show that a lock is correct.
package turns
