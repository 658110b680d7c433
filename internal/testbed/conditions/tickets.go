package conditions

import (
	"github.com/queuelock/queuelock/clause"
	"github.com/queuelock/queuelock/internal/attr"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
)

var ofTake = []Case{
	searched("TAKE", "counter", "`ticketNumber` is a number from 0 to 10^38-2. Another program's item has none. DynamoDB keeps 38 digits: after the last number a ticket would be issued twice.", "malformed", "seeds", 2),
	searched("TAKE", "no item", "In place of all others: the request creates the record, and never overwrites an item of another program.", "attempts", "two turns each", 41),
	decides("TAKE", "no counter", "The same on the user's item, which must have none of the record's attributes.", "wedged", late{
		item:  clause.Item{"amount": clause.Int(7)},
		write: counterOf(hostNames).Take(queue.Take(grant("a-0"), false), number(0)).Write,
		host:  true,
	}),
	searched("TAKE", "holders well formed", "`holders`, `servingAfter` and `granted` are those of a record. Another program's item is not taken for a lock.", "malformed", "foreign holders", 2),
	searched("TAKE", "granted well formed", "`granted` is from 0 to `ticketNumber`. Above it, no ticket could be granted.", "malformed", "foreign granted", 2),
	searched("TAKE", "mode well formed", "`holdMode` is one of its two values, if it is present.", "malformed", "foreign mode", 2),
	searched("TAKE", "scope", "A wider counter issues the tickets of a record with a scope, so its own numbers would not be in order with them.", "tickets", "wide, and not", 4),
	searched("TAKE", "kind", "The record of a semaphore is not a lock, and the other way round.", "kind", "a lock and a semaphore", 4),
	searched("TAKE", "mode known", "Of a shared ticket: holders without `holdMode` may be exclusive.", "exclusion", "foreign, without a mode", 3),
	searched("TAKE", "room", "With `NoWait`: a busy lock costs one request, and no ticket. A queue that a hand-off has left is not busy.", "attempts", "seeds, no wait", 48),
	keeps("TAKE", "holders share", "Of a shared ticket with `NoWait`, as of CLAIM.", saves),
	keeps("TAKE", "few readers", "Of a shared ticket with `NoWait`, as of CLAIM.", saves),
	searched("TAKE that seeds", "no item", "Two clients seed one record. The second would begin it again, with the tickets of the first.", "fencing", "seeds", 8),
	decides("TAKE that seeds", "no counter", "The same on the user's item.", "back", late{
		item:  clause.Item{"amount": clause.Int(7), "lock_" + attr.TicketNumber: clause.Int(2)},
		write: seed(counterOf(hostNames), queue.Take(grant("a-0"), false), clause.Item{"amount": clause.Int(7)}),
		host:  true,
	}),
}

var ofCounters = []Case{
	decides("NUMBER", "counter", "As of TAKE.", "malformed", late{
		item:  clause.Item{attr.TicketNumber: clause.Int(-7)},
		write: counterOf(recordNames).TakeThenSeed(ticket.Rider{}, number(0)).Write,
	}),
	decides("NUMBER", "no item", "As of TAKE.", "wedged", late{
		write: counterOf(recordNames).Take(ticket.Rider{}, number(0)).Write,
	}),
	decides("NUMBER that seeds", "no item", "As of TAKE that seeds.", "back", late{
		item:  clause.Item{attr.TicketNumber: clause.Int(2)},
		write: seed(counterOf(recordNames), ticket.Rider{}, nil),
	}),
	decides("RAISE", "lower", "Two clients raise a counter. The later request would set it back.", "back", late{
		item:  clause.Item{attr.TicketNumber: clause.Int(8)},
		write: counterOf(recordNames).Raise(number(7)),
	}),
}

var ofEnter = []Case{
	searched("ENTER", "no item", "As of TAKE.", "attempts", "wide", 41),
	searched("ENTER", "first with its ticket", "A late ENTER of 5 would set `ticketNumber` back from 6. Each ENTER is applied at most once.", "malformed", "wide", 4),
	searched("ENTER", "scope", "The tickets of another counter are in no order with this one's.", "kind", "wide, and wider", 4),
	searched("ENTER", "holders well formed", "As of TAKE.", "malformed", "foreign holders, wide", 2),
	searched("ENTER", "granted well formed", "As of TAKE.", "malformed", "foreign granted, wide", 2),
	searched("ENTER", "mode well formed", "As of TAKE.", "malformed", "foreign mode, wide", 2),
	searched("ENTER", "kind", "As of TAKE.", "kind", "a lock and a semaphore, wide", 4),
	searched("ENTER", "mode known", "As of TAKE.", "exclusion", "foreign, without a mode, wide", 3),
	searched("ENTER", "room", "With `NoWait`, as of TAKE.", "attempts", "wide, readers", 47),
	keeps("ENTER", "holders share", "Of a shared ticket with `NoWait`, as of CLAIM.", saves),
	keeps("ENTER", "few readers", "Of a shared ticket with `NoWait`, as of CLAIM.", saves),
}

var ofClaim = []Case{
	searched("CLAIM", "room", "Two clients that read \"no holder\" both claim, and the second must fail. An absent `holders` has no size, so an idle queue is not claimed.", "exclusion", "three", 15),
	searched("CLAIM", "holders share", "Of a shared ticket: it joins holders only if they share.", "exclusion", "readers", 15),
	searched("CLAIM", "few readers", "Of a shared ticket: more holders than the record sustains heartbeats for would lose their leases.", "exclusion", "few readers", 15),
	searched("CLAIM", "not granted", "A with 5 pauses before its CLAIM; B with 6 is granted and leaves. A's CLAIM would make tokens fall from 6 to 5.", "fencing", "three", 17),
	searched("CLAIM", "granted as read", "Of a semaphore: `granted` is what the record had by which the number of the permit is free. Two clients that read the same record would both take it.", "slots", "permits, late", 13),
	decides("CLAIM", "after the first served", "5 is granted by TAKE, which does not raise `granted`, and handed off. A late CLAIM with 5 would grant the token again.", "fencing", late{
		item:  record(3, clause.Item{}, clause.Item{attr.ServingAfter: clause.Int(1)}), // a new one, in which another client was served with 2
		write: queue.Claim(grant("b-0"), number(2)),
	}),
	searched("CLAIM", "issued", "The record may have been deleted and seeded again. `granted` above the counter would wedge it.", "malformed", "deleted, operator", 15),
}
