package docs_test

import (
	"os"
	"slices"
	"testing"

	"github.com/queuelock/queuelock/internal/tools/words"
)

// allowed are the files with banned phrases that must stay, each with its phrases.
var allowed = map[string][]string{
	// The name of a chance decides its draws: another name would change what a seed
	// means.
	"internal/testbed/sim/node.go": {"stands", "stands still"},
	"test/docs/words_test.go":      {"stands", "stands still"},
}

// TestWords finds no banned phrase in the pages, nor in comments and string literals of
// Go files.
func TestWords(t *testing.T) {
	hits, err := words.Tree(os.DirFS(root))
	if err != nil {
		t.Fatal(err)
	}
	for _, hit := range hits {
		if !slices.Contains(allowed[hit.File], hit.Phrase) {
			t.Error(hit)
		}
	}
}
