package demo

import (
	"context"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/queuelock/queuelock/ticket"
)

// testLimit ends a test that waits for what does not happen.
const testLimit = 30 * time.Second

// crewOf is a crew whose workers are a shell script.
func crewOf(t *testing.T, script string) *crew {
	t.Helper()
	c := newCrew(func() *exec.Cmd { return exec.Command("sh", "-c", script) })
	t.Cleanup(c.stop)
	return c
}

// until receives events until one is an error or the end of a process.
func until(t *testing.T, c *crew) (kinds []Kind, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testLimit)
	defer cancel()
	for {
		e, _, err := c.next(ctx, nil)
		if err != nil || e.ended {
			return kinds, err
		}
		kinds = append(kinds, e.record.Kind)
	}
}

func TestARecordCutOffByTheKillIsNoError(t *testing.T) {
	c := crewOf(t, `read -r assignment; echo '{"kind":"ready","at":1}'; printf '{"kind":"gran'; kill -KILL $$`)
	if _, err := c.start(1, Assignment{}); err != nil {
		t.Fatal(err)
	}
	if got, err := until(t, c); err != nil || !slices.Equal(got, []Kind{Ready}) {
		t.Errorf("%v, %v", got, err)
	}
}

func TestARecordThatIsNoneIsAnError(t *testing.T) {
	c := crewOf(t, `read -r assignment; echo "$assignment" | tr -d '{'`)
	if _, err := c.start(7, Assignment{Owner: "somebody"}); err != nil {
		t.Fatal(err)
	}
	if _, err := until(t, c); err == nil || !strings.Contains(err.Error(), "worker 7 wrote") || !strings.Contains(err.Error(), "somebody") {
		t.Errorf("error %v", err)
	}
}

// config is for demos whose workers are scripts, and so do not get far.
func config(script string) Config {
	return Config{
		Workers: 2, Rounds: 1, Hold: time.Millisecond, Table: "t", Entity: "e",
		Command: func() *exec.Cmd { return exec.Command("sh", "-c", script) },
	}
}

func TestRunEndsWhateverTheWorkersDo(t *testing.T) {
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

func TestRunEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := Run(ctx, config("sleep 1000")); err == nil || !strings.Contains(err.Error(), context.DeadlineExceeded.Error()) {
		t.Errorf("error %v", err)
	}
}

func TestAHistoryEndsWithItsProcess(t *testing.T) {
	granted := []Record{{Kind: Asked, At: 10, Round: 1}, {Kind: Granted, At: 11, Round: 1}}
	for name, tc := range map[string]struct {
		records []Record
		want    Attempt
	}{
		"while it held":      {granted, Attempt{Granted: 11, Ended: 30, Gone: 30, KilledAt: 25}},
		"while it waited":    {granted[:1], Attempt{Gone: 30, KilledAt: 25}},
		"between two rounds": {append(slices.Clone(granted), Record{Kind: Ended, At: 20}), Attempt{Granted: 11, Ended: 20}},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHistory(1, time.Second)
			for _, r := range tc.records {
				h.add(r)
			}
			h.died(30, 25)
			got := h.current()
			if got.Granted != tc.want.Granted || got.Ended != tc.want.Ended || got.Gone != tc.want.Gone || got.KilledAt != tc.want.KilledAt {
				t.Errorf("%+v, want %+v", got, tc.want)
			}
		})
	}
	newHistory(1, time.Second).died(30, 25) // before it did anything
}

func TestALateAnswerBelongsToItsTicket(t *testing.T) {
	h := newHistory(1, 100)
	for _, r := range []Record{
		{Kind: Asked, At: 10, Round: 1},
		{Kind: Took, At: 11, Ticket: ticket.FromUint64(5)},
		{Kind: Took, At: 13, Ticket: ticket.FromUint64(8)}, // overtaken, and anew
		{Kind: Granted, At: 20, Round: 1, Ticket: ticket.FromUint64(8)},
		{Kind: Ended, At: 21, Round: 1},
		{Kind: Asked, At: 22, Round: 2},
		{Kind: Queued, At: 24, Sent: 12, Ticket: ticket.FromUint64(5)},
		{Kind: Renewed, At: 30, Ticket: ticket.FromUint64(5)},
		{Kind: Queued, At: 31, Sent: 30, Ticket: ticket.FromUint64(99)}, // of a number that was never taken
	} {
		h.add(r)
	}
	first, second := h.attempts[0], h.attempts[1]
	if first.Took != 13 || len(first.Places) != 1 || first.Places[0] != (Place{ticket.FromUint64(5), 24, 130}) {
		t.Errorf("first round %+v", first)
	}
	if second.Took != 22 || len(second.Places) != 0 {
		t.Errorf("second round %+v", second)
	}
}
