// Package requests sends the requests of one queue: the writes of the serving record and of the rows, which package
// queue describes, and the reads of both.
//
// Each function sends one request unless its documentation says otherwise. A write of the record returns it as it is
// afterwards (not after [SendBlind]), or as it refused the write and [ErrRefused], [ErrLost] or [ErrMade]. After any
// other error it may have been applied, or may yet be. test/docs/testdata/writes.md has the conditions of each write.
//
// A consistent look shows every live row ahead of the caller's own, on every page. To be first in a look is a reason to
// try CLAIM and no more, because a ticket that was taken earlier may put its row later.
//
//	| failure                       | outcome                                      |
//	|-------------------------------|----------------------------------------------|
//	| answer of TAKE lost           | tried again with a new id; any id counts     |
//	| answer of CLAIM lost          | found by id in the record, or claimed again  |
//	| late TAKE or CLAIM            | at worst an orphaned entry; its lease ends it|
//	| answer of HEARTBEAT lost      | sent again; two beats do no harm             |
//	| answer of RELEASE lost        | each form is refused; the mark shows it      |
//	| holder crashes                | EVICT by a client that sees its lease ended  |
//	| EVICT of a live holder        | refused: the beat has changed                |
//	| answer of ENQUEUE lost        | sent again; the caller's own row is success  |
//	| late ENQUEUE                  | harmless: the record decides; swept later    |
//	| waiter crashes                | swept by a client that sees the lease ended  |
//	| waiter pauses and is swept    | its heartbeat fails; it enqueues again       |
//	| waiter pauses, is overtaken   | it takes a new ticket                        |
//	| the row delete is lost        | the row is below the floor, and is swept     |
//	| a row of another program      | waited for and swept, like an expired one    |
//
// It decides nothing: what a record means for a ticket is said by package queue.
package requests
