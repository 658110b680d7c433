package main

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queue"
)

// TestRunExitCode checks that run returns the exit code of its command, and looks for the
// command before it asks for the lock.
func TestRunExitCode(t *testing.T) {
	e := newEngine(t)
	broken := filepath.Join(t.TempDir(), "broken")
	locktest.OK(t, os.WriteFile(broken, []byte("#!/nonexistent/interpreter\n"), 0o755))
	plain := filepath.Join(t.TempDir(), "plain")
	locktest.OK(t, os.WriteFile(plain, []byte("text\n"), 0o644))
	for i, tc := range []struct {
		name    string
		command []string
		code    int
		stderr  string
	}{
		{"not found", []string{"no-such-command-anywhere"}, 127, "command not found: no-such-command-anywhere"},
		{"success", []string{"true"}, 0, ""},
		{"failure", []string{"sh", "-c", "exit 3"}, 3, ""},
		{"a code that is also one of ours", []string{"sh", "-c", "exit 75"}, 75, ""},
		{"its own flags", []string{"sh", "-c", "exit $#", "sh", "--ttl", "-x", "--"}, 3, ""},
		{"a signal", []string{"sh", "-c", "kill -TERM $$"}, 143, ""},
		{"killed", []string{"sh", "-c", "kill -KILL $$"}, 137, ""},
		{"no such file", []string{"/no/such/file"}, 127, "command not found: /no/such/file"},
		{"not executable", []string{plain}, 126, "cannot be executed"},
		{"a directory", []string{"/"}, 126, "cannot be executed"},
		{"no interpreter", []string{broken}, 127, "no such file"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			o := invoke(t, append([]string{"run", "x", "--"}, tc.command...)...)
			if tc.stderr != "" {
				tc.stderr = `^[^\n]*` + tc.stderr + `[^\n]*\n$`
			}
			o.matches(t, tc.code, "", tc.stderr)
			e.mustBeIdle(t, "x")
			if none := e.state(t, "x").Issued.IsZero(); none != (i == 0) {
				t.Errorf("no ticket was taken: %v", none)
			}
		})
	}
}

// TestRunEnvironment checks that run gives the command its ticket and streams.
func TestRunEnvironment(t *testing.T) {
	newEngine(t)
	script := `echo "$QUEUELOCK_TICKET $QUEUELOCK_ENTITY $QUEUELOCK_REASON"; cat; echo wrong >&2`
	run := []string{"run", "a b/c", "--reason", "why", "-c"}
	answer(t, "input", append(run, script)...).matches(t, 0, "^1 a b/c why\ninput$", "^wrong\n$")
	invoke(t, append(run, `echo "$QUEUELOCK_TICKET"`)...).prints(t, 0, "2\n")
	invoke(t, "run", "y", "-c", `echo "one $QUEUELOCK_TICKET"; exit 4`).matches(t, 4, "^one 1\n$", "")
	script = `[ "${QUEUELOCK_OWNER%:*}" = "$(uname -n)" ] &&
		echo "$QUEUELOCK_TABLE $QUEUELOCK_ENTITIES $QUEUELOCK_TICKETS $QUEUELOCK_REASON"`
	invoke(t, "run", "x", "--", "sh", "-c", script).prints(t, 0, `queuelock ["x"] ["1"] lock`+"\n")
}

// TestRunHoldsLock checks that run holds the lock while the command runs, as its flags say.
func TestRunHoldsLock(t *testing.T) {
	e := newEngine(t)
	for flags, test := range map[string]struct {
		holds func(queue.Holder) bool
		shown string
	}{
		"":                 {func(h queue.Holder) bool { return !h.Endless() && h.Delay == 0 }, " of 1m0s\n"},
		"--fail-closed":    {queue.Holder.Endless, "no lease"},
		"--lock-delay 90s": {func(h queue.Holder) bool { return h.Delay == 90*time.Second }, " of 1m0s + 1m30s\n"},
	} {
		b := running(t, fifo(t)+"; exit 5", strings.Fields(flags)...)
		if s := e.state(t, "x"); len(s.Serving) != 1 || !test.holds(s.Serving[0]) {
			t.Errorf("%s: %+v", flags, s.Serving)
		}
		invoke(t, "status", "x").shows(t, 0, test.shown)
		openFIFO(t)
		b.wait(t).silent(t, 5)
		e.mustBeIdle(t, "x")
	}
}

// fifo makes a file, and returns a text for the shell that says that it is ready, and goes on at openFIFO.
func fifo(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "go on")
	if out, err := exec.Command("mkfifo", path).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	t.Setenv("QUEUELOCK_TEST_FIFO", path)
	return `echo ready; read -r line < "$QUEUELOCK_TEST_FIFO"`
}

func openFIFO(t *testing.T) {
	t.Helper()
	locktest.OK(t, os.WriteFile(os.Getenv("QUEUELOCK_TEST_FIFO"), []byte("go on\n"), 0))
}

// mustEnd fails the test unless every process with the output ends.
func mustEnd(t *testing.T, out *os.File) {
	t.Helper()
	if rest, err := io.ReadAll(out); err != nil {
		t.Errorf("a process is still running: %v (rest of the output: %q)", err, rest)
	}
}

// evict takes an entity's lock away, as an operator would.
func (e *engine) evict(t *testing.T, entity string) {
	t.Helper()
	locktest.Must(e.db.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{
		TableName: aws.String("queuelock"), Key: itemKey(queuelock.Key{Entity: entity, Reason: "lock"}, 0),
	}))
}

// stubborn is a command that ignores SIGTERM, with a child that does so too.
const stubborn = `trap "" TERM; (while :; do sleep 0.05; done) & echo ready; while :; do sleep 0.05; done`

// TestRunWithoutTable checks that a release that fails is one line, and does not change the exit code.
func TestRunWithoutTable(t *testing.T) {
	e := newEngine(t)
	b := running(t, fifo(t)+"; exit 3")
	locktest.Must(e.db.DeleteTable(t.Context(), &dynamodb.DeleteTableInput{TableName: aws.String("queuelock")}))
	openFIFO(t)
	mustBeShort(t, b.wait(t), 3, `the lock has ended with its table: there is no table "queuelock" any more`)
}

func TestRunContext(t *testing.T) {
	e := newEngine(t)
	ctx, cancel := context.WithCancel(t.Context())
	b := start(t, ctx, "run", "x", "--ttl", "10s", "--kill-after", "100ms", "--", "sh", "-c", stubborn)
	b.expect(t, "ready")
	cancel()
	b.wait(t).ends(t, 137)
	mustEnd(t, b.out)
	e.mustBeIdle(t, "x")
}

// TestCrashedRun checks that a crashed run does not keep later attempts that look once from the lock.
func TestCrashedRun(t *testing.T) {
	e := inParallel(t)
	cmd := e.program(t, "run", "x", "--ttl", "1s", "--", "sh", "-c", "echo ready; exec sleep 1000")
	expect(t, launch(t, cmd), "ready")
	locktest.OK(t, cmd.Process.Kill())
	_ = cmd.Wait()
	until(t, "one of them is served", func() bool {
		o := e.execute(t, "run", "x", "--wait", "0", "--ttl", "2s", "--", "true")
		if o.code != 0 {
			o.ends(t, exitNotAcquired)
		}
		return o.code == 0
	})
}

// TestTableFailsWhileWaiting checks that a table that fails while waiting is unavailable.
func TestTableFailsWhileWaiting(t *testing.T) {
	e := inParallel(t)
	e.onApplied(func(operation string) {
		if operation == "Query" {
			select {
			case <-e.stuck:
			default:
				close(e.stuck)
			}
		}
	})
	o := e.execute(t, "run", "x", "--ttl", "1s", "--wait", "500ms", "--", "echo", "ran")
	o.matches(t, exitUnavailable, "", `^[^\n]*\n$`)
}

// TestHelpOnFencing checks that the texts say where a ticket is not a fencing token.
func TestHelpOnFencing(t *testing.T) {
	contains(t, strings.Join(strings.Fields(newRun().Long), " "), "lower than the highest it has seen. "+
		"With --shared or --permits several hold at once: then such a check refuses the writes of present holders.")
	text := strings.Join(strings.Fields(invoke(t, "--help").stdout), " ")
	contains(t, text, "Where one is served at a time, the ticket is a fencing token")
	if strings.Contains(text, "exclusive access") {
		t.Errorf("--help promises what modes do not keep:\n%s", text)
	}
}

func TestRunModes(t *testing.T) {
	for name, test := range map[string]struct {
		flags []string
		slot  string
		code  int // of one that wants the lock alone
		says  string
	}{
		"shared":  {[]string{"--shared"}, "none", exitNotAcquired, "is held by"},
		"permits": {[]string{"--permits", "2"}, "1", exitUsage, "a semaphore of 2 and stays one"},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEngine(t)
			run := func(args ...string) []string { return append(append([]string{"run", "x"}, test.flags...), args...) }
			b := running(t, fifo(t), test.flags...)
			invoke(t, run("--wait", "10s", "--", "echo", "both")...).prints(t, 0, "both\n")
			script := `echo "${QUEUELOCK_SLOT-none}"`
			invoke(t, run("--wait", "10s", "--", "sh", "-c", script)...).prints(t, 0, test.slot+"\n")
			t.Setenv(envSlot, "7") // of a command above
			invoke(t, "run", "y", "--", "sh", "-c", script).prints(t, 0, "none\n")
			for format, slot := range map[string]string{"table": "served slot 0 ", "json": `"slot":0,`} {
				if o := invoke(t, "status", "x", "-o", format); strings.Contains(o.stdout, slot) != (name == "permits") {
					t.Errorf("status: %+v", o)
				}
			}
			invoke(t, "run", "x", "--wait", "0", "--", "echo", "alone").ends(t, test.code, test.says)
			openFIFO(t)
			b.wait(t).silent(t, 0)
			e.mustBeIdle(t, "x")
		})
	}
}
