// Package benchmark measures locks and prints the results as tables in Markdown.
//
// Package scenario has what is measured, library the clients of this library, capacity
// the count of requests and units, and stats what the times are reduced to. The module
// bench/ adds other locks, and "queuelock bench" measures this library alone.
package benchmark

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/queuelock/queuelock/internal/workload/benchmark/scenario"
	"github.com/queuelock/queuelock/internal/workload/benchmark/stats"
)

// Subject is a lock that is measured.
type Subject struct {
	Name   string // for --subjects
	Title  string // in tables
	Config string // how it is configured

	// Skips says, by scenario, why it is left out.
	Skips map[string]string
	// Only lists the scenarios that are measured, if not all are.
	Only []string
}

// measured reports whether the subject is measured in a scenario.
func (s Subject) measured(scenario string) bool {
	return s.Skips[scenario] == "" && (len(s.Only) == 0 || slices.Contains(s.Only, scenario))
}

// Result is one measurement.
type Result struct {
	Scenario, Variant, Subject string
	Repetition                 int
	Commit                     string // of the program that measured it; may be empty
	Values                     scenario.Values
	Err                        error
}

// Run is what is measured, and the results so far.
type Run struct {
	Subjects    []Subject
	Scenarios   []scenario.Scenario
	Size        scenario.Size
	Repetitions int
	Results     []Result
}

// Measure measures all variants with try, and writes a line for each to progress. An
// error of try is a result. Returns an error if ctx ends.
func (r *Run) Measure(ctx context.Context, progress io.Writer,
	try func(ctx context.Context, subject int, v scenario.Variant, repetition int) (scenario.Values, error)) error {
	begun := time.Now()
	for _, sc := range r.Scenarios {
		for _, variant := range sc.Variants(r.Size) {
			for repetition := range r.Repetitions {
				for i := range r.Subjects {
					// Each repetition begins with another subject.
					subject := (i + repetition) % len(r.Subjects)
					of := r.Subjects[subject]
					if !of.measured(sc.Name) {
						continue
					}
					values, err := try(ctx, subject, variant, repetition)
					if ctx.Err() != nil {
						return ctx.Err()
					}
					r.Results = append(r.Results, Result{
						Scenario: sc.Name, Variant: variant.Name, Subject: of.Name, Repetition: repetition, Values: values, Err: err,
					})
					fmt.Fprintf(progress, "%5.0fs  %-16s %-28s %d  %-12s %s\n",
						time.Since(begun).Seconds(), sc.Name, variant.Name, repetition+1, of.Name, line(sc, values, err))
				}
			}
		}
	}
	return nil
}

// line prints the values of one measurement.
func line(sc scenario.Scenario, values scenario.Values, err error) string {
	var parts []string
	for _, c := range sc.Columns {
		if value, ok := values[c.Name]; ok {
			parts = append(parts, fmt.Sprintf("%s %.*f", c.Name, c.Digits, value))
		}
	}
	if err != nil {
		parts = append(parts, "failed: "+err.Error())
	}
	return strings.Join(parts, ", ")
}

// Bare is a request without a lock, as a measure of the round trip.
type Bare struct {
	What           string
	Mean, P50, P99 float64 // milliseconds
}

func (b Bare) String() string {
	return fmt.Sprintf("%s %.1f ms on average, %.1f at the 99th percentile", b.What, b.Mean, b.P99)
}

// Slack returns within which time two calls count as simultaneous, where bare is a
// request of the kind with which they compete.
func (b Bare) Slack() time.Duration {
	return 50*time.Millisecond + time.Duration(2*b.P99*float64(time.Millisecond))
}

// MeasureBare measures n requests f, after a few that open connections.
func MeasureBare(what string, n int, f func() error) (Bare, error) {
	for range 5 {
		if err := f(); err != nil {
			return Bare{}, err
		}
	}
	var times []time.Duration
	for range n {
		begun := time.Now()
		if err := f(); err != nil {
			return Bare{}, err
		}
		times = append(times, time.Since(begun))
	}
	ms := stats.Milliseconds(times)
	return Bare{What: what, Mean: stats.Mean(ms), P50: stats.Median(ms), P99: stats.Quantile(ms, 0.99)}, nil
}

// Of returns the results of one subject in a variant, by repetition.
func (r Run) Of(scenario, variant, subject string) []Result {
	var found []Result
	for _, result := range r.Results {
		if result.Scenario == scenario && result.Variant == variant && result.Subject == subject {
			found = append(found, result)
		}
	}
	return found
}

// column returns the values of a column that are present.
func column(results []Result, name string) []float64 {
	var values []float64
	for _, r := range results {
		if v, ok := r.Values[name]; ok && !math.IsNaN(v) {
			values = append(values, v)
		}
	}
	return values
}

// ratios returns the values of a subject over those of another in the same repetition.
func ratios(results, base []Result, name string) []float64 {
	var values []float64
	for _, r := range results {
		for _, b := range base {
			v, ok := r.Values[name]
			w, also := b.Values[name]
			if ok && also && r.Repetition == b.Repetition && w != 0 {
				values = append(values, v/w)
			}
		}
	}
	return values
}

// Ratios returns the values of a subject in a variant over those of the first subject in the same repetition.
func (r Run) Ratios(scenario, variant, subject, name string) []float64 {
	return ratios(r.Of(scenario, variant, subject), r.Of(scenario, variant, r.Subjects[0].Name), name)
}

// spread is the least part of a median by which values must differ to be printed. See
// CellNote.
const spread = 0.05

// Cell prints the median, and the least and the greatest value if they differ much.
func Cell(values []float64, digits int) string {
	if len(values) == 0 {
		return "–"
	}
	median, least, most := stats.Median(values), slices.Min(values), slices.Max(values)
	text := Decimal(median, digits)
	if most-least > spread*math.Abs(median) && Decimal(least, digits) != Decimal(most, digits) {
		text += " (" + Decimal(least, digits) + "–" + Decimal(most, digits) + ")"
	}
	return text
}

// Decimal prints a number with commas between thousands.
func Decimal(v float64, digits int) string {
	text := strconv.FormatFloat(math.Abs(v), 'f', digits, 64)
	whole, fraction, _ := strings.Cut(text, ".")
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if fraction != "" {
		whole += "." + fraction
	}
	if v < 0 && strings.Trim(text, "0.") != "" {
		whole = "-" + whole
	}
	return whole
}

// TwoDigits rounds a positive number to the two digits that count.
func TwoDigits(v float64) float64 {
	if v == 0 {
		return 0
	}
	unit := math.Pow10(int(math.Floor(math.Log10(v))) - 1)
	return math.Round(v/unit) * unit
}
