package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

// TestWaitForms checks what --wait takes: the forms of flock and of the library.
func TestWaitForms(t *testing.T) {
	for text, want := range map[string]waitpolicy.Wait{
		"5":       waitpolicy.For(5 * time.Second),
		"0.5":     waitpolicy.For(500 * time.Millisecond),
		"2.":      waitpolicy.For(2 * time.Second),
		"90s":     waitpolicy.For(90 * time.Second),
		"1h30m":   waitpolicy.For(90 * time.Minute),
		"0":       waitpolicy.NoWait,
		"0.0":     waitpolicy.NoWait,
		"forever": waitpolicy.Forever,
		"5x2s":    waitpolicy.Attempts(5, 2*time.Second),
	} {
		if got, err := parseWait(text); err != nil || got != want {
			t.Errorf("%s: %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "soon", "-1", "-1s", "1e3", "0x2s", "5x2", "99999999999999"} {
		if got, err := parseWait(text); codeOf(err) != exitUsage {
			t.Errorf("%q: %v, %v; want an error of usage", text, got, err)
		}
	}
}

// TestOwner checks that the library accepts the owner of a host with any name.
func TestOwner(t *testing.T) {
	for host, want := range map[string]string{
		"ci-7": "ci-7", strings.Repeat("h", 300): strings.Repeat("h", 200), "büro": "büro",
		"a\nb": "unknown-host", "\x1b[2J": "unknown-host", "\xff": "unknown-host", strings.Repeat("h", 199) + "ü": "unknown-host",
	} {
		if got := ownerAt(host, nil); got != fmt.Sprintf("%s:%d", want, os.Getpid()) {
			t.Errorf("%q: %q, want %q", host, got, want)
		}
	}
	if got := ownerAt("", errors.New("no name")); !strings.HasPrefix(got, "unknown-host:") {
		t.Errorf("without a name: %q", got)
	}
}

// TestGivenOwner checks which name others see, and that a command below does not have that of the process above.
func TestGivenOwner(t *testing.T) {
	e := inParallel(t)
	const print = `echo "$QUEUELOCK_OWNER"`
	usual := func(text string) string {
		if processOwner.MatchString(strings.TrimSpace(text)) {
			return "usual\n"
		}
		return text
	}
	self := locktest.Must(os.Executable())
	for name, test := range map[string]struct {
		variable string
		args     []string
		want     string
	}{
		"Usual":         {"", []string{"-c", print}, "usual\n"},
		"Flag":          {"from the variable", []string{"--owner", "build 17", "-c", print}, "build 17\n"},
		"LongestFlag":   {"", []string{"--owner", strings.Repeat("x", 256), "-c", print}, strings.Repeat("x", 256) + "\n"},
		"Variable":      {"büro 7", []string{"-c", print}, "büro 7\n"},
		"VariableBelow": {"büro 7", []string{"--", self, "run", "below", "-c", print}, "büro 7\n"},
		"UsualVariable": {owner(), []string{"-c", print}, "usual\n"},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := e.program(t, append([]string{"run", name}, test.args...)...)
			cmd.Env = append(cmd.Env, "QUEUELOCK_OWNER="+test.variable)
			if out, err := cmd.Output(); err != nil || usual(string(out)) != test.want {
				t.Errorf("%q, %v; want %q", out, err, test.want)
			}
		})
	}
	below := print + "; " + self + " status below -o json >&2"
	o := e.execute(t, "run", "above", "-c", print+"; '"+self+"' run below -c '"+below+"'")
	names := strings.Split(o.stdout, "\n") // of both, and an end
	if o.code != 0 || len(names) != 3 || names[0] == names[1] || !strings.Contains(o.stderr, `"`+names[1]+`"`) {
		t.Errorf("%+v", o)
	}
	cmd := e.program(t, "lock", "x")
	cmd.Env = append(cmd.Env, "QUEUELOCK_OWNER=a\nb")
	if out, err := cmd.CombinedOutput(); cmd.ProcessState.ExitCode() != exitUsage || !strings.Contains(string(out), `QUEUELOCK_OWNER a\nb: only printable`) {
		t.Errorf("%q, %v", out, err)
	}
}

// TestConflict checks the exit code and the text of a busy lock.
func TestConflict(t *testing.T) {
	e := newEngine(t)
	e.occupied(t, "x")
	const held = `"x" \(lock\) is held by other owner \(ticket 1\)`
	for flags, want := range map[string]struct {
		code int
		says string
	}{
		"-n":                              {exitNotAcquired, held + "\\n$"}, // and it has not queued
		"-w 0.05":                         {exitNotAcquired, held},
		"-n -E 9":                         {9, held},
		"--nonblock -q":                   {exitNotAcquired, ""},
		"-q -w 0.05 -E 0":                 {0, ""},
		"-w 2x1ms --conflict-exit-code 1": {1, held},
	} {
		o := invoke(t, append(append([]string{"run", "x"}, strings.Fields(flags)...), "--", "echo", "ran")...)
		o.matches(t, want.code, "", want.says)
		e.mustHave(t, "x", 1, 0)
	}
}

// TestBusyLine checks that the line about a busy lock fits, however long the names are, and ends with a next step if its holder has
// no lease.
func TestBusyLine(t *testing.T) {
	e := newEngine(t)
	entity := strings.Repeat("ä very long name ", 50)
	e.occupied(t, entity)
	o := invoke(t, "run", entity, "-w", "0.02", "--progress", "none", "--", "true")
	if n := len([]rune(strings.TrimSpace(o.stderr))); o.code != exitNotAcquired || n > 160 {
		t.Errorf("exit code %d, a line of %d characters: %s", o.code, n, o.stderr)
	}
	for key, want := range map[queuelock.Key]string{
		{Entity: "x", Reason: "lock"}:                                   "queuelock status x",
		{Entity: "pay roll", Reason: "lock"}:                            "queuelock status",
		{Entity: strings.Repeat("very/long/name/", 20), Reason: "lock"}: "queuelock status",
		{Entity: "x", Reason: "backup"}:                                 "queuelock status x --reason backup",
	} {
		e.failClosed(t, key)
		mustBeShort(t, invoke(t, "run", key.Entity, "--reason", key.Reason, "-n", "--", "true"), exitNotAcquired, "is held by other owner (ticket 1)", "without a lease", ": see '"+want+"'")
	}
}

// TestExclusive checks that run accepts the flag of flock that is its default, and that no help names it.
func TestExclusive(t *testing.T) {
	newEngine(t)
	invoke(t, "run", "x", "-x", "--", "echo", "ran").prints(t, 0, "ran\n")
	if o := invoke(t, "help", "run"); strings.Contains(o.stdout, "--exclusive") {
		t.Errorf("%s", o.stdout)
	}
}

func TestVerbose(t *testing.T) {
	newEngine(t)
	invoke(t, "run", "x", "-v", "--", "true").matches(t, 0, "",
		`^queuelock: acquired "x" \(lock\) ticket 1 after [^\n]*\nqueuelock: released "x" \(lock\) ticket 1\n$`)
}

// TestHolderData checks what a holder publishes, and that it costs no request.
func TestHolderData(t *testing.T) {
	e := newEngine(t)
	var requests atomic.Int32
	e.onApplied(func(string) { requests.Add(1) })
	cost := map[string]int32{}
	for name, test := range map[string]struct {
		flags []string
		want  string
	}{
		"TheCommandLine": {nil, "sh -c echo ready; read -r line <"},
		"AShellText":     {[]string{"-c", "echo ready; read -r line < \"$QUEUELOCK_TEST_FIFO\""}, "echo ready; read"},
		"GivenText":      {[]string{"--data", "build 17"}, "build 17"},
		"Nothing":        {[]string{"--data", ""}, ""},
		"Shared":         {[]string{"--shared", "--data", strings.Repeat("x", 256)}, strings.Repeat("x", 256)},
		"ManyPermits":    {[]string{"--permits", "250"}, ""},
		"SharedTitle":    {[]string{"--shared"}, "sh -c echo ready; read"},
	} {
		t.Run(name, func(t *testing.T) {
			args := append([]string{"run", name}, test.flags...)
			if text := fifo(t); name != "AShellText" {
				args = append(args, "--", "sh", "-c", text)
			}
			requests.Store(0)
			b := start(t, t.Context(), args...)
			b.expect(t, "ready")
			cost[name] = requests.Load()
			data := string(e.state(t, name).Serving[0].Data)
			if !strings.HasPrefix(data, test.want) || (data == "") != (test.want == "") && name != "ManyPermits" {
				t.Errorf("the data is %q, want %q", data, test.want)
			}
			if name == "SharedTitle" && len(data) > maxSharedTitle {
				t.Errorf("%d bytes of data, want at most %d", len(data), maxSharedTitle)
			}
			openFIFO(t)
			b.wait(t).ends(t, 0)
		})
	}
	if cost["Nothing"] != cost["TheCommandLine"] {
		t.Errorf("requests: %v; want as many with data as without", cost)
	}
}

// TestTitle checks that a command line becomes one short line.
func TestTitle(t *testing.T) {
	for text, want := range map[string]string{
		"./deploy --fast":        "./deploy --fast",
		"echo one\necho\x1b[2J":  "echo one echo [2J",
		"\xff":                   "?",
		strings.Repeat("ä", 200): strings.Repeat("ä", 126) + "…",
	} {
		if got := clipped(text, maxTitle); got != want || len(got) > maxTitle {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestNested checks that run refuses a lock that a command above it holds, however far.
func TestNested(t *testing.T) {
	e := inParallel(t)
	self := locktest.Must(os.Executable())
	inner := func(args ...string) []string { return append(append([]string{self}, "run"), args...) }
	for name, test := range map[string]struct {
		args []string
		code int
	}{
		"Itself":        {inner("x", "--", "true"), exitNested},
		"Reason":        {inner("x", "--reason", "lock", "-s", "--", "true"), exitNested},
		"Between":       {inner(append([]string{"y", "--"}, inner("x", "--", "true")...)...), exitNested},
		"OneOfSeveral":  {inner("--all", "y", "x", "--", "true"), exitNested},
		"AnotherReason": {inner("x", "--reason", "other", "--", "true"), 0},
		"AnotherEntity": {inner("y", "--", "true"), 0},
		"AnotherTable":  {inner("x", "--table", "nosuch", "--", "true"), exitUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			says := ""
			if test.code == exitNested {
				says = `"x" (lock) is held by a command above this one`
			}
			e.execute(t, append([]string{"run", "x", "--"}, test.args...)...).ends(t, test.code, says)
		})
	}
	e.mustBeIdle(t, "x")
}

// TestIdiom checks the line by which a script takes its own lock.
func TestIdiom(t *testing.T) {
	newEngine(t)
	text := locktest.Must(os.ReadFile("../../docs/cli.md"))
	const line = `[ "$QUEUELOCK_ENTITY" = nightly ] || exec queuelock run nightly -- "$0" "$@"`
	if !strings.Contains(string(text), line+"\n") {
		t.Fatal("docs/cli.md does not have the line")
	}
	dir := t.TempDir()
	self := locktest.Must(os.Executable())
	for name, body := range map[string]string{
		"queuelock": fmt.Sprintf("%s=1 exec '%s' \"$@\"", asProgram, self),
		"script":    line + "\necho \"$QUEUELOCK_TICKET $1\"",
	} {
		locktest.OK(t, os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+body+"\n"), 0o755))
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	for _, want := range []string{"1 a b\n", "2 a b\n"} {
		invoke(t, "run", "other", "--", filepath.Join(dir, "script"), "a b").prints(t, 0, want)
	}
}

// TestAll checks the locks of several entities: all or none.
func TestAll(t *testing.T) {
	e := newEngine(t)
	script := `echo "$QUEUELOCK_ENTITIES $QUEUELOCK_TICKETS $QUEUELOCK_REASON ${QUEUELOCK_ENTITY-none} ${QUEUELOCK_TICKET-none}"`
	invoke(t, "run", "--all", "b", "a", "--", "sh", "-c", script).prints(t, 0, `["b","a"] ["1","1"] lock none none`+"\n")
	o := invoke(t, "run", "--all", "b", "a", "--reason", "wide", "--scope", "table", "--", "sh", "-c", script)
	if o.code != 0 || !strings.HasSuffix(o.stdout, " wide none "+strings.Split(o.stdout, `"`)[5]+"\n") {
		t.Errorf("a common ticket: %+v", o)
	}
	e.occupied(t, "a")
	o = invoke(t, "run", "--all", "b", "a", "-n", "--", "echo", "ran")
	o.matches(t, exitNotAcquired, "", `"a" \(lock\) is held by`)
	e.mustBeIdle(t, "b")
	invoke(t, "run", "--all", "c", "--", "sh", "-c", script).prints(t, 0, `["c"] ["1"] lock c 1`+"\n")
}

// TestAllLost checks that the loss of one lock stops the command.
func TestAllLost(t *testing.T) {
	e := newEngine(t)
	b := start(t, t.Context(), "run", "--all", "a", "b", "--ttl", "1s", "--", "sh", "-c", "echo ready; sleep 1000")
	b.expect(t, "ready")
	e.evict(t, "b")
	b.wait(t).ends(t, exitLost)
	mustEnd(t, b.out)
	e.mustBeIdle(t, "a")
}

// TestTableNames checks that table names are those that DynamoDB allows.
func TestTableNames(t *testing.T) {
	for name, legal := range map[string]bool{
		"queuelock":              true,
		"a.b":                    true,
		"A-1_z":                  true,
		strings.Repeat("a", 255): true,
		strings.Repeat("a", 256): false,
		"ab":                     false,
		"x y":                    false,
		"a/b":                    false,
		"tables\n":               false,
		"größe":                  false,
		"arn:aws:dynamodb:eu-central-1:123456789012:table/queuelock":       true,
		"arn:aws-us-gov:dynamodb:us-gov-west-1:123456789012:table/q.1":     true,
		"arn:aws:dynamodb:ddblocal:000000000000:table/queuelock":           true,
		"arn:aws:dynamodb:eu-central-1:123456789012:table/x y":             false,
		"arn:aws:dynamodb:eu-central-1:123456789012:table/queuelock/index": false,
		"arn:aws:sqs:eu-central-1:123456789012:queuelock":                  false,
	} {
		err := checkTable("--table", name)
		if (err == nil) != legal || err != nil && codeOf(err) != exitUsage {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestReasonOfTwoDashes(t *testing.T) {
	newEngine(t)
	invoke(t, "run", "x", "--reason", "--", "--", "echo", "ran").prints(t, 0, "ran\n")
}

// TestFlagsReachTheKeeper sets each flag of lock again from its text, as lock starts its keeper.
func TestFlagsReachTheKeeper(t *testing.T) {
	values := []string{"true", "7", "20s", "TERM", "entity", "json", "http://localhost:1", `a, "b" [c]=d`}
	newLock().Flags().VisitAll(func(flag *pflag.Flag) {
		accepted := 0
		for _, value := range values {
			given, kept := newLock().Flags(), newKeeper().Flags()
			if given.Set(flag.Name, value) != nil {
				continue
			}
			accepted++
			_ = given.Set(flag.Name, value) // of a list, once more
			want := given.Lookup(flag.Name).Value.String()
			if err := kept.Set(flag.Name, want); err != nil || kept.Lookup(flag.Name).Value.String() != want {
				t.Errorf("--%s %s: lock has %q, its keeper %q, %v", flag.Name, value, want, kept.Lookup(flag.Name).Value.String(), err)
			}
		}
		if accepted == 0 {
			t.Errorf("--%s takes none of %q: add a value that it takes", flag.Name, values)
		}
	})
}

// use takes a lock once, and releases it.
func use(t *testing.T, c *queuelock.Client, entity string, opts ...queuelock.AcquireOption) {
	t.Helper()
	lock := locktest.Must(c.Acquire(t.Context(), queuelock.Key{Entity: entity}, waitpolicy.NoWait, opts...))
	locktest.OK(t, lock.Release(t.Context()))
}

// TestRunScopes checks that run takes a lock of any scope, and that its first use sets the scope.
func TestRunScopes(t *testing.T) {
	for name, scope := range scopes {
		t.Run(name, func(t *testing.T) {
			e := newEngine(t)
			invoke(t, "run", "x", "--scope", name, "--", "true").ends(t, 0)
			if got := e.state(t, "x").Scope; got != scope {
				t.Errorf("--scope %s makes a queue of %v", name, got)
			}
			use(t, e.with(t, queuelock.Config{Owner: "a program", Scope: scope}), "x")
			invoke(t, "run", "x", "--scope", name, "--wait", "0", "--", "sh", "-c", "echo $QUEUELOCK_TICKET").prints(t, 0, "3\n")
			for other := range scopes {
				if other != name {
					says := "is a queue with --scope " + name + " and stays one.*, or --scope " + name + "\n$"
					invoke(t, "run", "x", "--scope", other, "--wait", "1s", "--", "echo", "ran").matches(t, exitUsage, "", says)
				}
			}
			// The default is the queue's own.
			if o := invoke(t, "run", "x", "--wait", "0", "--", "true"); (o.code == 0) != (name == "queue") {
				t.Errorf("without --scope: %+v", o)
			}
			e.mustBeIdle(t, "x")
		})
	}
}

// TestScopeMismatch checks that the error for a wrong scope names the flag that helps.
func TestScopeMismatch(t *testing.T) {
	e := newEngine(t)
	use(t, e.client(t), "lock")
	use(t, e.client(t), "semaphore", queuelock.Permits(3))
	for command, help := range map[string]string{
		"run lock --permits 2 -- true":      ", or no --permits\n",
		"run semaphore -- true":             ", or --permits 3\n",
		"run semaphore --shared -- true":    ", or --permits 3\n",
		"run semaphore --permits 2 -- true": ", or --permits 3\n",
	} {
		invoke(t, strings.Fields(command)...).matches(t, exitUsage, "", `^[^\n]*`+help+"$")
	}
}
