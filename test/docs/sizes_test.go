package docs_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/internal/tools/words"
)

const (
	mostOfSentence = 30
	longSentences  = 10 // in all pages
)

// mostWords are the words of the pages that must stay short, with a tenth to spare.
var mostWords = map[string]int{"README.md": 1480, "CONTRIBUTING.md": 1450}

// TestWordCounts keeps short what every newcomer reads.
func TestWordCounts(t *testing.T) {
	for name, most := range mostWords {
		if words := len(strings.Fields(read(t, name))); words > most {
			t.Errorf("%s has %d words, %d are allowed", name, words, most)
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
				all = append(all, block{i + 1, plain(cell)})
			}
		case open && !item.MatchString(line):
			all[len(all)-1].text += " " + plain(trimmed)
		default:
			all, open = append(all, block{i + 1, plain(item.ReplaceAllString(line, ""))}), true
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

// TestWords finds no banned phrase in the pages, nor in comments and string literals of Go files.
func TestWords(t *testing.T) {
	hits := locktest.Must(words.Tree(os.DirFS(root)))
	for _, hit := range hits {
		t.Error(hit)
	}
}
