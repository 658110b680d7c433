// Package faultnet is a network inside the process: it carries the requests of
// a real DynamoDB client to an [net/http.Handler] and lets a caller decide what
// goes wrong with each of them on the way.
//
// A [Network] stands before one engine. Each client gets its own [Connection],
// which is an [net/http.RoundTripper]. For every request the connection asks
// its decide function for a [Fate], and then plays it:
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
// What it promises: a request is applied exactly as often as its fate says, and
// in the order in which the legs end; capacity and requests are counted exactly
// (see [Tally]); every wait ends with the request's context, with [Network.Close],
// or by itself. There are no sockets, no goroutine outlives what started it,
// and all waiting is on channels and timers made by the goroutine that waits,
// so that a Network works inside a testing/synctest bubble, where an hour of
// delays passes in milliseconds.
//
// What it does not promise: it knows nothing of rules such as "the second
// PutItem". The package queuelocktest decides fates; this one only plays them.
package faultnet
