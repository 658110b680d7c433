package search

import "github.com/queuelock/queuelock/queue"

// The clients of worlds.
var (
	one     = Client{Turns: 1}
	two     = Client{Turns: 2}
	reader  = Client{Turns: 1, Mode: queue.Mode{Shared: true}}
	alone   = Client{Turns: 1, Mode: queue.Mode{Shared: true, Readers: 1}}
	permit  = Client{Turns: 1, Mode: queue.Mode{Permits: 2}}
	quick   = Client{Turns: 1, NoWait: true}
	closed  = Client{Turns: 1, FailClosed: true}
	resume  = Client{Turns: 1, Resumes: true}
	downs   = Client{Turns: 1, Downgrades: true}
	updater = Client{Turns: 1, Updates: 2}
	writer  = Client{Turns: 1, Writes: 1}
	writes  = Client{Turns: 1, Writes: 2}
	setter  = Client{Turns: 1, Sets: 2}
)

// Worlds are what "make spec" searches. The first of each kind are small.
func Worlds() []World {
	return []World{
		{Name: "two turns each", About: "two clients without a fault", Clients: []Client{two, two}},
		{Name: "three", About: "three clients without a fault", Clients: []Client{one, one, one}},
		{Name: "lost", About: "a request or its answer is lost", Clients: []Client{two, one}, Faults: Faults{Lost: 1}},
		{Name: "lost twice", About: "the same, twice", Clients: []Client{one, one}, Faults: Faults{Lost: 2}},
		{Name: "lost of three", About: "a request or its answer is lost, and another client waits", Clients: []Client{one, one, one}, Faults: Faults{Lost: 1}},
		{Name: "late", About: "a request has no answer, and is applied later", Clients: []Client{two, one}, Faults: Faults{Late: 1}},
		{Name: "late twice", About: "the same, twice", Clients: []Client{one, one}, Faults: Faults{Late: 2}},
		{Name: "late of three", About: "a late request, and another client waits", Clients: []Client{one, one, one}, Faults: Faults{Late: 1}},
		{Name: "late and ended", About: "a late request, and a suspended process", Clients: []Client{one, one}, Faults: Faults{Late: 1, Ends: 1}},
		{Name: "copied", About: "a copy of a request that may be repeated comes later", Clients: []Client{two, one}, Faults: Faults{Dup: 1, Beat: 1}},
		{Name: "copied of three", About: "the same, and another client waits", Clients: []Client{one, one, one}, Faults: Faults{Dup: 1}},
		{Name: "copied, any", About: "a copy of any request comes later", Any: true, Clients: []Client{two, one}, Faults: Faults{Dup: 1, Beat: 1}},
		{Name: "copied, any, ended", About: "and a lease ends", Any: true, Clients: []Client{one, one}, Faults: Faults{Dup: 1, Ends: 1, Beat: 1}},
		{Name: "copied twice, any", About: "two copies of any requests", Any: true, Clients: []Client{one, one}, Faults: Faults{Dup: 2, Beat: 1}},
		{Name: "crash", About: "a client crashes", Clients: []Client{one, one, one}, Faults: Faults{Crash: 1}},
		{Name: "suspended", About: "a process sleeps for a lease", Clients: []Client{two, one}, Faults: Faults{Ends: 1}},
		{Name: "suspended before an answer", About: "it also gets an answer late", Clients: []Client{one, one}, Faults: Faults{Ends: 1, Slow: 1}},
		{Name: "suspended of three", About: "a process sleeps for a lease, and two others wait", Clients: []Client{one, one, one}, Faults: Faults{Ends: 1}},
		{Name: "slow", About: "two answers come late", Clients: []Client{one, one}, Faults: Faults{Slow: 2, Lost: 1}},
		{Name: "gives up", About: "a caller gives up, and a request is lost or late", Clients: []Client{one, one}, Faults: Faults{GiveUp: 1, Lost: 1, Late: 1}},
		{Name: "gives up of three", About: "a caller gives up", Clients: []Client{one, one, one}, Faults: Faults{GiveUp: 1}},
		{Name: "guesses", About: "rests end with CLAIM, and a request is throttled", Clients: []Client{two, one}, Faults: Faults{Guess: 2, Failed: 1}},
		{Name: "heartbeats", About: "a late heartbeat", Half: true, Clients: []Client{one, one}, Faults: Faults{Beat: 2, Late: 1, Ends: 2}},
		{Name: "heartbeats of rows", About: "a late heartbeat of a row", Half: true, Clients: []Client{one, one, one}, Faults: Faults{RowBeat: 2, Late: 1, Ends: 2}},
		{Name: "rows, copied", About: "a copy of a request for a row comes later", Half: true, Clients: []Client{one, one, one}, Faults: Faults{RowBeat: 1, Dup: 1, Ends: 2}},
		{Name: "names", About: "releases name the row of the next waiter", Names: true, Clients: []Client{one, one, one}},
		{Name: "names, gives up", About: "and a waiter leaves", Names: true, Clients: []Client{one, one, one}, Faults: Faults{GiveUp: 1}},
		{Name: "names, gives up, slow", About: "and an answer comes late", Names: true, Clients: []Client{one, one, one}, Faults: Faults{GiveUp: 1, Slow: 1}},
		{Name: "names, lost", About: "and a request or its answer is lost", Names: true, Clients: []Client{one, one}, Faults: Faults{Lost: 1, GiveUp: 1}},
		{Name: "names, lost of three", About: "and another client waits", Names: true, Clients: []Client{one, one, one}, Faults: Faults{Lost: 1}},
		{Name: "names, copied, any", About: "and a copy of any request comes later", Any: true, Names: true, Clients: []Client{one, one, one}, Faults: Faults{Dup: 1}},
		{Name: "names, late", About: "and a late request", Names: true, Clients: []Client{two, one}, Faults: Faults{Late: 1}},
		{Name: "names, suspended", About: "and a process sleeps", Names: true, Clients: []Client{one, one}, Faults: Faults{Ends: 1, Slow: 1}},
		{Name: "names, paused", About: "and a process sleeps for half a lease", Half: true, Names: true, Clients: []Client{one, one, one}, Faults: Faults{Ends: 1}},
		{Name: "names, crash", About: "and a client crashes", Names: true, Clients: []Client{one, one, one}, Faults: Faults{Crash: 1}},
		{Name: "passes", About: "one client, whose releases pass the lock on", Same: true, Clients: []Client{one, one, one}},
		{Name: "passes, gives up", About: "and a waiter leaves, or a request is lost", Same: true, Clients: []Client{one, one}, Faults: Faults{GiveUp: 1, Lost: 1}},
		{Name: "passes, late", About: "and a late request", Same: true, Clients: []Client{two, one}, Faults: Faults{Late: 1}},
		{Name: "passes, copied, any", About: "and a copy of any request comes later", Any: true, Same: true, Clients: []Client{one, one, one}, Faults: Faults{Dup: 1}},
		{Name: "shown", About: "one client, whose waiters take over the record that another one has read", Same: true, Line: true, Clients: []Client{one, one, one}},
		{Name: "shown, slow", About: "and two answers come late", Same: true, Line: true, Clients: []Client{one, one}, Faults: Faults{Slow: 2}},
		{Name: "shown, slow, of three", About: "and an answer comes late", Same: true, Line: true, Clients: []Client{one, one, one}, Faults: Faults{Slow: 1}},
		{Name: "shown, ended", About: "and a lease ends", Same: true, Line: true, Clients: []Client{one, one}, Faults: Faults{Slow: 1, Ends: 1}},
		{Name: "shown, late", About: "and a late request", Same: true, Line: true, Clients: []Client{two, one}, Faults: Faults{Late: 1}},
		{Name: "readers", About: "a writer and two readers", Clients: []Client{one, reader, reader}},
		{Name: "readers, crash", About: "and one crashes", Clients: []Client{one, reader, reader}, Faults: Faults{Crash: 1}},
		{Name: "readers, lost", About: "and a request is lost", Clients: []Client{one, reader, reader}, Faults: Faults{Lost: 1}},
		{Name: "readers, late", About: "and a request is late", Clients: []Client{one, reader, reader}, Faults: Faults{Late: 1}},
		{Name: "few readers", About: "only one reader holds at once", Clients: []Client{alone, alone, alone}, Faults: Faults{Lost: 1}},
		{Name: "permits", About: "a semaphore of two", Clients: []Client{permit, permit, permit}, Faults: Faults{Lost: 1}},
		{Name: "permits, crash", About: "and a client crashes", Clients: []Client{permit, permit, permit}, Faults: Faults{Crash: 1}},
		{Name: "no wait", About: "two callers will not wait", Clients: []Client{one, quick, quick}, Faults: Faults{Crash: 1}},
		{Name: "no wait, lost", About: "and a request is lost or late", Clients: []Client{one, quick}, Faults: Faults{Lost: 1, Late: 1}},
		{Name: "no wait, names", About: "a caller that will not wait meets a grant to a waiter that has left", Names: true, Clients: []Client{one, one, quick}, Faults: Faults{GiveUp: 1}},
		{Name: "no wait, readers", About: "and others share", Clients: []Client{alone, {Turns: 1, NoWait: true, Mode: queue.Mode{Shared: true, Readers: 1}}, one}},
		{Name: "wide", About: "a wider counter issues the tickets", Wide: true, Clients: []Client{one, one, one}},
		{Name: "wide, lost", About: "and requests are lost or late", Wide: true, Clients: []Client{one, one}, Faults: Faults{Lost: 1, Late: 1}},
		{Name: "wide, readers", About: "and some share", Wide: true, Clients: []Client{one, alone, {Turns: 1, NoWait: true, Mode: queue.Mode{Shared: true, Readers: 1}}}},
		{Name: "wide, permits", About: "a semaphore with a wider counter", Wide: true, Clients: []Client{permit, permit, permit}},
		{Name: "seeds", About: "a record that is missing is seeded by a second request", Seeds: true, Clients: []Client{two, one}, Faults: Faults{Lost: 1}},
		{Name: "seeds, late", About: "and a request is late, or the record is deleted", Seeds: true, Clients: []Client{one, one}, Faults: Faults{Late: 1, Delete: 1}},
		{Name: "seeds, gives up", About: "and a caller gives up", Seeds: true, Clients: []Client{one, one}, Faults: Faults{GiveUp: 1, Lost: 1, Late: 1}},
		{Name: "seeds, no wait", About: "and callers will not wait", Seeds: true, Clients: []Client{one, quick, quick}, Faults: Faults{Lost: 1}},
		{Name: "no wait, throttled", About: "a request of a caller that will not wait is throttled", Names: true, Clients: []Client{one, one, quick}, Faults: Faults{GiveUp: 1, Failed: 1}},
		{Name: "fail closed", About: "grants are confirmed", Clients: []Client{closed, closed}, Faults: Faults{Lost: 1, Ends: 1}},
		{Name: "fail closed, late", About: "and a request is late", Clients: []Client{closed, one}, Faults: Faults{Late: 1, GiveUp: 1, Ends: 1}},
		{Name: "fail closed, copied, any", About: "and a copy of any request comes later", Any: true, Clients: []Client{closed, one}, Faults: Faults{Dup: 1, Ends: 1}},
		{Name: "operator", About: "an operator evicts", Clients: []Client{two, one}, Faults: Faults{Evict: 1, Beat: 1}},
		{Name: "operator, fail closed", About: "an operator evicts a holder that fails closed", Clients: []Client{closed, closed}, Faults: Faults{Evict: 1, Lost: 1}},
		{Name: "operator, copied, any", About: "and a copy of any request comes later", Any: true, Clients: []Client{one, one}, Faults: Faults{Evict: 1, Dup: 1, Beat: 1}},
		{Name: "operator, fail closed, copied, any", About: "the same of a holder that fails closed", Any: true, Clients: []Client{closed, one}, Faults: Faults{Evict: 1, Dup: 1}},
		{Name: "operator, lost", About: "an operator evicts beside a release whose answer is lost", Clients: []Client{one, one}, Faults: Faults{Evict: 1, Lost: 1}},
		{Name: "resumed", About: "another process resumes the lock or the place of A", Clients: []Client{one, resume, one}},
		{Name: "resumed, crash", About: "and a client crashes", Clients: []Client{one, resume, one}, Faults: Faults{Crash: 1}},
		{Name: "resumed, lost", About: "and a request is lost or late", Clients: []Client{one, resume}, Faults: Faults{Lost: 1, Late: 1, Crash: 1}},
		{Name: "resumed twice", About: "two processes resume it", Clients: []Client{one, resume, resume, one}, Faults: Faults{Crash: 1}},
		{Name: "resumed, fail closed", About: "it fails closed, and is not resumed", Clients: []Client{closed, {Turns: 1, FailClosed: true, Resumes: true}}, Faults: Faults{Crash: 1, Ends: 1}},
		{Name: "resumed, ended", About: "and a lease ends", Clients: []Client{one, resume, one}, Faults: Faults{Ends: 1}},
		{Name: "downgrade", About: "a writer lets readers in", Clients: []Client{downs, reader, one}},
		{Name: "downgrades", About: "two writers do so", Clients: []Client{downs, downs, reader}},
		{Name: "downgrade, lost", About: "and a request is lost", Clients: []Client{downs, reader}, Faults: Faults{Lost: 1, Beat: 1}},
		{Name: "downgrade, lost of three", About: "and a writer waits", Clients: []Client{downs, reader, one}, Faults: Faults{Lost: 1}},
		{Name: "downgrade, late", About: "a downgrade is late, and its caller gives up", Clients: []Client{downs, reader}, Faults: Faults{Late: 1, Beat: 1}},
		{Name: "downgrade, late and ended", About: "and a lease ends", Clients: []Client{downs, reader}, Faults: Faults{Late: 1, Ends: 1}},
		{Name: "downgrade, copied, any", About: "a copy of any request comes later", Any: true, Clients: []Client{downs, {Turns: 2, Mode: queue.Mode{Shared: true}}}, Faults: Faults{Dup: 1}},
		{Name: "downgrade, crash", About: "and a client crashes", Clients: []Client{downs, reader, one}, Faults: Faults{Crash: 1}},
		{Name: "downgrade, resumed", About: "another process resumes a lock that is downgraded", Clients: []Client{downs, resume, reader}},
		{Name: "update", About: "an update in the write that releases, and its answer is lost twice", Clients: []Client{updater, one}, Faults: Faults{Lost: 2}},
		{Name: "update, late", About: "and a request is late", Clients: []Client{updater, one}, Faults: Faults{Late: 1, Lost: 1}},
		{Name: "update, declined", About: "and its condition is false", Clients: []Client{updater, one}, Faults: Faults{Lost: 1, Decline: 1}},
		{Name: "update, declined and late", About: "and its condition is false, and true later", Clients: []Client{updater, one}, Faults: Faults{Late: 1, Decline: 2}},
		{Name: "update, ended", About: "and the lease ends", Clients: []Client{updater, one}, Faults: Faults{Lost: 1, Ends: 1}},
		{Name: "update, heartbeat", About: "and a heartbeat meets it", Clients: []Client{updater, one}, Faults: Faults{Lost: 1, Beat: 1}},
		{Name: "update, of three", About: "others wait", Clients: []Client{updater, one, one}, Faults: Faults{Lost: 1}},
		{Name: "update, operator", About: "and an operator evicts", Clients: []Client{updater, one}, Faults: Faults{Lost: 1, Evict: 1}},
		{Name: "update, copied, any", About: "and a copy of any request comes later", Any: true, Clients: []Client{updater, one}, Faults: Faults{Dup: 1, Lost: 1}},
		{Name: "update, copied twice, any", About: "two copies", Any: true, Clients: []Client{updater, one}, Faults: Faults{Dup: 2}},
		{Name: "data", About: "the holder's data, and a request is late", Clients: []Client{setter, one}, Faults: Faults{Late: 2}},
		{Name: "data, copied, any", About: "and a copy of any request comes later", Any: true, Clients: []Client{setter, one}, Faults: Faults{Dup: 2}},
		{Name: "lock delay", About: "a lease ends, and the entry keeps the queue closed", Clients: []Client{{Turns: 1, Delays: true}, one}, Faults: Faults{Ends: 2}},
		{Name: "at least", About: "a turn keeps the queue closed for two leases", Clients: []Client{{Turns: 2, AtLeast: true}, one}},
		{Name: "at least, ended", About: "and its lease ends before", Clients: []Client{{Turns: 1, AtLeast: true}, one}, Faults: Faults{Ends: 2}},
		{Name: "at least, crash", About: "and its process crashes", Clients: []Client{{Turns: 1, AtLeast: true}, one, one}, Faults: Faults{Crash: 1}},
		{Name: "at least, late", About: "and a request is late, or its caller gives up", Clients: []Client{{Turns: 1, AtLeast: true}, one}, Faults: Faults{Late: 1, GiveUp: 1}},
		{Name: "at least, copied, any", About: "and a copy of any request comes later", Any: true, Clients: []Client{{Turns: 1, AtLeast: true}, one}, Faults: Faults{Dup: 1, Beat: 1}},
		{Name: "at least, same", About: "and releases of one client pass the lock on", Same: true, Clients: []Client{one, {Turns: 1, AtLeast: true}, one}},
		{Name: "at least, no wait", About: "and callers will not wait", Clients: []Client{{Turns: 1, AtLeast: true}, quick, quick}},
		{Name: "at least, transaction", About: "holders write x in fenced transactions", Clients: []Client{{Turns: 1, Writes: 1, AtLeast: true}, writer}, Faults: Faults{Lost: 1}},
		{Name: "at least, refused", About: "an attempt is refused, and a copy of it is late", Any: true, Clients: []Client{{Turns: 1, Writes: 1, AtLeast: true}, writer}, Faults: Faults{Decline: 1, Dup: 1}},
		{Name: "at least, update", About: "an update in the write that releases", Clients: []Client{{Turns: 1, Updates: 2, AtLeast: true}, one}, Faults: Faults{Lost: 1, Decline: 1}},
		{Name: "at least, fail closed", About: "grants are confirmed", Clients: []Client{{Turns: 1, FailClosed: true, AtLeast: true}, one}, Faults: Faults{Lost: 1}},
		{Name: "at least, operator", About: "and an operator evicts", Clients: []Client{{Turns: 1, AtLeast: true}, one}, Faults: Faults{Evict: 1, Lost: 1}},
		{Name: "asked", About: "an operator asks a holder to give way", Clients: []Client{two, one}, Faults: Faults{Ask: 1, Beat: 1}},
		{Name: "asked, readers", About: "the same of holders that share", Clients: []Client{one, reader, reader}, Faults: Faults{Ask: 1}},
		{Name: "asked, copied, any", About: "and a copy of any request comes later", Any: true, Clients: []Client{two, one}, Faults: Faults{Ask: 1, Dup: 1}},
		{Name: "asked, ended", About: "and a lease ends", Clients: []Client{one, one}, Faults: Faults{Ask: 1, Ends: 1, Evict: 1}},
		{Name: "transaction", About: "holders write x in fenced transactions", Clients: []Client{writer, writer}},
		{Name: "transaction, of three", About: "and one of them does not write", Clients: []Client{writer, one, writer}},
		{Name: "transaction, lost", About: "and a request or its answer is lost", Clients: []Client{writer, writer}, Faults: Faults{Lost: 1}},
		{Name: "transaction, lost twice", About: "the same, twice", Clients: []Client{writer, writer}, Faults: Faults{Lost: 2}},
		{Name: "transaction, evicted", About: "and an operator evicts", Clients: []Client{writer, writer}, Faults: Faults{Evict: 1, Lost: 1}},
		{Name: "transaction, ended", About: "and a lease ends", Clients: []Client{writer, writer}, Faults: Faults{Ends: 1}},
		{Name: "transaction, late", About: "and a request is late", Clients: []Client{writer, writer}, Faults: Faults{Late: 1}},
		{Name: "transaction, cancelled", About: "an attempt is cancelled, and a copy of it is late", Any: true, Clients: []Client{writer, writer}, Faults: Faults{Failed: 1, Dup: 1}},
		{Name: "transaction, idle", About: "a holder between two that write may write nothing", Clients: []Client{writer, {Turns: 2, Writes: 1}}, Faults: Faults{Lost: 2}},
		{Name: "transaction, idle and evicted", About: "and an operator evicts the first", Clients: []Client{writer, {Turns: 2, Writes: 1}}, Faults: Faults{Evict: 1}},
		{Name: "transaction, next", About: "another transaction follows", Clients: []Client{writes, writer}, Faults: Faults{Lost: 2}},
		{Name: "transaction, cancelled and evicted", About: "the same, and an operator evicts", Any: true, Clients: []Client{writer, writer}, Faults: Faults{Failed: 1, Dup: 1, Evict: 1}},
		{Name: "transaction, refused", About: "an attempt is refused by its own condition, and a copy of it is late", Any: true, Clients: []Client{writer, writer}, Faults: Faults{Decline: 2, Dup: 1}},
		{Name: "transaction, next and refused", About: "and another transaction follows", Any: true, Clients: []Client{writes, writer}, Faults: Faults{Decline: 2, Dup: 1}},
		{Name: "transaction, evicted twice", About: "an attempt is repeated beside two evictions", Any: true, Clients: []Client{writer, one}, Faults: Faults{Evict: 2, Dup: 1}},
		{Name: "transaction, next and cancelled", About: "and one is cancelled", Any: true, Clients: []Client{writes, writer}, Faults: Faults{Failed: 1, Dup: 1}},
		{Name: "transaction, forgotten", About: "DynamoDB forgets its token", Clients: []Client{writes, one}, Faults: Faults{Lost: 1, Late: 1, Forget: 1}},
		{Name: "transaction, forgotten and evicted", About: "and two holders are evicted", Clients: []Client{writer, one}, Faults: Faults{Lost: 1, Forget: 1, Evict: 2}},
		{Name: "transaction, update", About: "and a release with an update is late", Clients: []Client{{Turns: 1, Writes: 1, Updates: 1}, writer}, Faults: Faults{Late: 1}},
		{Name: "transaction, downgrade", About: "and a downgrade, which is late", Clients: []Client{{Turns: 1, Writes: 1, Downgrades: true}, {Turns: 1, Mode: reader.Mode, Reads: true}}, Faults: Faults{Late: 1}},
		{Name: "transaction, downgrade, lost", About: "or lost", Clients: []Client{{Turns: 1, Writes: 1, Downgrades: true}, {Turns: 1, Mode: reader.Mode, Reads: true}}, Faults: Faults{Lost: 1}},
		{Name: "fence", About: "a transaction of the caller's own asks for the lock, beside a downgrade", Clients: []Client{{Turns: 1, Fences: 1, Downgrades: true}, reader, one}},
		{Name: "transaction, declined", About: "and its own condition is false", Clients: []Client{writer, writer}, Faults: Faults{Lost: 1, Decline: 1}},
		{Name: "transaction, resumed", About: "and another process resumes the lock", Clients: []Client{writer, {Turns: 1, Writes: 1, Resumes: true}}, Faults: Faults{Late: 1}},
		{Name: "paused", About: "a process stops between a step and what follows, for a lease or not", Clients: []Client{one, one}, Faults: Faults{Pause: 1, Ends: 1, GiveUp: 1}},
		{Name: "paused, lost", About: "and a request is lost", Clients: []Client{one, one}, Faults: Faults{Pause: 1, Ends: 1, Lost: 1}},
		{Name: "paused of three", About: "and another client waits", Clients: []Client{one, one, one}, Faults: Faults{Pause: 1, Ends: 1}},
		{Name: "paused twice", About: "it stops twice", Clients: []Client{one, one}, Faults: Faults{Pause: 2, Ends: 1}},
		{Name: "paused, gives up", About: "and a request is never sent, or late", Clients: []Client{one, one}, Faults: Faults{Pause: 2, GiveUp: 1, Late: 1}},
		{Name: "paused, names", About: "the same with grants by name", Names: true, Clients: []Client{one, one}, Faults: Faults{Pause: 1, Ends: 1, GiveUp: 1}},
		{Name: "paused, names, of three", About: "and another client waits", Names: true, Clients: []Client{one, one, one}, Faults: Faults{Pause: 1, GiveUp: 1}},
		{Name: "paused, passes", About: "the same with one client", Same: true, Stale: true, Clients: []Client{one, one}, Faults: Faults{Pause: 1, Ends: 1, GiveUp: 1}},
		{Name: "paused, fail closed", About: "the same with grants that are confirmed", Clients: []Client{closed, closed}, Faults: Faults{Pause: 1, Ends: 1, GiveUp: 1}},
		{Name: "looks first", About: "a waiter looks before it acts by what entering has shown", Stale: true, Clients: []Client{one, one, one}, Faults: Faults{Lost: 1}},
		{Name: "puts first", About: "no request is sent before the row is in the table", Put: true, Clients: []Client{one, one, one}, Faults: Faults{Lost: 1}},
		{Name: "puts first, gives up", About: "and a caller gives up", Put: true, Stale: true, Names: true, Clients: []Client{one, one}, Faults: Faults{GiveUp: 1, Lost: 1, Ends: 1}},
		{Name: "deleted", About: "another program deletes the record", Clients: []Client{two, one}, Faults: Faults{Delete: 1}},
		{Name: "deleted, late", About: "and a request is late", Clients: []Client{one, one}, Faults: Faults{Delete: 1, Late: 1}},
	}
}

// States is how many states of each world "make spec" searches at most.
const States = 1_000_000

// Unfinished are the worlds that have more. TestWorlds checks the list.
var Unfinished = []string{
	"suspended of three", "heartbeats", "heartbeats of rows", "rows, copied", "fail closed, late", "resumed twice", "resumed, ended",
	"transaction, idle", "transaction, idle and evicted", "transaction, cancelled and evicted", "transaction, forgotten and evicted",
	"paused of three",
}

func worldNamed(name string) World {
	for _, w := range Worlds() {
		if w.Name == name {
			return w
		}
	}
	panic("search: no world " + name)
}
