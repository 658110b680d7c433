// Package wake carries optional wake-up hints between clients by UDP, so that a waiter need not poll to learn that its
// turn has come.
//
// A hint says that a turn of a queue ends: look now. The client that releases a lock sends it with its request. The
// next waiter then makes the request that it would have made later, and again a few times if it was too early.
//
// # What it promises
//
//   - A hint has no authority. The table alone grants a lock, and without hints all works as before, by polls.
//   - A hint contains a [Digest] of the queue, and nothing else.
//   - [UDP] sends only to this host and to the addresses in its [Config]. It accepts hints only from these hosts, and
//     reads at most 10,000 datagrams a second.
//   - [Hints.Send] never blocks.
//
// # A bell in a row
//
// With Config.Bell hosts need no list of each other. A waiter shows where it can be rung in its row: an address and a
// random key, which is never used again. The client that releases the lock has mostly read the next row before its
// turn, or reads it once during the turn, and rings its waiter with the release. A bell has no more authority than a
// hint, and is judged like one.
//
//   - A waiter is rung only by a datagram with its key. Repeated ones lead to a look each, as hints do.
//   - A release sends one datagram of 32 bytes with its request, and only to an address in Config.Allow.
//   - A client that has not read the next row, as when it did not wait itself, reads it beside the release. The bell is a
//     round trip later then.
//
// # What it does not promise
//
// Hints may be lost, late, repeated or forged. A digest hides a name only from readers that cannot guess it.
//
// # Failures
//
//	| failure                      | what happens                                                   |
//	|------------------------------|----------------------------------------------------------------|
//	| no address can be bound      | the client logs it once, and polls                             |
//	| hints do not arrive          | waiters poll                                                   |
//	| one is lost, after others    | a look up to 1/4 of a turn after its usual end; then polls     |
//	| a hint is forged or repeated | up to four requests; after five hints, at most one a second,   |
//	|                              | or in 1,024 times Poll.Fastest or in Poll.SlowestNext, and     |
//	|                              | polls as without hints                                         |
//	| a flood of hints             | the reader drops most of them                                  |
//	| the host changes its address | waits that have begun are not rung, and the next ones are      |
//	| NAT, or a firewall           | the waiter is not rung, and polls: see Config.Advertise        |
//	| a row has a malformed bell   | it is not rung                                                 |
package wake

// Digest names a table and a queue.
type Digest [16]byte

// Hints carries hints between clients. Its methods are safe for concurrent use and do not block. [UDP] is one.
type Hints interface {
	// Send sends a hint to the other clients. It need not arrive. A hint that comes back to its sender later
	// than at once counts as a false one.
	Send(d Digest)
	// Listen calls receive, which does not block, with each hint until stop is called. Client calls it before
	// its first wait. An error says why some or all hints will not be received; stop is to be called even then.
	Listen(receive func(Digest)) (stop func(), err error)
}

// Bells are Hints that also wake one waiter by what its row says, so that its process is in no list. Their methods do not
// block either. [UDP] with Config.Bell is one.
type Bells interface {
	Hints
	// Hang returns what the row of one waiter says, at most 128 bytes; empty: it cannot be rung. rung is called whenever
	// that is done, until stop. No two calls return the same bell.
	Hang(rung func()) (bell string, stop func())
	// Ring wakes the waiter whose row says that. It need not arrive. Another program may have written the row.
	Ring(bell string)
}
