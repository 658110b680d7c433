// Package report prints the page of the benchmark, and plots in SVG.
package report

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/queuelock/queuelock/internal/benchmark"
)

// Run is all that was measured, and how.
type Run struct {
	benchmark.Run
	RoundTrip time.Duration // that the proxies add
	Command   string
	Machine   benchmark.Machine
	Bare      []benchmark.Bare
	Slack     time.Duration // see benchmark.OrderNote
}

// Page writes the page. plots are the names of pictures by scenario, as links.
func (r Run) Page(w io.Writer, plots map[string][]Plot) error {
	var b strings.Builder
	r.head(&b)
	for _, s := range r.Scenarios {
		r.Section(&b, s)
		for _, p := range plots[s.Name] {
			fmt.Fprintf(&b, "\n![%s](%s)\n", p.Title, p.Link)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (r Run) head(b *strings.Builder) {
	b.WriteString("# Benchmarks\n\n")
	b.WriteString("This library beside other locks, measured in one run of the program in `bench/`. This command measures again and\n" +
		"writes this page:\n\n```sh\n" + r.Command + "\n```\n\n[Comparison](comparison.md) compares features and guarantees.\n\n")
	b.WriteString("## How it was measured\n\n")
	for _, line := range []string{
		"**Engine.** dynoxide 1.2.1 with all tables in memory, on the loopback address, is DynamoDB here. Nothing was measured on AWS.",
		fmt.Sprintf("**Network.** A proxy in front of the engine adds %v ms to each request, half of it in each direction, and counts requests and capacity units. etcd's connections get the same delay. A refused write counts as one unit.", float64(r.RoundTrip.Microseconds())/1000),
		"**Bare requests**, through the same proxies: " + r.bare() + ".",
		fmt.Sprintf("**Machine.** %s. Clients, engines and proxies share the cores.", r.Machine),
		fmt.Sprintf("**Repetitions.** %d, interleaved: each repetition measures all subjects one after the other, each with a table and processes of its own, before the next begins. %s Ratios are to the first subject of the table: medians of the ratios within each repetition.", r.Repetitions, benchmark.CellNote(r.Repetitions)),
		"**Clients** run in worker processes, which the benchmark calls over pipes. That adds about 0.1 ms to each time. Node compiles the code of the npm package in its first cycle. Leases are 60 s except where another is named.",
		benchmark.OrderNote(r.Slack),
	} {
		b.WriteString(benchmark.Wrap(line, "- ", "  "))
	}
	b.WriteString("\n| subject | configuration |\n|---|---|\n")
	for _, s := range r.Subjects {
		fmt.Fprintf(b, "| %s | %s |\n", s.Title, s.Config)
	}
	b.WriteString("\nThe published pattern is a counter that issues tickets and a row for each ticket, which is the lock itself if it is\n" +
		"first. It is here for its speed only: it can grant a lock twice, and the tests in `test/faults` show how.\n")
}

func (r Run) bare() string {
	var parts []string
	for _, bare := range r.Bare {
		parts = append(parts, bare.String())
	}
	return strings.Join(parts, "; ")
}
