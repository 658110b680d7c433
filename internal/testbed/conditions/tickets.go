package conditions

import (
	"time"

	"github.com/queuelock/queuelock/clause"
	"github.com/queuelock/queuelock/internal/attr"
	"github.com/queuelock/queuelock/ticket"
)

var ofTake = []Case{
	searched("TAKE", "counter", "`ticketNumber` is a number from 0 to 10^38-2. Another program's item has none. DynamoDB keeps 38 digits: after the last number a ticket would be issued twice.", "malformed", "seeds", 2),
	searched("TAKE", "no item", "In place of all others: the request creates the record, and never overwrites an item of another program.", "attempts", "two turns each", 41),
	needs("TAKE", "no counter", "The same on the user's item, which must have none of the record's attributes.", Progress,
		onItem(),
		A.takes(),
	),
	needs("TAKE", "holders well formed", "`holders`, `servingAfter` and `granted` are those of a record. Another program's item is not taken for a lock.", Foreign,
		foreign(theRecord, clause.Item{attr.TicketNumber: clause.Int(7), attr.Holders: clause.String("of shares")}),
		A.takes(),
	),
	needs("TAKE", "granted well formed", "`granted` is from 0 to `ticketNumber`. Above it, no ticket could be granted.", Foreign,
		foreign(theRecord, clause.Item{attr.TicketNumber: clause.Int(7), attr.Granted: clause.Int(9)}),
		A.takes(),
	),
	needs("TAKE", "mode well formed", "`holdMode` is one of its two values, if it is present.", Foreign,
		foreign(theRecord, clause.Item{attr.TicketNumber: clause.Int(7), attr.HoldMode: clause.String("by hand")}),
		A.takes(),
	),
	needs("TAKE", "scope", "A wider counter issues the tickets of a record with a scope, so its own numbers would not be in order with them.", Once,
		B.numbers(),
		B.enters(),
		A.numbers(), // 2, and its ENTER comes later
		C.takes(),   // by a client with another Scope: 2
	),
	needs("TAKE", "kind", "The record of a semaphore is not a lock, and the other way round.", Kind,
		A.takes(),
		P1.takes(),
	),
	needs("TAKE", "mode known", "Of a shared ticket: holders without `holdMode` may be exclusive.", Exclusion,
		A.takes(),
		edited(attr.HoldMode, nil),
		R1.takes(), // which would set it
	).then(
		R1.claims(),
	),
	searched("TAKE", "room", "With `NoWait`: a busy lock costs one request, and no ticket. A queue that a hand-off has left is not busy.", "attempts", "seeds, no wait", 48),
	keeps("TAKE", "holders share", "Of a shared ticket with `NoWait`, as of CLAIM.", saves),
	keeps("TAKE", "few readers", "Of a shared ticket with `NoWait`, as of CLAIM.", saves),
	searched("TAKE that seeds", "no item", "Two clients seed one record. The second would begin it again, with the tickets of the first.", "fencing", "seeds", 8),
	needs("TAKE that seeds", "no counter", "The same on the user's item.", Once,
		onItem(),
		A.takesOnly(),
		B.takesOnly(),
		B.seeds(),
		A.seeds(),
	),
}

var ofCounters = []Case{
	needs("NUMBER", "counter", "As of TAKE.", Foreign,
		foreign(theCounter, clause.Item{attr.TicketNumber: clause.Int(-7)}),
		A.numbersOnly(),
	),
	needs("NUMBER", "no item", "As of TAKE.", Progress,
		A.numbers(),
	),
	needs("NUMBER that seeds", "no item", "As of TAKE that seeds.", Once,
		A.numbersOnly(),
		B.numbersOnly(),
		B.seeds(),
		A.seeds(),
	),
	needs("RAISE", "lower", "Two clients raise a counter. The later request would set it back.", Once,
		A.numbers(),
		B.raises(7),
		C.numbers(), // 8
		A.raises(7), // late
	).then(
		A.numbers(), // 8
	),
}

var ofEnter = []Case{
	searched("ENTER", "no item", "As of TAKE.", "attempts", "wide", 41),
	searched("ENTER", "first with its ticket", "A late ENTER of 5 would set `ticketNumber` back from 6. Each ENTER is applied at most once.", "malformed", "wide", 4),
	needs("ENTER", "scope", "The tickets of another counter are in no order with this one's.", Kind,
		A.numbers(),
		A.enters(),
		B.numbers(),
		B.entersFrom(ticket.ScopeTable),
	),
	needs("ENTER", "holders well formed", "As of TAKE.", Foreign,
		foreign(theRecord, clause.Item{attr.TicketNumber: clause.Int(0), attr.Scope: clause.String("entity"), attr.Holders: clause.String("of shares")}),
		A.numbers(),
		A.enters(),
	),
	needs("ENTER", "granted well formed", "As of TAKE.", Foreign,
		foreign(theRecord, clause.Item{attr.TicketNumber: clause.Int(0), attr.Scope: clause.String("entity"), attr.Granted: clause.Int(9)}),
		A.numbers(),
		A.enters(),
	),
	needs("ENTER", "mode well formed", "As of TAKE.", Foreign,
		foreign(theRecord, clause.Item{attr.TicketNumber: clause.Int(0), attr.Scope: clause.String("entity"), attr.HoldMode: clause.String("by hand")}),
		A.numbers(),
		A.enters(),
	),
	needs("ENTER", "kind", "As of TAKE.", Kind,
		A.numbers(), A.enters(),
		P1.numbers(), P1.enters(),
	),
	needs("ENTER", "mode known", "As of TAKE.", Exclusion,
		A.numbers(), A.enters(),
		edited(attr.HoldMode, nil),
		R1.numbers(), R1.enters(),
	).then(
		R1.claims(),
	),
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
	needs("CLAIM", "after the first served", "5 is granted by TAKE, which does not raise `granted`, and handed off. A late CLAIM with 5 would grant the token again.", Rise,
		A.takes(),
		B.takes(), // 2
		deleted(theRecord),
		wait(time.Second), // a new record begins with 2
		C.takes(),         // 2, and holds
		N.takes(),
		C.handsOff(),
		B.claims(),
	),
	needs("CLAIM", "issued", "The record may have been deleted and seeded again. `granted` above the counter would wedge it.", Progress,
		A.takes(),
		B.takes(), // 2
		deleted(theRecord),
		C.takes(), // 1
		C.handsOff(),
		B.claims(),
	),
}
