package main

import (
	"bufio"
	"io"
	"strings"
	"syscall"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/internal/workload/benchmark/capacity"
	"github.com/queuelock/queuelock/internal/workload/benchmark/library"
)

// mustBeEmpty fails the test if an item is left in the engine's table.
func (e *engine) mustBeEmpty(t *testing.T) {
	t.Helper()
	table := "queuelock"
	if out := locktest.Must(e.db.Scan(t.Context(), &dynamodb.ScanInput{TableName: &table})); len(out.Items) > 0 {
		t.Errorf("left are %v", out.Items)
	}
}

// TestBench checks the tables and the announcement, and that no item is left.
func TestBench(t *testing.T) {
	e := newEngine(t)
	o := invoke(t, "bench", "--quick", "--scenarios", "nowait,idle", "--reps", "2")
	announced, progress, _ := strings.Cut(o.stderr, "\n")
	if !strings.HasPrefix(announced, "This takes at most ") || !strings.HasSuffix(announced, " at the on-demand price of us-east-1 since 1 November 2024.") {
		t.Errorf("announced %q", announced)
	}
	if lines := strings.Count(progress, "\n"); lines != 4 {
		t.Errorf("%d lines of progress, want one for each of 4 measurements: %q", lines, progress)
	}
	o.shows(t, 0,
		`- **Table.** "queuelock" at `+e.URL+".\n", "\n- **Cost** of this run: ",
		"\n## An idle lock\n", "| subject | acquire, ms | release, ms | requests | write units | read units |\n", " | 2.0 | 2.0 | 0.0 |\n",
		"\n## An attempt at a busy lock, without waiting\n", " | 1.0 | 1.0 | 0.0 |\n")
	for _, not := range []string{"ended early", "ratio", "reports no capacity"} {
		if strings.Contains(o.stdout, not) {
			t.Errorf("%q is in\n%s", not, o.stdout)
		}
	}
	e.mustBeEmpty(t)
}

// TestBenchAsksForConsent checks that nothing is sent to AWS without --yes.
func TestBenchAsksForConsent(t *testing.T) {
	for _, args := range [][]string{
		{"bench"},
		{"bench", "--endpoint", "https://dynamodb.eu-central-1.amazonaws.com"},
		{"bench", "--endpoint", "https://dynamodb.cn-north-1.amazonaws.com.cn"},
		{"bench", "--endpoint", "https://dynamodb.eu-central-1.api.aws"},
	} {
		o := invoke(t, args...)
		if o.code != exitUsage || !strings.Contains(o.stderr, "repeat the command with --yes") || !strings.Contains(o.stderr, "$") || o.stdout != "" {
			t.Errorf("%v: exit code %d, stderr %q", args, o.code, o.stderr)
		}
	}
	invoke(t, "bench", "--yes").ends(t, exitUnavailable, "no AWS region")
}

// TestInterruptedBench checks that an interrupted run prints what it has, and deletes its items.
func TestInterruptedBench(t *testing.T) {
	e := inParallel(t)
	cmd := e.program(t, "bench", "--quick", "--scenarios", "idle,contended", "--reps", "3")
	errs, write := pipe(t)
	cmd.Stderr = write
	out := launch(t, cmd)
	locktest.OK(t, write.Close())
	for lines := bufio.NewScanner(errs); lines.Scan() && !strings.Contains(lines.Text(), " contended "); {
	}
	locktest.OK(t, cmd.Process.Signal(syscall.SIGINT))
	go func() { _, _ = io.Copy(io.Discard, errs) }()
	text, err := io.ReadAll(out)
	if code := codeAfter(t, cmd); code != 130 || err != nil {
		t.Errorf("exit code %d, want 130; %v", code, err)
	}
	contains(t, string(text), "\n## An idle lock\n", "\n## A contended lock\n", "\nThe run ended early: ")
	e.mustBeEmpty(t)
}

// TestBenchBound checks that the announced bound of a full run is affordable.
func TestBenchBound(t *testing.T) {
	f := benchFlags{settings: settings{table: "queuelock"}}
	locktest.OK(t, f.check())
	if most := f.alone().Most(); most.Price() > 0.5 || most.Within(capacity.Count{Requests: 1e5, WriteUnits: 1e5, ReadUnits: 1e5}) {
		t.Errorf("a full run takes at most %s", library.Costs(most))
	}
}
