// Command measure prints the size, the complexity and the wordiness of the code, and what a turn runs, each beside its
// limit. It runs at the root of the repository. A limit is what was reached, so it only falls: a value clearly below it is
// as wrong as one above it.
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/queuelock/queuelock/internal/tools/words"
)

func main() {
	strict := flag.Bool("strict", false, "exit with 1 if a limit is exceeded, or can be lowered")
	quick := flag.Bool("quick", false, "only count what is in the source, which needs no run of the library")
	show := flag.Int("show", 25, "list at most that many parts of a value")
	counts := flag.String("turn", "", "only play a turn, and write the counts of its statements to that directory")
	flag.Parse()
	wrong, err := run(context.Background(), os.Stdout, *show, *quick, *counts)
	if err != nil {
		fmt.Fprintln(os.Stderr, "measure:", err)
		os.Exit(2)
	}
	if wrong > 0 && *strict {
		os.Exit(1)
	}
}

func run(ctx context.Context, to io.Writer, show int, quick bool, counts string) (wrong int, err error) {
	if counts != "" {
		return 0, turnTo(ctx, counts)
	}
	sources, err := parseTree(os.DirFS("."))
	if err != nil {
		return 0, err
	}
	rows, err := measure(os.DirFS("."), sources)
	if err != nil {
		return 0, err
	}
	imports, err := compiled(ctx)
	if err != nil {
		return 0, err
	}
	all, err := check(os.DirFS("."), sources, imports)
	if err != nil {
		return 0, err
	}
	rows = append(rows, typed(all)...)
	if !quick {
		more, err := play(ctx, sources)
		if err != nil {
			return 0, err
		}
		rows = append(rows, more...)
	}
	return write(to, rows, limits, show), nil
}

// row is a line of the table. The value is the sum or the largest of its parts.
type row struct {
	name  string
	value int
	room  int // by how many per cent the value may differ, between two runs or by a small change
	parts []count
	note  string
}

// wrong returns what is wrong with the value, or nothing.
func (r row) wrong(limit int) string {
	switch {
	case r.value*100 > limit*(100+r.room):
		return "exceeded"
	case r.value*100 < limit*(98-r.room):
		return fmt.Sprintf("lower the limit to %d", r.value)
	}
	return ""
}

// measure returns the rows of the table that follow from the text of a tree.
func measure(tree fs.FS, sources []source) ([]row, error) {
	readme, err := fs.ReadFile(tree, "README.md")
	if err != nil {
		return nil, err
	}
	banned, err := words.Tree(tree)
	if err != nil {
		return nil, err
	}
	var root, fieldsOfLock, proseWords, marks, testLines, inQueue int
	var complex, wide, rootDocs, publicDocs, lines, client, search, testbed, command, long, pragmas, mixing, methods []count
	for _, s := range sources {
		if s.dir() == "." {
			root++
		}
		if s.isTest() {
			testLines += s.lines
		} else if s.dir() == "internal/testbed/search" {
			search = tally(search, s.name, s.lines)
		}
		if !s.isTest() && s.within([]string{"internal/testbed"}) {
			testbed = tally(testbed, s.dir(), s.lines)
		}
		if !s.isTest() && s.within([]string{"cmd"}) {
			command = tally(command, s.dir(), s.lines)
		}
		if s.inLibrary() {
			lines = tally(lines, s.dir(), s.lines)
			if slices.Contains(clientInQueue, s.dir()) {
				client = tally(client, s.dir(), s.lines)
			}
			pragmas = tally(pragmas, s.name, s.noinline)
			long = tally(long, s.name, s.long)
			mixing = append(mixing, mixed(s, 2)...)
			for _, of := range methodsOf(s) {
				methods = tally(methods, of, 1)
			}
		}
		if s.inProduct() {
			complex = append(complex, complexities(s)...)
			wide = append(wide, structs(s)...)
			w, m := prose(s)
			proseWords, marks = proseWords+w, marks+m
		}
		if s.isPublic() {
			docs := docWords(s)
			publicDocs = append(publicDocs, docs...)
			switch s.dir() {
			case ".":
				rootDocs = append(rootDocs, docs...)
			case "queue":
				inQueue += len(docs)
			}
		}
	}
	for _, s := range wide {
		if s.name == "queuelock.Lock" {
			fieldsOfLock = s.n
		}
	}
	var files []count
	for _, hit := range banned {
		files = tally(files, hit.File, 1)
	}
	return []row{
		{name: "Go files in the root package", value: root},
		{name: "fields of Lock", value: fieldsOfLock},
		largest("cyclomatic complexity of a function", complex),
		largest("fields of a struct", wide),
		mean("words of documentation per symbol, root", rootDocs),
		mean("words of documentation per symbol, all public", publicDocs),
		largest("words of documentation of a symbol", publicDocs),
		{name: "README lines", value: strings.Count(string(readme), "\n")},
		{name: "README words", value: len(strings.Fields(string(readme)))},
		{name: "banned words in code, comments and docs", value: len(banned), parts: files},
		{name: "colons and semicolons per 1,000 words of comments", value: marks * 1000 / max(1, proseWords)},
		{name: "lines of Go in the library", room: 1, value: sum(lines), parts: lines,
			note: "no tests; all but " + strings.Join(outsideLibrary, ", ")},
		{name: "lines of tests", value: testLines}, // a limit would forbid a test
		{name: "lines of what a client does in a queue", room: 1, value: sum(client), parts: client},
		{name: "lines of internal/testbed/search", room: 1, value: sum(search), parts: search, note: "no tests"},
		{name: "lines of internal/testbed", room: 1, value: sum(testbed), parts: testbed, note: "no tests"},
		{name: "lines of the command", room: 1, value: sum(command), parts: command, note: "no tests"},
		{name: "exported symbols of queue", value: inQueue},
		{name: "lines above 120 columns", value: sum(long), parts: long},
		{name: "go:noinline pragmas", value: sum(pragmas), parts: pragmas},
		largest("methods of a type of the library", methods),
		{name: "functions that touch three mechanisms or more", value: len(mixing), parts: mixing},
	}, nil
}

// clientInQueue are the packages of what one client does in one queue.
var clientInQueue = []string{
	"internal/counter", "internal/handover", "internal/member", "internal/multilock", "internal/play", "internal/requests",
}

// largest is the row of the largest count. Its parts are the counts of at least
// half of it.
func largest(name string, counts []count) row {
	r := row{name: name}
	for _, c := range counts {
		r.value = max(r.value, c.n)
	}
	for _, c := range counts {
		if 2*c.n >= r.value {
			r.parts = append(r.parts, c)
		}
	}
	return r
}

// mean is the row of the mean of the documented symbols, rounded up.
func mean(name string, counts []count) row {
	documented := slices.DeleteFunc(slices.Clone(counts), func(c count) bool { return c.n == 0 })
	n := len(documented)
	return row{name: name, value: (sum(documented) + n - 1) / max(1, n),
		note: fmt.Sprintf("%d symbols, %d documented", len(counts), n)}
}

func sum(counts []count) (n int) {
	for _, c := range counts {
		n += c.n
	}
	return n
}

// tally adds n to the count of that name, which begins with the first that is not zero.
func tally(counts []count, name string, n int) []count {
	for i := range counts {
		if counts[i].name == name {
			counts[i].n += n
			return counts
		}
	}
	if n == 0 {
		return counts
	}
	return append(counts, count{name, n})
}

// write writes the table, and below it up to show parts of each row, the
// largest first. It returns how many values are wrong.
func write(to io.Writer, rows []row, limits map[string]int, show int) (wrong int) {
	table := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "measure\tvalue\tlimit\t")
	for _, r := range rows {
		limit, mark := "-", ""
		if n, ok := limits[r.name]; ok {
			limit, mark = fmt.Sprint(n), r.wrong(n)
		}
		if mark != "" {
			wrong++
		}
		fmt.Fprintf(table, "%s\t%d\t%s\t%s\n", r.name, r.value, limit, mark)
	}
	table.Flush()
	if wrong > 0 {
		fmt.Fprintln(to, "\nLower or raise a limit in internal/tools/measure/limits.go, a higher one with the reason in the message of the commit.")
	}
	for _, r := range rows {
		if r.note == "" && len(r.parts) == 0 {
			continue
		}
		fmt.Fprintf(to, "\n%s", r.name)
		if r.note != "" {
			fmt.Fprintf(to, " (%s)", r.note)
		}
		fmt.Fprintln(to)
		slices.SortStableFunc(r.parts, func(a, b count) int { return cmp.Compare(b.n, a.n) })
		for _, c := range r.parts[:min(show, len(r.parts))] {
			fmt.Fprintf(to, "%7d  %s\n", c.n, c.name)
		}
		if more := len(r.parts) - show; more > 0 {
			fmt.Fprintf(to, "         and %d more\n", more)
		}
	}
	return wrong
}
