package conditions

import (
	"time"

	"github.com/queuelock/queuelock/clause"
	"github.com/queuelock/queuelock/internal/attr"
)

var ofRelease = []Case{
	needs("RELEASE", "holder", "The second of two copies would end the turn of the next holder.", Exclusion,
		A.takes(),
		B.takes(),
		A.releases().delayed(),
		A.handsOff(),
		B.claims(),
		A.arrives(),
	).then(
		C.takes(),
	),
	needs("RELEASE", "its ticket", "A release must not take the orphaned entry of a repeated TAKE for the lock.", Reported,
		A.orphaned(),
		A.handsOff(), // a turn that it has lost
	),
	needs("RELEASE", "alone", "The fast form removes all holders.", Exclusion,
		R1.takes(),
		R2.takes(), R2.claims(),
		R1.releases(),
	).then(
		A.takes(),
	),
	needs("RELEASE", "none outstanding", "The fast form, and B takes 6 in between: C with 7 would be granted by TAKE before B.", Order,
		A.takes(),
		B.queues(),
		A.releases(),
	).then(
		C.takes(),
	),
	needs("RELEASE", "transaction not made", "A copy of a refused transaction arrives, and would commit unnoticed while the lock is released.", Visible,
		A.takes(),
		B.takes(),
		A.transacts().cancelled(), // A knows of a refusal
		A.again("FENCE"),          // and not of the copy
		A.handsOff(ifNotMade),
	).then(
		B.claims(),
	),
	needs("RELEASE", "few times", "Beside other holders: the set `unsettled` must not grow without end.", Bounded,
		P1.takes(),
		P2.takes(), P2.claims(),
		edited(attr.Unsettled, times(manyTimes-1)),
		P1.looks(), P2.looks(),
		P2.handsOff(adding),
		wait(time.Second),
		P1.handsOff(adding),
	),
	needs("RELEASE", "times as read", "In place of that: a time that another holder has added since must not be replaced.", Visible,
		P1.takes(),
		P2.takes(), P2.claims(),
		edited(attr.Unsettled, times(manyTimes)),
		P1.looks(), P2.looks(),
		P1.handsOff(adding).delayed(), // replaces what it has seen by 0 s
		wait(5*time.Second),
		P2.transacts().lost(),
		P2.handsOff(adding), // by 5 s
		P1.arrives(),
	).then(
		P3.takes(), P3.claims(),
	),
}

// times returns n times of transactions that were given up long ago.
func times(n int) clause.Value {
	var all []time.Time
	for i := range n {
		all = append(all, start.Add(time.Duration(i-1000)*time.Second))
	}
	return clause.Times(all...)
}

var ofPass = []Case{
	needs("PASS", "holder", "As of RELEASE.", Exclusion,
		A.takes(),
		N.queues(),
		A.passesTo(N).delayed(),
		A.crashes(),
		B.looks(), B.resumes(A),
		A.arrives(),
	).then(
		N.looks(),
	),
	needs("PASS", "its ticket", "As of RELEASE.", Order,
		idle(1),
		A.takes(),  // 2
		N.queues(), // 3
		A.passesTo(N).delayed(),
		deleted(theRecord),
		A.again("TAKE"), // 1 of a new record
		B.queues(),      // 2
		C.takes(),       // 3
		A.arrives(),
	),
	keeps("PASS", "alone", "The lock is exclusive, so the holder is the only one.", deep,
		R1.takes(),
		R2.takes(), R2.claims(),
		N.queues(),
		R2.passesTo(N), // only an exclusive holder does
	),
	needs("PASS", "not granted", "As of CLAIM.", Rise,
		A.takes(),
		N.queues(), // 2
		A.downgrades().lost(),
		A.passesTo(N).delayed(), // misjudged: this library does not, as others may have joined
		N.leaves(),
		R1.takes(), R1.claims(), R1.handsOff(), // 3
		A.arrives(),
	),
	keeps("PASS", "after the first served", "As of CLAIM.", deep,
		A.takes(),
		B.takes(),
		A.handsOff(),
		B.claims(),
		N.queues(),
		edited(attr.ServingAfter, clause.Int(2)),
		B.passesTo(N),
	),
	needs("PASS", "transaction not made", "As of RELEASE.", Visible,
		A.takes(),
		N.queues(),
		A.transacts().cancelled(),
		A.again("FENCE"),
		A.passesTo(N, ifNotMade),
	),
	needs("PASS", "issued", "As of CLAIM.", Progress,
		A.takes(),
		N.queues(), // 2
		deleted(theRecord),
		A.again("TAKE"), // 1, as before
		A.passesTo(N),
	),
}

var ofRevoke = []Case{
	keeps("REVOKE", "holder", "As of HEARTBEAT. Without an entry the request would be invalid.", answers,
		A.takes(),
		O.looks(), O.evict(A),
		O.revokes(A),
	),
	keeps("REVOKE", "its ticket", "A request that arrives after the turn must not ask a later one: a repeated TAKE has put the id back.", asked,
		A.orphaned(),
		O.revokes(A),
	),
}

var ofRetake = []Case{
	needs("RETAKE", "holder", "As of RELEASE.", Exclusion,
		A.takes(),
		A.retakesFor(N).delayed(),
		A.crashes(),
		B.looks(), B.resumes(A),
		A.arrives(),
	).then(
		N.looks(),
	),
	needs("RETAKE", "its ticket", "As of RELEASE.", Order,
		idle(1),
		A.takes(), // 2
		A.retakesFor(N).delayed(),
		deleted(theRecord),
		A.again("TAKE"), // 1 of a new record
		C.queues(),      // 2
		A.arrives(),
	),
	keeps("RETAKE", "alone", "As of PASS.", deep,
		R1.takes(),
		R2.takes(), R2.claims(),
		R2.retakesFor(N), // only an exclusive holder does
	),
	needs("RETAKE", "none outstanding", "B has taken a ticket in between.", Once,
		A.takes(),
		B.queues(),
		A.retakesFor(N),
	),
	needs("RETAKE", "transaction not made", "As of RELEASE.", Visible,
		A.takes(),
		A.transacts().cancelled(),
		A.again("FENCE"),
		A.retakesFor(N, ifNotMade),
	),
}

var ofReset = []Case{
	needs("RESET", "no holder", "A client claims in between, and would lose its entry.", Exclusion,
		A.takes(),
		B.takes(),
		A.handsOff(),
		B.claims(),
		A.resets(),
	).then(
		C.takes(),
	),
	needs("RESET", "none outstanding", "A with 5 waits while B with 6 has given up. A RESET would raise the floor above A. So no ticket but one that was granted may be outstanding.", Order,
		C.takes(),
		A.queues(),
		B.takes(),
		C.handsOff(),
		C.resets(),
	).then(
		N.takes(),
	),
}

var ofEvict = []Case{
	needs("EVICT", "beat as read", "B renews between A's look and A's removal.", Exclusion,
		B.takes(),
		wait(50*time.Second),
		A.looks(), // B's lease ends in 10 s
		B.beats(),
		wait(11*time.Second),
		A.evict(B),
	).then(
		C.takes(), C.claims(),
	),
	needs("EVICT", "ticket as read", "The mark must name the right turn, or its outcome would be misread.", Reported,
		A.takes(),
		O.looks(),
		A.releases().lost(),
		C.takes(), C.releases(),
		A.again("TAKE"),
		O.evict(A),
	).then(
		A.learns(), // and would take its release for a loss
	),
	needs("EVICT", "transactions as read", "The mark has the number of the holder's last transaction, which shows the outcome of one without an answer.", Reported,
		A.takes(),
		wait(50*time.Second),
		B.looks(),
		A.transacts().lost(),
		wait(11*time.Second),
		B.evict(A),
	).then(
		A.asks(),
	),
	needs("EVICT of a fail-closed holder", "fail closed", "The entry of another holder is evicted by its lease only. One that is gone leaves no mark of an eviction.", Reported,
		F.takes(), F.confirms(),
		B.takes(),
		O.looks(),
		F.handsOff().lost(),
		B.claims(), B.handsOff(), // which replaces the mark of F's release
		O.evictsFailClosed(F),
	).then(
		F.learns(),
	),
	keeps("EVICT of a fail-closed holder", "no lease", "A provisional grant ends by its own lease.", asked,
		F.takes(),
		O.looks(), O.evictsFailClosed(F),
	),
	keeps("EVICT of a fail-closed holder", "ticket as read", "As of EVICT.", deep,
		F.takes(), F.confirms(),
		B.takes(),
		O.looks(),
		F.crashes(),
		edited(attr.ServingAfter, clause.Int(1)),
		O.evictsFailClosed(F),
	),
	needs("EVICT of a fail-closed holder", "transactions as read", "As of EVICT.", Reported,
		F.takes(), F.confirms(),
		O.looks(),
		F.transacts().lost(),
		O.evictsFailClosed(F),
	).then(
		F.asks(),
	),
}

var ofCleanUp = []Case{
	keeps("CLEAN UP", "one is there", "Nothing is written if no request of unknown outcome was applied.", answers,
		A.takes(),
		B.takes(),
		B.cleansUp(),
	),
	needs("CLEAN UP of a row", "its id", "The row of another client is not deleted.", Leases,
		A.takes(),
		B.queues(),
		B.leaves().delayed(),
		C.resumesPlace(B),
		B.arrives(),
	),
}
