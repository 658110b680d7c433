package docs_test

import (
	"regexp"
	"strings"
	"testing"
)

const (
	mostWords      = 43_600 // of all pages together
	mostOfCell     = 60
	mostOfSentence = 30
	longSentences  = 10 // in all pages
)

// TestWordCounts keeps the pages short, all together.
func TestWordCounts(t *testing.T) {
	sum := 0
	for _, p := range pages(t) {
		words := len(strings.Fields(strings.Join(p.lines, "\n")))
		t.Logf("%5d %s", words, p.name)
		sum += words
	}
	if t.Logf("%5d", sum); sum > mostWords {
		t.Errorf("the pages have %d words, %d are allowed", sum, mostWords)
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
