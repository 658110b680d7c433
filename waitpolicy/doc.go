// Package waitpolicy says how long to wait for a lock, and how often to look. Of
// it, users of locks need NoWait, For, Forever and Attempts.
//
// A Wait is for the whole of an acquire: in the queue for a time, or a number of
// attempts without a place in it. A Schedule is the rhythm of looks at the queue
// in the meantime: Delay is a pure function of what was observed, and keeps no
// state.
//
// The rhythm rests on two facts. To sleep past the end of a turn idles the
// lock, while to wake too early costs one read unit; so all sleeps aim at
// *lower* bounds of when the turn can come. And only the next in line can be
// served; so only it looks often, and the others sleep towards the time at
// which, at the earliest, those ahead are done. Each sleep covers a share of
// the estimate, so that a waiter makes a number of looks that grows with the
// logarithm of its distance, and draining N waiters costs O(N log N) reads at
// the worst, where fixed polling costs O(N²).
//
//	distance     elapsed in turn          look again after
//	next         before its lower bound   what is left of the bound
//	next         past it, or unknown      Fastest, growing to an eighth of a turn
//	deeper       –                        half of what the turns ahead take at the least
//	any          –                        never later than all ahead may be dead
//
// It promises nothing about fairness or exclusion, makes no request, and reads
// no clock.
package waitpolicy
