// Package faultproxy is an HTTP proxy on the loopback address that does to requests
// what a bad network and a busy server do. It is test apparatus, for test/chaos.
// The package fault has the model; the carrier in memory is its neighbour faultnet.
//
//	client ──► 127.0.0.1:port (Proxy) ──► upstream
//
//	part of a Fate         over TCP
//	lost                   a reset connection (RST)
//	swallowed              nothing, until the client leaves
//	refused                DynamoDB's answer to a throttled request (HTTP 400)
//	copy                   forwarded once more seconds later; the answer is dropped
//	(the engine is down)   a reset connection
//
// Every request goes on without its client. Gates, split transactions and functions
// at a leg's beginning are for the carrier in memory.
//
// The fate of the n-th request is a function of the seed, of n and of the mix that
// was set when it arrived (fault.Mix.At). Which request is the n-th is not, where
// several clients send at a time. Everything ends when a limit of the Config is
// over, and nothing is left after Close.
package faultproxy
