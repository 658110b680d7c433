package docs_test

import (
	"fmt"
	"strings"
	"testing"
)

// says fails unless the page has the text, wherever its lines break. A test that makes the text from values of the code
// fails when the code changes and the page does not.
func says(t *testing.T, page, format string, args ...any) {
	t.Helper()
	text := fmt.Sprintf(format, args...)
	if !strings.Contains(folded(read(t, page)), folded(text)) {
		t.Errorf("%s does not say %q", page, text)
	}
}

// folded returns the text with one space for each run of blanks and line ends.
func folded(text string) string { return strings.Join(strings.Fields(text), " ") }
