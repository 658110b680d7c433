// Package words finds the words that the house style bans: private turns of
// phrase that have a plain name in the field.
package words

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Pattern is a banned phrase and what to write instead.
type Pattern struct {
	// Stem is in each occurrence, in lower case. Most texts do not contain it, which
	// is found out much faster than by the expression.
	Stem    string
	Phrase  *regexp.Regexp
	Instead string
	// Unless, where set, excuses an occurrence whose text it matches from
	// the phrase's first letter on.
	Unless *regexp.Regexp
}

// Patterns are the banned phrases. Words with an ordinary meaning beside the
// banned one are listed in the banned form alone.
var Patterns = []Pattern{
	ban("reckon", `reckon(s|ed|ing)?`, "compute, count", ""),
	ban("anew", `anew`, "again", ""),
	ban("stand", `stands?`, "is, is present", `stands?\s+(for|in\s+for)\b|stand-?(alone|in|by)`),
	ban("stood", `stood`, "was, was present", ""),
	ban("told", `told`, "reported, received", ""),
	ban("tells", `tells`, "reports, returns", ""),
	ban("whoever", `whoever`, "the client, the caller", ""),
	ban("who", `(those|ones?|(he|they|them|anyone|everyone|all)) who`, "name the actor: the holder, a waiter", ""),
	ban("least", `at the least`, "at least", ""),
	ban("dead", `the dead`, "crashed clients", ""),
	ban("ghost", `ghosts?`, "orphaned entry", ""),
	ban("cut", `cut off`, "partitioned", ""),
	ban("passing", `in passing`, "transiently", ""),
	ban("still", `stand(s|ing)? still`, "is paused", ""),
	ban("good", `for good`, "permanently", `for good\s+(reason|measure)`),
	ban("body", `(no|some)body('s)?`, "no client, another client", ""),
}

// A sentence may not begin with the pronoun, unless it is a question.
var relative = regexp.MustCompile(`(?:^|[.:;]\s+)(Who\s[^.?]*[.?])`)

func ban(stem, phrase, instead, unless string) Pattern {
	whole := func(expr string) *regexp.Regexp {
		return regexp.MustCompile(`(?i)\b(?:` + strings.ReplaceAll(expr, " ", `\s+`) + `)\b`)
	}
	p := Pattern{Stem: stem, Phrase: whole(phrase), Instead: instead}
	if unless != "" {
		p.Unless = regexp.MustCompile(`^` + whole(unless).String())
	}
	return p
}

// Hit is one occurrence of a banned phrase.
type Hit struct {
	File    string
	Line    int
	Phrase  string
	Instead string
}

func (h Hit) String() string {
	return fmt.Sprintf("%s:%d: %q, write: %s", h.File, h.Line, h.Phrase, h.Instead)
}

// Find returns the banned phrases of a text. Lines count from 1.
func Find(text string) []Hit {
	var hits []Hit
	add := func(at, end int, instead string) {
		phrase := strings.Join(strings.Fields(text[at:end]), " ")
		hits = append(hits, Hit{Line: 1 + strings.Count(text[:at], "\n"), Phrase: phrase, Instead: instead})
	}
	lower := strings.ToLower(text)
	for _, p := range Patterns {
		if !strings.Contains(lower, p.Stem) {
			continue
		}
		for _, at := range p.Phrase.FindAllStringIndex(text, -1) {
			if p.Unless == nil || !p.Unless.MatchString(text[at[0]:]) {
				add(at[0], at[1], p.Instead)
			}
		}
	}
	if !strings.Contains(text, "Who") {
		return hits
	}
	for _, at := range relative.FindAllStringSubmatchIndex(text, -1) {
		if !strings.HasSuffix(text[:at[3]], "?") {
			add(at[2], at[2]+len("Who"), "name the actor: the holder, a waiter")
		}
	}
	return hits
}

// allowed are the files with banned phrases that must stay, each with its phrases.
var allowed = map[string][]string{
	// The name of a chance decides its draws: another name would change what a seed
	// means.
	"test/sim/node.go": {"stands", "stands still"},
}

// Tree returns the banned phrases in the comments and string literals of the
// Go files of a tree, tests included, and in its Markdown files. It skips
// this package, whose subject they are, and directories with a leading dot.
func Tree(tree fs.FS) ([]Hit, error) {
	var hits []Hit
	err := fs.WalkDir(tree, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (name == "internal/tools/words" || len(name) > 1 && path.Base(name)[0] == '.'):
			return fs.SkipDir
		case entry.IsDir() || path.Ext(name) != ".go" && path.Ext(name) != ".md":
			return nil
		}
		text, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		find := InGo
		if path.Ext(name) == ".md" {
			find = func(_ string, text []byte) ([]Hit, error) { return Find(string(text)), nil }
		}
		found, err := find(name, text)
		if err != nil {
			return err
		}
		for _, hit := range found {
			hit.File = name
			if !slices.Contains(allowed[name], hit.Phrase) {
				hits = append(hits, hit)
			}
		}
		return nil
	})
	return hits, err
}

// InGo returns the banned phrases in the comments and string literals of a Go
// file.
func InGo(name string, source []byte) ([]Hit, error) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, name, source, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var hits []Hit
	find := func(at token.Pos, text string) {
		for _, hit := range Find(text) {
			hit.File, hit.Line = name, hit.Line+set.Position(at).Line-1
			hits = append(hits, hit)
		}
	}
	for _, group := range file.Comments {
		find(group.Pos(), group.Text())
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if literal, ok := n.(*ast.BasicLit); ok && literal.Kind == token.STRING {
			if text, err := strconv.Unquote(literal.Value); err == nil {
				find(literal.Pos(), text)
			}
		}
		return true
	})
	return hits, nil
}
