// Package waitpolicy says how long to wait for a lock, and how often to look
// meanwhile. Users of locks need [NoWait], [For], [Forever] and [Attempts].
//
// # Wait and Schedule
//
// A [Wait] bounds a whole Acquire: a time in the queue, or a number of attempts
// without a place in it. A [Schedule] bounds the time between two looks at the queue.
// Its Delay is a pure function of what was observed.
//
// # The rhythm of looks
//
// A sleep past the end of a turn leaves the lock idle, while an early look costs one
// read unit. So each sleep aims at a lower bound of when the turn can come. Only the
// next waiter can be served, so only that one looks often.
//
//	distance     elapsed in turn          look again after
//	next         before its lower bound   what is left of the bound
//	next         past it, or unknown      Fastest, growing to an eighth of a turn
//	deeper       –                        half of what the turns ahead take at least
//	any          –                        never later than all ahead may have expired
//
// A waiter makes a number of looks that grows with the logarithm of its distance. N
// waiters need O(N log N) reads at worst, where fixed polling needs O(N²).
//
// # What it does not promise
//
// It decides nothing about fairness or exclusion. It makes no request and reads no
// clock.
package waitpolicy
