package docs_test

import (
	"regexp"
	"strings"
	"testing"
)

// TestDependencies finds in each go.mod the reason for each module that it requires directly.
func TestDependencies(t *testing.T) {
	required := regexp.MustCompile(`(?m)^(?:require |\t)(\S+\.\S+/\S+) v\S+(.*)$`)
	found := 0
	files(t, "", "go.mod", func(name, text string) {
		for _, m := range required.FindAllStringSubmatch(text, -1) {
			found++
			if reason, ok := strings.CutPrefix(m[2], " // "); !ok || len(reason) < 10 && reason != "indirect" {
				t.Errorf("%s requires %s without a reason", name, m[1])
			}
		}
	})
	if found < 50 {
		t.Errorf("found %d requirements", found)
	}
}
