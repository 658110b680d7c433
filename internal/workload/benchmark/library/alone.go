package library

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/queuelock/queuelock/internal/workload/benchmark"
	"github.com/queuelock/queuelock/internal/workload/benchmark/capacity"
	"github.com/queuelock/queuelock/internal/workload/benchmark/scenario"
)

const (
	// bareRequests is how many requests measure the round trip.
	bareRequests = 100
	// reserve is added to the bound of the scenarios for the first requests, and for
	// those that end a run that has reached it.
	reserve = 1000
)

// Alone is a run that measures this library alone, in any table: that of the command
// "queuelock bench". It costs a bounded amount.
type Alone struct {
	Table          *Table
	Scenarios      []scenario.Scenario
	Size           scenario.Size
	Repetitions    int
	Where, Version string // of DynamoDB, and of what is measured
}

// Most returns what the run may cost at most.
func (a *Alone) Most() capacity.Count {
	return scenario.Most(a.Scenarios, a.Size, a.Repetitions).
		Add(capacity.Count{Requests: 2 * reserve, WriteUnits: reserve, ReadUnits: reserve})
}

var errBound = errors.New("the run has cost what was announced, and was stopped")

// Measure makes the run. Returns its tables as Markdown, also with the error that has ended
// it early; they are empty if the table cannot be used.
func (a *Alone) Measure(ctx context.Context, progress io.Writer) (string, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	most := a.Most()
	most.WriteUnits -= reserve / 2
	most.ReadUnits -= reserve / 2
	a.Table.Meter.Limit(most, func() { cancel(errBound) })
	bare, err := a.Table.Bare(ctx, bareRequests)
	if err != nil {
		return "", err
	}
	run := benchmark.Run{Subjects: []benchmark.Subject{Subject}, Scenarios: a.Scenarios, Size: a.Size, Repetitions: a.Repetitions}
	err = run.Measure(ctx, progress, func(ctx context.Context, _ int, v scenario.Variant, repetition int) (scenario.Values, error) {
		return a.Table.Try(ctx, v, repetition, bare)
	})
	if left := a.Table.Left(); left > 0 {
		err = errors.Join(err, fmt.Errorf("%d keys that begin with %q are left in the table", left, a.Table.Prefix))
	}
	failed := slices.IndexFunc(run.Results, func(r benchmark.Result) bool { return r.Err != nil })
	switch {
	case errors.Is(context.Cause(ctx), errBound):
		err = errBound
	case err == nil && failed >= 0:
		err = fmt.Errorf("%s: %w", run.Results[failed].Scenario, run.Results[failed].Err)
	}
	return a.report(run, bare), err
}

// report returns the tables of what was measured.
func (a *Alone) report(run benchmark.Run, bare benchmark.Bare) string {
	var b strings.Builder
	b.WriteString("# Benchmark\n\n")
	used := a.Table.Meter.Count()
	notes := []string{
		fmt.Sprintf("**Table.** %q at %s.", a.Table.Name, a.Where),
		fmt.Sprintf("**Bare requests.** %s.", bare),
		fmt.Sprintf("**Machine.** %s.", benchmark.Here()),
		fmt.Sprintf("**Version.** %s.", a.Version),
		fmt.Sprintf("**Repetitions.** %d. %s", a.Repetitions, benchmark.CellNote(a.Repetitions)),
		"**Clients** are in one process, each with connections of its own. Where a scenario has processes, a client stands for one, and a crash separates it from the table.",
		benchmark.OrderNote(bare.Slack()),
		fmt.Sprintf("**Cost** of this run: %s.", Costs(used)),
	}
	if used.ReadUnits == 0 {
		notes = append(notes, "This DynamoDB reports no capacity units. Those in the tables are not measured.")
	}
	for _, note := range notes {
		b.WriteString(benchmark.Wrap(note, "- ", "  "))
	}
	planned := 0
	for _, s := range run.Scenarios {
		planned += len(s.Variants(run.Size)) * run.Repetitions
		if slices.ContainsFunc(run.Results, func(r benchmark.Result) bool { return r.Scenario == s.Name }) {
			run.Section(&b, s)
		}
	}
	if made := len(run.Results); made < planned {
		fmt.Fprintf(&b, "\nThe run ended early: %d of %d measurements were made.\n", made, planned)
	}
	return b.String()
}

// Costs prints a count with its price.
func Costs(c capacity.Count) string {
	return fmt.Sprintf("%s requests, %s write units and %s read units: $%.3f at the on-demand price of %s since %s",
		benchmark.Decimal(float64(c.Requests), 0), benchmark.Decimal(c.WriteUnits, 0), benchmark.Decimal(c.ReadUnits, 0),
		c.Price(), capacity.PriceRegion, capacity.PriceSince)
}
