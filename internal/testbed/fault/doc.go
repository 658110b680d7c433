// Package fault says what can happen to a request on its way to DynamoDB and back.
// It is test apparatus, and the one model of faults for all of it:
//
//	Mix ── Pick ──► Kind ── Add ──► Fate ──► faultnet, which plays it
//
// A [Kind] is a fault by its name. A [Mix] says how often each occurs. A [Fate] says
// what happens to one request, leg by leg:
//
//	           there                          back
//	client ───────────────▶ engine ───────────────────▶ client
//	        delay, gate,    applied    delay, gate,
//	        lost, swallowed  once      lost, swallowed
//	           │
//	           └── refused: answered with an error, the engine never sees it
//	           └── copy: the same request once more, on a leg of its own
//	           └── split: the items of a transaction become visible one by one
//
// The package faultnet is the carrier, in memory: without sockets, so that it works
// inside a testing/synctest bubble. test/chaos puts sockets before and behind it. What
// a fault is and what it does to a request is written here alone. What happens to
// processes and to the whole table (kills, pauses, partitions, bursts) is decided by
// sim and chaos.
package fault
