package progress

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/queuelock/queuelock/internal/testbed/locktest"
)

// TestDocumentedIntervals compares what docs/cli.md says of the reports of a wait with the constants.
func TestDocumentedIntervals(t *testing.T) {
	page := strings.Join(strings.Fields(string(locktest.Must(os.ReadFile("../../../../docs/cli.md")))), " ")
	for _, text := range []string{
		fmt.Sprintf("it writes a line at each change, but at most every %v, and one each %v.", plainInterval, repeatInterval),
		fmt.Sprintf("`json` writes objects, with changes at most every %v.", jsonInterval),
	} {
		if !strings.Contains(page, text) {
			t.Errorf("docs/cli.md does not say %q", text)
		}
	}
}
