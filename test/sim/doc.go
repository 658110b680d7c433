// Package sim runs a whole cluster in one testing/synctest bubble: several
// processes with clients of the library, the embedded engine on a clock of its
// own, and a network and a scheduler that inject faults. It is test apparatus; only
// tests use it. Its neighbours are audit and transition (the judges at the engine), fault
// and faultnet (what happens to requests), and chaos (the same with real processes).
//
//	Plan (from a seed) ──► world ── nodes ── workers ── queuelock.Client
//	                         │                              │ requests
//	                         └── weather ──► faults ──► faultnet ──► audit ──► engine
//	                                                                   │
//	history ──► judge: beliefs, register, outcomes, liveness ◄─────────┘
//
// One seed is one run. Each random choice is drawn from the seed by the name of
// the event, for example the third time that a process sends a given request. The
// order in which goroutines run does not matter. Events almost never share an
// instant, so the same seed gives the same history.
//
// A run that fails prints a story: what led to the first violation, in the words of the transcripts of package search
// (package story). A diary keeps what happens to each queue, and a tale words it. Its steps are those of
// search/testdata. A run has more than they can play, so a story that is pasted there may have to be cut down.
//
// The faults and kinds of runs, with their shares, are in docs/testing.md and in Plan. Of these
//
//   - Suspends move the table's times, as the bubble has one clock: see suspend.go.
//   - An HTTP client that repeats requests does so up to three times, and up to several
//     leases later. The SDK does not learn of it.
//   - Turns read by a plain consistent read, or by Lock.Get where Lock.Unsettled asks for
//     it: items of transactions become visible one by one.
//   - A read that hangs ignores its context for one to three minutes, while the driver
//     renews the row until the read counts as hung.
//   - Where single requests pause, copies arrive up to 15 seconds late: many leases.
//
// # Checks
//
//   - At the engine, after each change (package audit): the mode's number of
//     holders, tickets that increase, the order of the queue, and no live entry
//     removed by another client.
//   - At the engine, after each change of a record, a row or a counter (package
//     transition): it is what one write of package queue makes of the item before, whose
//     conditions all hold there, and the request asks for exactly that write. The table's
//     TTL and suspensions are the only other causes of a change.
//   - At each grant: no other process believes that it holds the lock, or the permit with that number.
//   - Protected writes commit only while their lock is held, and each once. The
//     history of grants, releases, losses, reads and writes that clients saw is
//     linearizable (porcupine). Each turn adds one to the value that it has read,
//     so a lost update shows in the register's log.
//   - Outcomes. What Release, Transact and UpdateAndRelease return is
//     compared with what the engine did. Nil means that this process released, or
//     that the write was made. A loss by eviction means that it did not release. A
//     write that was reported as not made never appears later. Unknown outcomes are
//     counted, and are an error in a run without faults.
//   - Policies. A queue that was full had so many waiters, a waiter that was superseded had a later one in its group, and
//     none claims the lock that its last look has shown. A holder that a waiter asks to give way is in the record, with an
//     earlier ticket and of its group. A closed queue opens in time, and not before.
//   - Results of package once. No two functions run while the first lease lives. None runs if a result was left since its
//     caller has read the record. What callers are given was computed and left, and is not older than its life. Errors are
//     those of calls under way.
//   - A row is not renewed when its process has not looked at the queue for a
//     minute, not counting its pauses.
//   - Each Acquire returns within a bounded time, and all waiters are served once
//     the faults have ended.
//   - While a live process waits and there has been no fault for a while, a lock is free for no longer than
//     docs/configuration.md says of looks.
//   - An Acquire that failed and a lock that was released leave nothing in the table,
//     unless one of their requests is still on its way, or they reported it.
//   - No process sends more requests in a second than its polls explain.
//   - In the end the table is clean, no queue has a holder or a waiter, and an idle
//     lock costs one request to acquire and one to release.
//
// In some runs the table's TTL deletes idle records as if Config.Forget were a minute. Tickets
// must rise all the same.
//
// # Limits
//
// The clocks of all hosts run at one rate, from which the engine's differs by up to
// Plan.Drift. A paused process stops at its requests, while its timers continue.
package sim
