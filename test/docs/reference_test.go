package docs_test

import (
	"fmt"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/internal/testbed/docpages"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
)

// TestAttributes finds each attribute of the items in docs/format.md, with its type: "`beat` (N)", or "`beat`, `ttl`: " of
// a row, which are explained elsewhere.
func TestAttributes(t *testing.T) {
	text := read(t, "docs/format.md")
	attributes := regexp.MustCompile(`\t[A-Z]\w+ += "(\w+)" +// .*, (\w+):? ?`).FindAllStringSubmatch(typed(read(t, "internal/attr/attr.go")), -1)
	if len(attributes) < 25 {
		t.Fatalf("attr.go names %d attributes", len(attributes))
	}
	for _, a := range attributes {
		types := regexp.MustCompile("`"+a[1]+"` \\((\\w+)\\)").FindAllStringSubmatch(text, -1)
		if len(types) == 0 {
			t.Errorf("docs/format.md does not say of which type %s is", a[1])
		}
		for _, is := range types {
			if is[1] != a[2] {
				t.Errorf("docs/format.md says that %s is %s, the code %s", a[1], is[1], a[2])
			}
		}
	}
}

// typed returns the code without what follows the type of an attribute in its comment.
func typed(code string) string {
	return regexp.MustCompile(`(// [a-z ,]+, [A-Z]+)\b.*`).ReplaceAllString(code, "$1")
}

// TestExitCodes finds the meaning of each exit code, as exit.go has it, in its row of the table of run, and no other
// code there. It leaves out 1 and 128: the first is no outcome of run, the second is shown as a sum.
func TestExitCodes(t *testing.T) {
	_, table, _ := strings.Cut(read(t, "docs/cli.md"), "\n| exit code of `run` | meaning |\n|---|---|\n")
	table, _, _ = strings.Cut(table, "\n\n")
	rows := map[string]string{}
	for _, row := range regexp.MustCompile(`(?m)^\| (\d+) \| (.*) \|$`).FindAllStringSubmatch(table, -1) {
		rows[row[1]] = row[2]
	}
	for _, code := range regexp.MustCompile(`\texit\w+ += (\d+) +// ([^;\n]*)`).FindAllStringSubmatch(read(t, "cmd/queuelock/exit.go"), -1) {
		if code[1] == "1" || code[1] == "128" {
			continue
		}
		if !strings.HasPrefix(rows[code[1]], code[2]) {
			t.Errorf("docs/cli.md says of exit code %s %q, exit.go %q", code[1], rows[code[1]], code[2])
		}
		delete(rows, code[1])
	}
	if len(rows) > 0 || table == "" {
		t.Errorf("exit.go does not have the codes of docs/cli.md %v", rows)
	}
}

// TestConfiguration finds a row for each field, and no row for anything else.
func TestConfiguration(t *testing.T) {
	want := map[string]bool{}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[queuelock.Config]()) {
		want[f.Name] = f.Type.Kind() != reflect.Struct && f.IsExported()
		if f.Type.Kind() == reflect.Struct {
			for _, inner := range reflect.VisibleFields(f.Type) {
				want[f.Name+"."+inner.Name] = inner.IsExported()
			}
		}
	}
	got := map[string]bool{}
	for _, row := range regexp.MustCompile("(?m)^\\| `([A-Z][A-Za-z.]+)` \\|").FindAllStringSubmatch(read(t, "docs/configuration.md"), -1) {
		got[row[1]] = true
		if !want[row[1]] {
			t.Errorf("docs/configuration.md has a row for %s, which is no field", row[1])
		}
	}
	for name, is := range want {
		if is && !got[name] {
			t.Errorf("docs/configuration.md has no row for %s", name)
		}
	}
}

// library returns the root package's code, without tests.
func library(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	for _, name := range goFiles(t, ".") {
		all.WriteString(read(t, filepath.Base(name)))
	}
	return all.String()
}

// TestOptions finds each option in the guide, and in a row of the configuration.
func TestOptions(t *testing.T) {
	guide, table := read(t, "docs/guide.md"), read(t, "docs/configuration.md")
	options := regexp.MustCompile(`(?m)^func ([A-Z]\w+)\(.*\) (?:Item)?Option \{`).FindAllStringSubmatch(library(t), -1)
	if len(options) == 0 {
		t.Fatal("the package has no options")
	}
	for _, option := range options {
		if !strings.Contains(guide, "`"+option[1]) {
			t.Errorf("docs/guide.md does not mention the option %s", option[1])
		}
		if !strings.Contains(table, "\n| `"+option[1]+"(") {
			t.Errorf("docs/configuration.md has no row for the option %s", option[1])
		}
	}
}

// publicErrors returns the exported errors of the public packages, as callers name them.
func publicErrors(t *testing.T) map[string]bool {
	t.Helper()
	names := locktest.Must(filepath.Glob(filepath.Join(root, "*/*.go")))
	declared := regexp.MustCompile(`(?m)^(?:var |type |\t)(Err[A-Z]\w+|[A-Z]\w+Error) +(?:= errors\.New\(|= (?:group|clause)\.|struct)`)
	all := map[string]bool{}
	for _, e := range declared.FindAllStringSubmatch(library(t), -1) {
		all[e[1]] = true
	}
	for _, name := range names {
		dir := filepath.Base(filepath.Dir(name))
		text := read(t, dir+"/"+filepath.Base(name))
		if strings.HasSuffix(name, "_test.go") || !regexp.MustCompile(`(?m)^package `+dir+`$`).MatchString(text) {
			continue // a package of tests, or a program
		}
		for _, e := range declared.FindAllStringSubmatch(text, -1) {
			all[dir+"."+e[1]] = true
		}
	}
	return all
}

// TestErrors finds each exported error in a row of docs/errors.md, with a star if it is a type, each error of a row in the
// code, and a cause and a remedy in each row.
func TestErrors(t *testing.T) {
	declared := publicErrors(t)
	for _, name := range []string{"ErrLost", "LostError", "queue.MalformedError", "ticket.ErrExhausted", "optimistic.MalformedError"} {
		if !declared[name] {
			t.Errorf("%s was not found in the code", name)
		}
	}
	listed := map[string]bool{}
	for _, row := range regexp.MustCompile("(?m)^\\| (`.*) \\| (.*) \\| (.*) \\|$").FindAllStringSubmatch(read(t, "docs/errors.md"), -1) {
		if strings.TrimSpace(row[2]) == "" || strings.TrimSpace(row[3]) == "" {
			t.Errorf("docs/errors.md has no cause and remedy of %s", row[1])
		}
		for _, name := range regexp.MustCompile("`(\\*?)([\\w.]+)`").FindAllStringSubmatch(row[1], -1) {
			listed[name[2]] = true
			if !declared[name[2]] {
				t.Errorf("docs/errors.md has a row for %s, which does not exist", name[2])
			}
			if sentinel := strings.HasPrefix(name[2][strings.LastIndexByte(name[2], '.')+1:], "Err"); sentinel == (name[1] == "*") {
				t.Errorf("docs/errors.md has a wrong star before %s", name[2])
			}
		}
	}
	for name := range declared {
		if !listed[name] {
			t.Errorf("docs/errors.md has no row for %s", name)
		}
	}
}

// TestKinds writes the table of docs/errors.md which says what failures of requests are repeated.
func TestKinds(t *testing.T) {
	const page, begin = "docs/errors.md", "<!-- begin kinds generated by make docs -->\n"
	kinds := "| failure | repeated | why |\n|---|---|---|\n"
	for _, k := range table.Kinds {
		kinds += fmt.Sprintf("| %s | %s | %s |\n", k.Name, k.Repeat, k.Why)
	}
	generated(t, page, docpages.Between(t, read(t, page), begin, kinds))
}
