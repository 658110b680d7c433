package search

import (
	"strings"
	"testing"
)

// TestMistakes plants mistakes of drivers, and transitions that are skipped, and finds each in a world.
func TestMistakes(t *testing.T) {
	for _, c := range []struct {
		mistake Mistake
		world   string
		finds   string
	}{
		{NameEnds, "names, ended", "turn"},
		{NotNext, "names", "fifo"},
		{LateGrant, "suspended before an answer", "judged"},
		{LateName, "names, ended", "judged"},
		{EarlyEnd, "two turns each", "judged"},
		{StillHolds, "lost", "exclusion"},
		{NotApplied, "gives up", "clean"},
		{StillAlone, "downgrade, lost", "exclusion"},
		{StillOpen, "update", "exclusion"},
		{NotUpdated, "update", "reported"},
		{PlainRead, "transaction, evicted", "lost"},
		{OpenOnce, "transaction, idle", "lost"},
		{NoToken, "transaction, evicted twice", "reported"},
		{NoDelay, "lock delay", "delay"},
		{NoClosing, "at least, ended", "closed"},
		{NoClosing, "at least, crash", "closed"},
		{ComputesAgain, "once", "result"},
		{ResultLater, "once", "result"},
		{DeadCount, "full, crash", "wedged"},
		{DeadCount, "latest, crash", "wedged"},
		{AsksAll, "cancels", "asked"},
		{AsksAgain, "cancels", "asked"},
	} {
		t.Run(string(c.mistake), func(t *testing.T) {
			t.Parallel()
			w := worldNamed(c.world)
			w.MaxStates = 1_000_000
			r := Run(w, Plant{Mistake: c.mistake}, nil)
			if !strings.HasPrefix(r.Bad, c.finds+":") {
				t.Errorf("in %q it finds %q in %d states, want %s:\n%s", c.world, r.Bad, r.States, c.finds, r.Story)
			}
			t.Logf("%d steps, %d states: %s", r.Steps, r.States, r.Bad)
		})
	}
}

// TestChanges leaves out a change of a write: the mark of how a turn has ended.
func TestChanges(t *testing.T) {
	for _, c := range []struct{ write, change, world, finds string }{
		{"RELEASE", "sets released", "operator, lost", "reported"},
		{"EVICT", "sets evicted", "operator, lost", "reported"},
		{"RELEASE", "sets holders.#id", "at least", "closed"},
		{"RESUME", "sets evicted", "resumed, lost", "reported"},
		{"TAKE", "sets, if absent, evicted", "lost", "rare"},
		{"RELEASE", "removes holdMode", "downgrade", "exclusion"},
		{"SETTLE", "sets holders.#id.made", "transaction, late", "denied"},
		{"FENCE", "sets holders.#id.made", "transaction, cancelled", "reported"},
		{"RELEASE", "sets result", "once", "reported"},
	} {
		t.Run(c.write+"/"+c.change, func(t *testing.T) {
			t.Parallel()
			w := worldNamed(c.world)
			w.MaxStates = 1_000_000
			r := Run(w, Plant{Write: c.write, Change: c.change}, nil)
			if !strings.HasPrefix(r.Bad, c.finds+":") {
				t.Errorf("in %q it finds %q in %d states, want %s:\n%s", c.world, r.Bad, r.States, c.finds, r.Story)
			}
			t.Logf("%d steps, %d states: %s", r.Steps, r.States, r.Bad)
		})
	}
}
