// Package play drives members: it sends what they ask for, lets time come to their timers, and lets callers rest on a
// channel. What comes next is for package member to decide.
//
//	 events in                                                        effects out of each step, in this order
//
//	Client.Enter              ──► Wants ────┐                             ┌──► Send, Look, Number: wire.request
//	Caller.Next, ctx ended    ──► GivesUp   │                             │    Ring: the bell of the next waiter
//	calls of a Lock           ──► Releases, ├─► player.run ── player.step ┤
//	                              Uses, …   │                Member.Step  ├──► Placed, Refuse, Report: player.do
//	a request is answered     ──► Answer    │                             │
//	the timer, or a bell      ──► Due       │                             └──► Give: player.hands, Caller.Wake
//	Client.Woken              ──► Rung ─────┘
//
// The driver has events of its own beside these: player.take has all.
//
// The requests of a step are under way before a caller hears of it, and a lock is given after all reports of its step.
// A caller whose wait was refused hears once its row is deleted (wire.cleared).
//
// # Decisions
//
//	queue          what each write requires, and what a record means for a ticket
//	member         which request is next, which caller has the lock, and what callers hear
//	machine        the same for one ticket
//	waitpolicy     when a waiter looks. The member asks by clock.Rests
//	heartbeat      when leases begin and end. The member asks by clock.Begin, clock.Ends and clock.Beats
//	table          what the error of a request means (Kinds)
//	play           how often it is repeated (clock.Pauses), when a request hangs (wire.hangsAt: none of a call that uses
//	               the lock), and when it is cut short (wire.abandon); whether DATE goes first (player.wants); how long a
//	               caller that gives up awaits an answer (player.begins)
//
// What a caller hears is a Refuse of the member, an error of player.why, and at last queuelock.Client.acquireError.
//
// # Goroutines
//
//	the caller's   rests in Acquire, or in a call of its lock
//	player.run     one for each queue, while it has events. It alone uses the member
//	requests       one each, while it is under way. It ends with an event, and steps no member
//
// A timer for each queue fires when the first of the member's is due (player.arm), and only adds an event. So a caller
// that waits, and a lock that is held, have no goroutine of their own. Mutexes are locked in the order Client.mu,
// player.mu, Lock.mu, Client.listing.
//
// # Files
//
//	client.go      Client: the players of all queues          lock.go    Lock: one turn
//	player.go      player: events, steps, the timer           lease.go   its lease
//	caller.go      Caller: an acquire under way               use.go     transactions, data and other calls of its holder
//	send.go        wire: requests and their answers           release.go its release
//	clock.go       clock: what a member asks of time          sight.go, line.go   what blocks have seen
package play
