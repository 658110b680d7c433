// Package rows holds the rows of one queue: a row for each ticket
// whose owner waits, in the order of tickets.
//
//	pk = <entity>   sk = <reason>/<ticket in 38 digits>
//
// It promises order: a waiter that looks sees every live row ahead of its own,
// on every page, by a consistent read, and stands back for it. It promises no
// exclusion: being first in a read is a reason to try CLAIM (package serving),
// and nothing more, since a ticket taken earlier may land later.
//
// Who is authoritative: the record for who is served and for the floor, at or
// below which rows count for nothing; a row for whether its ticket still waits.
//
//	TAKE ──► Enqueue ──► waiting ──► CLAIM granted ──► Leave
//	            ▲           │ ▲ Heartbeat
//	            └───────────┴─┘
//	            swept while it stalled
//
//	| failure                        | what comes of it                            |
//	|--------------------------------|---------------------------------------------|
//	| answer of Enqueue lost         | sent again; its own row is success          |
//	| late Enqueue                   | harmless: the record decides; swept later   |
//	| owner dies                     | swept by whoever sees the lease ended       |
//	| owner stalls and is swept      | its heartbeat says so; it enqueues again    |
//	| owner stalls and is overtaken  | Overtaken: it takes a new ticket            |
//	| the row delete is lost         | the row is below the floor, and is swept    |
//	| a row of some other program    | waited for, and swept, like a dead one      |
//
// Rows carry the table's TTL attribute as well, an hour after the end of their
// lease: it removes what nobody ever comes to sweep, days late, and nothing
// depends on it.
package rows
