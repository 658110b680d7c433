package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/queuelock/queuelock/internal/testbed/locktest"
)

// TestLanguages plays the programs of docs/languages.md: each prints the token of its lock. While the lock is busy,
// each fails and prints nothing.
func TestLanguages(t *testing.T) {
	page := string(locktest.Must(os.ReadFile(filepath.Join("..", "..", "docs", "languages.md"))))
	bin := t.TempDir()
	locktest.OK(t, os.Symlink(locktest.Must(os.Executable()), filepath.Join(bin, "queuelock")))
	for _, l := range []struct{ language, file, interpreter string }{
		{"python", "lock.py", "python3"},
		{"javascript", "lock.mjs", "node"},
		{"java", "Lock.java", "java"},
		{"bash", "lock.bash", "bash"},
	} {
		t.Run(l.language, func(t *testing.T) {
			t.Parallel()
			blocks := regexp.MustCompile("(?s)\n```"+l.language+"\n(.*?\n)```\n").FindAllStringSubmatch(page, -1)
			if len(blocks) != 1 {
				t.Fatalf("the page has %d blocks, want one", len(blocks))
			}
			if _, err := exec.LookPath(l.interpreter); err != nil {
				if os.Getenv("CI") != "" { // there nothing that a page promises is left out
					t.Fatalf("%s is not installed", l.interpreter)
				}
				t.Skipf("%s is not installed: the page's program is not played", l.interpreter)
			}
			e := newServer(t)
			play := func(text string) (string, error) {
				ctx, cancel := context.WithTimeout(t.Context(), testLimit)
				defer cancel()
				name := filepath.Join(t.TempDir(), l.file)
				locktest.OK(t, os.WriteFile(name, []byte(text), 0o600))
				cmd := exec.CommandContext(ctx, l.interpreter, name)
				cmd.Env = append(append(os.Environ(), asProgram+"=1", "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH")), e.env...)
				var stderr output
				cmd.Stderr = &stderr
				stdout, err := cmd.Output()
				t.Log(stderr.String())
				return strings.TrimSpace(string(stdout)), err
			}
			token, err := play(blocks[0][1])
			s := e.state(t, "order-7")
			if err != nil || token != s.Issued.String() || len(s.Serving) != 0 {
				t.Errorf("it prints %q, %v; want the token %s, and no holder: %+v", token, err, s.Issued, s.Serving)
			}
			e.occupied(t, "order-7")
			if token, err := play(strings.ReplaceAll(blocks[0][1], "1m", "50ms")); err == nil || token != "" {
				t.Errorf("beside a holder it prints %q, %v; want a failure", token, err)
			}
		})
	}
}
