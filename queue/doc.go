// Package queue has the types that show a queue: the holders of a lock, and the
// waiters behind them in the order of their tickets.
//
// Client.Inspect of package queuelock returns a [State]. It is what one consistent read of
// the table showed, and all its parts are of the same instant.
// Progress, *NotAcquiredError and *EvictError of that package show single holders.
//
// A State may be out of date when it is returned. Do not use it to guard a write:
// Lock.Condition and Lock.Transact do that. Expired holders and waiters are listed until a
// client removes them. A row that another program wrote is listed with its Problem.
package queue
