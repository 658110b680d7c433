package docs_test

import (
	"encoding/json"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

// TestAttributes finds each attribute of the items in docs/format.md.
func TestAttributes(t *testing.T) {
	text := read(t, "docs/format.md")
	attributes := regexp.MustCompile(`\tAttr\w+ += "(\w+)"`).FindAllStringSubmatch(read(t, "queue/attributes.go"), -1)
	if len(attributes) == 0 {
		t.Fatal("queue/attributes.go names no attributes")
	}
	for _, a := range attributes {
		if !regexp.MustCompile("(?m)^\\|.*`" + a[1] + "`.*\\|").MatchString(text) {
			t.Errorf("docs/format.md does not say what %s is", a[1])
		}
	}
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
	names := locktest.Must(filepath.Glob(filepath.Join(root, "*.go")))
	var all strings.Builder
	for _, name := range names {
		if !strings.HasSuffix(name, "_test.go") {
			all.WriteString(read(t, filepath.Base(name)))
		}
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

// publicErrors returns the exported errors of the public packages, as callers name them, and the
// text of each sentinel.
func publicErrors(t *testing.T) map[string]string {
	t.Helper()
	names := locktest.Must(filepath.Glob(filepath.Join(root, "*/*.go")))
	declared := regexp.MustCompile(`(?m)^(?:var |type |\t)(Err[A-Z]\w+|[A-Z]\w+Error) +(?:= errors\.New\("(.*)"\)|= (?:group|clause)\.|struct)`)
	all := map[string]string{}
	for _, e := range declared.FindAllStringSubmatch(library(t), -1) {
		all[e[1]] = e[2]
	}
	for _, name := range names {
		dir := filepath.Base(filepath.Dir(name))
		text := read(t, dir+"/"+filepath.Base(name))
		if strings.HasSuffix(name, "_test.go") || !regexp.MustCompile(`(?m)^package `+dir+`$`).MatchString(text) {
			continue // a package of tests, or a program
		}
		for _, e := range declared.FindAllStringSubmatch(text, -1) {
			all[dir+"."+e[1]] = e[2]
		}
	}
	return all
}

// TestErrors finds each exported error in a row of docs/errors.md, each error of a row in the
// code, a cause and a remedy in each row, and the text of each sentinel.
func TestErrors(t *testing.T) {
	text, declared := read(t, "docs/errors.md"), publicErrors(t)
	for _, name := range []string{"ErrLost", "LostError", "queue.MalformedError", "ticket.ErrExhausted", "optimistic.MalformedError"} {
		if _, found := declared[name]; !found {
			t.Errorf("%s was not found in the code", name)
		}
	}
	index, byMessage, _ := strings.Cut(text, "\n## By message\n")
	listed := map[string]bool{}
	for _, row := range regexp.MustCompile("(?m)^\\| `\\*?([\\w.]+)` \\|(.*)\\|$").FindAllStringSubmatch(index, -1) {
		listed[row[1]] = true
		if _, exists := declared[row[1]]; !exists {
			t.Errorf("docs/errors.md has a row for %s, which does not exist", row[1])
		}
		cells := strings.Split(row[2], " | ")
		if len(cells) != 2 || strings.TrimSpace(cells[0]) == "" || strings.TrimSpace(cells[1]) == "" {
			t.Errorf("docs/errors.md has no cause and remedy of %s", row[1])
		}
	}
	for name, message := range declared {
		if !listed[name] {
			t.Errorf("docs/errors.md has no row for %s", name)
		}
		if message != "" && !strings.Contains(byMessage, "\n| `"+message+"` | `"+name+"` |\n") {
			t.Errorf("docs/errors.md does not lead from %q to %s", message, name)
		}
	}
}

// TestPolicies compares the IAM actions with the requests that the library sends: for each right of the page there is a
// use that needs it, and no use needs another.
func TestPolicies(t *testing.T) {
	allowed := map[string][]string{}
	for _, s := range snippets(t) {
		if s.language != "json" {
			continue
		}
		var policy struct {
			Version   string
			Statement []struct {
				Sid      string
				Effect   string
				Action   []string
				Resource string
			}
		}
		if err := json.Unmarshal([]byte(strings.Join(s.lines, "\n")), &policy); err != nil {
			t.Errorf("%s: %v", s.where, err)
		}
		for _, statement := range policy.Statement {
			allowed[statement.Sid] = slices.Sorted(slices.Values(statement.Action))
		}
	}
	called := map[string][]string{"UseLocks": actions(useLocks(t)), "CreateTable": actions(createTable(t))}
	if !reflect.DeepEqual(allowed, called) {
		t.Errorf("the documented policies allow %v, the library calls %v", allowed, called)
	}
}

// useLocks returns the requests of locks that are waited for, renewed, released, looked at and evicted.
func useLocks(t *testing.T) (sent queuelocktest.Counts) {
	synctest.Test(t, func(t *testing.T) {
		table := newTable(t)
		a, b := locktest.Two(t, table, queuelock.Config{}, "a", "b")
		before := table.Counts()
		held := acquire(t, a, order, waitpolicy.NoWait)
		go func() {
			time.Sleep(time.Minute)
			release(t, held)
		}()
		waited := acquire(t, b, order, waitpolicy.Forever)
		_, errA := a.IsLocked(t.Context(), order)
		state, errB := b.Viewer().Inspect(t.Context(), order)
		if errA != nil || errB != nil {
			t.Fatal(errA, errB)
		}
		locktest.OK(t, a.Operator().Evict(t.Context(), order, state.Serving[0]))
		time.Sleep(time.Minute)
		locktest.Is(t, waited.Err(), queuelock.ErrLost)
		sent = table.Counts().Sub(before)
	})
	return sent
}

func createTable(t *testing.T) queuelocktest.Counts {
	table := newTable(t)
	before := table.Counts()
	locktest.OK(t, queuelock.CreateTable(t.Context(), table.Client("admin"), "another", queuelock.Config{}))
	return table.Counts().Sub(before)
}

// actions returns the IAM actions of requests, sorted.
func actions(sent queuelocktest.Counts) []string {
	var names []string
	for operation := range sent {
		names = append(names, "dynamodb:"+operation)
	}
	return slices.Sorted(slices.Values(names))
}

// TestDemoOutput finds the labels of the printed summary in the demo's code.
func TestDemoOutput(t *testing.T) {
	code := sources(t, "cmd/queuelock/internal/demo", ".go")
	found := 0
	for _, s := range snippets(t) {
		if s.language != "text" || !slices.ContainsFunc(s.lines, func(l string) bool { return strings.HasPrefix(l, "grants ") && strings.Contains(l, "workers") }) {
			continue
		}
		for _, line := range s.lines {
			if label := regexp.MustCompile(`^([A-Za-z-]+(?: [a-z]+)?)  +\S`).FindStringSubmatch(line); label != nil && !strings.HasPrefix(line, "worker ") {
				found++
				if !strings.Contains(code, label[1]) {
					t.Errorf("%s: the demo does not print %q", s.where, label[1])
				}
			}
		}
	}
	if found < 8 {
		t.Errorf("%d labels of the demo are quoted", found)
	}
}
