package chaos

import (
	"context"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/internal/testbed/plant"
	"github.com/queuelock/queuelock/test/chaos/ledger"
)

// roleVariable makes this test binary a worker, of the engine at that address.
const roleVariable = "QUEUELOCK_CHAOS_TEST_WORKER"

func init() {
	if endpoint := os.Getenv(roleVariable); endpoint != "" {
		os.Exit(Worker(endpoint))
	}
}

// dynoxide is the engine's binary; a test without it is left out, unless all engines are asked for.
func dynoxide(t *testing.T) string {
	t.Helper()
	binary := Installed("../..")
	if binary == "" {
		if strings.Contains(os.Getenv("QUEUELOCK_ENGINES"), "dynoxide") {
			t.Fatal("dynoxide is not installed: run make tools")
		}
		t.Skip("dynoxide is not installed: run make tools")
	}
	return binary
}

func testConfig() Config {
	return Config{
		Seed: 7, Duration: 6 * time.Second, Workers: 6, Entities: 2, TTL: time.Second, LongestTurn: 100 * time.Millisecond, Callers: 4,
		Command: func(endpoint string) *exec.Cmd {
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), roleVariable+"="+endpoint)
			cmd.Stderr = os.Stderr
			return cmd
		},
	}
}

// TestShortRun checks that a short run ends without violations and leaves no process behind.
func TestShortRun(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes about 15 seconds")
	}
	cfg := testConfig()
	cfg.Engine = dynoxide(t)
	result := locktest.Must(Run(t.Context(), cfg))
	// How long a recovery takes is for "make chaos", on a machine of its own.
	for _, p := range result.Problems {
		if !strings.Contains(p, "to the next grant: more than") {
			t.Error(p)
		}
	}
	if result.Turns == 0 || !strings.Contains(result.Text, "seed                   7\n") {
		t.Error(result.Text)
	}
}

func TestRunContext(t *testing.T) {
	cfg := testConfig()
	cfg.Engine = dynoxide(t)
	var processes []*exec.Cmd
	command := cfg.Command
	cfg.Command = func(endpoint string) *exec.Cmd {
		cmd := command(endpoint)
		processes = append(processes, cmd)
		return cmd
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	cfg.Show = func(time.Duration, string) { cancel() }
	if _, err := Run(ctx, cfg); err == nil || !strings.Contains(err.Error(), "seed 7") {
		t.Errorf("error %v", err)
	}
	if len(processes) < cfg.Workers {
		t.Errorf("%d processes", len(processes))
	}
	for _, p := range processes {
		if p.ProcessState == nil {
			t.Errorf("process %d was not waited for", p.Process.Pid)
		}
	}
}

// TestRunWithoutWorkers checks that a run whose workers cannot be started returns an error.
func TestRunWithoutWorkers(t *testing.T) {
	cfg := testConfig()
	cfg.Engine = dynoxide(t)
	cfg.Command = func(string) *exec.Cmd { return exec.Command("/no/such/file") }
	if _, err := Run(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("error %v", err)
	}
	cfg.Engine = "/no/such/engine"
	if _, err := Run(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), fs.ErrNotExist.Error()) && !strings.Contains(err.Error(), "no such file") {
		t.Errorf("error %v", err)
	}
}

// localConfig is a run with an engine of "queuelock local --file", built with these edits.
func localConfig(t *testing.T, restarts int, edits ...plant.Edit) Config {
	t.Helper()
	if testing.Short() {
		t.Skip("it builds the command")
	}
	cfg := testConfig()
	cfg.Engine, cfg.Restarts, cfg.Duration = filepath.Join(t.TempDir(), "queuelock"), restarts, 2*time.Minute
	cfg.Workers, cfg.Callers, cfg.LongestTurn, cfg.TTL = 8, 1, 50*time.Millisecond, 2*time.Second
	root := locktest.Must(filepath.Abs("../.."))
	build := exec.CommandContext(t.Context(), "go", "build", "-overlay", plant.Overlay(t, root, edits...), "-o", cfg.Engine, "./cmd/queuelock")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return cfg
}

// TestLocalFile checks that what "queuelock local --file" has answered survives a kill. "make chaos-local" is
// the long form.
func TestLocalFile(t *testing.T) {
	result := locktest.Must(Run(t.Context(), localConfig(t, 5)))
	for _, p := range result.Problems {
		t.Error(p)
	}
	if n := len(result.History.Downs); n != 5 || result.Turns == 0 {
		t.Errorf("%d outages\n%s", n, result.Text)
	}
}

// TestPlantedLocalFile checks that an engine that answers before the commit is found.
func TestPlantedLocalFile(t *testing.T) {
	const keep = "func (f *File) Keep(position uint64) error {\n"
	cfg := localConfig(t, 40, plant.Edit{
		File: "cmd/queuelock/internal/tablefile/file.go", Old: keep,
		New: keep + "	time.AfterFunc(20*time.Millisecond, func() { f.later(position) })\n	return nil\n}\n\nfunc (f *File) later(position uint64) error {\n",
	})
	result := locktest.Must(Run(t.Context(), cfg))
	t.Log(result.Violations)
	if found := result.Violations; found["overlap"]+found["lost update"]+found["regression"]+found["missing"] == 0 {
		t.Error("the mistake was not found")
	}
}

// TestKilledEngine checks that a killed engine keeps every write that it has answered, as the judges assume.
func TestKilledEngine(t *testing.T) {
	e := locktest.Must(openEngine(t.Context(), dynoxide(t), false, t.TempDir()))
	defer func() {
		locktest.Check(t, e.close())
	}()
	locktest.OK(t, queuelock.CreateTable(t.Context(), e.db, tableName, queuelock.Config{}))
	l := ledger.Ledger{Table: tableName, Entity: "e"}
	for n := range 20 {
		head, err := l.Read(t.Context(), e.db)
		if err != nil || head.N != n {
			t.Fatalf("after %d turns, each before a kill: %+v, %v", n, head, err)
		}
		locktest.Must(e.db.TransactWriteItems(t.Context(), &dynamodb.TransactWriteItemsInput{
			TransactItems: l.Turn("x", head, uint64(n), "w"),
		}))
		e.kill()
		locktest.OK(t, e.start(t.Context()))
	}
}
