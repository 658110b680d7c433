// Package crew starts worker processes, follows what they report, and ends them.
// It is test apparatus, for "queuelock demo" (internal/demo) and "make chaos"
// (testbed/chaos). The package turns has the records and judges them.
//
//	supervisor (Crew)                   worker process (Post)
//	─────────────────                   ─────────────────────
//	Start: an assignment ─────────────► Assignment
//	                     ◄───────────── Report: ready, asked, granted, ended, … done
//	Tell                 ─────────────► Line
//	Signal, Kill, or the end of the pipe, which ends the worker too
//
// Both ends are lines of JSON on pipes. A worker does not outlive its supervisor,
// even one that dies by SIGKILL (see package child).
package crew
