package docs_test

import (
	"regexp"
	"strings"
	"testing"
)

// mostWords bounds the words of each page, as wc counts them.
var mostWords = map[string]int{
	"README.md":                   1_300,
	"CHANGELOG.md":                280,
	"CONTRIBUTING.md":             930,
	"SECURITY.md":                 530,
	"action/README.md":            250,
	"docs/README.md":              390,
	"docs/benchmarks.md":          1_400,
	"docs/cli.md":                 1_880,
	"docs/comparison.md":          1_210,
	"docs/configuration.md":       2_080,
	"docs/costs.md":               1_180,
	"docs/errors.md":              600,
	"docs/failures.md":            1_850,
	"docs/faq.md":                 450,
	"docs/format.md":              780,
	"docs/glossary.md":            500,
	"docs/guide.md":               2_380,
	"docs/migration.md":           650,
	"docs/observe.md":             1_250,
	"docs/operations-runtimes.md": 1_070,
	"docs/operations-table.md":    1_440,
	"docs/operations.md":          1_550,
	"docs/processes.md":           600,
	"docs/production.md":          750,
	"docs/protocol.md":            4_190,
	"docs/spec/README.md":         2_210,
	"docs/telemetry.md":           940,
	"docs/testing.md":             2_340,
	"docs/versions.md":            310,
}

const (
	mostOfDocs     = 33_000
	mostOfCell     = 60
	mostOfSentence = 30
	longSentences  = 10 // in all pages
)

// TestWordCounts keeps the pages short.
func TestWordCounts(t *testing.T) {
	sum := 0
	for _, p := range pages(t) {
		words := len(strings.Fields(strings.Join(p.lines, "\n")))
		if strings.HasPrefix(p.name, "docs/") {
			sum += words
		}
		limit, listed := mostWords[p.name]
		if !listed && strings.HasPrefix(p.name, "examples/") {
			limit, listed = 420, true
		}
		if !listed || words > limit {
			t.Errorf("%s has %d words, %d are allowed", p.name, words, limit)
		}
	}
	if sum > mostOfDocs {
		t.Errorf("the pages of docs/ have %d words, %d are allowed", sum, mostOfDocs)
	}
}

// TestCells finds no cell of a table with more words than a glance takes in.
func TestCells(t *testing.T) {
	for _, p := range pages(t) {
		for _, b := range blocksOf(p.lines) {
			if n := len(wordsOf(b.text)); b.cell && n > mostOfCell {
				t.Errorf("%s:%d: a cell has %d words, %d are allowed", p.name, b.line, n, mostOfCell)
			}
		}
	}
}

// TestSentences lists sentences that are too long to be understood at the first reading.
func TestSentences(t *testing.T) {
	long := 0
	for _, p := range pages(t) {
		for _, b := range blocksOf(p.lines) {
			for _, s := range sentences(b.text) {
				if n := len(wordsOf(s)); n > mostOfSentence {
					long++
					t.Logf("%s:%d: %d words: %s", p.name, b.line, n, s)
				}
			}
		}
	}
	if long > longSentences {
		t.Errorf("%d sentences have more than %d words, %d may", long, mostOfSentence, longSentences)
	}
}

// block is a paragraph, an item of a list, or a cell of a table.
type block struct {
	line int
	cell bool
	text string
}

var (
	item   = regexp.MustCompile(`^\s*([-*]|\d+\.) `)
	dashes = regexp.MustCompile(`^\|[-:| ]+\|$`)
	link   = regexp.MustCompile(`!?\[([^\]]*)\]\([^)]*\)`)
	code   = regexp.MustCompile("`[^`]*`")
	stop   = regexp.MustCompile(`[.!?]["')*]*(\s+|$)`)
)

// blocksOf returns what is read as one piece, without headings and fenced blocks.
func blocksOf(lines []string) []block {
	var all []block
	fenced, open := false, false
	for i, line := range lines {
		trimmed := strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(trimmed, "```"):
			fenced, open = !fenced, false
		case fenced:
		case trimmed == "" || strings.HasPrefix(trimmed, "#") || dashes.MatchString(trimmed):
			open = false
		case strings.HasPrefix(trimmed, "|"):
			open = false
			for _, cell := range strings.Split(strings.ReplaceAll(strings.Trim(trimmed, "|"), `\|`, "/"), "|") {
				all = append(all, block{i + 1, true, plain(cell)})
			}
		case open && !item.MatchString(line):
			all[len(all)-1].text += " " + plain(trimmed)
		default:
			all, open = append(all, block{i + 1, false, plain(item.ReplaceAllString(line, ""))}), true
		}
	}
	return all
}

// plain returns a line without links and with one word for each piece of code.
func plain(line string) string {
	line = link.ReplaceAllString(line, "$1")
	return code.ReplaceAllStringFunc(line, func(c string) string {
		return strings.NewReplacer(" ", "_", ".", "_", "!", "_", "?", "_").Replace(c)
	})
}

func sentences(text string) []string {
	return strings.Split(stop.ReplaceAllString(text, "\n"), "\n")
}

var word = regexp.MustCompile(`[\pL\pN]`)

func wordsOf(text string) []string {
	var all []string
	for _, w := range strings.Fields(text) {
		if word.MatchString(w) {
			all = append(all, w)
		}
	}
	return all
}
