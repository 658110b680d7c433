package main

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

// full is an output without room.
type full struct{}

var errFull = errors.New("no room")

func (full) Write([]byte) (int, error) { return 0, errFull }

// TestUnwritableOutput checks that no command succeeds whose output cannot be written, and
// that DynamoDB is not blamed for it.
func TestUnwritableOutput(t *testing.T) {
	e := newEngine(t)
	e.occupied(t, "x")
	for _, line := range []string{
		"version", "help run", "completion fish", "template iam", "doctor", "doctor --json", "status x", "status x -o json",
		"ls", "ls -o yaml", "top --once", "history x --for 1s", "sweep x --dry-run", "create-table",
	} {
		var stderr bytes.Buffer
		code := run(t.Context(), strings.Fields(line), strings.NewReader(""), full{}, &stderr)
		if code != exitFailed || !strings.Contains(stderr.String(), errFull.Error()) {
			t.Errorf("%s: exit code %d, stderr %q", line, code, stderr.String())
		}
	}
}
