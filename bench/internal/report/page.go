package report

import (
	"fmt"
	"math"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/queuelock/queuelock/internal/workload/benchmark"
	"github.com/queuelock/queuelock/internal/workload/benchmark/scenario"
	"github.com/queuelock/queuelock/internal/workload/benchmark/stats"
)

// Names in the folder of the pages.
const (
	pageName = "benchmarks.md"
	Folder   = "benchmarks" // of the tables and pictures
)

// enough is how many repetitions show a spread. Figures of fewer are printed without decimal places.
const enough = 3

// contenders is how many contenders the columns for one length of turn have.
const contenders = 8

// Render writes the page and its pictures to the folder of the pages, from the tables there.
func Render(docs string) error {
	r, err := Load(filepath.Join(docs, Folder))
	if err != nil {
		return err
	}
	files, err := r.files()
	if err != nil {
		return err
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(docs, filepath.FromSlash(name)), content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// files returns the page and its pictures, by name.
func (r Run) files() (map[string][]byte, error) {
	files := map[string][]byte{}
	var links strings.Builder
	for _, f := range figures {
		picture, err := r.draw(f)
		if err != nil {
			return nil, err
		}
		if picture == nil {
			continue
		}
		name := path.Join(Folder, f.name+".svg")
		files[name] = picture
		fmt.Fprintf(&links, "\n![%s](%s)\n", f.title(), name)
	}
	files[pageName] = []byte(r.page(links.String()))
	return files, nil
}

func (r Run) page(pictures string) string {
	var b strings.Builder
	b.WriteString("# Benchmarks\n\n")
	text(&b, "This library beside other locks, in one run of the program in [bench](../bench). Nothing was measured on AWS. [Comparison](comparison.md) compares features and guarantees, and [costs](costs.md) has exact requests and units.")
	b.WriteString("\n")
	text(&b, "- **Hand-over.** With "+r.counts()+" contenders, and "+r.kinds()+" lengths of turn, "+r.ranges())
	text(&b, "- **Noise.** "+r.noise())
	if r.Note != "" {
		text(&b, "- "+r.Note)
	}
	b.WriteString("\nThis command measures again, for up to three hours, and writes this page, its pictures and the [full tables](#full-tables):\n\n```sh\n" + r.Command + "\n```\n")
	b.WriteString("\n## A contended lock\n\n")
	text(&b, "Each contender acquires the lock, holds it for a turn, releases it, and asks again at once. A hand-over is the time from the call of release until the next holder's acquire returns.")
	fmt.Fprintf(&b, "\nMean hand-over in ms with %d contenders, by the length of turns:\n\n", contenders)
	r.contendedTable(&b, "mean")
	b.WriteString("\n")
	text(&b, fmt.Sprintf("*Overtook*, of all cases, is how many of 100 grants came before a contender that had called more than %d ms earlier. %s %s", r.Slack.Milliseconds(), r.overlaps(), strings.Join(r.skipped("contended"), " ")))
	b.WriteString("\n")
	text(&b, "The longest hand-over of the same:")
	b.WriteString("\n")
	r.contendedTable(&b, "longest")
	b.WriteString(pictures)
	r.longTurn(&b)
	b.WriteString("\n## An idle lock\n\n")
	text(&b, "One client acquires and releases a lock that no other client wants. Means of a cycle:")
	b.WriteString("\n")
	r.idleTable(&b)
	r.manyKeys(&b)
	b.WriteString("\n## Load and crashes\n\n")
	text(&b, "A dash marks what was not measured. The full tables have the reasons.")
	b.WriteString("\n")
	r.loadTable(&b)
	b.WriteString("\n## How it was measured\n\n")
	for _, line := range []string{
		fmt.Sprintf("**Engine.** %s, with all tables in memory, is DynamoDB here. A proxy in front of it adds %v ms to each request, half of it in each direction, and counts requests and units. The servers of other locks have the same delay. %s.", r.Engine, float64(r.RoundTrip.Microseconds())/1000, r.bare()),
		fmt.Sprintf("**Machine.** %s. Clients, engines and proxies share the cores. The commit was %s; each row of the tables names its own.", r.Machine, r.Commit),
		fmt.Sprintf("**Subjects** are configured as their documentation suggests for short waits: see [subjects](%s). Leases are 60 s, except where a table names another. The published pattern, a counter with a row for each ticket, is here for its speed only: it can grant a lock twice, as `test/faults` shows. Where Debian's packages `zookeeper` and `redis-server` are installed, the program measures ZooKeeper's lock recipe and Redis with rueidislock too; without one it says so.", tableLink(subjectsTable)),
		"**Clients** run in worker processes, which the benchmark calls over pipes. That adds about 0.1 ms to each time.",
		fmt.Sprintf("**Repetitions.** %d. Each measures all subjects one after the other, each with a table and processes of its own.", r.Repetitions),
	} {
		b.WriteString(benchmark.Wrap(line, "- ", "  "))
	}
	b.WriteString("\n## Full tables\n\n")
	var links []string
	for _, s := range r.Scenarios {
		links = append(links, fmt.Sprintf("[%s](%s)", s.Name, tableLink(s.Name)))
	}
	text(&b, strings.Join(links, ", ")+"; how it was measured: [run]("+tableLink(runTable)+"), [bare]("+tableLink(bareTable)+").")
	return b.String()
}

func tableLink(name string) string { return Folder + "/" + name + ".csv" }

// text writes a paragraph, or an item of a list.
func text(b *strings.Builder, s string) {
	if item, ok := strings.CutPrefix(s, "- "); ok {
		b.WriteString(benchmark.Wrap(item, "- ", "  "))
		return
	}
	b.WriteString(benchmark.Wrap(s, "", ""))
}

// counts lists the numbers of contenders.
func (r Run) counts() string {
	var all []string
	for _, v := range r.contended() {
		if n := fmt.Sprint(v.X); !slices.Contains(all, n) {
			all = append(all, n)
		}
	}
	return strings.Join(all, ", ")
}

func (r Run) kinds() string { return fmt.Sprint(len(groups(r.contended()))) }

// ranges says how long hand-overs of the locks took in all cases.
func (r Run) ranges() string {
	var parts []string
	for i, s := range r.Subjects {
		times := r.means(s.Name)
		if len(times) == 0 {
			continue
		}
		if i == 0 {
			parts = append(parts, fmt.Sprintf("%s took %s ms on average", s.Title, span(times)))
		} else {
			parts = append(parts, fmt.Sprintf("%s %s ms", s.Title, span(times)))
		}
	}
	if len(parts) < 2 {
		return strings.Join(parts, "") + "."
	}
	return parts[0] + ". Beside it: " + strings.Join(parts[1:], "; ") + "."
}

// means returns the mean hand-over in each case and repetition.
func (r Run) means(subject string) (all []float64) {
	for _, v := range r.contended() {
		all = append(all, r.values("contended", v.Name, subject, of("mean"))...)
	}
	return all
}

// noise says how much the same request differs between tables.
func (r Run) noise() string {
	var all []float64
	for _, name := range []string{"idle", "first-of-process", "first-of-key"} {
		all = append(all, r.values(name, "", r.Subjects[0].Name, of("release"))...)
	}
	if len(all) == 0 {
		return r.cells()
	}
	return fmt.Sprintf("The release of an idle lock, one request, took %s ms in different tables. Take no smaller difference for a real one. %s", span(all), r.cells())
}

// cells says what a figure is.
func (r Run) cells() string {
	switch {
	case r.Repetitions >= enough:
		return benchmark.CellNote(r.Repetitions)
	case r.Repetitions == 1:
		return "Each case was measured once, so figures have no decimal places and no spread."
	}
	return fmt.Sprintf("Figures are medians of %d repetitions, without decimal places.", r.Repetitions)
}

func (r Run) bare() string {
	var parts []string
	for _, b := range r.Bare {
		parts = append(parts, fmt.Sprintf("%s took %.0f ms on average, %.0f at the 99th percentile", b.What, b.Mean, b.P99))
	}
	first := strings.Join(parts, "; ")
	return strings.ToUpper(first[:min(1, len(first))]) + first[min(1, len(first)):]
}

// overlaps says which locks had two holders at a time.
func (r Run) overlaps() string {
	var broken []string
	for _, s := range r.Subjects {
		for _, v := range r.contended() {
			if values := r.values("contended", v.Name, s.Name, of("overlaps")); len(values) > 0 && slices.Max(values) > 0 {
				broken = append(broken, fmt.Sprintf("%s (%s)", s.Title, v.Name))
			}
		}
	}
	if len(broken) == 0 {
		return "None had two holders at the same time."
	}
	return "Two holders at the same time had: " + strings.Join(broken, ", ") + "."
}

// skipped says which subjects were left out.
func (r Run) skipped(scenario string) (notes []string) {
	for _, s := range r.Subjects {
		if why := s.Skips[scenario]; why != "" {
			notes = append(notes, fmt.Sprintf("%s is left out: %s.", s.Title, why))
		}
	}
	return notes
}

// contendedTable writes a column of the hand-overs of all subjects; beside the mean, how many were overtaken.
func (r Run) contendedTable(b *strings.Builder, column string) {
	variants := r.contended()
	titles := append([]string{"subject"}, groups(variants)...)
	if column == "mean" {
		titles = append(titles, "overtook")
	}
	head(b, titles)
	for _, s := range r.Subjects {
		if len(r.means(s.Name)) == 0 {
			continue
		}
		row := []string{s.Title}
		for _, group := range groups(variants) {
			var values []float64
			for _, v := range variants {
				if v.Group == group && v.X == contenders {
					values = r.values("contended", v.Name, s.Name, of(column))
				}
			}
			row = append(row, r.cell(values, digits(named("contended"), column)))
		}
		if column != "mean" {
			benchmark.Row(b, row)
			continue
		}
		var overtook []float64
		for _, v := range variants {
			overtook = append(overtook, r.values("contended", v.Name, s.Name, of("overtook"))...)
		}
		benchmark.Row(b, append(row, span(overtook)))
	}
}

// longTurn writes the section of short turns after a long one.
func (r Run) longTurn(b *strings.Builder) {
	const name = "long-turn"
	cases, s := r.cases(name), named(name)
	if len(cases) == 0 {
		return
	}
	b.WriteString("\n## " + s.Title + "\n\n")
	text(b, s.About+" *Last* is the time from the end of the long turn to the last grant: with no loss at all, each turn takes 20 ms.")
	b.WriteString("\n")
	titles := []string{"subject"}
	for _, c := range cases {
		titles = append(titles, c+": free, ms", "longest, ms", "last, s")
	}
	head(b, titles)
	for _, subject := range r.Subjects {
		if len(r.ofScenario(name, subject.Name)) == 0 {
			continue
		}
		row := []string{subject.Title}
		for _, c := range cases {
			for _, column := range []string{"free", "gap", "last"} {
				row = append(row, benchmark.Cell(r.values(name, c, subject.Name, of(column)), digits(s, column)))
			}
		}
		benchmark.Row(b, row)
	}
}

func (r Run) idleTable(b *strings.Builder) {
	s := named("idle")
	titles := []string{"subject"}
	for _, c := range s.Columns {
		titles = append(titles, c.Title)
	}
	head(b, titles)
	for _, subject := range r.Subjects {
		if len(r.Of(s.Name, "", subject.Name)) == 0 {
			continue
		}
		row := []string{subject.Title}
		for _, c := range s.Columns {
			row = append(row, r.cell(r.values(s.Name, "", subject.Name, of(c.Name)), c.Digits))
		}
		benchmark.Row(b, row)
	}
}

// manyKeys writes the section of one client with many keys. How many cycles a machine makes says little, so they are
// compared within a repetition.
func (r Run) manyKeys(b *strings.Builder) {
	const name = "many-keys"
	cases := r.cases(name)
	if len(cases) == 0 {
		return
	}
	about := "One client acquires and releases locks that no other client wants. The network limits few goroutines, and the cores, which all processes share, limit many. *Cycles* are their rate, over that of " + r.Subjects[0].Title + " in the same repetition. *Processor* is the user and system time of the client's process for a cycle, in ms."
	titles, most := []string{"subject"}, 0
	for _, c := range cases {
		titles = append(titles, c+": cycles", "processor")
		for _, s := range r.Subjects {
			most = max(most, len(r.Of(name, c, s.Name)))
		}
	}
	if most != r.Repetitions {
		about += fmt.Sprintf(" Measured by itself, %d times. %s", most, benchmark.CellNote(most))
	}
	b.WriteString("\n## Many keys\n\n")
	text(b, about)
	b.WriteString("\n")
	head(b, titles)
	for i, s := range r.Subjects {
		if len(r.ofScenario(name, s.Name)) == 0 {
			continue
		}
		row := []string{s.Title}
		for _, c := range cases {
			ratio := benchmark.Cell(r.Ratios(name, c, s.Name, "cycles"), 2)
			if i == 0 && len(r.values(name, c, s.Name, of("cycles"))) > 0 {
				ratio = "1"
			}
			row = append(row, ratio, benchmark.Cell(r.values(name, c, s.Name, of("processor")), digits(named(name), "processor")))
		}
		benchmark.Row(b, row)
	}
}

// loads are the rows of the table of loads.
var loads = []struct{ title, scenario, column string }{
	{"hand-over between goroutines of one client, ms", "goroutines", "mean"},
	{"turns a second", "crowd", "turns"},
	{"write units a turn", "crowd", "write units"},
	{"an attempt at a busy lock that does not wait, ms", "nowait", "attempt"},
	{"turns a second of waiters that are let in", "drain", "turns"},
	{"waiters served, %", "drain", "share"},
	{"from a crash to the next holder, s", "crash", "median"},
	{"memory of a held lock, KB", "held", "memory"},
	{"memory of a waiter, KB", "waiting", "memory"},
	{"requests a second of all waiters", "waiting", "requests"},
}

func (r Run) loadTable(b *strings.Builder) {
	var subjects []benchmark.Subject
	for _, s := range r.Subjects {
		for _, l := range loads {
			if len(r.ofScenario(l.scenario, s.Name)) > 0 {
				subjects = append(subjects, s)
				break
			}
		}
	}
	titles := []string{"what"}
	for _, s := range subjects {
		titles = append(titles, s.Title)
	}
	head(b, titles)
	for _, l := range loads {
		for _, c := range r.cases(l.scenario) {
			row := []string{l.title}
			if c != "" {
				row[0] += " (" + c + ")"
			}
			for _, s := range subjects {
				row = append(row, r.cell(r.values(l.scenario, c, s.Name, of(l.column)), digits(named(l.scenario), l.column)))
			}
			benchmark.Row(b, row)
		}
	}
}

func (r Run) ofScenario(scenario, subject string) (all []benchmark.Result) {
	for _, c := range r.cases(scenario) {
		all = append(all, r.Of(scenario, c, subject)...)
	}
	return all
}

func head(b *strings.Builder, titles []string) {
	benchmark.Row(b, titles)
	b.WriteString(strings.Repeat("|---", len(titles)) + "|\n")
}

// cell prints the values of the repetitions.
func (r Run) cell(values []float64, digits int) string {
	if r.Repetitions >= enough || len(values) == 0 {
		return benchmark.Cell(values, digits)
	}
	return whole(stats.Median(values))
}

// whole prints a number without decimal places.
func whole(v float64) string {
	if 0 < v && v < 1 {
		return "< 1"
	}
	return benchmark.Decimal(math.Round(v), 0)
}

// span prints the least and the greatest value.
func span(values []float64) string {
	if len(values) == 0 {
		return "–"
	}
	least, most := whole(slices.Min(values)), whole(slices.Max(values))
	if least == most {
		return least
	}
	return least + "–" + most
}

func groups(variants []scenario.Variant) (names []string) {
	for _, v := range variants {
		if !slices.Contains(names, v.Group) {
			names = append(names, v.Group)
		}
	}
	return names
}
