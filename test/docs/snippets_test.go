package docs_test

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/queuelock/queuelock/internal/testbed/locktest"
)

// TestGoSnippets finds every Go block of the pages, line for line, in code that
// is compiled: a file with an Example, or a program under examples/.
func TestGoSnippets(t *testing.T) {
	compiled := map[string][]string{}
	files(t, ".", ".go", func(name, text string) {
		if !strings.HasPrefix(name, "examples/") && !regexp.MustCompile(`(?m)^func Example`).MatchString(text) {
			return
		}
		var lines []string
		for line := range strings.Lines(text) {
			lines = append(lines, strings.TrimSpace(line))
		}
		compiled[name] = lines
	})
	found := 0
	for _, s := range snippets(t) {
		if s.language != "go" {
			continue
		}
		found++
		isCompiled := false
		for _, lines := range compiled {
			isCompiled = isCompiled || contains(lines, s.lines)
		}
		if !isCompiled {
			t.Errorf("%s: no compiled Example or program holds the snippet:\n%s", s.where, strings.Join(s.lines, "\n"))
		}
		for _, line := range s.lines {
			if regexp.MustCompile(`\b_(, _)* :?= |//nolint`).MatchString(line) {
				t.Errorf("%s discards a value: %s", s.where, line)
			}
		}
	}
	if found == 0 {
		t.Error("there is no Go snippet")
	}
}

// contains reports whether part is a run of consecutive lines of whole.
func contains(whole, part []string) bool {
	for i := 0; i+len(part) <= len(whole); i++ {
		if slices.Equal(whole[i:i+len(part)], part) {
			return true
		}
	}
	return false
}

// TestSnippetLanguages admits only blocks that a test checks, and plain text.
func TestSnippetLanguages(t *testing.T) {
	for _, s := range snippets(t) {
		if !slices.Contains(append([]string{"go", "sql", "json", "expression", "text", "python", "javascript", "java", "bash"}, shells...), s.language) {
			t.Errorf("%s: no test checks blocks of language %q", s.where, s.language)
		}
	}
}

func TestSQLSnippets(t *testing.T) {
	code := strings.Join(strings.Fields(sources(t, ".", ".go")), " ")
	for _, s := range snippets(t) {
		if s.language == "sql" && !strings.Contains(code, strings.Join(s.lines, " ")) {
			t.Errorf("%s: no program sends the statement", s.where)
		}
	}
}

// shells are the languages of blocks that have commands. In all but the first, a command may be anywhere in a line.
var shells = []string{"sh", "crontab", "ini", "yaml"}

func isCommand(word string) bool { return path.Base(word) == "queuelock" }

// TestShellSnippets checks that targets, subcommands, flags and tests exist.
func TestShellSnippets(t *testing.T) {
	makefile, command := read(t, "Makefile"), sources(t, "cmd/queuelock", ".go")
	for _, s := range snippets(t) {
		if !slices.Contains(shells, s.language) {
			continue
		}
		for _, line := range s.lines {
			line, _, _ = strings.Cut(line, "#")
			words := strings.Fields(line)
			for i, word := range words[:max(0, len(words)-1)] {
				next := words[i+1]
				switch {
				case word == "make" && !strings.Contains(makefile, "\n"+next+":"):
					t.Errorf("%s: the Makefile has no target %q", s.where, next)
				case isCommand(word) && (i == 0 || s.language != "sh") && !regexp.MustCompile(`Use:\s+"`+regexp.QuoteMeta(next)+`[" ]`).MatchString(command):
					t.Errorf("%s: the command line has no subcommand %q", s.where, next)
				case word == "-run":
					for _, name := range strings.Split(strings.Trim(next, "'"), "|") {
						if !strings.Contains(testsOf(t, words), "func "+strings.Trim(name, "$")+"(") {
							t.Errorf("%s: there is no test %q in %s", s.where, name, line)
						}
					}
				}
			}
			if !slices.ContainsFunc(words, isCommand) {
				continue
			}
			for _, flag := range regexp.MustCompile(`(?:^| )--([a-z][a-z-]*)`).FindAllStringSubmatch(strings.Split(line, " -- ")[0], -1) {
				if !strings.Contains(command, `"`+flag[1]+`"`) {
					t.Errorf("%s: the command line has no flag --%s", s.where, flag[1])
				}
			}
		}
	}
}

// TestJSONFields finds the fields that the pages' jq programs use in the JSON of status and ls.
func TestJSONFields(t *testing.T) {
	fields := map[string]bool{}
	for _, tag := range regexp.MustCompile(`json:"(\w+)"`).FindAllStringSubmatch(sources(t, "cmd/queuelock/internal/display", ".go"), -1) {
		fields[tag[1]] = true
	}
	used := 0
	for _, s := range snippets(t) {
		for _, program := range regexp.MustCompile(`\| jq [^']*'([^']+)'`).FindAllStringSubmatch(strings.Join(s.lines, "\n"), -1) {
			for _, field := range regexp.MustCompile(`\.([a-z_]+)`).FindAllStringSubmatch(program[1], -1) {
				used++
				if !fields[field[1]] {
					t.Errorf("%s: there is no field %s: %s", s.where, field[1], program[1])
				}
			}
		}
	}
	if len(fields) < 20 || used == 0 {
		t.Errorf("%d fields, of which %d are used", len(fields), used)
	}
}

// TestExampleCommands checks that the programs and flags of each "go run" exist.
func TestExampleCommands(t *testing.T) {
	for _, s := range snippets(t) {
		for _, line := range s.lines {
			command := regexp.MustCompile(`\bgo (?:-C (\S+) )?run \./(\S+)(.*)`).FindStringSubmatch(line)
			if s.language != "sh" || command == nil {
				continue
			}
			code := sources(t, filepath.Join(command[1], command[2]), ".go")
			for _, flag := range regexp.MustCompile(` -([a-z]+)`).FindAllStringSubmatch(command[3], -1) {
				if !strings.Contains(code, `("`+flag[1]+`", `) {
					t.Errorf("%s: the program has no flag -%s: %s", s.where, flag[1], line)
				}
			}
		}
	}
}

// testsOf returns the tests of the packages that a "go test" command names.
func testsOf(t *testing.T, words []string) string {
	t.Helper()
	var all strings.Builder
	for _, word := range words {
		if word != "." && !strings.HasPrefix(word, "./") {
			continue
		}
		names := locktest.Must(filepath.Glob(filepath.Join(root, word, "*_test.go")))
		for _, name := range names {
			text := locktest.Must(os.ReadFile(name))
			all.Write(text)
		}
	}
	return all.String()
}

// TestLinks follows each link to a file, and to a heading in it, and checks that the tests that the pages name exist.
func TestLinks(t *testing.T) {
	tests := sources(t, ".", "_test.go")
	for _, p := range pages(t) {
		inside := false
		for i, line := range p.lines {
			if strings.HasPrefix(line, "```") {
				inside = !inside
			}
			if inside {
				continue
			}
			for _, link := range regexp.MustCompile(`\]\(([^)#]*)(?:#([^)]*))?\)`).FindAllStringSubmatch(line, -1) {
				if strings.Contains(link[1], "://") {
					continue
				}
				target := p.name
				if link[1] != "" {
					target = filepath.Join(filepath.Dir(p.name), link[1])
				}
				if _, err := os.Stat(filepath.Join(root, target)); err != nil {
					t.Errorf("%s:%d: the link leads nowhere: %v", p.name, i+1, err)
				} else if link[2] != "" && !slices.Contains(anchors(readPage(t, target)), link[2]) {
					t.Errorf("%s:%d: %s has no heading #%s", p.name, i+1, target, link[2])
				}
			}
			for _, name := range regexp.MustCompile("`((?:Test|Fuzz|Example)[A-Z]\\w+)`").FindAllStringSubmatch(line, -1) {
				if !strings.Contains(tests, "func "+name[1]+"(") {
					t.Errorf("%s:%d: there is no test %s", p.name, i+1, name[1])
				}
			}
		}
	}
}

// anchors returns the names that a page's headings have in links.
func anchors(p page) []string {
	var all []string
	inside := false
	for _, line := range p.lines {
		if strings.HasPrefix(line, "```") {
			inside = !inside
		}
		if heading := regexp.MustCompile(`^#+ (.*)$`).FindStringSubmatch(line); heading != nil && !inside {
			name := regexp.MustCompile("[^a-z0-9 _-]").ReplaceAllString(strings.ToLower(heading[1]), "")
			all = append(all, strings.ReplaceAll(name, " ", "-"))
		}
	}
	return all
}

// TestIndex finds each page in the index, docs/README.md.
func TestIndex(t *testing.T) {
	index := read(t, "docs/README.md")
	for _, p := range pages(t) {
		if name, ok := strings.CutPrefix(p.name, "docs/"); ok && name != "README.md" && !strings.Contains(index, "("+name+")") {
			t.Errorf("docs/README.md does not list %s", name)
		}
	}
}
