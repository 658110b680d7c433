// Package heartbeat has the terms of a lease. It renews one and reports its loss, and it says when the lease of another
// has ended. Users of locks do not need it: package queuelock runs a heartbeat for each lock.
//
// # What it promises
//
// A [Keeper] renews once in each interval, and soon again after a failure. It has at most one renewal under way, those
// of Extend included. A timer reports the loss at the local deadline, even while a renewal hangs.
//
// # What it does not promise
//
// It does not promise that the process runs. A process that was paused past its deadline learns of the loss with its
// next call of Check. Only a fencing token guards what it does before that call.
//
// # Who is authoritative
//
// The store of the lease is. The deadline counts from before the last confirmed renewal was sent, on the monotonic
// clock, less a margin. Other clients count from later, so the owner knows of the loss first.
//
// # Failures
//
// The cause of a loss is Evicted if the store says that another client removed the lease. Otherwise the deadline
// passed: after renewals had failed or hung (Unreachable), or without a failure, as in a paused process or without an
// Interval (Expired). A lease without an end (Config.Endless) has no deadline. Only an eviction ends it.
//
// # The lease of another
//
// A lease that an [Observer] sees has ended by the first of two rules that says so. Each is sound alone:
//
//   - By the clock: DynamoDB's clock ([Clock]) has passed its end, by the earliest time it can be, and its dates have
//     not contradicted each other for the length of the lease.
//   - By observation: neither its beat nor its end has changed for its full length on the observer's monotonic clock,
//     counted from after the read that first showed them. The owner counts from before the write that set them, so it
//     learns of the end first.
//
// The second rule makes a new observer wait for up to one length. It is the only one with an engine that sends no
// dates, and with Config.ObserveExpiry of the facade. By both rules the queue stays closed for a lock delay after the
// lease; the owner's own deadline does not change.
//
// A judgement is no permission to remove anything. The client that removes an entry or a row asks in the same write for
// the beat that it judged.
package heartbeat
