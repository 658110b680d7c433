package chaos

import (
	"context"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/test/chaos/ledger"
)

// roleVariable makes this test binary a worker, of the engine at that address.
const roleVariable = "QUEUELOCK_CHAOS_TEST_WORKER"

func init() {
	if endpoint := os.Getenv(roleVariable); endpoint != "" {
		os.Exit(Worker(endpoint))
	}
}

// dynoxide is the engine's binary; a test without it is left out, unless all
// engines are asked for.
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

func testConfig(t *testing.T) Config {
	return Config{
		Seed: 7, Duration: 6 * time.Second, Workers: 6, Entities: 2, TTL: time.Second, LongestTurn: 100 * time.Millisecond, Callers: 4,
		Engine: dynoxide(t),
		Command: func(endpoint string) *exec.Cmd {
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), roleVariable+"="+endpoint)
			cmd.Stderr = os.Stderr
			return cmd
		},
	}
}

// TestShortRun checks that a short run ends without violations and leaves no process
// behind.
func TestShortRun(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes about 15 seconds")
	}
	result := locktest.Must(Run(t.Context(), testConfig(t)))
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

// TestRunContext checks that a run ends with its context and leaves nothing.
func TestRunContext(t *testing.T) {
	cfg := testConfig(t)
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

// TestRunWithoutWorkers checks that a run whose workers cannot be started returns an
// error.
func TestRunWithoutWorkers(t *testing.T) {
	cfg := testConfig(t)
	cfg.Command = func(string) *exec.Cmd { return exec.Command("/no/such/file") }
	if _, err := Run(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("error %v", err)
	}
	cfg.Engine = "/no/such/engine"
	if _, err := Run(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), fs.ErrNotExist.Error()) && !strings.Contains(err.Error(), "no such file") {
		t.Errorf("error %v", err)
	}
}

// TestKilledEngine checks that a killed engine keeps every write that it has answered, as
// the judges assume.
func TestKilledEngine(t *testing.T) {
	e := locktest.Must(openEngine(t.Context(), dynoxide(t), t.TempDir()))
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
