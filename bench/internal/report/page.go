package report

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/queuelock/queuelock/bench/internal/scenario"
	"github.com/queuelock/queuelock/bench/internal/subject"
)

// Page writes the page. plots are the names of pictures by scenario, as links.
func (r Run) Page(w io.Writer, plots map[string][]Plot) error {
	var b strings.Builder
	r.head(&b)
	for _, s := range r.Scenarios {
		r.section(&b, s)
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
		fmt.Sprintf("**Machine.** %d cores, %s, %s, %s. Clients, engines and proxies share the cores.", r.Machine.Cores, r.Machine.Platform, r.Machine.Go, r.Machine.Date.Format("2 January 2006")),
		fmt.Sprintf("**Repetitions.** %d, interleaved: each repetition measures all subjects one after the other, each with a table and processes of its own, before the next begins. A cell is the median; least and greatest value follow in parentheses where they differ by more than %.0f %% of it. Ratios are to the first subject of the table: medians of the ratios within each repetition.", r.Repetitions, 100*spread),
		"**Clients** run in worker processes, which the benchmark calls over pipes. That adds about 0.1 ms to each time. Leases are 60 s except where another is named.",
		fmt.Sprintf("**Order.** A grant overtook if a contender was still waiting that had called more than %.0f ms earlier: 10 ms and twice the 99th percentile of bare requests. Requests of two calls that are closer may arrive in either order.", r.Slack.Seconds()*1000),
	} {
		b.WriteString(wrap(line, "- ", "  "))
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
		parts = append(parts, fmt.Sprintf("%s %.1f ms on average, %.1f at the 99th percentile", bare.What, bare.Mean, bare.P99))
	}
	return strings.Join(parts, "; ")
}

func (r Run) section(b *strings.Builder, s scenario.Scenario) {
	fmt.Fprintf(b, "\n## %s\n\n%s\n", s.Title, wrap(s.About, "", ""))
	variants := s.Variants(r.Size)
	single := len(variants) == 1
	var titles []string
	switch {
	case !single:
		titles = append(titles, "case")
	case variants[0].Name != "":
		fmt.Fprintf(b, "%s:\n\n", capital(variants[0].Name))
	}
	titles = append(titles, "subject")
	for _, c := range s.Columns {
		titles = append(titles, c.Title)
	}
	if s.Ratio != "" {
		titles = append(titles, "ratio of "+titleOf(s, s.Ratio))
	}
	row(b, titles)
	b.WriteString(strings.Repeat("|---", len(titles)) + "|\n")
	var failures []string
	for _, v := range variants {
		base := r.of(s.Name, v.Name, r.Subjects[0].Name)
		for i, of := range r.Subjects {
			if of.Skips[s.Name] != "" {
				continue
			}
			results := r.of(s.Name, v.Name, of.Name)
			var cells []string
			if !single {
				cells = append(cells, v.Name)
			}
			cells = append(cells, of.Title)
			for _, c := range s.Columns {
				cells = append(cells, cell(column(results, c.Name), c.Digits))
			}
			if s.Ratio != "" {
				cells = append(cells, ratioCell(results, base, s.Ratio, i == 0))
			}
			row(b, cells)
			failures = append(failures, failed(v, of, results)...)
		}
	}
	notes := append(skipped(s, r.Subjects), failures...)
	if len(notes) > 0 {
		b.WriteString("\n")
	}
	for _, note := range notes {
		b.WriteString(wrap(note, "- ", "  "))
	}
}

func ratioCell(results, base []Result, name string, first bool) string {
	if first && len(column(base, name)) > 0 {
		return "1"
	}
	return cell(ratios(results, base, name), 2)
}

func skipped(s scenario.Scenario, subjects []subject.Subject) []string {
	var notes []string
	for _, of := range subjects {
		if why := of.Skips[s.Name]; why != "" {
			notes = append(notes, fmt.Sprintf("%s is left out: %s.", of.Title, why))
		}
	}
	return notes
}

func failed(v scenario.Variant, of subject.Subject, results []Result) []string {
	var notes []string
	for _, result := range results {
		if result.Err != nil {
			text, _, _ := strings.Cut(result.Err.Error(), "\n")
			notes = append(notes, fmt.Sprintf("%s failed at %s, in repetition %d: %s", of.Title, v.Name, result.Repetition+1, text))
		}
	}
	return notes
}

func titleOf(s scenario.Scenario, name string) string {
	for _, c := range s.Columns {
		if c.Name == name {
			title, _, _ := strings.Cut(c.Title, ",")
			return title
		}
	}
	return name
}

func row(b *strings.Builder, cells []string) {
	b.WriteString("| " + strings.Join(cells, " | ") + " |\n")
}

// width is the longest line of text.
const width = 120

// wrap breaks a text into lines that begin with first, and then with next.
func wrap(text, first, next string) string {
	var b strings.Builder
	line := first
	for i, word := range strings.Fields(text) {
		switch {
		case i == 0:
			line += word
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width:
			b.WriteString(line + "\n")
			line = next + word
		default:
			line += " " + word
		}
	}
	return b.String() + line + "\n"
}

func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
