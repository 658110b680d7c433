package main

import (
	"strings"
	"testing"
)

// TestEveryCommand runs each command in this process and as a process of its own, and
// wants the same exit code, and the same first words.
func TestEveryCommand(t *testing.T) {
	e := newEngine(t)
	e.keepers(t)
	invoke(t, "run", "x", "--", "echo").ends(t, 0)
	// Those that run until they are stopped, or for long, have tests of their own.
	tested := map[string]bool{"local": true, "demo": true, "bench": true, "top": true, "help": true}
	for _, test := range []struct {
		line  string
		code  int
		words string // that standard output begins with, or standard error if the code is not 0
	}{
		{"version", 0, "queuelock"},
		{"completion zsh", 0, "#compdef queuelock"},
		{"template iam", 0, ""},
		{"create-table", 0, `table "queuelock"`},
		{"table create", 0, `table "queuelock"`},
		{"doctor", 0, "queuelock"},
		{"run w -- echo ran", 0, "ran\n"}, // beside status x, which is to find x idle
		{"status x", 0, `"x" (lock): idle`},
		{"ls", 0, "ENTITY"},
		{"sweep x", 0, ""},
		{"history x --for 1s", 0, ""},
		{"evict x --ticket 7", exitFailed, "queuelock: "},
		{"revoke x --ticket 7", exitFailed, "queuelock: "},
		{"lock y --max-hold 1s", 0, "/"},
		{"unlock /nosuch", exitFailed, "queuelock: "},
		{"check /nosuch", exitFailed, "queuelock: "},
		{"renew /nosuch", exitUsage, "queuelock: HANDLE: give what"},
	} {
		args := strings.Fields(test.line)
		tested[args[0]] = true
		t.Run(test.line, func(t *testing.T) {
			begins := func(code int, stdout, stderr string) {
				t.Helper()
				said := stdout
				if test.code != 0 {
					said = stderr
				}
				if code != test.code || !strings.HasPrefix(said, test.words) {
					t.Errorf("exit code %d, stdout %q, stderr %q", code, stdout, stderr)
				}
			}
			if args[0] != "lock" { // whose keeper is a process of its own in any case
				o := invoke(t, args...)
				begins(o.code, o.stdout, o.stderr)
			}
			t.Parallel() // from here on
			o := e.execute(t, args...)
			begins(o.code, o.stdout, o.stderr)
		})
	}
	for _, cmd := range newRoot().Commands() {
		if !cmd.Hidden && !tested[cmd.Name()] {
			t.Errorf("%s is not tested", cmd.Name())
		}
	}
}
