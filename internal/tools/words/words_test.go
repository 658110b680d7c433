package words_test

import (
	"slices"
	"testing"
	"testing/fstest"

	"github.com/queuelock/queuelock/internal/tools/words"
)

func TestFind(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"PlainText":                 {"The holder renews its lease before the deadline.", nil},
		"OneWord":                   {"It is Reckoned once.", []string{"Reckoned"}},
		"PhraseAcrossLines":         {"They went\nfor\ngood.", []string{"for good"}},
		"PartOfAWord":               {"untold, the deadline, ghostly", nil},
		"ExcusedMeaning":            {"ttl stands for time to live, for good reason, stand-alone", nil},
		"UnexcusedMeaning":          {"The record stands.", []string{"stands"}},
		"PronounAsSubject":          {"Done. Who came first holds it.", []string{"Who"}},
		"PronounInAQuestion":        {"Who holds it?", nil},
		"PronounOfANoun":            {"An operator who reads this.", nil},
		"PronounOfAPronoun":         {"Those who wait", []string{"Those who"}},
		"TwoPhrasesOfOnePattern":    {"nobody and somebody", []string{"nobody", "somebody"}},
		"PhraseThatContainsAnother": {"it stands still", []string{"stands", "stands still"}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, hit := range words.Find(c.text) {
				got = append(got, hit.Phrase)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("Find(%q) = %q, want %q", c.text, got, c.want)
			}
		})
	}
}

func TestTree(t *testing.T) {
	hits, err := words.Tree(fstest.MapFS{
		"a.go":                      {Data: []byte("package a\n\n// F runs\n// anew.\nfunc F() string { anew := \"told\"; return anew }\n")},
		"docs/b.md":                 {Data: []byte("one\n\nghost\n")},
		"docs/c.txt":                {Data: []byte("ghost")},
		".tools/d.md":               {Data: []byte("ghost")},
		"internal/tools/words/e.go": {Data: []byte("package words // anew")},
	})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, hit := range hits {
		got = append(got, hit.String())
	}
	want := []string{
		`a.go:4: "anew", write: again`,
		`a.go:5: "told", write: reported, received`,
		`docs/b.md:3: "ghost", write: orphaned entry`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
