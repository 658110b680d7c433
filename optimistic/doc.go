// Package optimistic provides optimistic locking. An item is changed without a lock, and saved only if no other
// client has changed it since it was loaded.
//
// Each save writes the whole item with a version one higher, on the condition that it still has the version
// with which it was loaded. Otherwise nothing is written, and the error is a [*ConflictError] with the present
// item. [Table.Update] loads, changes and saves an item, again after a conflict.
//
//	           Load              change              Save
//	(key) ──────────► version v ────────► (memory) ─────────► version v+1
//	  ▲                                                 │ it is not v any more
//	  └──────────── Update: a pause, and again ◄────────┘ ErrConflict
//
// Items are the caller's own, in a table with any key of types S, N or B. There is no lock table and no state
// in the process.
//
// # This, or a lock
//
// Optimistic locking suits short changes of one item, or of a few (see [Table.SaveItem]), that seldom meet. No
// client waits, and a crash leaves nothing behind. A lock of package queuelock suits the rest:
//
//	| take the lock when                                              | because here                             |
//	|-----------------------------------------------------------------|------------------------------------------|
//	| the change has effects outside DynamoDB, such as a payment      | it runs again after each conflict        |
//	| the work is long                                                | it is lost if it ends in a conflict      |
//	| many change one item at a time                                  | N at a time cost up to N²/2 rounds       |
//	| clients are to be served in order                               | there is no order and no fairness        |
//	| items cannot all be written at once                             | each save is independent                 |
//
// # What it promises
//
// A save that returned nil was made once, on the item as it was loaded. No update of a client of this package
// is lost. After [ErrConflict] the write is not in the item, and no late copy of it can get there. An error
// that matches [ErrUnknown] leaves open whether the write was made, and after any other error it was not.
//
// Each write leaves a token in the item, beside those of the 15 writes before it. A repeated write that is
// refused finds its token there if it was made. After more than 15 later writes the outcome is unknown. With
// [WithToken] the caller chooses the token, and an Update that is repeated with it, even by another process, is
// made once.
//
// An item that was deleted and created again starts with version 1, but has other tokens, unless its creator was
// repeated with [WithToken]. The condition names them too, so a save of what was loaded before is a conflict.
//
// # What it does not promise
//
// Writers that do not change the version are not seen: their writes are overwritten. So are writes in another
// region's replica of a global table at the same time. An item without a version counts as version 0, and is
// saved if it still has none.
//
// A create that arrives late, after another client has deleted the item, brings the item back, even if it was
// reported as a conflict, and may repeat one that was made. What was loaded as version 1 is then taken for the
// new item. Where that matters, mark items as deleted and let the table's TTL remove them after a day. A save
// whose answer was lost has an unknown outcome if its item was deleted before it was repeated, or if it was to
// create an item that another client has created. An outcome is that of one call: if a call with [WithToken] is
// repeated after a deletion or 16 writes, nothing shows that an earlier one was made.
//
// # Requests
//
// For items of up to 1 KB, Load is one read unit, Save and Delete are one write unit each, and Update is both,
// for each attempt again. A refused write costs as much as one that is made. A part of a transaction is two
// write units. The attributes add up to 260 bytes to an item, and up to 700 with long tokens of the caller's.
//
// After a request that DynamoDB finds invalid, the table is described if the client can: the key may be another.
// The engine must return the item of a refusal, as DynamoDB does since June 2023: a refusal without one means that
// there is none. This package repeats transient failures up to [Config.Tries] times, and turns the retries of the
// SDK client off. No proxy may repeat requests either, because only the repeater knows what a refusal means.
package optimistic
