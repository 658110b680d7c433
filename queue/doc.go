// Package queue has the names of the attributes in the record and the rows of a queue, the lease of either, and the types
// that show a queue: the holders of a lock, and the waiters behind them in the order of their tickets. It is pure: it
// sends nothing and has no clock. Internal packages decode, order and write the items: serving the record, rows the rows.
//
// Viewer.Inspect of package queuelock returns a [State]: what one consistent Query showed. A queue of more than a megabyte
// and the lock of an item need further reads, and Viewer.Queues shows each queue as its scan read it.
// Progress and *NotAcquiredError of that package, and *sweeper.EvictError, show single holders.
//
// A State may be out of date when it is returned. Do not use it to guard a write:
// Lock.Condition and Lock.Transact do that. Expired holders and waiters are listed until a
// client removes them. A row that another program wrote is listed with its Problem.
package queue
