package main

import (
	"strings"
	"testing"
)

// TestHelpOnFencing checks that the texts say where a ticket is not a fencing token.
func TestHelpOnFencing(t *testing.T) {
	long := strings.Join(strings.Fields(newRun().Long), " ")
	if !strings.Contains(long, "lower than the highest it has seen. With --shared or --permits several hold at once: then such a check refuses the writes of present holders.") {
		t.Errorf("run recommends a check that refuses present holders:\n%s", long)
	}
	text := strings.Join(strings.Fields(invoke(t, "--help").stdout), " ")
	if !strings.Contains(text, "Where one is served at a time, the ticket is a fencing token") || strings.Contains(text, "exclusive access") {
		t.Errorf("--help promises what modes do not keep:\n%s", text)
	}
}

// TestRunModes checks that run takes shared locks and permits.
func TestRunModes(t *testing.T) {
	for name, flags := range map[string][]string{"shared": {"--shared"}, "permits": {"--permits", "2"}} {
		t.Run(name, func(t *testing.T) {
			e := newEngine(t)
			run := func(args ...string) []string { return append(append([]string{"run", "x"}, flags...), args...) }
			b := start(t, t.Context(), run("--", "sh", "-c", "echo ready; read -r line < "+fifo(t))...)
			b.expect(t, "ready")
			invoke(t, run("--wait", "10s", "--", "echo", "both")...).prints(t, 0, "both\n")
			alone := invoke(t, "run", "x", "--wait", "0", "--", "echo", "alone")
			if name == "shared" && alone.code != exitNotAcquired {
				t.Errorf("alone: %+v", alone)
			}
			if name == "permits" && (alone.code != exitUsage || !strings.Contains(alone.stderr, "a semaphore of 2 and stays one")) {
				t.Errorf("as a lock: %+v", alone)
			}
			openFIFO(t)
			if o := b.wait(t); o.code != 0 || o.stderr != "" {
				t.Errorf("%+v", o)
			}
			e.mustBeIdle(t, "x")
		})
	}
}
