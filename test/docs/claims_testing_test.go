package docs_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/queuelock/queuelock/internal/testbed/locktest"
)

const testingPage = "docs/testing.md"

// TestTestingTargets compares the targets of the page of tests with the Makefile and with .ci/run.
func TestTestingTargets(t *testing.T) {
	_, table, _ := strings.Cut(read(t, testingPage), "| target | ")
	table, _, _ = strings.Cut(table, "\n\n")
	makefile, ci, inCI := read(t, "Makefile"), read(t, ".ci/run"), map[string]bool{}
	for _, line := range regexp.MustCompile(`(?m)^make ([a-z-]+)`).FindAllStringSubmatch(ci, -1) {
		inCI[line[1]] = true
	}
	for _, row := range strings.Split(table, "\n")[2:] {
		cells := strings.Split(row, "|")
		for _, target := range regexp.MustCompile("`make ([a-z-]+)`").FindAllStringSubmatch(cells[1], -1) {
			if !strings.Contains(makefile, "\n"+target[1]+":") {
				t.Errorf("there is no make %s", target[1])
			}
			if yes := strings.Contains(cells[5], "yes"); yes != inCI[target[1]] {
				t.Errorf("%s says of make %s that it is in .ci/run: %v", testingPage, target[1], yes)
			}
			delete(inCI, target[1])
		}
	}
	for target := range inCI {
		t.Errorf("%s does not have make %s, which .ci/run calls", testingPage, target)
	}
}

// TestTestingRecovery compares the bound of the page with that of the tests of clocks.
func TestTestingRecovery(t *testing.T) {
	says(t, testingPage, "within the lease and %v s", locktest.TakenOverWithin.Seconds())
}
