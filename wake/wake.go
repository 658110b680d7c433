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
