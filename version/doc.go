// Package version provides optimistic locking. An item is changed without a lock, and
// saved only if no other client has changed it since it was loaded.
//
// Each save writes the whole item with a version one higher, on the condition that it
// still has the version with which it was loaded. Otherwise nothing is written, and the
// error is a [*ConflictError] with the present item. [Table.Update] loads, changes and
// saves an item, again after a conflict.
//
//	           Load              change              Save
//	(key) ──────────► version v ────────► (memory) ─────────► version v+1
//	  ▲                                                 │ it is not v any more
//	  └──────────── Update: a pause, and again ◄────────┘ ErrConflict
//
// Items are the caller's own, in a table with any key: a partition key, with or without
// a sort key, of type S, N or B. There is no lock table and no state in the process.
//
// # This, or a lock
//
// Optimistic locking suits short changes of one item, or of a few (see
// [Table.SaveItem]), that seldom meet and have no effects outside DynamoDB. No client
// waits, and a crash leaves nothing behind. A lock of package queuelock suits the rest:
//
//	| take the lock when                    | because here                                   |
//	|---------------------------------------|------------------------------------------------|
//	| the change has effects outside        | a change runs again after each conflict: a     |
//	| DynamoDB: a payment, a mail, a file   | card would be charged twice                    |
//	| the work is long                      | all of it is lost if it ends in a conflict     |
//	| many change one item at a time        | N at a time cost up to N²/2 rounds, and any    |
//	|                                       | of them may win each                           |
//	| clients are to be served in order     | there is no order                              |
//	| items cannot all be written at once   | each save is independent                       |
//
// # What it promises
//
// A save that returned nil was made once, on the item as it was loaded. No update of a
// client of this package is lost. After [ErrConflict] the write is not in the item, and
// no late copy of it can get there. An error that matches [ErrUnknown] leaves open
// whether the write was made, and after any other error it was not.
//
// Each write leaves a token in the item, beside those of the 15 writes before it. A
// repeated write that is refused finds its token there if it was made. After more than
// 15 later writes the outcome is unknown. With [WithToken] the caller chooses the
// token, and an Update that is repeated with it, even by another process, is made once.
//
// An item that was deleted and created again starts with version 1, but has other
// tokens. The condition names the tokens as well as the version, so a save of what was
// loaded before is a conflict.
//
// # What it does not promise
//
// Writers that do not change the version are not seen: their writes are overwritten. So
// are writes in another region's replica of a global table at the same time. An item
// without a version counts as version 0, and is saved if it still has none.
//
// A create that arrives late, after another client has deleted the item, brings the
// item back. Where that matters, mark items as deleted and let the table's TTL remove
// them after a day. A save whose answer was lost, and whose item was deleted before it
// was repeated, has an unknown outcome.
//
// There is no fairness, and an Update among many may fail.
//
// # Requests
//
// These are the requests for items of up to 1 KB, without failures. A refused write
// costs as much as one that is made. The two attributes add up to 260 bytes to an item,
// and up to 700 with long tokens of the caller's.
//
//	| call            | requests      | write units     | read units      |
//	|-----------------|---------------|-----------------|-----------------|
//	| Load            | 1             | 0               | 1               |
//	| Save, Delete    | 1             | 1               | 0               |
//	| Update          | 2             | 1               | 1               |
//	| each conflict   | 2 more        | 1 more          | 1 more          |
//	| SaveItem, …     | 0; its part in a transaction is 2 write units   |
//
// A refusal without the item, by an engine older than 2023 or of a deleted item, costs
// one read more. This package repeats transient failures up to [Config.Tries] times,
// and turns the retries of the SDK client off. No proxy may repeat requests either,
// because only the repeater knows what a refusal means.
package version
