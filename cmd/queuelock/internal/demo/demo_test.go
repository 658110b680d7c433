package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/internal/workload/benchmark/capacity"
	"github.com/queuelock/queuelock/internal/workload/turns"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// unused is in the place of a meter.
func unused() capacity.Count { return capacity.Count{Requests: 3, WriteUnits: 2, ReadUnits: 1} }

// input is a worker's standard input: an assignment, the word to go, and no end until it is closed.
func input(t *testing.T, a Assignment) (io.Reader, io.Closer) {
	t.Helper()
	line := locktest.Must(json.Marshal(a))
	r, w := io.Pipe()
	return io.MultiReader(bytes.NewReader(append(line, "\n\"go\"\n"...)), r), w
}

// records reads what a worker wrote.
func records(t *testing.T, out io.Reader) []turns.Record {
	t.Helper()
	var all []turns.Record
	for d := json.NewDecoder(out); ; {
		var r turns.Record
		if err := d.Decode(&r); err == io.EOF {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
}

func kinds(all []turns.Record) []turns.Kind {
	var k []turns.Kind
	for _, r := range all {
		k = append(k, r.Kind)
	}
	return k
}

func testAssignment(table string, last int) Assignment {
	return Assignment{Table: table, Entity: "x", Owner: "worker 1", First: 1, Last: last, Hold: 700 * time.Millisecond, TTL: 2 * time.Second, WaiterTTL: 2 * time.Second}
}

// TestWaitingWorker checks that a worker that waits reports its events, its row, and what it has used.
func TestWaitingWorker(t *testing.T) {
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		other := locktest.Must(queuelock.New(table.Client("other"), table.Name(), queuelock.Config{}))
		lock := locktest.Must(other.Acquire(t.Context(), queuelock.Key{Entity: "x"}, waitpolicy.NoWait))
		in, stop := input(t, testAssignment(table.Name(), 1))
		var out bytes.Buffer
		done := make(chan error)
		client := table.Client("worker")
		go func() { done <- Work(t.Context(), client, unused, in, &out) }()
		time.Sleep(1500 * time.Millisecond) // in the bubble: beyond the first renewal of the row, at half its life
		locktest.OK(t, lock.Release(t.Context()))
		locktest.OK(t, <-done)
		stop.Close()
		locktest.OK(t, other.Close(t.Context()))
		all := records(t, &out)
		got := slices.DeleteFunc(kinds(all), func(k turns.Kind) bool { return k == turns.Renewed })
		if diff := cmp.Diff([]turns.Kind{turns.Ready, turns.Asked, turns.Took, turns.Queued, turns.Granted, turns.Ended, turns.Released, turns.Done}, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		h := turns.NewTrack("worker 1", 2*time.Second)
		for _, r := range all {
			h.Add(r)
		}
		a := h.Current()
		if len(h.Turns) != 1 || len(a.Places) != 1 || a.Places[0].Ticket != a.Ticket {
			t.Fatalf("track %+v, turn %+v", h, a)
		}
		if p := a.Places[0]; a.Asked > a.Took || a.Took > p.Stood || p.Stood > a.Granted || a.Granted > a.Ended {
			t.Errorf("instants out of order: %+v", a)
		}
		if used := all[len(all)-1].Usage; used != turns.Usage(unused()) {
			t.Errorf("it used %+v", used)
		}
		if n := len(all) - len(got); n != 1 {
			t.Errorf("%d renewals of the row, want 1", n)
		}
	}, queuelocktest.WithLatency(time.Millisecond))
}

func TestWorkerEndsWithParent(t *testing.T) {
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		a := testAssignment(table.Name(), 1)
		a.Doomed = 1
		in, stop := input(t, a)
		var out bytes.Buffer
		done := make(chan error)
		client := table.Client("worker")
		go func() { done <- Work(t.Context(), client, unused, in, &out) }()
		time.Sleep(5*time.Minute + 123*time.Millisecond) // in the bubble: a doomed turn does not end, and keeps its lease
		stop.Close()
		locktest.OK(t, <-done)
		all := records(t, &out)
		if diff := cmp.Diff([]turns.Kind{turns.Ready, turns.Asked, turns.Took, turns.Granted, turns.Ended, turns.Released, turns.Done}, kinds(all)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if all[4].Doubted != 0 {
			t.Error("the lock was lost")
		}
	})
}

// TestWorkerAfterLoss checks that a worker reports a loss and goes on.
func TestWorkerAfterLoss(t *testing.T) {
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		a := testAssignment(table.Name(), 2)
		a.Doomed = 1
		in, stop := input(t, a)
		defer stop.Close()
		client := table.Client("worker")
		reader, writer := io.Pipe()
		done := make(chan error)
		go func() {
			done <- Work(t.Context(), client, unused, in, writer)
			writer.Close()
		}()
		go func() {
			time.Sleep(1100 * time.Millisecond) // not at the instant of a heartbeat
			client.Partition()
			time.Sleep(2 * time.Second) // longer than any lease
			client.Heal()
		}()
		result := make(chan []turns.Record)
		go func() { result <- records(t, reader) }()
		locktest.OK(t, <-done)
		all := <-result
		i := slices.IndexFunc(all, func(r turns.Record) bool { return r.Kind == turns.Ended })
		if all[i].Doubted == 0 || all[len(all)-1].Kind != turns.Done {
			t.Errorf("records %v", all)
		}
		stop.Close()
	})
}

func TestFailedWorker(t *testing.T) {
	for name, tc := range map[string]struct{ in, want string }{
		"no assignment":        {"", "read the assignment"},
		"a broken assignment":  {"{\n", "read the assignment"},
		"an impossible lease":  {`{"Table":"xyz","TTL":1}` + "\n\"go\"\n", "TTL"},
		"no word to go":        {`{"Table":"xyz","Last":1}` + "\n", "wait for the start"},
		"no DynamoDB anywhere": {`{"Table":"xyz","Entity":"x","First":1,"Last":1}` + "\n\"go\"\n", "no such place"},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			// Its input must not end before it does, but for those that want that.
			in, stop := io.Reader(strings.NewReader(tc.in)), io.Closer(io.NopCloser(nil))
			if strings.HasSuffix(tc.in, `"go"`+"\n") {
				r, w := io.Pipe()
				in, stop = io.MultiReader(in, r), w
			}
			err := Work(t.Context(), broken{}, unused, in, &out)
			stop.Close()
			all := records(t, &out)
			if err == nil || len(all) == 0 || all[len(all)-1].Kind != turns.Failed || !strings.Contains(all[len(all)-1].Error, tc.want) {
				t.Errorf("error %v, records %v; want one that fails with %q", err, all, tc.want)
			}
		})
	}
}

// broken is a DynamoDB whose every request fails permanently.
type broken struct{ queuelock.DynamoDB }

func (broken) GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	return nil, errors.New("no such place")
}

func (broken) UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	return nil, errors.New("no such place")
}

// config is for demos whose workers are scripts, and so do not get far.
func config(script string) Config {
	return Config{
		Workers: 2, Rounds: 1, Hold: time.Millisecond, Table: "t", Entity: "e",
		Command: func() *exec.Cmd { return exec.Command("sh", "-c", script) },
	}
}

// TestRunEnds checks that Run ends whatever the workers do.
func TestRunEnds(t *testing.T) {
	for name, tc := range map[string]struct{ script, want string }{
		"they end at once":     {"exit 3", "ended before its work was done: exit status 3"},
		"they say why":         {`read -r a; echo '{"kind":"failed","error":"no luck"}'; exit 1`, "no luck"},
		"they die":             {`read -r a; kill -KILL $$`, "ended before its work was done: signal: killed"},
		"they talk nonsense":   {`echo nonsense; exit 1`, `wrote "nonsense"`},
		"they cannot be begun": {"", "no such file"},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := config(tc.script)
			if tc.script == "" {
				cfg.Command = func() *exec.Cmd { return exec.Command("/no/such/file") }
			}
			if _, err := Run(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want %q", err, tc.want)
			}
		})
	}
}

func TestRunContext(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := Run(ctx, config("sleep 1000")); err == nil || !strings.Contains(err.Error(), context.DeadlineExceeded.Error()) {
		t.Errorf("error %v", err)
	}
}
