// Package rows sends the writes of the rows of a queue, which package queue describes, and looks at the queue.
//
// A consistent look shows every live row ahead of the caller's own, on every page. To be first in a look is a reason to try
// CLAIM and no more, because a ticket that was taken earlier may put its row later.
//
//	| failure                            | outcome                                     |
//	|------------------------------------|---------------------------------------------|
//	| answer of ENQUEUE lost             | sent again; the caller's own row is success |
//	| late ENQUEUE                       | harmless: the record decides; swept later   |
//	| owner crashes                      | swept by a client that sees the lease ended |
//	| owner pauses and is swept          | its heartbeat fails; it enqueues again      |
//	| owner pauses and is overtaken      | overtaken: it takes a new ticket            |
//	| the row delete is lost             | the row is below the floor, and is swept    |
//	| a row of another program           | waited for and swept, like an expired one   |
//
// Each function sends one request unless its documentation says otherwise. All may be repeated safely.
package rows
