// Package payments is an example: a payment intent in DynamoDB is charged by a
// slow payment gateway, exactly once, whoever else charges or changes it at the
// time, and whoever dies. It is there to be read.
//
// It does so twice. [Pessimistic] locks the intent while the gateway is at work;
// [Optimistic] writes a state, CHARGE_REQUESTED, that keeps others away, and has
// a worker call the gateway.
//
// # Which, and when
//
//	|                                    | Pessimistic                      | Optimistic                          |
//	|------------------------------------|----------------------------------|-------------------------------------|
//	| the caller gets                    | the outcome, when it is there    | at once "requested"; looks later    |
//	| who comes meanwhile                | waits, in order                  | is refused, or told "requested"     |
//	| parts to run                       | none besides                     | a worker                            |
//	| states to know                     | three                            | a fourth, also to all who read      |
//	| a process dies during a charge     | the intent is locked until its   | nothing is locked; the worker's     |
//	|                                    | lease ends (60 s), and CREATED   | next pass goes on                   |
//	|                                    | until somebody charges it again  |                                     |
//	| a long charge                      | costs heartbeats, and needs a    | costs nothing                       |
//	|                                    | process that keeps running       |                                     |
//	| requests of a charge, of an intent | 2                                | 2, and 4 of the worker              |
//	| of up to 1 KB; write units         | 2, and 1 each 30 s               | 8                                   |
//	| the amount during a charge         | kept by the lock, as long as it  | kept by the state, for as long as   |
//	|                                    | is held                          | it takes                            |
//
// Take the pessimistic one where somebody waits for the answer, charges are
// short, and order matters. Take the optimistic one where money must not depend
// on a process that keeps running: of the two it is the safer one.
//
// # What makes it once
//
// Neither the lock nor the version does. A request that is on its way to the
// gateway is stopped by no lock, and a lock can be lost while it is on its way.
// The gateway makes it once, by a key that comes from the intent, and not from
// the attempt. The lock, or the state, keeps everything else in step: that the
// gateway is called by one at a time, and that the record tells of the amount
// that was taken.
//
// A process that dies between the charge and its record leaves an intent that
// does not tell that it is charged. Whoever comes next asks the gateway by that
// key before it does anything else, changing the amount included.
//
// # Limits
//
// Pessimistic: a process that stands still right before it calls the gateway, for
// longer than its lease, calls it without the lock when it wakes. If the amount
// was changed meanwhile, the old one is taken. The record never says otherwise:
// what is written is the amount that the gateway took, the late process's own
// write is refused, and the next Charge returns [ErrOtherAmount], upon which
// somebody has to pay back or ask for more. Until that Charge, the intent is
// CREATED. A [queuelock.LockDelay] makes it rarer, and a wait after a crash
// longer. Optimistic has no such gap: no amount changes after CHARGE_REQUESTED.
//
// The lock stands on the intent: a heartbeat is a write of the whole item, and
// costs a write unit for each KB of it. A program that puts a whole intent into
// the table removes the lock.
//
// Optimistic: between the request and the worker's pass, nothing happens. Two
// workers may call the gateway for one intent; it takes the money once. All rows
// of the outbox stand in one partition, which DynamoDB lets grow to about a
// thousand writes a second. An intent cannot be taken back once it is requested.
//
// Both: a card that is declined is final; another try is another intent. A
// gateway that neither takes a key nor finds a charge by one cannot be made safe
// by any lock. The two are not to be mixed on one intent.
package payments
