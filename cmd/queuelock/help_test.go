package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
)

// eachCommand visits the commands that users see, with the words that name them.
func eachCommand(visit func(words []string, cmd *cobra.Command)) {
	var walk func(words []string, cmd *cobra.Command)
	walk = func(words []string, cmd *cobra.Command) {
		visit(words, cmd)
		for _, sub := range cmd.Commands() {
			if !sub.Hidden {
				walk(append(slices.Clone(words), sub.Name()), sub)
			}
		}
	}
	walk(nil, newRoot())
}

// TestHelp checks that the help of each command describes each flag, and has each example and exit code.
func TestHelp(t *testing.T) {
	eachCommand(func(words []string, cmd *cobra.Command) {
		whole := cmd.Example != "" && (strings.Contains(cmd.Long+cmd.Example, "Exit codes:\n") || !cmd.HasParent())
		if !whole && !slices.Contains([]string{"help", "version", "table"}, cmd.Name()) {
			t.Errorf("%v has no examples, or no exit codes", words)
		}
		o := invoke(t, append(words, "--help")...)
		if o.code != 0 || o.stderr != "" || !strings.Contains(o.stdout, cmd.Example) || !strings.Contains(o.stdout, cmd.Long) ||
			strings.Contains(o.stdout, "(default [])") || strings.Contains(o.stdout, "(default 0") {
			t.Errorf("%v: %+v", words, o)
		}
		cmd.LocalFlags().VisitAll(func(flag *pflag.Flag) {
			described := regexp.MustCompile(`(?m)^  (    |-` + flag.Shorthand + `, )--` + flag.Name + `\b.*  `)
			if !flag.Hidden && !described.MatchString(o.stdout) {
				t.Errorf("%v: --%s is not described", words, flag.Name)
			}
		})
		if help := invoke(t, append([]string{"help"}, words...)...); help.stdout != o.stdout {
			t.Errorf("%v: help prints another text: %+v", words, help)
		}
	})
}

// TestHelpIsTrue compares the texts with the flags of the commands: those that a text
// mentions are there, and its examples are accepted.
func TestHelpIsTrue(t *testing.T) {
	flag := regexp.MustCompile(`(?:"([a-z-]+) )?--([a-z][a-z-]+)`)
	eachCommand(func(words []string, cmd *cobra.Command) {
		for _, text := range []string{cmd.Long, cmd.Short} {
			for _, found := range flag.FindAllStringSubmatch(text, -1) {
				in := cmd
				if other, _, err := cmd.Root().Find([]string{found[1]}); found[1] != "" && err == nil {
					in = other
				}
				if !mentioned(in, found[2]) {
					t.Errorf("%v: there is no --%s", words, found[2])
				}
			}
		}
		examples, _, _ := strings.Cut(cmd.Example, "Exit codes:")
		for line := range strings.Lines(examples) {
			_, line, ok := strings.Cut(line, "queuelock ")
			if !ok {
				continue
			}
			for _, end := range []string{" # ", " | ", ") ||", " || ", " > "} {
				line, _, _ = strings.Cut(line, end)
			}
			about, rest, err := newRoot().Find(strings.Fields(strings.ReplaceAll(line, "$$", "1")))
			if err == nil {
				err = about.ParseFlags(rest)
			}
			if err != nil {
				t.Errorf("%v: the example %q: %v", words, line, err)
			}
		}
	})
}

// mentioned reports whether a flag is one of the command, or of one that the text of a
// whole, such as that of the program, is about.
func mentioned(cmd *cobra.Command, name string) bool {
	if cmd.Flag(name) != nil {
		return true
	}
	for _, sub := range cmd.Commands() {
		if sub.Flag(name) != nil {
			return true
		}
	}
	return false
}

// TestDocumentedFlags checks that docs/cli.md has each flag of run and lock, with its default.
func TestDocumentedFlags(t *testing.T) {
	text := locktest.Must(os.ReadFile("../../docs/cli.md"))
	common := &cobra.Command{}
	new(settings).addFlags(common)
	for _, cmd := range []*cobra.Command{newRun(), newLock()} {
		cmd.Flags().VisitAll(func(flag *pflag.Flag) {
			row := regexp.MustCompile("(?m)^\\| (`-.`, )?`--" + flag.Name + "( [A-Z]+(=[A-Z]+)?)?` \\|.*$").FindString(string(text))
			cells := strings.Split(strings.Trim(row, "| "), "|")
			usual := strings.NewReplacer("h0m0s", "h", "m0s", "m").Replace(flag.DefValue) + " "
			none := slices.Contains([]string{"", "0", "0s", "false", "[]"}, flag.DefValue)
			switch {
			case common.Flag(flag.Name) != nil, flag.Hidden:
			case row == "":
				t.Errorf("%s: docs/cli.md has no row of --%s", cmd.Name(), flag.Name)
			case flag.Shorthand != "" && !strings.Contains(row, fmt.Sprintf("`-%s`", flag.Shorthand)):
				t.Errorf("%s: -%s is missing: %s", cmd.Name(), flag.Shorthand, row)
			case !none && !strings.Contains(usual, strings.Trim(cells[len(cells)-1], "` ")):
				t.Errorf("%s: the default of --%s is %s: %s", cmd.Name(), flag.Name, flag.DefValue, row)
			}
		})
	}
}

// TestDocumentedExitCodes checks that the tables of docs/cli.md and the help texts have the
// exit codes of run, unlock and check.
func TestDocumentedExitCodes(t *testing.T) {
	text := locktest.Must(os.ReadFile("../../docs/cli.md"))
	for command, codes := range map[string][]int{
		"run":    {exitUsage, exitUnavailable, exitLost, exitNotAcquired, exitSuperseded, exitKept, exitNested, exitNotRunnable, exitNotFound},
		"unlock": {0, exitFailed, exitUsage, exitUnavailable, exitLost},
		"check":  {0, exitFailed, exitUsage, exitUnavailable, exitLost},
	} {
		_, table, _ := strings.Cut(string(text), "| exit code of `"+command+"` |")
		table, _, _ = strings.Cut(table, "\n\n")
		_, shown, _ := strings.Cut(invoke(t, command, "--help").stdout, "Exit codes:\n")
		for _, code := range codes {
			number := regexp.MustCompile(fmt.Sprintf(`\b%d\b`, code))
			if !number.MatchString(table) {
				t.Errorf("%s: the table has no %d", command, code)
			}
			if !number.MatchString(shown) {
				t.Errorf("%s --help has no %d: %s", command, code, shown)
			}
		}
	}
}

// TestHelpPages checks that the pages that help texts name exist and are about that.
func TestHelpPages(t *testing.T) {
	about := map[string]string{"template": "LockItem", "create": "restore", "evict": "", "status": "## status", "ls": "## ls", "top": "## top", "history": "## history"}
	page := regexp.MustCompile(`docs/([a-z-]+\.md)(#[a-z-]+)?`)
	named := 0
	eachCommand(func(words []string, cmd *cobra.Command) {
		text := cmd.Long + cmd.Example
		cmd.Flags().VisitAll(func(flag *pflag.Flag) { text += "\n" + flag.Usage })
		for _, found := range page.FindAllStringSubmatch(text, -1) {
			named++
			content, err := os.ReadFile("../../docs/" + found[1])
			heading := strings.ReplaceAll(strings.TrimPrefix(found[2], "#"), "-", "[ -]+")
			if err != nil || !strings.Contains(string(content), about[cmd.Name()]) || !regexp.MustCompile(`(?mi)^#+ .*`+heading).Match(content) {
				t.Errorf("%v names %s: %v", words, found[0], err)
			}
		}
	})
	if named < 3 {
		t.Errorf("%d pages are named", named)
	}
}

// TestJSONFields compares the fields in the help of each command that prints JSON with what it prints. A queue in which a
// holder and a waiter have crashed has all of them.
func TestJSONFields(t *testing.T) {
	e := newEngine(t)
	invoke(t, "run", "x", "--once", "10m", "--", "true").prints(t, 0, "") // from now on, a result and the length of a turn are known
	overtaken := e.failClosed(t, queuelock.Key{Entity: "x"})
	invoke(t, "evict", "x", "--ticket", "2").ends(t, 0) // from now on, a loss is known
	e.crashed(t, "x")
	e.occupied(t, "busy")
	invoke(t, "revoke", "busy", "--why", "all fields", "--after", "1h").ends(t, 0)
	invoke(t, "revoke", "x", "--why", "all fields", "--after", "1h").ends(t, 0)
	evicted := e.failClosed(t, queuelock.Key{Entity: "payroll"})
	for _, args := range []string{
		"status x -o json", "ls -q -o json", "history x --for 1s --json", "sweep x --dry-run --json",
		"doctor --json", "revoke payroll --json", "evict payroll --ticket 1 --json", "run busy --progress json -w 0.2 --keep 1m --ticket " + filepath.Join(t.TempDir(), "ticket") + " -- true",
	} {
		words := strings.Fields(args)
		o := invoke(t, words...)
		printed := map[string]bool{}
		for _, text := range []string{o.stdout, o.stderr} {
			for decoder := json.NewDecoder(strings.NewReader(text)); strings.HasPrefix(text, "{") && decoder.More(); {
				var object map[string]any
				locktest.OK(t, decoder.Decode(&object))
				keysOf(object, "", printed)
			}
		}
		help := invoke(t, "help", words[0]).stdout
		if strings.Contains(help, "or null; or null") {
			t.Errorf("%s: null is named twice", args)
		}
		described := described(t, help)
		for _, absent := range []string{"results.advice", "message"} { // where there is nothing to say
			printed[absent] = printed[absent] || described[absent]
			if !described[absent] {
				delete(printed, absent)
			}
		}
		if diff := cmp.Diff(slices.Sorted(maps.Keys(described)), slices.Sorted(maps.Keys(printed))); diff != "" || len(printed) < 4 {
			t.Errorf("%s: the help and what is printed (+) differ:\n%s\n%+v", args, diff, o)
		}
	}
	for _, lock := range []*queuelock.Lock{evicted, overtaken} {
		locktest.Is(t, lock.Release(t.Context()), queuelock.ErrLost)
	}
	if lock, run := invoke(t, "help", "lock").stdout, described(t, invoke(t, "help", "run").stdout); !maps.Equal(described(t, lock), run) {
		t.Errorf("the help of lock has other fields than that of run:\n%s", lock)
	}
}

// keysOf adds the names of all fields that a value has, with those of the objects that they are in.
func keysOf(value any, path string, all map[string]bool) {
	switch v := value.(type) {
	case map[string]any:
		for name, inner := range v {
			all[path+name] = true
			keysOf(inner, path+name+".", all)
		}
	case []any:
		for _, inner := range v {
			keysOf(inner, path, all)
		}
	}
}

// described returns the names of the fields that a help text describes, in the same form.
func described(t *testing.T, text string) map[string]bool {
	t.Helper()
	all, line := map[string]bool{}, regexp.MustCompile(`^ {6}( {0,4})([a-z_0-9]+) +\S`)
	var path []string
	for paragraph := range strings.SplitSeq(text, "\n\n") {
		if !strings.HasPrefix(paragraph, "    ") {
			continue
		}
		for l := range strings.Lines(paragraph) {
			found := line.FindStringSubmatch(l)
			if found == nil {
				if strings.Count(l, " ") > 0 && regexp.MustCompile(`^ {6,10}\S`).MatchString(l) {
					t.Errorf("a field has no meaning: %q", l)
				}
				continue
			}
			depth := len(found[1]) / 2
			path = append(path[:depth], found[2])
			all[strings.Join(path, ".")] = true
		}
	}
	return all
}
