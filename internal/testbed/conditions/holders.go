package conditions

var ofHeartbeat = []Case{
	searched("HEARTBEAT", "holder", "An evicted holder must not return. An entry whose `beat` is no number cannot be renewed, and the refusal shows it.", "malformed", "copied", 9),
	keeps("HEARTBEAT", "no later ticket", "A late duplicate of a TAKE puts the id back after the turn has ended. Such an orphaned entry is not the lock once a later ticket was granted, unless holders share or there are permits.", deep),
	searched("HEARTBEAT", "its ticket", "Such an entry has a later ticket than the holder.", "ended", "copied twice, any", 8),
	searched("HEARTBEAT", "not late", "Heartbeat 1 (until 10:01) is delayed, heartbeat 2 (until 10:02) is confirmed. Applied now, heartbeat 1 would let others evict a holder that relies on 10:02.", "judged", "heartbeats", 12),
	searched("HEARTBEAT", "no later turn", "Of a block: a heartbeat of an earlier turn would let writes of that turn in again.", "late", "blocks, heartbeats", 7),
}

var ofConfirm = []Case{
	keeps("CONFIRM", "holder", "An evicted holder must not become endless.", implied),
	keeps("CONFIRM", "no later ticket", "As of HEARTBEAT.", deep),
	searched("CONFIRM", "its ticket", "As of HEARTBEAT: an orphaned entry would block the queue until an operator removes it.", "ended", "fail closed, copied twice, any", 9),
	searched("CONFIRM", "not evicted or confirmed", "EVICT of the provisional lease requires `beat` 0 too, so one of the two is refused, whatever clocks say. A late copy of CONFIRM would set `beat` back.", "back", "fail closed, copied", 7),
}

var ofSetData = []Case{
	searched("SETDATA", "holder", "As of HEARTBEAT.", "malformed", "data, copied, any", 8),
	keeps("SETDATA", "no later ticket", "As of HEARTBEAT.", deep),
	searched("SETDATA", "its ticket", "As of HEARTBEAT.", "ended", "data, copied, any", 8),
	searched("SETDATA", "not late", "A call that arrives after a later one would restore older data.", "late", "data", 7),
}

var ofDowngrade = []Case{
	searched("DOWNGRADE", "holder", "As of HEARTBEAT.", "malformed", "downgrade, copied, any", 12),
	keeps("DOWNGRADE", "no later ticket", "As of HEARTBEAT.", deep),
	searched("DOWNGRADE", "its ticket", "As of HEARTBEAT.", "ended", "downgrade, copied, any", 8),
	keeps("DOWNGRADE", "alone", "A refusal with other holders shows that an earlier attempt was applied and others have joined.", answers),
	searched("DOWNGRADE", "transaction not made", "Others would join before a later transaction of the holder is visible.", "lost", "transaction, downgrade", 12),
}

var ofFence = []Case{
	searched("FENCE", "holder", "A paused process writes after its eviction.", "malformed", "transaction", 10),
	searched("FENCE", "no later ticket", "Of a holder that is alone: a write from before its downgrade arrives when others have joined.", "fence", "fence", 9),
	searched("FENCE", "its ticket", "As of HEARTBEAT.", "fence", "transaction, cancelled", 9),
	searched("FENCE", "transaction not made", "A copy arrives later than DynamoDB remembers its token, and would be applied twice.", "denied", "transaction", 6),
	searched("FENCE", "no later turn", "Of a block: a write of an earlier turn arrives.", "fence", "blocks, fence", 6),
}

var ofAdvance = []Case{
	searched("ADVANCE", "holder", "As of HEARTBEAT.", "malformed", "blocks, fence, operator", 7),
	keeps("ADVANCE", "no later ticket", "As of HEARTBEAT.", deep),
	searched("ADVANCE", "its ticket", "The entry has another ticket in a new record, after the old one was deleted.", "ended", "blocks, deleted, copied, any", 13),
	searched("ADVANCE", "no later turn", "ADVANCE of a turn whose caller has given up arrives after that of the next one.", "late", "blocks, fence, late", 7),
	searched("ADVANCE", "not late", "A copy would remove data of its own turn.", "late", "blocks, data, copied, any", 9),
}

var ofSettle = []Case{
	searched("SETTLE", "holder", "As of FENCE.", "malformed", "transaction, evicted", 7),
	searched("SETTLE", "its ticket", "As of HEARTBEAT.", "reported", "transaction, evicted twice", 12),
	searched("SETTLE", "transaction not made", "The transaction was applied after all: the refusal shows its number.", "reported", "transaction", 7),
}

var ofResume = []Case{
	searched("RESUME", "holder", "Two processes resume one lock: the second is refused.", "resume", "resumed twice", 8),
	keeps("RESUME", "no later ticket", "Of an exclusive lock: as of HEARTBEAT.", deep),
	searched("RESUME", "not downgraded", "Of an exclusive lock: others may have joined.", "exclusion", "downgrade, resumed", 10),
	searched("RESUME", "ticket as read", "As of EVICT.", "ended", "resumed, operator, copied, any", 9),
	searched("RESUME", "transactions as read", "As of EVICT.", "reported", "transaction, resumed", 10),
	searched("RESUME", "no request since", "A request to give way that came after the look would be lost.", "asked", "asked, resumed", 7),
	searched("RESUME", "no later turn", "Of a block: the next turn has begun since.", "fencing", "blocks, resumed", 7),
	searched("RESUME of a row", "no row of another", "The row of another client is not touched. One that the handle names is replaced.", "judged", "resumed twice", 10),
}
