// Command measure prints the size, the complexity and the wordiness of the code, and what a turn runs, each beside its
// limit. It runs at the root of the repository.
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
	strict := flag.Bool("strict", false, "exit with 1 if a limit is exceeded")
	show := flag.Int("show", 25, "list at most that many parts of a value")
	counts := flag.String("turn", "", "only play a turn, and write the counts of its statements to that directory")
	flag.Parse()
	exceeded, err := run(context.Background(), os.Stdout, *show, *counts)
	if err != nil {
		fmt.Fprintln(os.Stderr, "measure:", err)
		os.Exit(2)
	}
	if exceeded > 0 && *strict {
		os.Exit(1)
	}
}

func run(ctx context.Context, to io.Writer, show int, counts string) (exceeded int, err error) {
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
	more, err := play(ctx, sources)
	if err != nil {
		return 0, err
	}
	return write(to, append(rows, more...), show), nil
}

// row is a line of the table. A limit of 0 is none, unless zero is set. The
// value is the sum or the largest of its parts.
type row struct {
	name  string
	value int
	limit int
	zero  bool // the limit is 0
	parts []count
	note  string
}

func (r row) limited() bool  { return r.limit > 0 || r.zero }
func (r row) exceeded() bool { return r.limited() && r.value > r.limit }

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
	var root, fieldsOfLock, proseWords, marks, testLines int
	var complex, wide, rootDocs, publicDocs, lines, mixing, methods []count
	for _, s := range sources {
		if s.dir() == "." {
			root++
		}
		if s.isTest() {
			testLines += s.lines
		}
		if s.inLibrary() {
			lines = tally(lines, s.dir(), s.lines)
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
			if s.dir() == "." {
				rootDocs = append(rootDocs, docs...)
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
	return append([]row{
		{name: "Go files in the root package", value: root, limit: 18},
		{name: "fields of Lock", value: fieldsOfLock, limit: 6},
		largest("cyclomatic complexity of a function", complex, 15),
		largest("fields of a struct", wide, 15),
		mean("words of documentation per symbol, root", rootDocs, 40),
		mean("words of documentation per symbol, all public", publicDocs, 40),
		largest("words of documentation of a symbol", publicDocs, 0),
		{name: "README lines", value: strings.Count(string(readme), "\n"), limit: 220},
		{name: "README words", value: len(strings.Fields(string(readme)))},
		{name: "banned words in code, comments and docs", value: len(banned), zero: true, parts: files},
		{name: "colons and semicolons per 1,000 words of comments", value: marks * 1000 / max(1, proseWords)},
		{name: "lines of Go in the library", value: sum(lines), limit: 12_000, parts: lines,
			note: "no tests; all but " + strings.Join(outsideLibrary, ", ")},
		{name: "lines of tests", value: testLines, limit: 42_000},
		largest("methods of a type of the library", methods, 20),
		{name: "functions that touch three mechanisms or more", value: len(mixing), limit: 25, parts: mixing},
	}, shares(sources)...), nil
}

// largest is the row of the largest count. Its parts are the counts above the
// limit, or the largest one.
func largest(name string, counts []count, limit int) row {
	r := row{name: name, limit: limit}
	for _, c := range counts {
		r.value = max(r.value, c.n)
	}
	for _, c := range counts {
		if c.n == r.value || limit > 0 && c.n > limit {
			r.parts = append(r.parts, c)
		}
	}
	return r
}

// mean is the row of the mean of the documented symbols, rounded up.
func mean(name string, counts []count, limit int) row {
	documented := slices.DeleteFunc(slices.Clone(counts), func(c count) bool { return c.n == 0 })
	n := len(documented)
	return row{name: name, value: (sum(documented) + n - 1) / max(1, n), limit: limit,
		note: fmt.Sprintf("%d symbols, %d documented", len(counts), n)}
}

func sum(counts []count) (n int) {
	for _, c := range counts {
		n += c.n
	}
	return n
}

// tally adds n to the count of that name.
func tally(counts []count, name string, n int) []count {
	for i := range counts {
		if counts[i].name == name {
			counts[i].n += n
			return counts
		}
	}
	return append(counts, count{name, n})
}

// write writes the table, and below it up to show parts of each row, the
// largest first. It returns how many limits are exceeded.
func write(to io.Writer, rows []row, show int) (exceeded int) {
	table := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "measure\t5f426da\tvalue\tlimit\t")
	for _, r := range rows {
		before, limit, mark := "-", "-", ""
		if n, ok := then[r.name]; ok {
			before = fmt.Sprint(n)
		}
		if r.limited() {
			limit = fmt.Sprint(r.limit)
		}
		if r.exceeded() {
			mark = "exceeded"
			exceeded++
		}
		fmt.Fprintf(table, "%s\t%s\t%d\t%s\t%s\n", r.name, before, r.value, limit, mark)
	}
	table.Flush()
	fmt.Fprint(to, timed)
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
	return exceeded
}
