package report

import (
	"flag"
	"os"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/queuelock/queuelock/bench/internal/subject"
	"github.com/queuelock/queuelock/internal/benchmark"
	"github.com/queuelock/queuelock/internal/benchmark/scenario"
)

var update = flag.Bool("update", false, "draw the plots of docs/benchmarks.md again, from its table")

// TestLooks checks that each subject has a colour and a marker of its own.
func TestLooks(t *testing.T) {
	if len(subject.All) > len(looks) {
		t.Fatalf("%d subjects, %d looks", len(subject.All), len(looks))
	}
	for i, a := range looks {
		for _, b := range looks[:i] {
			if a.colour == b.colour || reflect.TypeOf(a.marker) == reflect.TypeOf(b.marker) {
				t.Errorf("two looks are alike: %v and %v", a, b)
			}
		}
	}
}

// pageRun reads the medians of the contended lock from the page.
func pageRun(t *testing.T) Run {
	page, err := os.ReadFile("../../../docs/benchmarks.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n## A contended lock\n")
	section, _, _ = strings.Cut(section, "\n## ")
	var r Run
	for _, s := range scenario.All {
		if s.Name == "contended" {
			r.Scenarios = append(r.Scenarios, s)
		}
	}
	var columns []string
	known := map[string]bool{}
	for line := range strings.Lines(section) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		switch {
		case len(cells) < 5 || strings.HasPrefix(cells[0], "-"):
			continue
		case columns == nil:
			columns = cells
			continue
		}
		if title := cells[1]; !known[title] {
			known[title] = true
			r.Subjects = append(r.Subjects, benchmark.Subject{Name: title, Title: title})
		}
		values := scenario.Values{}
		for i, cell := range cells[2:] {
			if v, err := strconv.ParseFloat(strings.ReplaceAll(cell, ",", ""), 64); err == nil {
				values[strings.TrimPrefix(strings.TrimSuffix(strings.TrimSuffix(columns[i+2], ", ms"), " a cycle"), "hand-over ")] = v
			}
		}
		r.Results = append(r.Results, benchmark.Result{Scenario: "contended", Variant: cells[0], Subject: cells[1], Values: values})
	}
	return r
}

// TestPlots draws what the page shows, and checks that the page shows each plot, with a
// legend of all subjects, in the typeface of the timelines.
func TestPlots(t *testing.T) {
	dir := t.TempDir()
	if *update {
		dir = "../../../docs/img"
	}
	r := pageRun(t)
	drawn, err := r.Plots(dir, "img")
	if err != nil {
		t.Fatal(err)
	}
	page, _ := os.ReadFile("../../../docs/benchmarks.md")
	if len(drawn["contended"]) == 0 {
		t.Error("nothing was drawn")
	}
	for _, p := range drawn["contended"] {
		if !strings.Contains(string(page), "]("+p.Link+")") {
			t.Errorf("the page does not show ![%s](%s)", p.Title, p.Link)
		}
		picture, err := os.ReadFile(dir + strings.TrimPrefix(p.Link, "img"))
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range []string{"this library, with hints</text>", "ui-monospace", ">contenders</text>"} {
			if !strings.Contains(string(picture), part) {
				t.Errorf("no %s in %s", part, p.Link)
			}
		}
		if strings.Contains(string(picture), "Liberation") {
			t.Errorf("%s has another typeface", p.Link)
		}
	}
}
