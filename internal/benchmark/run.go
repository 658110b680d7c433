// Package report prints results: tables in Markdown and plots in SVG.
package report

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/queuelock/queuelock/bench/internal/scenario"
	"github.com/queuelock/queuelock/bench/internal/stats"
	"github.com/queuelock/queuelock/bench/internal/subject"
)

// Result is one measurement.
type Result struct {
	Scenario, Variant, Subject string
	Repetition                 int
	Values                     scenario.Values
	Err                        error
}

// Run is all that was measured, and how.
type Run struct {
	Subjects    []subject.Subject
	Scenarios   []scenario.Scenario
	Size        scenario.Size
	RoundTrip   time.Duration
	Repetitions int
	Command     string
	Machine     Machine
	Bare        []Bare
	Slack       time.Duration // within which two calls count as simultaneous
	Results     []Result
}

// Machine is where it was measured.
type Machine struct {
	Cores    int
	Platform string
	Go       string
	Date     time.Time
}

// Bare is a request without a lock, through the same proxy.
type Bare struct {
	What           string
	Mean, P50, P99 float64 // milliseconds
}

// of returns the results of one subject in a variant, by repetition.
func (r Run) of(scenario, variant, subject string) []Result {
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

// spread is the least part of a median by which values must differ to be printed.
const spread = 0.05

// cell prints the median, and the least and the greatest value if they differ much.
func cell(values []float64, digits int) string {
	if len(values) == 0 {
		return "–"
	}
	median, least, most := stats.Median(values), slices.Min(values), slices.Max(values)
	text := decimal(median, digits)
	if most-least > spread*math.Abs(median) && decimal(least, digits) != decimal(most, digits) {
		text += " (" + decimal(least, digits) + "–" + decimal(most, digits) + ")"
	}
	return text
}

// decimal prints a number with commas between thousands.
func decimal(v float64, digits int) string {
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
