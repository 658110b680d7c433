package main

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/queuelock/queuelock/cmd/queuelock/internal/demo"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
)

// Tests with the program as a process of its own.

// launch starts the program and returns a reader of its output, which ends when every
// process with its write end has ended.
func launch(t *testing.T, cmd *exec.Cmd) *os.File {
	t.Helper()
	out, write := pipe(t)
	cmd.Stdout = write
	locktest.OK(t, cmd.Start())
	locktest.OK(t, write.Close())
	return out
}

// codeAfter waits for the program, and returns its exit code.
func codeAfter(t *testing.T, cmd *exec.Cmd) int {
	t.Helper()
	err := cmd.Wait()
	if _, exited := err.(*exec.ExitError); err != nil && !exited {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode()
}

// exits checks the exit code of a program, once that has ended.
func exits(t *testing.T, cmd *exec.Cmd, code int) {
	t.Helper()
	if got := codeAfter(t, cmd); got != code {
		t.Errorf("exit code %d, want %d", got, code)
	}
}

// execute runs the program as a process, until all that have its output have ended.
func (e *engine) execute(t *testing.T, args ...string) outcome {
	t.Helper()
	cmd := e.program(t, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	locktest.OK(t, cmd.Start())
	code := codeAfter(t, cmd)
	return outcome{code, stdout.String(), stderr.String()}
}

// until polls for what no event reports.
func until(t *testing.T, what string, reached func() bool) {
	t.Helper()
	for begun := time.Now(); !reached(); time.Sleep(10 * time.Millisecond) {
		if time.Since(begun) > testLimit {
			t.Fatalf("not reached: %s", what)
		}
	}
}

// keepers gives the keepers of a test a directory of their own, with a path that is short enough for sockets.
func (e *engine) keepers(t *testing.T) string {
	t.Helper()
	dir := locktest.Must(os.MkdirTemp("/tmp", "ql"))
	t.Cleanup(func() { os.RemoveAll(dir) })
	e.env = append(e.env, "TMPDIR="+dir)
	return dir
}

// TestSecondInterrupt checks that a second interrupt ends the program at once.
func TestSecondInterrupt(t *testing.T) {
	e := inParallel(t)
	close(e.stuck)
	cmd := e.program(t, "run", "x", "--", "echo", "ran")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out := launch(t, cmd)
	<-e.asked
	begun := time.Now()
	// Two different ones: of one kind, the kernel keeps only one pending.
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		locktest.Check(t, cmd.Process.Signal(sig))
	}
	if code := codeAfter(t, cmd); code != 130 && code != 143 {
		t.Errorf("exit code %d, want 130 or 143 (stderr %q)", code, stderr.String())
	}
	if took := time.Since(begun); took > closeLimit/2 {
		t.Errorf("it took %v to leave", took)
	}
	if rest, err := io.ReadAll(out); err != nil || len(rest) > 0 {
		t.Errorf("output %q, %v", rest, err)
	}
}

// TestDemoJSON checks that demo in JSON is one object, and that it draws pictures.
func TestDemoJSON(t *testing.T) {
	e := inParallel(t)
	svg, page := filepath.Join(t.TempDir(), "demo.svg"), filepath.Join(t.TempDir(), "demo.html")
	o := e.execute(t, "demo", "--workers", "3", "--rounds", "2", "--hold", "10ms", "--json", "--svg", svg, "--html", page)
	o.silent(t, 0)
	for _, name := range []string{svg, page} {
		text, err := os.ReadFile(name)
		if n := strings.Count(string(text), `class="holding"`); err != nil || n != 7 { // six turns and the legend
			t.Errorf("%v: %d bars in %s", err, n, name)
		}
	}
	got := object[demo.Report](t, o)
	for _, n := range []float64{
		got.RecoverySeconds, got.RequestsPerCycle, got.RCUPerCycle, got.WCUPerCycle, got.WallSeconds,
		*got.HandOff.P50, *got.HandOff.P99,
	} {
		if n <= 0 {
			t.Errorf("a measure is %v in %+v", n, got)
		}
	}
	want := demo.Report{Workers: 3, Rounds: 2, Grants: 6, Crashes: 1, Recovered: true}
	got.RecoverySeconds, got.RequestsPerCycle, got.RCUPerCycle, got.WCUPerCycle, got.WallSeconds = 0, 0, 0, 0, 0
	if got.HandOff = want.HandOff; got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// TestDemoAtEndpoint checks that demo at an endpoint leaves no table behind.
func TestDemoAtEndpoint(t *testing.T) {
	e := inParallel(t)
	e.env = append(e.env, "LC_ALL=C")
	o := e.execute(t, "demo", "--workers", "2", "--rounds", "1", "--hold", "5ms", "--endpoint", e.URL)
	o.silent(t, 0)
	contains(t, o.stdout, e.URL, "KILLED in the middle of its turn", "is served,", "worker 1  |",
		"grants             2: 2 workers", "overlaps           0\n", "recovery", "OK:")
	out, err := e.db.ListTables(t.Context(), &dynamodb.ListTablesInput{})
	if err != nil || !slices.Equal(out.TableNames, []string{"queuelock"}) {
		t.Errorf("tables %v, %v; want the engine's own alone", out.TableNames, err)
	}
}

// TestInterruptedDemo checks that an interrupted demo leaves no process behind.
func TestInterruptedDemo(t *testing.T) {
	t.Parallel()
	cmd := program(t, "demo", "--hold", "10s")
	// The workers have its standard error: it ends when the last of them does.
	errs, write := pipe(t)
	cmd.Stderr = write
	out := launch(t, cmd)
	locktest.OK(t, write.Close())
	expect(t, out, "in memory.\n")
	locktest.OK(t, cmd.Process.Signal(syscall.SIGINT))
	exits(t, cmd, 130)
	if text, err := io.ReadAll(errs); err != nil || string(text) != "queuelock: interrupt\n" {
		t.Errorf("stderr %q, %v", text, err)
	}
}

// TestDemoProblems checks that demo reports what kept it from ending.
func TestDemoProblems(t *testing.T) {
	// Without the word that makes workers of the test binary.
	invoke(t, "demo", "--workers", "2").ends(t, exitFailed, "ended before its work was done: exit status 3")
}

func TestVersion(t *testing.T) {
	for _, ask := range []string{"version", "--version"} {
		invoke(t, ask).matches(t, 0, `^queuelock [^\n]*\n$`, "")
	}
}
