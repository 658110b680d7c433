package demo

import (
	"context"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// config is for demos whose workers are scripts, and so do not get far.
func config(script string) Config {
	return Config{
		Workers: 2, Rounds: 1, Hold: time.Millisecond, Table: "t", Entity: "e",
		Command: func() *exec.Cmd { return exec.Command("sh", "-c", script) },
	}
}

// TestRunEnds checks that Run ends whatever the workers do.
func TestRunEnds(t *testing.T) {
	for name, tc := range map[string]struct{ script, want string }{
		"they end at once":     {"exit 3", "ended before its work was done: exit status 3"},
		"they say why":         {`read -r a; echo '{"kind":"failed","error":"no luck"}'; exit 1`, "no luck"},
		"they die":             {`read -r a; kill -KILL $$`, "ended before its work was done: signal: killed"},
		"they talk nonsense":   {`echo nonsense; exit 1`, `wrote "nonsense"`},
		"they cannot be begun": {"", "no such file"},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := config(tc.script)
			if tc.script == "" {
				cfg.Command = func() *exec.Cmd { return exec.Command("/no/such/file") }
			}
			if _, err := Run(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want %q", err, tc.want)
			}
		})
	}
}

// TestRunContext checks that Run ends with its context.
func TestRunContext(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := Run(ctx, config("sleep 1000")); err == nil || !strings.Contains(err.Error(), context.DeadlineExceeded.Error()) {
		t.Errorf("error %v", err)
	}
}
