package docs_test

import (
	"os"
	"testing"

	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/internal/tools/words"
)

// TestWords finds no banned phrase in the pages, nor in comments and string literals of
// Go files.
func TestWords(t *testing.T) {
	hits := locktest.Must(words.Tree(os.DirFS(root)))
	for _, hit := range hits {
		t.Error(hit)
	}
}
