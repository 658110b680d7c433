// Package worker is one process of a chaos run: it takes turns at locks,
// writes each turn into a ledger, and reports what it did and saw.
//
// It promises that what is done is reported: a transaction before it is sent,
// and each answer of the lock to "is it still held?" that matters. A process
// that is killed leaves whole lines. It does not judge anything.
//
//	asked ─► granted ─► writing ─► wrote ─► ended ─► released
//	     └─► denied         (again, stale, if the lock says that it is lost)
//
// A turn reads the ledger, works for a while and asks the lock every few
// milliseconds whether it is still held, then writes by Lock.Transact. Where
// the lock says that it is lost, the turn is broken off, and what a program
// that does not ask would have sent is sent all the same, with Lock.Condition:
// the fence must refuse it once somebody else was served.
package worker
