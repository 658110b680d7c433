// Package session keeps a lock that was granted: its heartbeat, its writes, and its
// release.
//
// A Session begins with a grant (Hold) and belongs to the library until it is
// delivered (Deliver) to the caller that asked for the lock. It promises that a loss
// is known here before any other client may be served, and that Err and Release
// agree: if Release has returned nil, Err does not report a loss, and if Release has
// returned a loss, Err reports it too.
//
// The table is authoritative. A session believes in its lease by the local clock, and
// takes the record's word for how the lock ended.
//
//	         lease over, evicted              Release
//	  Held ───────────────────────► Lost ───────────────► Cleared
//	  │  ▲                           ▲ │
//	  │  │ Update: refused, or no    │ │ the record shows the release
//	  ▼  │ answer                    │ ▼
//	Updating ────────────────────────┴──────────────────► Released
//	  │                                                     ▲
//	  ▼ Release (from Held)          the record shows it    │
//	Releasing ──────────────────────────────────────────────┤
//	                                                        ├► Cleared (evicted)
//	                                                        └► Unknown
//
// Errors that users see are made by package queuelock. Sessions get the error of a
// loss and of a release from their Client, and return a few types of their own
// (UnreleasedError, ReleaseError, ConditionError), which that package translates.
package session
