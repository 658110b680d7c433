// Package serving sends the writes of the serving record, which package queue describes, and reads the record.
//
// Each function sends one request. A write returns the record as it is afterwards (not after [SendBlind]), or the
// record that refused it and [ErrRefused], [ErrLost] or [ErrMade]. After any other error it may have been applied, or may
// yet be. test/docs/testdata/writes.md has the conditions of each write.
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
//
// It decides nothing: what a record means for a ticket is said by package queue.
package serving
