package conditions

import (
	"time"

	"github.com/queuelock/queuelock/internal/clause"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
)

var ofTake = []Case{
	needs("TAKE", "counter", "`ticketNumber` is a number from 0 to 10^38-2. Another program's item has none. DynamoDB keeps 38 digits: after the last number a ticket would be issued twice.", Foreign,
		foreign(theRecord, clause.Item{"invoice": clause.Int(7)}),
		A.takes(),
	),
	needs("TAKE", "no item", "In place of all others: the request creates the record, and never overwrites an item of another program.", Progress,
		A.takes(),
	),
	needs("TAKE", "no counter", "The same on the user's item, which must have none of the record's attributes.", Progress,
		onItem(),
		A.takes(),
	),
	needs("TAKE", "holders well formed", "`holders`, `servingAfter` and `granted` are those of a record. Another program's item is not taken for a lock.", Foreign,
		foreign(theRecord, clause.Item{queue.AttrTicketNumber: clause.Int(7), queue.AttrHolders: clause.String("of shares")}),
		A.takes(),
	),
	needs("TAKE", "granted well formed", "`granted` is from 0 to `ticketNumber`. Above it, no ticket could be granted.", Foreign,
		foreign(theRecord, clause.Item{queue.AttrTicketNumber: clause.Int(7), queue.AttrGranted: clause.Int(9)}),
		A.takes(),
	),
	needs("TAKE", "mode well formed", "`holdMode` is one of its two values, if it is present.", Foreign,
		foreign(theRecord, clause.Item{queue.AttrTicketNumber: clause.Int(7), queue.AttrHoldMode: clause.String("by hand")}),
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
		edited(queue.AttrHoldMode, nil),
		R1.takes(), // which would set it
	).then(
		R1.claims(),
	),
	needs("TAKE", "room", "With `NoWait`: a busy lock costs one request, and no ticket. A queue that a hand-off has left is not busy.", Reported,
		A.takes(),
		A.handsOff(),
		B.takesIfIdle(),
	),
	keeps("TAKE", "holders share", "Of a shared ticket with `NoWait`, as of CLAIM.", saves,
		A.takes(),
		R1.takesIfIdle(),
	),
	keeps("TAKE", "few readers", "Of a shared ticket with `NoWait`, as of CLAIM.", saves,
		R1.takes(),
		R2.takes(), R2.claims(),
		R3.takesIfIdle(),
	),
	needs("TAKE that seeds", "no item", "Two clients seed one record. The second would begin it again, with the tickets of the first.", Once,
		A.takesOnly(), // no record
		B.takesOnly(), // no record
		B.seeds(),
		A.seeds(),
	),
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
		foreign(theCounter, clause.Item{queue.AttrTicketNumber: clause.Int(-7)}),
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
	needs("ENTER", "first with its ticket", "A late ENTER of 5 would set `ticketNumber` back from 6. Each ENTER is applied at most once.", Rise,
		A.numbers(),
		A.enters(), // and holds
		A.releases(),
		A.again("ENTER"),
	),
	needs("ENTER", "scope", "The tickets of another counter are in no order with this one's.", Kind,
		A.numbers(),
		A.enters(),
		B.numbers(),
		B.entersFrom(ticket.ScopeTable),
	),
	needs("ENTER", "holders well formed", "As of TAKE.", Foreign,
		foreign(theRecord, clause.Item{queue.AttrTicketNumber: clause.Int(0), queue.AttrScope: clause.String("entity"), queue.AttrHolders: clause.String("of shares")}),
		A.numbers(),
		A.enters(),
	),
	needs("ENTER", "granted well formed", "As of TAKE.", Foreign,
		foreign(theRecord, clause.Item{queue.AttrTicketNumber: clause.Int(0), queue.AttrScope: clause.String("entity"), queue.AttrGranted: clause.Int(9)}),
		A.numbers(),
		A.enters(),
	),
	needs("ENTER", "mode well formed", "As of TAKE.", Foreign,
		foreign(theRecord, clause.Item{queue.AttrTicketNumber: clause.Int(0), queue.AttrScope: clause.String("entity"), queue.AttrHoldMode: clause.String("by hand")}),
		A.numbers(),
		A.enters(),
	),
	needs("ENTER", "kind", "As of TAKE.", Kind,
		A.numbers(), A.enters(),
		P1.numbers(), P1.enters(),
	),
	needs("ENTER", "mode known", "As of TAKE.", Exclusion,
		A.numbers(), A.enters(),
		edited(queue.AttrHoldMode, nil),
		R1.numbers(), R1.enters(),
	).then(
		R1.claims(),
	),
	needs("ENTER", "room", "With `NoWait`, as of TAKE.", Reported,
		A.numbers(), A.enters(),
		A.handsOff(),
		B.numbers(), B.entersIfIdle(),
	),
	keeps("ENTER", "holders share", "Of a shared ticket with `NoWait`, as of CLAIM.", saves,
		A.numbers(), A.enters(),
		R1.numbers(), R1.entersIfIdle(),
	),
	keeps("ENTER", "few readers", "Of a shared ticket with `NoWait`, as of CLAIM.", saves,
		R1.numbers(), R1.enters(),
		R2.numbers(), R2.enters(), R2.claims(),
		R3.numbers(), R3.entersIfIdle(),
	),
}

var ofClaim = []Case{
	needs("CLAIM", "room", "Two clients that read \"no holder\" both claim, and the second must fail. An absent `holders` has no size, so an idle queue is not claimed.", Exclusion,
		A.takes(),
		B.takes(),
		C.takes(),
		A.handsOff(),
		B.claims(),
		C.claims(),
	),
	needs("CLAIM", "holders share", "Of a shared ticket: it joins holders only if they share.", Exclusion,
		A.takes(),
		R1.takes(),
		R1.claims(),
	),
	needs("CLAIM", "few readers", "Of a shared ticket: more holders than the record sustains heartbeats for would lose their leases.", Exclusion,
		R1.takes(),
		R2.takes(), R2.claims(),
		R3.takes(), R3.claims(), // two are the most here
	),
	needs("CLAIM", "not granted", "A with 5 pauses before its CLAIM; B with 6 is granted and leaves. A's CLAIM would make tokens fall from 6 to 5.", Rise,
		C.takes(),
		A.takes(), // 2, and pauses before it has a row
		B.takes(), // 3
		C.handsOff(),
		B.claims(),
		B.handsOff(),
		A.claims(),
	),
	needs("CLAIM", "after the first served", "5 is granted by TAKE, which does not set `granted`, and handed off. A late CLAIM with 5 would grant the token again.", Rise,
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
