package conditions

import (
	"time"

	"github.com/queuelock/queuelock/clause"
	"github.com/queuelock/queuelock/internal/attr"
	"github.com/queuelock/queuelock/queue"
)

var ofRelease = []Case{
	searched("RELEASE", "holder", "The second of two copies would end the turn of the next holder.", "judged", "lost", 12),
	searched("RELEASE", "its ticket", "A release must not take the orphaned entry of a repeated TAKE for the lock.", "reported", "operator, copied, any", 17),
	searched("RELEASE", "alone", "The fast form removes all holders.", "judged", "readers", 7),
	searched("RELEASE", "none outstanding", "The fast form, and B takes 6 in between: C with 7 would be granted by TAKE before B.", "overtaking", "three", 6),
	searched("RELEASE", "transaction not made", "A copy of a refused transaction arrives, and would commit unnoticed while the lock is released.", "lost", "transaction, refused", 14),
	decides("RELEASE", "few times", "Beside other holders: the set `unsettled` must not grow without end.", "bounds", late{
		item:  record(2, clause.Item{"a-0": entryOf(1), "b-0": entryOf(2)}, clause.Item{attr.Permits: clause.Int(2), attr.Unsettled: times(queue.MaxUnsettled)}),
		write: queue.Ending{ID: "b-0", Ticket: number(2), Call: 1, Bounded: true, Unsettled: start.Add(time.Second)}.Release(queue.FormHandOff, time.Time{}),
	}),
	decides("RELEASE", "times as read", "In place of that: a time that another holder has added since must not be replaced.", "lost", late{
		item: record(2, clause.Item{"a-0": entryOf(1), "b-0": entryOf(2)}, clause.Item{attr.Permits: clause.Int(2), attr.Unsettled: times(1)}),
		write: queue.Ending{
			ID: "b-0", Ticket: number(2), Call: 1, Bounded: true, Unsettled: start.Add(-time.Minute), Crowd: []time.Time{start.Add(-time.Hour)},
		}.Release(queue.FormHandOff, time.Time{}),
	}),
}

// passes is PASS of the holder a-0.
func passes(from, to uint64) clause.Write {
	next := queue.Next{Entry: grant("n-0"), Ticket: number(to)}
	return queue.Ending{ID: "a-0", Ticket: number(from), Call: 1, Next: next}.Release(queue.FormPass, time.Time{})
}

// times returns times of transactions that were given up.
func times(n int) clause.Value {
	var all []time.Time
	for i := range n {
		all = append(all, start.Add(-time.Duration(i)*time.Second))
	}
	return clause.Times(all...)
}

var ofPass = []Case{
	searched("PASS", "holder", "As of RELEASE.", "exclusion", "passes, resumed", 10),
	decides("PASS", "its ticket", "As of RELEASE.", "reported", late{
		item:  record(3, clause.Item{"a-0": entryOf(1)}), // a new one, and a copy of TAKE has put the id there
		write: passes(2, 3),
	}),
	keeps("PASS", "alone", "The lock is exclusive, so the holder is the only one.", deep),
	decides("PASS", "not granted", "As of CLAIM.", "fencing", late{
		item:  record(3, clause.Item{"a-0": entryOf(1)}, clause.Item{attr.Granted: clause.Int(3)}), // to one that has joined
		write: passes(1, 2),
	}),
	keeps("PASS", "after the first served", "As of CLAIM.", deep),
	searched("PASS", "transaction not made", "As of RELEASE.", "lost", "passes, transaction", 15),
	searched("PASS", "issued", "As of CLAIM.", "malformed", "passes, deleted", 10),
}

var ofRevoke = []Case{
	searched("REVOKE", "holder", "As of HEARTBEAT. Without an entry the request would be invalid.", "malformed", "asked", 9),
	searched("REVOKE", "its ticket", "A request that arrives after the turn must not ask a later one: a repeated TAKE has put the id back.", "asked", "asked, copied, any", 8),
}

var ofRetake = []Case{
	searched("RETAKE", "holder", "As of RELEASE.", "exclusion", "blocks, retakes, resumed", 8),
	decides("RETAKE", "its ticket", "As of RELEASE.", "reported", late{
		item:  record(2, clause.Item{"a-0": entryOf(1)}), // as of PASS
		write: queue.Ending{ID: "a-0", Ticket: number(2), Call: 1, Next: queue.Next{Entry: grant("n-0"), Ticket: number(3), New: true}}.Release(queue.FormPass, time.Time{}),
	}),
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
	searched("EVICT of a fail-closed holder", "transactions as read", "As of EVICT.", "reported", "fail closed, transaction, evicted", 10),
}

var ofCleanUp = []Case{
	searched("CLEAN UP", "one is there", "Nothing is written if no request of unknown outcome was applied.", "malformed", "late and ended", 11),
	searched("CLEAN UP of a row", "its id", "The row of another client is not deleted.", "judged", "resumed twice", 9),
}
