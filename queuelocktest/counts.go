package queuelocktest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/queuelock/queuelock/internal/testbed/faultnet"
)

// Tally counts requests.
//
// A write whose condition fails consumes write capacity without reporting it.
// WriteUnits includes it as DynamoDB documents it: one unit for each KB of the larger
// of the old item and the new. Only a request that asked for the item of a failed
// condition knows the old one, and otherwise it counts as no larger than the new one,
// or than 1 KB. A cancelled transaction is counted as if it had been committed.
type Tally struct {
	Sent             int     // attempts, retries of the SDK and requests that never arrived included
	Applied          int     // requests the table processed, failed conditions and late duplicates included
	FailedConditions int     // of these, those whose condition did not hold
	ReadUnits        float64 // consumed read capacity units
	WriteUnits       float64 // consumed write capacity units
}

// Counts has the tallies of operations, such as "UpdateItem", that were sent.
type Counts map[string]Tally

func countsOf(operations map[string]faultnet.Tally) Counts {
	counts := Counts{}
	for operation, tally := range operations {
		counts[operation] = Tally(tally)
	}
	return counts
}

// Sub returns what was counted since an earlier snapshot, without operations that have
// no difference.
func (c Counts) Sub(before Counts) Counts {
	diff := Counts{}
	for operation, now := range c {
		was := before[operation]
		tally := Tally{
			Sent:             now.Sent - was.Sent,
			Applied:          now.Applied - was.Applied,
			FailedConditions: now.FailedConditions - was.FailedConditions,
			ReadUnits:        now.ReadUnits - was.ReadUnits,
			WriteUnits:       now.WriteUnits - was.WriteUnits,
		}
		if tally != (Tally{}) {
			diff[operation] = tally
		}
	}
	return diff
}

// Total returns the sum over all operations.
func (c Counts) Total() Tally {
	var total faultnet.Tally
	for _, tally := range c {
		total = total.Add(faultnet.Tally(tally))
	}
	return Tally(total)
}

// String prints a table with one line for each operation, and their total.
func (c Counts) String() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	row := func(name string, t Tally) {
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%g\t%g\t\n", name, t.Sent, t.Applied, t.FailedConditions, t.ReadUnits, t.WriteUnits)
	}
	fmt.Fprintln(w, "operation\tsent\tapplied\tfailed\tRCU\tWCU\t")
	for _, operation := range slices.Sorted(maps.Keys(c)) {
		row(operation, c[operation])
	}
	row("total", c.Total())
	w.Flush()
	return b.String()
}
