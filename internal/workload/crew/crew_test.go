package crew

import (
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/internal/workload/turns"
)

// testLimit ends a test that waits for what does not happen.
const testLimit = 30 * time.Second

// crewOf is a crew of one, whose worker is a shell script.
func crewOf(t *testing.T, script string) (*Crew, *Process) {
	t.Helper()
	c := New(func() *exec.Cmd { return exec.Command("sh", "-c", script) })
	p := locktest.Must(c.Start(0, "worker-1", time.Second, map[string]string{"Owner": "worker-1"}))
	return c, p
}

// next is the next event, and the error that Note makes of it.
func next(t *testing.T, c *Crew) (Event, error) {
	t.Helper()
	select {
	case e := <-c.Events():
		err := c.Note(&e)
		return e, err
	case <-time.After(testLimit):
		t.Fatal("no event")
		return Event{}, nil
	}
}

func TestEvents(t *testing.T) {
	c, p := crewOf(t, `read -r assignment; echo '{"kind":"ready","at":7}'; exit 3`)
	if e, err := next(t, c); err != nil || e.Record.Kind != turns.Ready || e.Record.At != 7 || !p.Free() {
		t.Errorf("%+v", e)
	}
	if e, err := next(t, c); err != nil || !e.Ended || p.Code() != 3 || p.Free() {
		t.Errorf("%+v", e)
	}
	locktest.Check(t, c.Stop(true))
}

func TestIncompleteRecord(t *testing.T) {
	c, _ := crewOf(t, `printf '{"kind":"gran'; kill -KILL $$`)
	if e, err := next(t, c); err != nil || !e.Ended {
		t.Errorf("%+v", e)
	}
	locktest.Check(t, c.Stop(true))
}

func TestMalformedRecord(t *testing.T) {
	c, _ := crewOf(t, `echo nonsense`)
	if e, err := next(t, c); err == nil || !strings.Contains(err.Error(), `worker-1 wrote "nonsense"`) {
		t.Errorf("%+v", e)
	}
	if e, _ := next(t, c); !e.Ended {
		t.Errorf("%+v", e)
	}
	locktest.Check(t, c.Stop(true))
}

// TestStop checks that Stop kills the processes that remain.
func TestStop(t *testing.T) {
	c, p := crewOf(t, `echo '{"kind":"ready"}'; while :; do sleep 1; done`)
	next(t, c)
	if err := c.Stop(true); err == nil || !strings.Contains(err.Error(), "worker-1") || !p.Killed() {
		t.Errorf("error %v", err)
	}
}

func TestPaused(t *testing.T) {
	c, p := crewOf(t, `echo '{"kind":"ready"}'; while :; do :; done`)
	next(t, c)
	if StandsStill(p.Pid()) {
		t.Error("it runs")
	}
	locktest.OK(t, p.Signal(syscall.SIGSTOP))
	for begun := time.Now(); !StandsStill(p.Pid()); {
		if time.Since(begun) > testLimit {
			t.Fatal("it was stopped")
		}
	}
	if StandsStill(-1) {
		t.Error("no such process")
	}
	_ = c.Stop(true)
}

// The assignment reaches the worker, and an error quotes what the worker wrote.
func TestAssignment(t *testing.T) {
	c, _ := crewOf(t, `read -r assignment; echo "$assignment" | tr -d '{'`)
	if _, err := next(t, c); err == nil || !strings.Contains(err.Error(), "worker-1 wrote") || !strings.Contains(err.Error(), "Owner") {
		t.Errorf("error %v", err)
	}
	_ = c.Stop(false)
}

func TestKill(t *testing.T) {
	c, p := crewOf(t, `read -r assignment; echo '{"kind":"asked","at":1}'; read -r line; printf '{"kind":"gran'; echo >&2 "$line"; sleep 1000`)
	if e, err := next(t, c); err != nil || e.Turn == nil || p.Waiting() == nil {
		t.Errorf("%+v, %v", e, err)
	}
	p.Tell("go")
	locktest.OK(t, p.Kill())
	e, err := next(t, c)
	if err != nil || !e.Ended || !p.Killed() {
		t.Errorf("%+v, %v", e, err)
	}
	if all := c.Turns(); len(all) != 1 || all[0].KilledAt != p.KilledAt || all[0].Gone != e.At || e.At < p.KilledAt {
		t.Errorf("turns %+v", all)
	}
	locktest.Check(t, c.Stop(true))
}
