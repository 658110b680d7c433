// Package report writes docs/benchmarks.md, its tables as CSV, and its pictures.
//
// Save writes what was measured as CSV, one file for each scenario, and Load reads it. The page and the pictures are made from
// these files alone, so they do not differ from them.
package report

import (
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/queuelock/queuelock/internal/workload/benchmark"
	"github.com/queuelock/queuelock/internal/workload/benchmark/scenario"
)

// Run is all that was measured, and how.
type Run struct {
	benchmark.Run
	Command   string
	Commit    string        // of the program that measured
	Engine    string        // of the locks in DynamoDB
	RoundTrip time.Duration // that the proxies add
	Machine   benchmark.Machine
	Bare      []benchmark.Bare
	Slack     time.Duration // see stats.Overtakes
	Note      string        // what has changed since
}

// Print writes the tables of all scenarios.
func (r Run) Print(w io.Writer) error {
	var b strings.Builder
	for _, s := range r.Scenarios {
		r.Section(&b, s)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Replace returns r with what other has measured in place of its own results of the same cases and subjects. How r was
// measured stays.
func (r Run) Replace(other Run) Run {
	measured := map[[3]string]bool{}
	for _, result := range other.Results {
		measured[[3]string{result.Scenario, result.Variant, result.Subject}] = true
	}
	r.Results = append(slices.DeleteFunc(slices.Clone(r.Results), func(result benchmark.Result) bool {
		return measured[[3]string{result.Scenario, result.Variant, result.Subject}]
	}), other.Results...)
	for _, of := range other.Subjects {
		if i := slices.IndexFunc(r.Subjects, func(s benchmark.Subject) bool { return s.Name == of.Name }); i >= 0 {
			maps.Copy(r.Subjects[i].Skips, of.Skips)
		} else {
			r.Subjects = append(r.Subjects, of)
		}
	}
	names := map[string]bool{}
	for _, s := range slices.Concat(r.Scenarios, other.Scenarios) {
		names[s.Name] = true
	}
	r.Scenarios = slices.DeleteFunc(slices.Clone(scenario.All), func(s scenario.Scenario) bool { return !names[s.Name] })
	return r
}

// value finds a value of a measurement. ok is false if it was not measured.
type value func(scenario.Values) (v float64, ok bool)

// of returns the value in a column.
func of(column string) value {
	return func(values scenario.Values) (float64, bool) {
		v, ok := values[column]
		return v, ok
	}
}

// values returns what the repetitions of a case have shown.
func (r Run) values(scenario, variant, subject string, find value) (all []float64) {
	for _, result := range r.Of(scenario, variant, subject) {
		if v, ok := find(result.Values); ok {
			all = append(all, v)
		}
	}
	return all
}

// cases returns the names of the cases of a scenario that were measured.
func (r Run) cases(scenario string) (names []string) {
	seen := map[string]bool{}
	for _, result := range r.Results {
		if result.Scenario == scenario && !seen[result.Variant] {
			seen[result.Variant] = true
			names = append(names, result.Variant)
		}
	}
	return names
}

// named returns the scenario of that name.
func named(name string) scenario.Scenario {
	for _, s := range scenario.All {
		if s.Name == name {
			return s
		}
	}
	panic("no scenario " + name)
}

// digits returns the decimal places of a column.
func digits(s scenario.Scenario, column string) int {
	for _, c := range s.Columns {
		if c.Name == column {
			return c.Digits
		}
	}
	panic(s.Name + " has no column " + column)
}

// contended returns the cases of the contended lock that were measured.
func (r Run) contended() (variants []scenario.Variant) {
	measured := map[string]bool{}
	for _, name := range r.cases("contended") {
		measured[name] = true
	}
	for _, v := range named("contended").Variants(scenario.Size{Most: true}) {
		if measured[v.Name] {
			variants = append(variants, v)
		}
	}
	return variants
}
