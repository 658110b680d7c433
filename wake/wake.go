// Package wake carries bells between clients by UDP, so that a waiter need not poll to learn that its turn has come,
// nor a holder that it was asked to give way.
//
// A waiter shows in its row where it can be rung: an address and a random key, which is never used again. The client
// that releases the lock has mostly read the next row before its turn, or reads it once during the turn, and rings its
// waiter with the release. The waiter then makes the request that it would have made later, and again a few times if it
// was too early. A holder shows the same in its entry.
//
// # What it promises
//
//   - A bell has no authority. The table alone grants a lock, and without bells all works as before, by polls.
//   - It is a datagram of 32 bytes with that key, and says nothing else.
//   - By default a [UDP] sends only to this host, and is reached only from it. With Config.Network it also sends to the
//     addresses in Config.Allow.
//   - It reads at most 10,000 datagrams a second.
//
// # What it does not promise
//
// A bell may be lost, late or repeated. A process that reads the table can ring.
//
// # Failures
//
//	| failure                      | what happens                                                    |
//	|------------------------------|-----------------------------------------------------------------|
//	| no address can be bound      | the client logs it once, and polls                              |
//	| none arrive                  | waiters poll                                                    |
//	| one is lost, after others    | a look up to 1/4 of a turn after its usual end, or, if turns    |
//	|                              | are uneven, after as long again as the turn; then polls         |
//	| one is repeated or forged    | up to four requests; after five, at most one a second, or in    |
//	|                              | 1,024 times Poll.Fastest or in Poll.SlowestNext, and polls      |
//	| a flood                      | the reader drops most of them                                   |
//	| the host changes its address | waits that have begun are not rung, and the next ones are       |
//	| NAT, or a firewall           | the waiter is not rung, and polls: see Config.Advertise         |
//	| the table has a malformed one| it is not rung                                                  |
package wake

import "time"

// Bells wake one waiter, or one holder, by what the table says of it. Methods are safe for concurrent use. [UDP] is
// one.
type Bells interface {
	// Hang returns what the table says of one waiter or holder, at most 128 bytes; empty: it cannot be rung, and err says
	// why. rung, which does not block, is called whenever that is done, until stop. No two calls return the same bell.
	Hang(rung func()) (bell string, stop func(), err error)
	// Ring rings a bell of the table, which another program may have written. It need not arrive. Ring is called in a
	// goroutine that the client's Close waits for, so it may take MostOfRing.
	Ring(bell string)
}

// MostOfRing is how long Ring may take.
const MostOfRing = 50 * time.Millisecond
