// Package conditions says of each condition of each conditional write why it is there, in one of three ways:
//
//   - A search of members finds what breaks without it: package search has the world, and the steps of the shortest story.
//   - It decides where no search comes: of counters, of items of the user, of records that another program has deleted or
//     written, and of calls that are no machines. Then a write that arrives late is here, with the item that it meets.
//     Without the condition that one change breaks a check.
//   - It is kept for another reason, which is here. Items that it alone refuses are drawn by the tests of package queue.
//
// test/docs/testdata/writes.md takes its sentences from here.
package conditions

import (
	"fmt"
	"slices"

	"github.com/queuelock/queuelock/clause"
)

// Case is why a write has a condition.
type Case struct {
	Write, Condition string
	Because          string // for test/docs/testdata/writes.md
	// Breaks is the check of package search that fails without the condition; empty: none does.
	Breaks string
	// World is that of package search in which a search finds that, and Steps is the length of the shortest story. Else the
	// case has a write that is late, or a reason.
	World string
	Steps int

	kept reason
	late *late
}

// late is a write that the condition alone decides, and the item that it meets.
type late struct {
	item  clause.Item // nil: none
	write clause.Write
	host  bool // the lock is on the user's item
}

// reason is why a condition is kept that no story needs.
type reason string

const (
	needed reason = ""
	// saves: the write would be applied, and harm no one.
	saves reason = "saves a request or a ticket"
	// answers: DynamoDB would refuse the request as invalid, or the write would change nothing.
	answers reason = "gives a clear answer"
	// deep: it refuses records that only another program leaves.
	deep reason = "doubles other conditions"
	// asked: an operator may end any turn, or ask any holder to give way, but only as it was shown.
	asked reason = "ends or asks only what was shown"
	// implied: another condition of the same write refuses whatever it refuses.
	implied reason = "names a refusal by another condition"
)

// Keeps returns the invariant that the condition keeps, with the world of the search, or else, in parentheses, what else it does.
func (c Case) Keeps() string {
	if c.kept != needed {
		return "(" + string(c.kept) + ")"
	}
	if c.World != "" {
		return fmt.Sprintf("%s: %s", c.Breaks, c.World)
	}
	return c.Breaks
}

// decides is a case of a write that is late.
func decides(write, condition, because, breaks string, l late) Case {
	if l.item != nil {
		l.item["pk"] = clause.String("x")
	}
	return Case{Write: write, Condition: condition, Because: because, Breaks: breaks, late: &l}
}

// searched is a case that a search finds.
func searched(write, condition, because, breaks, world string, steps int) Case {
	return Case{Write: write, Condition: condition, Because: because, Breaks: breaks, World: world, Steps: steps}
}

// keeps is a case of a condition that no story needs.
func keeps(write, condition, because string, kept reason) Case {
	return Case{Write: write, Condition: condition, Because: because, kept: kept}
}

// Cases are all cases, in the order of test/docs/testdata/writes.md.
func Cases() []Case {
	return slices.Concat(ofTake, ofCounters, ofEnter, ofEnqueue, ofClaim, ofHeartbeat, ofRowHeartbeat, ofKeep, ofConfirm, ofSetData,
		ofDowngrade, ofFence, ofSettle, ofAdvance, ofRelease, ofPass, ofRetake, ofRevoke, ofReset, ofEvict, ofSweep, ofCleanUp, ofResume)
}
