// Package faultnet is a network inside the process: it carries the requests of a
// real DynamoDB client to an [net/http.Handler] and plays a [fault.Fate] on each of
// them. It is test apparatus: queuelocktest, test/sim and test/chaos decide the fates.
//
// A [Network] has one engine. Each client gets its own [Connection], which is an
// [net/http.RoundTripper] and asks its decide function for a fate for each request.
//
// A request is applied exactly as often as its fate says, and in the order in which
// the legs end. Capacity and requests are counted exactly (see [Tally]). Every wait
// ends with the request's context, with [Network.Close], or by itself. There are no
// sockets, and no goroutine outlives what started it. All waiting is on channels and
// timers made by the goroutine that waits, so a Network works inside a
// testing/synctest bubble, where an hour of delays passes in milliseconds.
package faultnet
