// Package payments is an example to read. A slow payment gateway charges a payment
// intent in DynamoDB exactly once, while other processes charge or change it, and while
// processes crash.
//
// It does so twice. [Pessimistic] locks the intent during the charge. [Optimistic]
// writes a state, CHARGE_REQUESTED, that keeps other changes away, and a worker calls
// the gateway.
//
// # Which, and when
//
//	|                                    | Pessimistic                      | Optimistic                          |
//	|------------------------------------|----------------------------------|-------------------------------------|
//	| the caller gets                    | the outcome, after the charge    | at once "requested"; looks later    |
//	| another caller meanwhile           | waits, in order                  | is refused, or gets "requested"     |
//	| parts to run                       | no others                        | a worker                            |
//	| states to know                     | three                            | a fourth, also for all readers      |
//	| a process crashes during a charge  | the intent is locked until its   | nothing is locked; the worker's     |
//	|                                    | lease ends (60 s), and CREATED   | next pass continues                 |
//	|                                    | until it is charged again        |                                     |
//	| a long charge                      | costs heartbeats, and needs a    | costs nothing                       |
//	|                                    | process that keeps running       |                                     |
//	| requests of a charge, of an intent | 2                                | 2, and 4 of the worker              |
//	| of up to 1 KB; write units         | 2, and 1 each 30 s               | 8                                   |
//	| the amount during a charge         | kept by the lock, as long as it  | kept by the state, for as long as   |
//	|                                    | is held                          | it takes                            |
//
// Take the pessimistic one if a caller waits for the answer, charges are short, and
// order matters. Take the optimistic one if money must not depend on a process that
// keeps running. It is the safer one of the two.
//
// # What makes it once
//
// Neither the lock nor the version does. No lock stops a request on its way to the
// gateway, and the lock can be lost during that time. The gateway charges once by a key
// that comes from the intent and not from the attempt. The lock, or the state, keeps
// the rest in step: one process at a time calls the gateway, and the record has the
// amount that was taken.
//
// A process that crashes between the charge and its record leaves an intent without its
// charge. The next process asks the gateway by that key before it does anything else,
// also before it changes the amount.
//
// # Limits
//
// Pessimistic: a process that is paused right before it calls the gateway, for longer
// than its lease, calls it without the lock. If the amount was changed meanwhile, the
// old one is taken. The record is never wrong: the late process's write is refused, and
// the next Charge writes the amount that was taken and returns [ErrOtherAmount]. An
// operator then pays back or asks for more. Until that Charge, the intent is CREATED. A
// [queuelock.LockDelay] makes this rarer, and a wait after a crash longer. Optimistic
// has no such gap, because no amount changes after CHARGE_REQUESTED.
//
// The lock is kept on the intent. A heartbeat writes the whole item, and costs a write
// unit for each KB. A program that puts a whole intent into the table removes the lock.
//
// Optimistic: between the request and the worker's pass nothing happens. Two workers
// may call the gateway for one intent, and it takes the money once. All rows of the
// outbox are in one partition, which takes about a thousand writes a second. An intent
// cannot be cancelled once its charge is requested.
//
// Both: a declined card is final; another try is another intent. A gateway that neither
// takes a key nor finds a charge by one cannot be made safe by any lock. Do not use
// both on one intent.
package payments
