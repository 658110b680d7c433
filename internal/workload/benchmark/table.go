package benchmark

import (
	"fmt"
	"runtime"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/queuelock/queuelock/internal/workload/benchmark/scenario"
)

// Machine is where it was measured.
type Machine struct {
	Cores    int
	Platform string
	Go       string
	Date     time.Time
}

// Here describes this machine, now.
func Here() Machine {
	return Machine{Cores: runtime.NumCPU(), Platform: runtime.GOOS + "/" + runtime.GOARCH, Go: runtime.Version(), Date: time.Now()}
}

func (m Machine) String() string {
	return fmt.Sprintf("%d cores, %s, %s, %s", m.Cores, m.Platform, m.Go, m.Date.Format("2 January 2006"))
}

// CellNote explains the cells of tables of so many repetitions.
func CellNote(repetitions int) string {
	if repetitions == 1 {
		return "A cell is what one run showed, so the tables say nothing about the spread."
	}
	return "A cell is the median; least and greatest value follow in parentheses where they differ by more than 5 % of it."
}

// OrderNote explains which grants count as overtaking.
func OrderNote(slack time.Duration) string {
	return fmt.Sprintf("**Order.** A grant overtook if a contender was still waiting that had called more than %.0f ms earlier: 50 ms and twice the 99th percentile of bare requests. Requests of two calls that are closer may arrive in either order where all processes share the cores.", slack.Seconds()*1000)
}

// Section writes the table of a scenario: medians, ratios to the first subject if there
// are several, what was left out, and what failed.
func (r Run) Section(b *strings.Builder, s scenario.Scenario) {
	fmt.Fprintf(b, "\n## %s\n\n%s\n", s.Title, Wrap(s.About, "", ""))
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
	columns := r.known(s)
	for _, c := range columns {
		titles = append(titles, c.Title)
	}
	ratio := s.Ratio != "" && len(r.Subjects) > 1
	if ratio {
		titles = append(titles, "ratio of "+titleOf(s, s.Ratio))
	}
	Row(b, titles)
	b.WriteString(strings.Repeat("|---", len(titles)) + "|\n")
	var failures []string
	for _, v := range variants {
		base := r.Of(s.Name, v.Name, r.Subjects[0].Name)
		for i, of := range r.Subjects {
			if !of.measured(s.Name) {
				continue
			}
			results := r.Of(s.Name, v.Name, of.Name)
			var cells []string
			if !single {
				cells = append(cells, v.Name)
			}
			cells = append(cells, of.Title)
			for _, c := range columns {
				cells = append(cells, Cell(column(results, c.Name), c.Digits))
			}
			if ratio {
				cells = append(cells, ratioCell(results, base, s.Ratio, i == 0))
			}
			Row(b, cells)
			failures = append(failures, failed(v, of, results)...)
		}
	}
	notes := append(skipped(s, r.Subjects), failures...)
	if len(notes) > 0 {
		b.WriteString("\n")
	}
	for _, note := range notes {
		b.WriteString(Wrap(note, "- ", "  "))
	}
}

// known returns the columns of a scenario without those of which no subject has a value.
func (r Run) known(s scenario.Scenario) (columns []scenario.Column) {
	var all []Result
	for _, result := range r.Results {
		if result.Scenario == s.Name {
			all = append(all, result)
		}
	}
	for _, c := range s.Columns {
		if len(all) == 0 || len(column(all, c.Name)) > 0 {
			columns = append(columns, c)
		}
	}
	return columns
}

func ratioCell(results, base []Result, name string, first bool) string {
	if first && len(column(base, name)) > 0 {
		return "1"
	}
	return Cell(ratios(results, base, name), 2)
}

func skipped(s scenario.Scenario, subjects []Subject) []string {
	var notes []string
	for _, of := range subjects {
		if why := of.Skips[s.Name]; why != "" {
			notes = append(notes, fmt.Sprintf("%s is left out: %s.", of.Title, why))
		}
	}
	return notes
}

func failed(v scenario.Variant, of Subject, results []Result) []string {
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

// Row writes one line of a table.
func Row(b *strings.Builder, cells []string) {
	b.WriteString("| " + strings.Join(cells, " | ") + " |\n")
}

// width is the longest line of text.
const width = 120

// Wrap breaks a text into lines that begin with first, and then with next.
func Wrap(text, first, next string) string {
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
