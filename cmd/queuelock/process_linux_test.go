package main

import (
	"io"
	"testing"

	"github.com/queuelock/queuelock/internal/testbed/locktest"
)

// TestParentDies checks that the command dies with its parent.
func TestParentDies(t *testing.T) {
	t.Parallel()
	e := newServer(t)
	cmd := e.program(t, "run", "x", "--", "sh", "-c", "echo ready; exec sleep 1000")
	out := launch(t, cmd)
	expect(t, out, "ready")
	locktest.OK(t, cmd.Process.Kill())
	_ = cmd.Wait()
	if rest, err := io.ReadAll(out); err != nil {
		t.Errorf("the command lives on: %v (rest of the output: %q)", err, rest)
	}
}
