// Package sim runs a whole cluster in one testing/synctest bubble: several
// processes with clients of the library, the embedded engine on a clock of its
// own, and a network and a scheduler that do them harm. It is used by tests
// only.
//
//	Plan (from a seed) ──► world ── nodes ── workers ── queuelock.Client
//	                         │                              │ requests
//	                         └── weather ──► faults ──► faultnet ──► audit ──► engine
//	                                                                   │
//	history ──► judge: beliefs, register, liveness, budgets ◄──────────┘
//
// One seed is one run. All chances are drawn from it, by name rather than in
// order (this request of this process, for the third time), and no two things
// happen at the same instant but by the rarest accident; so the same seed
// gives the same history, whatever the goroutine scheduler does.
//
// What goes wrong: requests and answers are lost, late, repeated, swallowed,
// refused, and land after their caller has gone; processes are cut off, stand
// still for up to three leases at the boundaries of requests, die there, and
// come back; the table is throttled as a whole, or one operation of one process
// fails for longer than anybody has patience; TTL removes rows late, or before
// their time; the engine's clock drifts from that of the hosts, its answers are
// dated by hosts that differ, or have no date.
//
// What is checked, in each run:
//
//   - at the engine, after each request (package audit): one holder, tickets
//     that increase, order, nothing alive removed by others;
//   - at each grant in the record: no other process would say that it holds
//     the lock, if it were asked at that instant;
//   - protected writes commit only while their lock is the record's holder,
//     and what clients saw of lock, release, loss and protected register is
//     linearizable (porcupine);
//   - each Acquire is served or told why not in a bounded time, and all who
//     wait are served once the weather clears;
//   - an Acquire that failed and a lock that was released have left nothing
//     behind, unless something of theirs was still under way, or they said so;
//   - no process sends more requests in a second than polls explain;
//   - in the end the table is clean, and an idle lock costs one request, its
//     release one.
//
// What it is not: hosts' clocks all run at one rate, from which the engine's
// differs by up to Plan.Drift; a process that stands still does so at its
// requests, while its timers go on.
package sim
