package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/spf13/cobra"

	"github.com/queuelock/queuelock/cmd/queuelock/internal/template"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
)

// TestDocumentedCommands runs the commands of docs/cli.md in a shell.
func TestDocumentedCommands(t *testing.T) {
	e := inParallel(t)
	e.keepers(t)
	out, failed := e.played(t, "docs/cli.md")
	// No holder has the ticket that is evicted.
	if len(failed) != 1 || !strings.Contains(failed[0], "queuelock evict") || !strings.Contains(out, "no holder has this ticket") {
		t.Errorf("%q failed, want the eviction alone:\n%s", failed, out)
	}
}

// TestProduction runs the commands in shell blocks of docs/production.md, on a table that they create. The files that they write are a
// table, the policies of the roles, and that of a worker.
func TestProduction(t *testing.T) {
	e := inParallel(t)
	e.env = append(e.env, "QUEUELOCK_TABLE=production")
	out, failed := e.played(t, "docs/production.md")
	if len(failed) > 0 {
		t.Errorf("%q failed:\n%s", failed, out)
	}
	d, err := e.db.DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: aws.String("production")})
	if err != nil || !aws.ToBool(d.Table.DeletionProtectionEnabled) {
		t.Errorf("the table has no deletion protection: %v", err)
	}
	contains(t, out, `table "production" is created`, "5 modes", "ran send-report", "report  lock", "0 of 1 queues busy",
		`"report" (lock): idle; the last ticket was 1`, "QueuelockWorker", "QueuelockObserver", "QueuelockOperator",
		"dynamodb:PutItem", "aws_dynamodb_table", "deletion_protection_enabled = true",
		"AWS::DynamoDB::Table", "DeletionProtectionEnabled: true")
}

// played pastes the shell blocks of a page into a shell, line by line. Stubs are in the place of make, and of the programs
// that run under locks. It returns the output, with that of the files, and the commands that failed.
func (e *engine) played(t *testing.T, page string) (out string, failed []string) {
	t.Helper()
	text := locktest.Must(os.ReadFile("../../" + page))
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
	locktest.OK(t, os.Symlink("program", filepath.Join(stubs, "queuelock")))
	// Where the Makefile puts it is what its own rule says.
	makefile := locktest.Must(os.ReadFile("../../Makefile"))
	target := regexp.MustCompile(`(?m)^build: (\S+)`).FindSubmatch(makefile)
	if target == nil {
		t.Fatal("the Makefile's build is not where it was")
	}
	script(filepath.Join(stubs, "make"), fmt.Sprintf("[ \"$*\" = build ] && mkdir -p \"$(dirname %[1]s)\" && cp '%[2]s/program' %[1]s", target[1], stubs))
	for _, command := range regexp.MustCompile(`(?:-- |-c ')\./([\w.-]+)`).FindAllStringSubmatch(block, -1) {
		script(filepath.Join(dir, command[1]), "echo ran "+command[1]+" \"$@\"")
	}

	commands := 0
	var pasted strings.Builder
	for line := range strings.Lines(block) {
		if strings.HasPrefix(line, "queuelock ") {
			commands++
		}
		fmt.Fprintf(&pasted, "%scode=$?; [ $code = 0 ] || printf '= %%s\\n' %s\n", line, quoted(strings.TrimSpace(line)))
	}
	shell := exec.CommandContext(t.Context(), "/bin/sh", "-c", pasted.String())
	shell.Dir = dir
	shell.Env = append(os.Environ(), append(e.env, "PATH="+stubs+":/usr/bin:/bin")...)
	printed, err := shell.CombinedOutput()
	if err != nil || commands < 5 {
		t.Fatalf("%d commands, %v:\n%s", commands, err, printed)
	}
	out = string(printed)
	for _, line := range regexp.MustCompile(`(?m)^= (.*)$`).FindAllStringSubmatch(out, -1) {
		failed = append(failed, line[1])
	}
	for _, file := range regexp.MustCompile(`> (\S+)`).FindAllStringSubmatch(block, -1) {
		out += string(locktest.Must(os.ReadFile(filepath.Join(dir, file[1]))))
	}
	return out, failed
}

// TestObservePage checks that the flags in each section of docs/observe.md are those of its command, and what the page
// says of the exit codes of all four.
func TestObservePage(t *testing.T) {
	const page = "docs/observe.md"
	text := string(locktest.Must(os.ReadFile("../../" + page)))
	says(t, page, "Each exits with 0, with %d if the output cannot be written, with %d for wrong usage, and with %d if DynamoDB cannot be used.", exitFailed, exitUsage, exitUnavailable)
	says(t, page, "With `--exit-code` the exit code is %d if the queue is idle, and %d if there is none.", exitIdle, exitUnused)
	for _, cmd := range []*cobra.Command{newStatus(), newLs(), newTop(), newHistory()} {
		section := regexp.MustCompile("(?s)\n## " + cmd.Name() + "\n(.*?)(\n## |$)").FindString(text)
		if section == "" {
			t.Errorf("there is no section %s", cmd.Name())
		}
		for _, flag := range regexp.MustCompile("`--([a-z-]+)").FindAllStringSubmatch(section, -1) {
			if cmd.Flag(flag[1]) == nil {
				t.Errorf("docs/observe.md, in the section of %s: it has no --%s; name the command of another one's, as in `run --%s`", cmd.Name(), flag[1], flag[1])
			}
		}
		want := []string{"0", fmt.Sprint(exitFailed), fmt.Sprint(exitUsage), fmt.Sprint(exitUnavailable)}
		if cmd.Flag("exit-code") != nil {
			want = slices.Insert(want, 2, fmt.Sprint(exitIdle), fmt.Sprint(exitUnused))
		}
		_, help, _ := strings.Cut(cmd.Long, "Exit codes:")
		var codes []string
		for _, code := range regexp.MustCompile(`(?m)^  (\d+)  `).FindAllStringSubmatch(help, -1) {
			codes = append(codes, code[1])
		}
		if !slices.Equal(codes, want) {
			t.Errorf("%s: the help has the exit codes %v, the page %v", cmd.Name(), codes, want)
		}
	}
}

// says fails unless a page has the text, wherever its lines break.
func says(t *testing.T, page, format string, args ...any) {
	t.Helper()
	folded := func(text string) string { return strings.Join(strings.Fields(text), " ") }
	if text := fmt.Sprintf(format, args...); !strings.Contains(folded(string(locktest.Must(os.ReadFile("../../"+page)))), folded(text)) {
		t.Errorf("%s does not say %q", page, text)
	}
}

// TestDocumentedFigures compares figures of the pages of the command line with the constants.
func TestDocumentedFigures(t *testing.T) {
	const cli, observe, processes = "docs/cli.md", "docs/observe.md", "docs/processes.md"
	says(t, cli, "sees the command line, up to %d bytes, or %d with `--shared` or `--permits`", maxTitle, maxSharedTitle)
	says(t, cli, "at most %s; after a loss at most three quarters of a tenth of `--ttl`, and at most %v | %s |",
		strings.TrimSuffix(maxKillAfter.String(), "0m0s"), grace(maxTTL), newRun().Flag("kill-after").DefValue)
	says(t, observe, "a consistent read each %s", newHistory().Flag("interval").DefValue)
	says(t, observe, "observes a queue for `--for`, by default %s", newHistory().Flag("for").DefValue)
	says(t, observe, "at most %s a second (`--max-rcu`)", newLs().Flag("max-rcu").DefValue)
	says(t, observe, "Queues are sorted %d at a time", sortedTogether)
	says(t, processes, "After %v `run` prints what it waits for", leftAfter)
	says(t, processes, "a tenth of `--ttl` after the loss, or %v if that is less", margin(maxTTL))
	if margin(10*time.Second) != time.Second || grace(time.Minute) != margin(time.Minute)*3/4 {
		t.Error("the time after a loss is not a tenth, or that of the processes not three quarters of it")
	}
	says(t, "docs/operations-runtimes.md", "takes at most %v for the release", closeLimit)
	says(t, processes, "%v after SIGKILL, `run` exits with %d", closeLimit, exitLost)
}

// TestDocumentedRoles compares the actions of each role in docs/operations-table.md with its policy.
func TestDocumentedRoles(t *testing.T) {
	page := string(locktest.Must(os.ReadFile("../../docs/operations-table.md")))
	for _, role := range template.Roles {
		row := regexp.MustCompile("(?m)^\\| `" + role.Name + "` \\| .* \\| (.*) \\|$").FindStringSubmatch(page)
		actions := slices.Concat(role.Items, role.Table)
		slices.Sort(actions)
		want := "`" + strings.Join(actions, "`, `") + "`"
		if role.Name == "admin" {
			want = "see `queuelock template iam --role admin`"
		}
		if row == nil || row[1] != want {
			t.Errorf("%s: the page has %q, want %s", role.Name, row, want)
		}
	}
}

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
