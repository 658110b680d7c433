// Package heartbeat renews a lease and reports its loss. Users of locks do not need
// it: package queuelock runs a heartbeat for each lock.
//
// # What it promises
//
// A [Keeper] renews once in each interval, and soon again after a failure. It has at most
// one renewal under way, those of Extend included. A timer reports the loss at the local
// deadline, even while a renewal hangs.
//
// # What it does not promise
//
// It does not promise that the process runs. A process that was paused past its
// deadline learns of the loss with its next call of Check. Only a fencing token
// guards what it does before that call.
//
// # Who is authoritative
//
// The store of the lease is. The deadline counts from before the last confirmed
// renewal was sent, on the monotonic clock, less a margin. Other clients count from
// later, so the owner knows of the loss first.
//
// # Failures
//
// The cause of a loss is Evicted if the store says that another client removed the
// lease. Otherwise the deadline passed: after renewals had failed or hung
// (Unreachable), or without a failure, as in a paused process or without an Interval
// (Expired). A lease without an end (Config.Endless) has no deadline. Only an eviction
// ends it.
package heartbeat
