// Package worker is one process of a chaos run: it takes turns at locks, writes
// each turn into a ledger, and reports what it did and saw. It is test apparatus;
// the command of "make chaos" runs it.
//
// A transaction is reported before it is sent, and so is each answer of the lock to
// "is it still held?" that matters. A process that is killed leaves whole lines.
//
//	asked ─► granted ─► writing ─► wrote ─► ended ─► released
//	     └─► denied         (again, stale, if the lock says that it is lost)
//
// Several goroutines of the process, its callers, ask at a time, most of them for the
// same lock, so that they wait in blocks. Each record has the number of its caller.
//
// A turn reads the ledger, works for a while and asks the lock every few
// milliseconds whether it is still held, then writes by Lock.Transact. Some turns do
// not write, so that the next turn of the block begins without a request. Some write
// with Lock.Condition after their release, which the fence must refuse in a later turn,
// also of the same block. If the lock
// says that it is lost, the turn ends early, and its write is sent all the same
// with Lock.Condition, as a program that does not ask would send it. The fence must
// refuse that write after a later grant.
package worker
