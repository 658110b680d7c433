// Package test holds the tests of the library's behaviour, in eight packages. They are a module of their own, with what
// tests the library at large, so that programs which import the library require nothing of it.
//
//	acquire  how a lock is acquired: arguments, the queue, waits, callbacks,
//	         Resume, and what each costs
//	pace     how soon the next waiter is granted
//	hold     how long a lock lasts, Release, Transact, and what others see
//	modes    Shared, Permits, AcquireAll, wider scopes, items, FailClosed and
//	         LockDelay
//	faults   outages, crashes, hanging requests, malformed items, load; every
//	         engine, in real time
//	docs     the pages, compared with the code, and what the packages import
//	replays  what the pages say of the protocol's states and costs, played for a
//	         minute
//	properties  what holds of numbers, waits, leases and clocks, whatever their
//	         values are: random inputs, with the smallest counterexample
//	modules  the modules as a user gets them: go get, go install, and what they
//	         need
//
// The apparatus:
//
//	sim          whole clusters in a synctest bubble, from a seed ("make sim")
//	chaos        real processes, sockets and an engine that fail ("make chaos")
//	conformance  the suite that compares the engines
package test
