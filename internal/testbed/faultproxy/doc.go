// Package faultproxy is an HTTP proxy on the loopback address that does to
// requests what a bad network and a busy server do. It is for tests only.
//
//	client ──► 127.0.0.1:port (Proxy) ──► upstream
//
//	fate          forwarded    what the client gets
//	pass          once         the answer
//	throttle      no           a refusal in DynamoDB's form (HTTP 400)
//	reset before  no           a reset connection (RST)
//	reset after   once         a reset connection: the write is made, its answer lost
//	hole before   no           nothing, until it goes away
//	hole after    once         nothing, until it goes away
//	duplicate     twice        the first answer; the second, seconds later, is dropped
//	delay         once         nothing, until it goes away; the request is forwarded seconds later
//	down          –            a reset connection: the upstream did not answer
//
// It promises that the fate of the n-th request is a function of the seed, of n
// and of the Mix that was set when it arrived (Mix.Pick); that what it forwards
// is forwarded whether or not the client waits for it; that everything it does
// ends, at the latest when a limit of its Config is over; and that nothing of
// it is left after Close. Which request is the n-th, where several clients
// send at a time, it does not promise.
package faultproxy
