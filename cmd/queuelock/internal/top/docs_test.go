package top

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/queuelock/queuelock/internal/testbed/locktest"
)

// TestDocumentedBound compares the longest list in docs/observe.md with the constant.
func TestDocumentedBound(t *testing.T) {
	page := string(locktest.Must(os.ReadFile("../../../../docs/observe.md")))
	if text := fmt.Sprintf("The list has at most %d queues.", maxQueues); !strings.Contains(page, text) {
		t.Errorf("docs/observe.md does not say %q", text)
	}
}
