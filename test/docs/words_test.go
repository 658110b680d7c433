package docs_test

import (
	"os"
	"testing"

	"github.com/queuelock/queuelock/internal/tools/words"
)

// TestWords finds no banned phrase in the pages, nor in comments and string literals of
// Go files.
func TestWords(t *testing.T) {
	hits, err := words.Tree(os.DirFS(root))
	if err != nil {
		t.Fatal(err)
	}
	for _, hit := range hits {
		t.Error(hit)
	}
}
