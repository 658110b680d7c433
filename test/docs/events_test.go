package docs_test

import (
	"maps"
	"regexp"
	"strings"
	"testing"
)

// TestEvents compares the events of docs/operations.md with the calls of slog in the library: levels and messages. Those
// at Debug are not listed. Pages that lead from an event to its keys are right.
func TestEvents(t *testing.T) {
	var code strings.Builder
	files(t, ".", ".go", func(name, text string) {
		if !strings.HasSuffix(name, "_test.go") {
			code.WriteString(text)
		}
	})
	logged := map[string]bool{} // by level and message
	call := regexp.MustCompile(`(?:\.|Level)(Error|Warn|Info)[(,]\s*"queuelock: ([^"]*)"(?:\s*\+\s*"([^"]*)")?`)
	for _, c := range call.FindAllStringSubmatch(code.String(), -1) {
		logged[c[1]+" "+c[2]+c[3]] = true
	}
	if len(logged) < 15 {
		t.Fatalf("the library logs %v", logged)
	}
	unlisted := maps.Clone(logged)
	row := regexp.MustCompile("(?m)^\\| (Error|Warn|Info) \\| (`[^|]*`) \\| .+ \\|$")
	for _, r := range row.FindAllStringSubmatch(read(t, "docs/operations.md"), -1) {
		for _, message := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(r[2], -1) {
			event := r[1] + " " + message[1]
			if !logged[event] {
				t.Errorf("docs/operations.md lists the event %q, which the library does not log", event)
			}
			delete(unlisted, event)
		}
	}
	for event := range unlisted {
		t.Errorf("docs/operations.md does not list the event %q", event)
	}
	for message, key := range map[string]string{"lost a lock": "cause", "evicted holders whose leases had ended": "owner"} {
		if !regexp.MustCompile(`"queuelock: ` + message + `"[^()]* "` + key + `"`).MatchString(code.String()) {
			t.Errorf("the event %q has no %q, which docs/telemetry.md looks at", message, key)
		}
	}
}
