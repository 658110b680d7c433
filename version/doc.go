// Package version is optimistic locking: an item is changed without any lock,
// and saved only if nobody else has changed it since it was loaded.
//
// Each save writes the whole item with a version one higher, on the condition
// that it still has the version it was loaded with. If not, nothing is written
// and the error is a [*ConflictError], which has the item as it now is.
// [Table.Update] is load, change and save, again after a conflict.
//
//	           Load              change              Save
//	(key) ──────────► version v ────────► (memory) ─────────► version v+1
//	  ▲                                                 │ it is not v any more
//	  └──────────── Update: a pause, and again ◄────────┘ ErrConflict
//
// It works on items of the caller's own, in a table with any key: a partition
// key, with or without a sort key, of type S, N or B. It needs no lock table and
// keeps no state in the process.
//
// # This, or a lock
//
// Optimism suits short changes of one item (or of a few, see [Table.SaveItem]),
// with nothing outside DynamoDB, that seldom meet. It costs one read and one
// write, holds up nobody, and nothing is left behind by a process that dies.
//
// A lock of package queuelock suits the rest:
//
//	| take the lock when                    | because here                                   |
//	|---------------------------------------|------------------------------------------------|
//	| the change has effects outside        | a change runs again after each conflict: a     |
//	| DynamoDB: a payment, a mail, a file   | card would be charged twice                    |
//	| the work is long                      | all of it is lost if it ends in a conflict     |
//	| many change one item at a time        | N at a time cost up to N²/2 rounds; one of     |
//	|                                       | them wins each, and which is a matter of luck  |
//	| those who came first go first         | there is no order                              |
//	| items cannot all be written at once   | each save stands by itself                     |
//
// A long change with outside effects can be made optimistic all the same: save
// a state that says "this has begun", do the work under an idempotency key, and
// save its end. The state is then a lock, kept by hand.
//
// # What it promises
//
// A save that returned nil was made, once, on the item as it was loaded: no
// update is lost, whoever else uses this package on the item. A conflict
// ([ErrConflict]) says that the write is not in the item that stands in the
// table, and that no copy of it under way can get into that item any more. Any
// other error that leaves open whether the write was made matches [ErrUnknown],
// and every other error says that it was not.
//
// An answer can be lost after its write was made, and the repeated write then
// fails on its own success. So each write leaves a token of its own in the item,
// beside those of the 15 before it: a refused write that finds its token was
// made. It is found also if others have written meanwhile, up to 15 times;
// beyond that, the outcome is unknown and said to be. With [WithToken] the token
// is the caller's: a program that was restarted, or got ErrUnknown, repeats its
// Update with the same token, and it is not made a second time.
//
// Items that were deleted and made anew start with version 1 again. A save of
// what was loaded before is refused all the same: the condition asks for the
// tokens as well as for the version, and tokens never come back. (ABA, an item
// changed and changed back, is a conflict for the same reason.)
//
// # What it does not promise
//
// Writers that go round this package are not seen unless they change the
// version: a write that leaves it alone is overwritten by a save of what was
// loaded before. So are writes made in another region's replica of a global table
// at the same time. Items that have no version yet are taken on: version 0, saved
// on the condition that they still have none.
//
// A create that was lost on its way and arrives seconds later finds its item
// absent again, if somebody deleted it in between, and brings it back. Nothing
// but the item itself can refuse that: where it matters, keep a deleted item,
// with an attribute that says so, and let the table's time to live remove it
// after a day. In the same way, a save whose answer was lost and whose item was
// deleted before it could be repeated has an unknown outcome.
//
// Fairness is not promised, nor that an Update among many ends in success.
//
// # Requests
//
// Without trouble, for items of up to 1 KB; writes are counted by the KB of the
// larger of the old item and the new, consistent reads by 4 KB. The two
// attributes add up to 260 bytes to an item, and up to 700 with long tokens of
// the caller's.
//
//	| call            | requests      | write units     | read units      |
//	|-----------------|---------------|-----------------|-----------------|
//	| Load            | 1             | 0               | 1               |
//	| Save, Delete    | 1             | 1, also refused | 0               |
//	| Update          | 2             | 1               | 1               |
//	| each conflict   | 2 more        | 1 more          | 1 more          |
//	| SaveItem, …     | 0; its part in a transaction is 2 write units   |
//
// A refused write whose answer lacks the item (engines older than 2023, and
// deleted items) is followed by one read. Requests that fail in passing are
// repeated up to [Config.Tries] times in all, by this package and not by the SDK
// client: only who repeats a write knows what a refusal of it means. A client
// in between that repeats requests in secret, such as a proxy, should be told
// not to.
package version
