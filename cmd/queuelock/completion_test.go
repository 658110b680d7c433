package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestCompletion checks that each shell has a script, and that bash takes its own.
func TestCompletion(t *testing.T) {
	for _, shell := range shells {
		if o := invoke(t, "completion", shell.name); o.code != 0 || o.stderr != "" || !strings.Contains(o.stdout, "queuelock") {
			t.Errorf("%s: exit code %d, stderr %q", shell.name, o.code, o.stderr)
		}
	}
	if o := invoke(t, "completion", "--help"); !strings.Contains(o.stdout, "bash needs the package bash-completion") {
		t.Errorf("the help does not say what bash needs: %s", o.stdout)
	}
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Fatal("bash is missing: install it")
	}
	check := exec.Command(bash, "-n")
	check.Stdin = strings.NewReader(invoke(t, "completion", "bash").stdout)
	if out, err := check.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

// TestCompletions checks what the scripts ask for.
func TestCompletions(t *testing.T) {
	for want, args := range map[string][]string{
		"status\t":     {"sta"},
		"--lock-delay": {"run", "--lock"},
		"zsh":          {"completion", ""},
	} {
		if o := invoke(t, append([]string{"__complete"}, args...)...); !strings.Contains(o.stdout, want) {
			t.Errorf("%v: %q is not in %q", args, want, o.stdout)
		}
	}
}

// TestMan checks that each command has a page with its flags.
func TestMan(t *testing.T) {
	dir := t.TempDir()
	if o := invoke(t, "man", dir); o.code != 0 || o.stdout != "" || o.stderr != "" {
		t.Fatalf("%+v", o)
	}
	for _, cmd := range newRoot().Commands() {
		page, err := os.ReadFile(filepath.Join(dir, "queuelock-"+cmd.Name()+".1"))
		if cmd.Hidden {
			if err == nil {
				t.Errorf("the hidden command %s has a page", cmd.Name())
			}
			continue
		}
		if err != nil {
			t.Error(err)
			continue
		}
		if flag := cmd.Flag("table"); flag != nil && !strings.Contains(string(page), "--table") {
			t.Errorf("the page of %s has no --table", cmd.Name())
		}
	}
}
