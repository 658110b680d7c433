package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/queuelock/queuelock/internal/testbed/locktest"
)

// TestDocumentedCommands runs the commands of docs/cli.md in a shell. Stubs stand
// in for make, and for the programs that run under locks.
func TestDocumentedCommands(t *testing.T) {
	t.Parallel()
	e := newServer(t)
	e.keepers(t)
	text := locktest.Must(os.ReadFile("../../docs/cli.md"))
	var block string
	for _, found := range regexp.MustCompile("(?s)\n```sh\n(.*?\n)```\n").FindAllSubmatch(text, -1) {
		block += string(found[1])
	}

	self := locktest.Must(os.Executable())
	dir, stubs := t.TempDir(), t.TempDir()
	script := func(name, text string) {
		locktest.OK(t, os.WriteFile(name, []byte("#!/bin/sh\n"+text+"\n"), 0o755))
	}
	script(filepath.Join(stubs, "program"), fmt.Sprintf("%s=1 exec '%s' \"$@\"", asProgram, self))
	// Where the Makefile puts it is what its own rule says.
	makefile := locktest.Must(os.ReadFile("../../Makefile"))
	target := regexp.MustCompile(`(?m)^build: (\S+)`).FindSubmatch(makefile)
	if target == nil {
		t.Fatal("the Makefile's build is not where it was")
	}
	script(filepath.Join(stubs, "make"), fmt.Sprintf("[ \"$*\" = build ] && mkdir -p \"$(dirname %[1]s)\" && cp '%[2]s/program' %[1]s", target[1], stubs))
	for _, command := range regexp.MustCompile(`-- \./(\S+)`).FindAllStringSubmatch(block, -1) {
		script(filepath.Join(dir, command[1]), "echo ran "+command[1])
	}

	commands := 0
	var pasted strings.Builder
	for line := range strings.Lines(block) {
		switch {
		case strings.HasPrefix(line, "queuelock local"), strings.HasPrefix(line, "queuelock demo"), strings.HasPrefix(line, "queuelock bench"):
			continue // tests of their own run them
		case strings.HasPrefix(line, "queuelock "):
			commands++
		}
		fmt.Fprintf(&pasted, "%secho \"= $? =\"\n", line)
	}
	shell := exec.CommandContext(t.Context(), "/bin/sh", "-c", pasted.String())
	shell.Dir = dir
	shell.Env = append(os.Environ(), append(e.env, "PATH="+stubs+":/usr/bin:/bin")...)
	out, err := shell.CombinedOutput()
	if err != nil || commands < 5 {
		t.Fatalf("%d commands, %v:\n%s", commands, err, out)
	}
	codes := regexp.MustCompile(`(?m)^= (\d+) =$`).FindAllStringSubmatch(string(out), -1)
	failed := 0
	for _, code := range codes {
		if code[1] != "0" {
			failed++
		}
	}
	// No holder has the ticket that is evicted.
	if failed != 1 || !strings.Contains(string(out), "no holder has this ticket") {
		t.Errorf("%d of %d commands failed, want the eviction alone:\n%s\n%s", failed, len(codes), pasted.String(), out)
	}
}

// TestObservePage checks that docs/observe.md has each flag and each exit code of the
// commands that it describes, and no other exit code.
func TestObservePage(t *testing.T) {
	page := locktest.Must(os.ReadFile("../../docs/observe.md"))
	common := invoke(t, "help", "settings").stdout
	for _, cmd := range []*cobra.Command{newStatus(), newLs(), newTop(), newHistory()} {
		section := regexp.MustCompile("(?s)\n## " + cmd.Name() + "\n(.*?)(\n## |$)").FindString(string(page))
		if section == "" {
			t.Errorf("there is no section %s", cmd.Name())
		}
		cmd.Flags().VisitAll(func(flag *pflag.Flag) {
			form := "`--" + flag.Name
			if flag.Shorthand != "" {
				form = "`-" + flag.Shorthand + "`"
			}
			if !strings.Contains(section, form) && !strings.Contains(section, "`--"+flag.Name) && !strings.Contains(common, "--"+flag.Name+" ") {
				t.Errorf("%s: --%s is missing", cmd.Name(), flag.Name)
			}
		})
		codes := func(text string, row *regexp.Regexp) (found []string) {
			for _, code := range row.FindAllStringSubmatch(text, -1) {
				found = append(found, code[1])
			}
			return found
		}
		_, help, _ := strings.Cut(cmd.Long, "Exit codes:")
		_, table, _ := strings.Cut(section, "exit code of `"+cmd.Name()+"`")
		inHelp, inPage := codes(help, regexp.MustCompile(`(?m)^  (\d+)  `)), codes(table, regexp.MustCompile(`(?m)^\| (\d+) \|`))
		if !slices.Equal(inHelp, inPage) || len(inHelp) == 0 {
			t.Errorf("%s: the help has exit codes %v, the page %v", cmd.Name(), inHelp, inPage)
		}
	}
}
