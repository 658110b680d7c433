// Package crew starts worker processes, follows what they report, and ends them.
// It is for "queuelock demo" (cmd/queuelock/internal/demo), "make chaos" (test/chaos) and
// the benchmark beside other locks (the module bench), whose workers answer requests
// instead. The package turns has the records and judges them.
//
//	supervisor (Crew, child.Piped)      worker process (Post)
//	──────────────────────────────      ─────────────────────
//	Start: an assignment ─────────────► Read
//	                     ◄───────────── Report: ready, asked, granted, ended, … done
//	Send, Tell           ─────────────► Read
//	                     ◄───────────── Write
//	Signal, Kill, or the end of the pipe, which ends the worker too
//
// Both ends are lines of JSON on pipes. A worker does not outlive its supervisor,
// even one that dies by SIGKILL (see package child).
package crew
