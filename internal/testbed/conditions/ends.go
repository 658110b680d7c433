package conditions

import (
	"time"

	"github.com/queuelock/queuelock/clause"
	"github.com/queuelock/queuelock/internal/attr"
)

var ofRelease = []Case{
	searched("RELEASE", "holder", "The second of two copies would end the turn of the next holder.", "judged", "lost", 12),
	searched("RELEASE", "its ticket", "A release must not take the orphaned entry of a repeated TAKE for the lock.", "reported", "operator, copied, any", 17),
	searched("RELEASE", "alone", "The fast form removes all holders.", "judged", "readers", 7),
	searched("RELEASE", "none outstanding", "The fast form, and B takes 6 in between: C with 7 would be granted by TAKE before B.", "overtaking", "three", 6),
	searched("RELEASE", "transaction not made", "A copy of a refused transaction arrives, and would commit unnoticed while the lock is released.", "lost", "transaction, refused", 14),
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
	searched("PASS", "holder", "As of RELEASE.", "exclusion", "slices, named", 11),
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
	keeps("PASS", "alone", "The lock is exclusive, so the holder is the only one.", deep),
	needs("PASS", "not granted", "As of CLAIM.", Rise,
		A.takes(),
		N.queues(), // 2
		A.downgrades().lost(),
		A.passesTo(N).delayed(), // misjudged: this library does not, as others may have joined
		N.leaves(),
		R1.takes(), R1.claims(), R1.handsOff(), // 3
		A.arrives(),
	),
	keeps("PASS", "after the first served", "As of CLAIM.", deep),
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
	searched("REVOKE", "holder", "As of HEARTBEAT. Without an entry the request would be invalid.", "malformed", "asked", 9),
	searched("REVOKE", "its ticket", "A request that arrives after the turn must not ask a later one: a repeated TAKE has put the id back.", "asked", "asked, copied, any", 8),
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
	keeps("RETAKE", "alone", "As of PASS.", deep),
	searched("RETAKE", "none outstanding", "B has taken a ticket in between.", "overtaking", "blocks, retakes, late of three", 8),
	searched("RETAKE", "transaction not made", "As of RELEASE.", "lost", "blocks, retakes, transaction", 13),
}

var ofReset = []Case{
	searched("RESET", "no holder", "A client claims in between, and would lose its entry.", "judged", "three", 16),
	searched("RESET", "none outstanding", "A with 5 waits while B with 6 has given up. A RESET would raise the floor above A. So no ticket but one that was granted may be outstanding.", "overtaking", "two turns each", 17),
}

var ofEvict = []Case{
	searched("EVICT", "beat as read", "B renews between A's look and A's removal.", "judged", "copied, any, ended", 8),
	searched("EVICT", "ticket as read", "The mark must name the right turn, or its outcome would be misread.", "reported", "transaction, evicted twice", 14),
	searched("EVICT", "transactions as read", "The mark has the number of the holder's last transaction, which shows the outcome of one without an answer.", "reported", "transaction, evicted", 9),
	searched("EVICT of a fail-closed holder", "fail closed", "The entry of another holder is evicted by its lease only. One that is gone leaves no mark of an eviction.", "reported", "operator, fail closed", 17),
	keeps("EVICT of a fail-closed holder", "no lease", "A provisional grant ends by its own lease.", asked),
	keeps("EVICT of a fail-closed holder", "ticket as read", "As of EVICT.", deep),
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
	searched("CLEAN UP", "one is there", "Nothing is written if no request of unknown outcome was applied.", "malformed", "late and ended", 11),
	searched("CLEAN UP of a row", "its id", "The row of another client is not deleted.", "judged", "resumed twice", 9),
}
