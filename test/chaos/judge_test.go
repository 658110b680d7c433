package chaos

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/queuelock/queuelock/internal/testbed/fault"
	"github.com/queuelock/queuelock/internal/workload/crew"
	"github.com/queuelock/queuelock/internal/workload/turns"
	"github.com/queuelock/queuelock/test/chaos/ledger"
	"github.com/queuelock/queuelock/ticket"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// at is an instant, in milliseconds from some beginning.
func at(ms int) Instant { return Instant(0).Add(time.Duration(ms) * time.Millisecond) }

// honest is a history in which all is well: three turns, the second of which
// ended in a stop for longer than its lease, the third in a kill.
func honest() *History {
	turn := func(w string, number uint64, from, to int) turns.Turn {
		return turns.Turn{Worker: w, Entity: "e", Ticket: ticket.FromUint64(number), Asked: at(from - 50), Granted: at(from), From: at(from), Until: at(to), Ended: at(to + 1)}
	}
	write := func(w string, number uint64, id string, sent int, o turns.Outcome) Write {
		return Write{Write: turns.Write{ID: id, Outcome: o}, Worker: w, Entity: "e", Ticket: ticket.FromUint64(number), Sent: at(sent), Answered: at(sent + 5)}
	}
	row := func(seq int, w string, token, after uint64, id string) ledger.Row {
		return ledger.Row{ID: id, Seq: seq, Token: token, After: after, Worker: w, Times: 1}
	}
	h := &History{
		TTL: 2 * time.Second, WaiterTTL: 2 * time.Second, Late: time.Second, Entities: []string{"e"}, Began: at(0), Ended: at(60_000),
		Turns: []turns.Turn{
			turn("a", 1, 1000, 1100), turn("b", 2, 1200, 1250), turn("c", 4, 4000, 4050), turn("d", 5, 4100, 4150), turn("e", 6, 6500, 6550),
		},
		Stops: []Span{{"b", at(1260), at(5000)}},
		Writes: []Write{
			write("a", 1, "w1", 1090, turns.Applied), write("b", 2, "w2", 5010, turns.Refused), write("c", 4, "w3", 4040, turns.Unknown),
			write("c", 4, "w4", 4045, turns.Unknown), write("e", 6, "w5", 6540, turns.Applied),
		},
		Ledgers: map[string]ledger.Contents{"e": {
			Head: ledger.Head{N: 3, Token: 6, Writes: 3},
			Rows: []ledger.Row{row(1, "a", 1, 0, "w1"), row(2, "c", 4, 1, "w3"), row(3, "e", 6, 4, "w5")},
		}},
	}
	h.Turns[1].Doubted, h.Turns[1].Ended = at(5001), at(5020)
	h.Turns[3].Ended, h.Turns[3].KilledAt, h.Turns[3].Gone = 0, at(4160), at(4161)
	h.Turns[4].Asked, h.Turns[4].Waits = at(3900), true
	h.Writes[1].Stale = true
	return h
}

func TestHonestHistory(t *testing.T) {
	v := Judge(honest())
	if len(v.Problems) > 0 || len(v.Violations) > 0 {
		t.Errorf("%v: %q", v.Violations, v.Problems)
	}
	if v.Stops != 1 || v.StaleRefused != 1 || len(v.Recoveries) != 1 || v.Recoveries[0] != 2340*time.Millisecond || v.Drought != 2400*time.Millisecond {
		t.Errorf("%+v", v)
	}
}

// TestEachViolation checks that the judges find the one violation in each otherwise honest history.
func TestEachViolation(t *testing.T) {
	edit := func(h *History, change func(c *ledger.Contents)) {
		c := h.Ledgers["e"]
		c.Rows = slices.Clone(c.Rows)
		change(&c)
		h.Ledgers["e"] = c
	}
	probe := func(h *History, o turns.Outcome) {
		h.Writes[1].Outcome, h.Writes[1].Probe = o, true
		edit(h, func(c *ledger.Contents) {
			c.Rows = append(c.Rows, ledger.Row{ID: "w2", Probe: true, Token: 2, Times: 1})
		})
	}
	for name, tc := range map[string]struct {
		forge func(h *History)
		want  string // the counts that are not zero
	}{
		"two hold at once":       {func(h *History) { h.Turns[0].Until = at(1220) }, "overlap"},
		"a later ticket before":  {func(h *History) { h.Turns[2].Ticket = ticket.FromUint64(7) }, "regression"},
		"a ticket granted twice": {func(h *History) { h.Turns[4].Ticket = ticket.FromUint64(5) }, "regression"},
		"a newcomer served before a waiter": {func(h *History) {
			h.Restarted = true
			h.Turns[2].Places = []turns.Place{{Ticket: ticket.FromUint64(4), Stood: at(1110), Until: at(5000)}}
			h.Turns[1].Took = at(1150)
		}, "inversion"},
		"a transaction that an engine made again that keeps its token": {func(h *History) {
			h.Restarted, h.Downs = true, []Span{{From: at(4041), To: at(4044)}}
			edit(h, func(c *ledger.Contents) { c.Rows[1].Times, c.Head.Writes = 2, 4 })
		}, "doubled"},
		"a turn written over": {func(h *History) {
			edit(h, func(c *ledger.Contents) { c.Rows[1].Seq, c.Rows[2].Seq, c.Head.N = 1, 2, 2 })
		}, "lost update"},
		"a turn written over, and its row gone": {func(h *History) {
			edit(h, func(c *ledger.Contents) { c.Rows = append(c.Rows[:1:1], c.Rows[2]) })
			h.Writes[2].Outcome = turns.Unknown
		}, "lost update"},
		"the head set back": {func(h *History) {
			edit(h, func(c *ledger.Contents) { c.Head.N, c.Head.Token = 2, 4 })
		}, "lost update"},
		"a write without a row": {func(h *History) {
			edit(h, func(c *ledger.Contents) { c.Head.Writes = 4 })
		}, "lost update"},
		"a turn that had read another": {func(h *History) {
			edit(h, func(c *ledger.Contents) { c.Rows[2].After = 1 })
		}, "lost update"},
		"a stale turn at the end": {func(h *History) {
			edit(h, func(c *ledger.Contents) {
				c.Rows = append(c.Rows, ledger.Row{ID: "w2", Seq: 4, Token: 2, After: 6, Times: 1})
				c.Head = ledger.Head{N: 4, Token: 2, Writes: 4}
			})
			h.Writes[1].Outcome, h.Writes[1].Sent = turns.Applied, at(6600)
		}, "regression, stale accepted"},
		"an answered turn is not there": {func(h *History) { h.Writes[3].Outcome = turns.Applied }, "missing"},
		"a refused turn is there":       {func(h *History) { h.Writes[2].Outcome = turns.Refused }, "phantom"},
		"a turn that no worker wrote":   {func(h *History) { h.Writes = h.Writes[:4] }, "phantom"},
		"a turn made twice": {func(h *History) {
			edit(h, func(c *ledger.Contents) { c.Rows[1].Times, c.Head.Writes = 2, 4 })
		}, "doubled"},
		"a turn of unknown outcome made twice": {func(h *History) {
			edit(h, func(c *ledger.Contents) { c.Rows[2].Times, c.Head.Writes = 2, 4 })
			h.Writes[4].Outcome, h.Writes[4].Answered = turns.Unknown, 0
		}, "doubled"},
		"it believes after a stop": {func(h *History) { h.Turns[1].Until = at(5002) }, "believer, overlap"},
		"it believes after a stop, and is killed": {func(h *History) {
			h.Turns[1].Until, h.Turns[1].Doubted, h.Turns[1].Ended, h.Turns[1].Gone = at(5002), 0, 0, at(5005)
		}, "believer, overlap"},
		"a stale probe is made":                   {func(h *History) { probe(h, turns.Applied) }, "stale accepted"},
		"a stale probe is made, and not answered": {func(h *History) { probe(h, turns.Unknown) }, "stale accepted"},
		"a late write is made in a later turn of the block": {func(h *History) {
			h.Turns[2].Worker, h.Turns[3].Worker, h.Turns[2].Followed = "d", "d", true
			h.Writes = append(h.Writes, Write{Write: turns.Write{ID: "w6", Late: true, Seq: 3, Outcome: turns.Applied}, Worker: "d", Entity: "e", Ticket: ticket.FromUint64(4), Sent: at(4110), Answered: at(4115)})
			edit(h, func(c *ledger.Contents) {
				c.Rows = append(c.Rows, ledger.Row{ID: "w6", Seq: 3, Token: 4, After: 4, Worker: "d", Times: 1})
				c.Head.Writes = 4
			})
		}, "lost update, regression, stale accepted"},
		"a recovery takes too long": {func(h *History) {
			h.Turns[4].Granted, h.Turns[4].From, h.Turns[4].Until = at(7700), at(7700), at(7750)
		}, "slow"},
		"no recovery": {func(h *History) {
			h.Turns[4] = turns.Turn{Worker: "e", Entity: "e", Asked: at(3900), Waits: true}
			edit(h, func(c *ledger.Contents) { c.Rows, c.Head = c.Rows[:2], ledger.Head{N: 2, Token: 4, Writes: 2} })
			h.Writes = h.Writes[:4]
		}, "slow, stuck"},
		"no grant": {func(h *History) {
			h.Turns = append(h.Turns, turns.Turn{Worker: "f", Entity: "e", Asked: at(7000), Waits: true})
		}, "stuck"},
		"an orphan is left":     {func(h *History) { h.Orphans = []string{"e: a holder"} }, "orphan"},
		"an error out of place": {func(h *History) { h.Errors = []Error{{"a", "granted: nonsense"}} }, "unexplained"},
	} {
		t.Run(name, func(t *testing.T) {
			h := honest()
			tc.forge(h)
			v := Judge(h)
			got := slices.Sorted(maps.Keys(v.Violations))
			if strings.Join(got, ", ") != tc.want || len(v.Problems) == 0 {
				t.Errorf("found %q, want %s: %q", got, tc.want, v.Problems)
			}
		})
	}
}

func TestNoFalseAlarm(t *testing.T) {
	for name, forge := range map[string]func(h *History){
		"a grant that was known too late": func(h *History) {
			h.Turns = append(h.Turns, turns.Turn{Worker: "f", Entity: "e", Ticket: ticket.FromUint64(3), Granted: at(4120), Doubted: at(4121), Ended: at(4130)})
		},
		"a turn of unknown outcome that is not there": func(h *History) { h.Writes[3].Answered = 0 },
		"a stop between two turns":                    func(h *History) { h.Stops = append(h.Stops, Span{"a", at(1200), at(4000)}) },
		"a stop that is shorter than the lease": func(h *History) {
			h.Stops = []Span{{"c", at(4010), at(4040)}}
		},
		"an answer of before the stop that is reported after it": func(h *History) { h.Turns[1].Until = at(1259) },
		"a stale write with no grant after it": func(h *History) {
			h.Writes = append(h.Writes, Write{Write: turns.Write{ID: "w6", Stale: true, Probe: true, Outcome: turns.Applied}, Worker: "e", Entity: "e", Ticket: ticket.FromUint64(6), Sent: at(9000), Answered: at(9001)})
			h.Ledgers["e"] = ledger.Contents{Head: h.Ledgers["e"].Head, Rows: append(slices.Clone(h.Ledgers["e"].Rows), ledger.Row{ID: "w6", Probe: true, Token: 6, Times: 1})}
		},
		"a transaction that a restarted engine made again": func(h *History) {
			h.Downs = []Span{{From: at(4041), To: at(4044)}}
			c := h.Ledgers["e"]
			c.Rows[1].Times, c.Head.Writes = 2, 4
			h.Ledgers["e"] = c
		},
		"a slow recovery without a waiter": func(h *History) { h.Turns[4].Waits = false; h.Turns[4].Granted = at(9000) },
		"a recovery by a late waiter": func(h *History) {
			h.Turns[4].Granted = at(9000)
			h.Turns[4].Asked = at(6000)
		},
		"a slow recovery of a partitioned waiter": func(h *History) {
			h.Faults = []Fault{{at(5000), "e", "Query", fault.SwallowRequest, false}}
			h.Turns[4].Granted = at(9000)
		},
		"a slow recovery behind a dead waiter": func(h *History) {
			h.Turns = append(h.Turns, turns.Turn{Worker: "f", Entity: "e", Asked: at(3000), Gone: at(4001), KilledAt: at(4000), Waits: true})
			h.Turns[4].Granted = at(9000)
		},
		"a slow recovery beside an outage": func(h *History) {
			h.Downs = []Span{{From: at(5000), To: at(6000)}}
			h.Turns[4].Granted = at(9000)
		},
		"a long wait of a paused worker": func(h *History) {
			h.Turns = append(h.Turns, turns.Turn{Worker: "f", Entity: "e", Asked: at(7000), Waits: true})
			h.Stops = append(h.Stops, Span{"f", at(8000), at(50_000)})
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := honest()
			forge(h)
			if v := Judge(h); len(v.Problems) > 0 || len(v.Violations) > 0 {
				t.Errorf("found %v: %q", v.Violations, v.Problems)
			}
		})
	}
}

// TestFaultOfAnotherLock checks that a fault of another lock does not count as a disturbance.
func TestFaultOfAnotherLock(t *testing.T) {
	h := honest()
	h.Faults = []Fault{
		{at(5000), "other", "UpdateItem", fault.SwallowRequest, false},
		{at(5000), "e", "UpdateItem", fault.Duplicate, false},
		{at(5000), "e", "Query", fault.Duplicate, true},
		{at(3000), "e", "UpdateItem", fault.SwallowRequest, false},
	}
	if v := Judge(h); len(v.Recoveries) != 1 {
		t.Errorf("%v", v.Disturbed)
	}
}

func TestBlocks(t *testing.T) {
	turn := func(w string, number uint64, followed bool) turns.Turn {
		return turns.Turn{Worker: w, Entity: "e", Ticket: ticket.FromUint64(number), Granted: at(int(number)), Followed: followed}
	}
	n, followed, longest := blocks([]turns.Turn{
		turn("a", 3, false), turn("a", 1, true), turn("a", 2, true), // of three
		turn("b", 4, false),
		turn("a", 5, true), turn("a", 6, false), // of two
		{Worker: "a", Entity: "e", Asked: at(7)},
	})
	if n != 2 || followed != 3 || longest != 3 {
		t.Errorf("%d blocks, %d turns followed, the longest is of %d", n, followed, longest)
	}
}

func TestHistoryAdd(t *testing.T) {
	h, p, nine := &History{}, &crew.Process{Track: turns.NewTrack("w", 0)}, ticket.FromUint64(9)
	for _, r := range []turns.Record{
		{Kind: turns.Writing, At: 6, Entity: "e", Ticket: nine, Write: &turns.Write{ID: "x", Seq: 2}},
		{Kind: turns.Wrote, At: 8, Entity: "e", Ticket: nine, Write: &turns.Write{ID: "x", Seq: 2, Outcome: turns.Applied}},
		{Kind: turns.Wrote, At: 8, Entity: "e", Error: "read the ledger: nonsense", Odd: true},
		{Kind: turns.Writing, At: 9, Entity: "e", Ticket: nine, Write: &turns.Write{ID: "y"}},
		{Kind: turns.Ended, At: 10, Entity: "e", Ticket: nine},
	} {
		h.add(p, r)
	}
	if w := h.Writes; len(w) != 2 || w[0].Outcome != turns.Applied || w[0].Sent != 6 || w[0].Answered != 8 || w[0].Worker != "w" || w[0].Ticket != nine ||
		w[1].Outcome != turns.Unknown || w[1].Answered != 0 {
		t.Errorf("writes %+v", w)
	}
	if len(h.Errors) != 1 || h.Errors[0] != (Error{"w", "wrote: read the ledger: nonsense"}) {
		t.Errorf("errors %v", h.Errors)
	}
}

const ttl = 2 * time.Second

func TestPlanOfSeed(t *testing.T) {
	a, b := Plan(1, time.Minute, ttl, 16, 4), Plan(1, time.Minute, ttl, 16, 4)
	if !slices.Equal(a, b) {
		t.Error("one seed, two plans")
	}
	if slices.Equal(a, Plan(2, time.Minute, ttl, 16, 4)) {
		t.Error("two seeds, one plan")
	}
	longer := Plan(1, 2*time.Minute, ttl, 16, 4)
	if len(longer) <= len(a) || !slices.Equal(a, longer[:len(a)]) {
		t.Error("a longer plan does not begin like a shorter one")
	}
}

func TestPlan(t *testing.T) {
	for seed := range uint64(100) {
		seen := map[Kind]int{}
		last := time.Duration(0)
		for _, s := range Plan(seed, 45*time.Second, ttl, 16, 4) {
			seen[s.Kind]++
			switch {
			case s.At < last, s.At >= 45*time.Second:
				t.Errorf("seed %d: out of order or time: %+v", seed, s)
			case s.Kind == StopWorker && s.Length <= ttl:
				t.Errorf("seed %d: a stop within the lease: %+v", seed, s)
			case s.Follows && !s.Holder:
				t.Errorf("seed %d: a turn that follows, of no holder: %+v", seed, s)
			case s.Worker < 0 || s.Worker >= 16 || s.Entity < 0 || s.Entity >= 4:
				t.Errorf("seed %d: no worker there: %+v", seed, s)
			}
			last = s.At
		}
		for kind := range kindNames {
			if seen[Kind(kind)] == 0 {
				t.Errorf("seed %d: no %v", seed, Kind(kind))
			}
		}
	}
}
