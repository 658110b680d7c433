package main

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/queuelock/queuelock/cmd/queuelock/internal/help"
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

// TestHelpFits checks that each help text fits on a screen, and names each flag.
func TestHelpFits(t *testing.T) {
	eachCommand(func(words []string, cmd *cobra.Command) {
		o := invoke(t, append(words, "--help")...)
		if o.code != 0 || o.stderr != "" || o.stdout == "" {
			t.Errorf("%v: %+v", words, o)
		}
		lines := strings.Split(strings.TrimSuffix(o.stdout, "\n"), "\n")
		if len(lines) > help.Lines {
			t.Errorf("%v: %d lines, at most %d fit on a screen", words, len(lines), help.Lines)
		}
		for _, line := range lines {
			if n := utf8.RuneCountInString(line); n > help.Columns {
				t.Errorf("%v: %d columns: %s", words, n, line)
			}
		}
		cmd.LocalFlags().VisitAll(func(flag *pflag.Flag) {
			switch common := flag.Shorthand == "" && strings.Contains(invoke(t, "help", "settings").stdout, "--"+flag.Name+" "); {
			case common, flag.Hidden, flag.Name == "help", flag.Name == "version":
			case !regexp.MustCompile(`--` + flag.Name + `\b`).MatchString(o.stdout):
				t.Errorf("%v: --%s is missing", words, flag.Name)
			case flag.Shorthand != "" && !regexp.MustCompile(`-`+flag.Shorthand+`(, |/)--`+flag.Name+`\b`).MatchString(o.stdout):
				t.Errorf("%v: -%s is missing", words, flag.Shorthand)
			}
		})
		if hint := fmt.Sprintf("'%s'", strings.Join(append(append([]string{"queuelock", "help"}, words...), "--all"), " ")); strings.Contains(o.stdout, "More ") && !strings.Contains(o.stdout, hint) {
			t.Errorf("%v: %s is missing", words, hint)
		}
	})
	if n := strings.Count(invoke(t, "help", "settings").stdout, "\n"); n < 8 || n > help.Lines {
		t.Errorf("help settings has %d lines", n)
	}
}

// TestHelpAll checks that the whole text of each command describes each flag, and has each
// example.
func TestHelpAll(t *testing.T) {
	eachCommand(func(words []string, cmd *cobra.Command) {
		o := invoke(t, append(append([]string{"help"}, words...), "--all")...)
		if o.code != 0 || o.stderr != "" || strings.Contains(o.stdout, "More ") {
			t.Errorf("%v: %+v", words, o)
		}
		check := func(flag *pflag.Flag) {
			_, usage := pflag.UnquoteUsage(flag)
			described := regexp.MustCompile(`(?m)^  (    |-` + flag.Shorthand + `, )--` + flag.Name + `( [A-Z=]+)?  +` + regexp.QuoteMeta(strings.Fields(usage)[0]))
			if !flag.Hidden && flag.Name != "help" && flag.Name != "version" && !described.MatchString(o.stdout) {
				t.Errorf("%v: --%s is not described", words, flag.Name)
			}
		}
		cmd.LocalFlags().VisitAll(check)
		cmd.InheritedFlags().VisitAll(check)
	})
	if o := invoke(t, "--help"); !strings.Contains(o.stdout, "\nSettings: --table, --endpoint, --region, …: see 'queuelock help settings'\n") {
		t.Errorf("the help of the program does not name the settings: %s", o.stdout)
	}
	if o := invoke(t, "help", "run", "--all"); strings.Count(o.stdout, "\n") <= help.Lines || !strings.Contains(o.stdout, "QUEUELOCK_OWNER") {
		t.Errorf("%+v", o)
	}
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

// TestDocumentedFlags checks that docs/cli.md has each flag of run and lock, with its
// default.
func TestDocumentedFlags(t *testing.T) {
	text := locktest.Must(os.ReadFile("../../docs/cli.md"))
	common := invoke(t, "help", "settings").stdout
	for _, cmd := range []*cobra.Command{newRun(), newLock()} {
		cmd.Flags().VisitAll(func(flag *pflag.Flag) {
			row := regexp.MustCompile("(?m)^\\| (`-.`, )?`--" + flag.Name + "( [A-Z]+)?` \\|.*$").FindString(string(text))
			switch {
			case strings.Contains(common, "--"+flag.Name+" ") && flag.Shorthand == "", flag.Hidden:
			case row == "":
				t.Errorf("%s: docs/cli.md has no row of --%s", cmd.Name(), flag.Name)
			case flag.Shorthand != "" && !strings.Contains(row, fmt.Sprintf("`-%s`", flag.Shorthand)):
				t.Errorf("%s: -%s is missing: %s", cmd.Name(), flag.Shorthand, row)
			case !slices.Contains([]string{"", "0", "0s", "false", "[]"}, flag.DefValue) && !strings.Contains(strings.NewReplacer("h0m0s", "h", "m0s", "m").Replace(flag.DefValue)+" ", strings.Trim(lastCell(row), "` ")):
				t.Errorf("%s: the default of --%s is %s: %s", cmd.Name(), flag.Name, flag.DefValue, row)
			}
		})
	}
}

// lastCell returns the last cell of a row.
func lastCell(row string) string {
	cells := strings.Split(strings.TrimSuffix(strings.TrimSpace(row), "|"), "|")
	return cells[len(cells)-1]
}

// TestDocumentedExitCodes checks that the tables of docs/cli.md and the help texts have the
// exit codes of run, unlock and check.
func TestDocumentedExitCodes(t *testing.T) {
	text := locktest.Must(os.ReadFile("../../docs/cli.md"))
	for command, codes := range map[string][]int{
		"run":    {exitUsage, exitUnavailable, exitLost, exitNotAcquired, exitSuperseded, exitNested, exitNotRunnable, exitNotFound},
		"unlock": {0, exitFailed, exitUsage, exitUnavailable, exitLost},
		"check":  {0, exitFailed, exitUsage, exitLost},
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
