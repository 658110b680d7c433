package benchmark

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/queuelock/queuelock/internal/workload/benchmark/scenario"
)

func TestCell(t *testing.T) {
	for _, test := range []struct {
		name   string
		values []float64
		digits int
		want   string
	}{
		{"Nothing", nil, 1, "–"},
		{"One", []float64{1.26}, 1, "1.3"},
		{"LittleSpread", []float64{100, 101, 102}, 0, "101"},
		{"Spread", []float64{4, 1, 2}, 1, "2.0 (1.0–4.0)"},
		{"Thousands", []float64{1234567.8}, 1, "1,234,567.8"},
		{"Negative", []float64{-1234}, 0, "-1,234"},
		{"NegativeZero", []float64{-0.01}, 1, "0.0"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := Cell(test.values, test.digits); got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}

// TestRatios checks that values are compared within a repetition only.
func TestRatios(t *testing.T) {
	results := []Result{
		{Repetition: 0, Values: scenario.Values{"x": 10}},
		{Repetition: 1, Values: scenario.Values{"x": 30}},
		{Repetition: 2, Values: scenario.Values{"x": math.NaN()}, Err: errors.New("failed")},
	}
	base := []Result{
		{Repetition: 1, Values: scenario.Values{"x": 10}},
		{Repetition: 0, Values: scenario.Values{"x": 5}},
	}
	got := ratios(results, base, "x")
	if len(got) != 2 || got[0] != 2 || got[1] != 3 {
		t.Errorf("%v, want 2 and 3", got)
	}
}

// TestSection checks the table of a scenario: its medians, ratios, what was left out and
// what failed.
func TestSection(t *testing.T) {
	s := scenario.Scenario{
		Name: "one", Title: "One", About: "About it.", Ratio: "x",
		Columns:  []scenario.Column{{Name: "x", Title: "x, ms", Digits: 1}, {Name: "y", Title: "of no subject"}},
		Variants: func(scenario.Size) []scenario.Variant { return []scenario.Variant{{Name: "v"}} },
	}
	run := Run{
		Subjects: []Subject{
			{Name: "a", Title: "A"}, {Name: "b", Title: "B"},
			{Name: "c", Title: "C", Skips: map[string]string{"one": "it cannot"}},
			{Name: "d", Title: "of another scenario only", Only: []string{"two"}},
		},
		Scenarios: []scenario.Scenario{s}, Repetitions: 2,
		Results: []Result{
			{Scenario: "one", Variant: "v", Subject: "a", Repetition: 0, Values: scenario.Values{"x": 2}},
			{Scenario: "one", Variant: "v", Subject: "b", Repetition: 0, Values: scenario.Values{"x": 3}},
			{Scenario: "one", Variant: "v", Subject: "b", Repetition: 1, Err: errors.New("broken")},
		},
	}
	var page strings.Builder
	run.Section(&page, s)
	want := `
## One

About it.

V:

| subject | x, ms | ratio of x |
|---|---|---|
| A | 2.0 | 1 |
| B | 3.0 | 1.50 |

- C is left out: it cannot.
- B failed at v, in repetition 2: broken
`
	if page.String() != want {
		t.Errorf("printed:\n%s", page.String())
	}
}
