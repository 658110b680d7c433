package chaos

import (
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/queuelock/queuelock/internal/testbed/chaos/worker"
)

// testLimit ends a test that waits for what does not happen.
const testLimit = 30 * time.Second

// crewOf is a crew of one, whose worker is a shell script.
func crewOf(t *testing.T, script string) (*crew, *process) {
	t.Helper()
	c := newCrew(func() *exec.Cmd { return exec.Command("sh", "-c", script) })
	p, err := c.start(0, worker.Assignment{Name: "worker-1"})
	if err != nil {
		t.Fatal(err)
	}
	return c, p
}

func next(t *testing.T, c *crew) event {
	t.Helper()
	select {
	case e := <-c.events:
		return e
	case <-time.After(testLimit):
		t.Fatal("no event")
		return event{}
	}
}

func TestWhatAWorkerReportsIsAnEventAndSoIsItsEnd(t *testing.T) {
	c, p := crewOf(t, `read -r assignment; echo '{"kind":"ready","at":7}'; exit 3`)
	if e := next(t, c); e.err != nil || e.record.Kind != worker.Ready || e.record.At != 7 {
		t.Errorf("%+v", e)
	}
	if e := next(t, c); !e.ended || p.Code() != 3 {
		t.Errorf("%+v", e)
	}
	p.gone = true
	if err := c.stop(true); err != nil {
		t.Error(err)
	}
}

func TestARecordThatTheKillCutOffIsNoError(t *testing.T) {
	c, p := crewOf(t, `printf '{"kind":"gran'; kill -KILL $$`)
	if e := next(t, c); e.err != nil || !e.ended {
		t.Errorf("%+v", e)
	}
	p.gone = true
	if err := c.stop(true); err != nil {
		t.Error(err)
	}
}

func TestWhatIsNoRecordIsAnError(t *testing.T) {
	c, p := crewOf(t, `echo nonsense`)
	if e := next(t, c); e.err == nil || !strings.Contains(e.err.Error(), `worker-1 wrote "nonsense"`) {
		t.Errorf("%+v", e)
	}
	if e := next(t, c); !e.ended {
		t.Errorf("%+v", e)
	}
	p.gone = true
	if err := c.stop(true); err != nil {
		t.Error(err)
	}
}

func TestWhoDoesNotEndIsKilledAndTold(t *testing.T) {
	c, p := crewOf(t, `echo '{"kind":"ready"}'; while :; do sleep 1; done`)
	next(t, c)
	if err := c.stop(true); err == nil || !strings.Contains(err.Error(), "worker-1") || !p.Killed() {
		t.Errorf("error %v", err)
	}
}

func TestAProcessStandsStillWhenAllOfItWasStopped(t *testing.T) {
	c, p := crewOf(t, `echo '{"kind":"ready"}'; while :; do :; done`)
	next(t, c)
	if standsStill(p.Pid()) {
		t.Error("it runs, and is said to stand still")
	}
	if err := p.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	for begun := time.Now(); !standsStill(p.Pid()); {
		if time.Since(begun) > testLimit {
			t.Fatal("it was stopped, and is not said to stand still")
		}
	}
	if standsStill(-1) {
		t.Error("nobody stands still")
	}
	_ = c.stop(true)
}

func TestATrackFollowsAProcess(t *testing.T) {
	h, p := &History{}, &process{name: "w"}
	for _, r := range []worker.Record{
		{Kind: worker.Asked, At: 1, Entity: "e", Waits: true},
		{Kind: worker.Denied, At: 2, Entity: "e", Error: "busy"},
		{Kind: worker.Asked, At: 3, Entity: "e"},
		{Kind: worker.Granted, At: 4, Entity: "e", Ticket: 9, Believed: 5},
		{Kind: worker.Writing, At: 6, Entity: "e", Ticket: 9, Write: &worker.Write{ID: "x", Seq: 2}},
		{Kind: worker.Wrote, At: 8, Entity: "e", Ticket: 9, Write: &worker.Write{ID: "x", Seq: 2, Outcome: worker.Applied}},
		{Kind: worker.Wrote, At: 8, Entity: "e", Error: "read the ledger: nonsense", Odd: true},
		{Kind: worker.Ended, At: 10, Entity: "e", Ticket: 9, Believed: 9},
		{Kind: worker.Done, At: 11},
	} {
		h.add(p, r)
		if got := h.holding(p) != nil; got != (r.At >= 4 && r.At < 10) {
			t.Errorf("holding after %s: %v", r.Kind, got)
		}
	}
	if a := h.Attempts; len(a) != 2 || a[0] != (Attempt{"w", "e", 1, 2, true}) || a[1] != (Attempt{"w", "e", 3, 4, false}) {
		t.Errorf("attempts %+v", a)
	}
	if turns := h.Turns; len(turns) != 1 || turns[0] != (Turn{Worker: "w", Entity: "e", Ticket: 9, Asked: 3, Granted: 4, From: 5, Believed: 9, Ended: 10}) {
		t.Errorf("turns %+v", turns)
	}
	if w := h.Writes; len(w) != 1 || w[0].Outcome != worker.Applied || w[0].Sent != 6 || w[0].Answered != 8 {
		t.Errorf("writes %+v", w)
	}
	if len(h.Errors) != 1 || !p.done {
		t.Errorf("errors %v, done %v", h.Errors, p.done)
	}
}
