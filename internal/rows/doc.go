// Package rows reads and writes the rows of one queue: a row for each waiting ticket,
// in the order of tickets.
//
//	pk = <entity>   sk = <reason>/<ticket in 38 digits>
//
// # Promises
//
// Order: a consistent look shows every live row ahead of the caller's own, on every
// page, and the caller waits for them.
//
// # Does not promise
//
// Exclusion. To be first in a look is a reason to try CLAIM (package serving), because
// a ticket that was taken earlier may put its row later. Only the holder with the ticket
// before may grant the lock to a row (Row.Named).
//
// # Authority
//
// The serving record decides which tickets are served, and has the floor at or below
// which rows do not count. A row decides whether its ticket still waits.
//
//	| failure                            | outcome                                     |
//	|------------------------------------|---------------------------------------------|
//	| answer of Enqueue lost             | sent again; the caller's own row is success |
//	| late Enqueue                       | harmless: the record decides; swept later   |
//	| owner crashes                      | swept by a client that sees the lease ended |
//	| owner pauses and is swept          | its heartbeat fails; it enqueues again      |
//	| owner pauses and is overtaken      | Overtaken: it takes a new ticket            |
//	| the row delete is lost             | the row is below the floor, and is swept    |
//	| a row of another program           | waited for and swept, like an expired one   |
//
// Each function sends one request unless its documentation says otherwise. All may be
// repeated safely.
package rows
