// Package fault says what can happen to a request on its way to DynamoDB and back.
// It is test apparatus, and the one model of faults for all of it:
//
//	Mix ── Pick ──► Kind ── Add ──► Fate ──► a carrier, which plays it
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
// There are two carriers. The package faultnet carries requests in memory, for
// queuelocktest and test/sim: without sockets, inside a testing/synctest bubble,
// and with every capability above. The package faultproxy carries them over TCP,
// for test/chaos: its clients are processes, and its engine may be down. They
// stay apart because neither could do the other's work: a socket does not work in a
// bubble, and a process cannot be given a function. What a fault is and what it does
// to a request is written here alone. What happens to processes and to the whole
// table (kills, pauses, partitions, bursts) is decided by sim and chaos.
package fault
