// Package conditions says of each condition of each conditional write why it is there. If a search of members finds what breaks without
// it, package search has the world. Else a short story here, in which the write goes wrong without it, or the reason to keep it.
//
// A story is played on a pure table: no engine, no clock but its own, no goroutine. Its last request is late, repeated,
// misjudged or foreign. With all conditions it is refused, and nothing is broken. Without the one condition it is applied,
// and an [Invariant] is broken, at once or after what follows.
//
// test/docs/testdata/writes.md takes its sentences from here.
package conditions

import (
	"fmt"
	"slices"
)

// Case is why a write has a condition.
type Case struct {
	Write, Condition string
	Because          string // for test/docs/testdata/writes.md
	// World is that of package search in which a search finds that a check fails without the condition, and Steps is the length of
	// the shortest story. Else the case has a story here, or a reason.
	World string
	Steps int

	breaks Invariant
	kept   reason
	story  story // the last request is the write
	after  story // what follows
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
		return fmt.Sprintf("%s: %s", c.breaks, c.World)
	}
	return string(c.breaks)
}

// Breaks returns the check of the search that fails without the condition.
func (c Case) Breaks() string { return string(c.breaks) }

// needs is a case in which an invariant is broken.
func needs(write, condition, because string, breaks Invariant, steps ...step) Case {
	return Case{Write: write, Condition: condition, Because: because, breaks: breaks, story: steps}
}

// searched is a case that a search finds.
func searched(write, condition, because string, breaks Invariant, world string, steps int) Case {
	return Case{Write: write, Condition: condition, Because: because, breaks: breaks, World: world, Steps: steps}
}

// then is what follows the write.
func (c Case) then(steps ...step) Case {
	c.after = steps
	return c
}

// keeps is a case of a condition that no story needs. Unless another implies it, TestWrites and TestRowWrites of
// package queue have an item that it alone refuses.
func keeps(write, condition, because string, kept reason) Case {
	return Case{Write: write, Condition: condition, Because: because, kept: kept}
}

// Cases are all cases, in the order of test/docs/testdata/writes.md.
func Cases() []Case {
	return slices.Concat(ofTake, ofCounters, ofEnter, ofEnqueue, ofClaim, ofHeartbeat, ofRowHeartbeat, ofKeep, ofConfirm, ofSetData,
		ofDowngrade, ofFence, ofSettle, ofAdvance, ofRelease, ofPass, ofRetake, ofRevoke, ofReset, ofEvict, ofSweep, ofCleanUp, ofResume)
}
