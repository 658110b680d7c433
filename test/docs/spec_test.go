package docs_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

const specPage = "docs/spec/README.md"

// TestNames finds the names of the code that the page of the searches has, and the page of the protocol.
func TestNames(t *testing.T) {
	code, found := codeWords(t), 0
	for _, page := range []string{specPage, protocolPage} {
		for i, line := range readPage(t, page).lines {
			for _, name := range regexp.MustCompile("`([A-Za-z]+\\.[A-Za-z.]+)`").FindAllStringSubmatch(line, -1) {
				unknown := func(part string) bool { return !code[part] }
				if found++; !strings.HasSuffix(name[1], ".txt") && slices.ContainsFunc(strings.Split(name[1], "."), unknown) {
					t.Errorf("%s:%d: the code has no %s", page, i+1, name[1])
				}
			}
		}
	}
	if found < 60 {
		t.Errorf("found %d names", found)
	}
}

// TestSpecTranscript finds the story that the page shows at the end of its transcript.
func TestSpecTranscript(t *testing.T) {
	_, shown, _ := strings.Cut(read(t, specPage), "```text\n")
	shown, _, _ = strings.Cut(shown, "```")
	if !strings.HasSuffix(read(t, "internal/testbed/search/testdata/pause-before-claim.txt"), shown) {
		t.Errorf("pause-before-claim.txt does not end with what %s shows", specPage)
	}
}

// codeWords returns the words of the library's code.
func codeWords(t *testing.T) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	outside := regexp.MustCompile(`^(bench|cmd|docs|examples|otelqueuelock|test|internal/(testbed|tools|workload|embedded))/|_test\.go$`)
	files(t, ".", ".go", func(name, text string) {
		if !outside.MatchString(name) {
			for _, w := range regexp.MustCompile(`\w+`).FindAllString(text, -1) {
				all[w] = true
			}
		}
	})
	return all
}
