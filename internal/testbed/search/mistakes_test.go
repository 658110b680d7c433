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
		{RowLeft, "names", "judged"},
		{RowEarly, "names, lost of three", "judged"},
		{RowGone, "names, gives up, slow", "judged"},
		{NameEnds, "names, sleeper", "turn"},
		{NameRemoved, "names, sleeper of two", "turn"},
		{NotNext, "names", "fifo"},
		{PassNotNext, "passes", "fifo"},
		{NoReset, "two turns each", "clean"},
		{LateGrant, "suspended before an answer", "reported"},
		{LateName, "names, suspended", "reported"},
		{EarlyEnd, "two turns each", "judged"},
		{NoRemoval, "gives up", "clean"},
		{StillHolds, "lost", "exclusion"},
		{NotApplied, "gives up", "clean"},
		{StillAlone, "downgrade, lost", "exclusion"},
		{StillOpen, "update", "exclusion"},
		{NotUpdated, "update", "reported"},
		{SameCall, "update, declined and late", "reported"},
		{PlainRead, "transaction, evicted", "lost"},
		{LastGrant, "transaction, idle and evicted", "lost"},
		{OpenOnce, "transaction, idle", "lost"},
		{MadeVisible, "transaction, lost", "reported"},
		{ReleaseInTx, "transaction", "lost"},
		{ReleaseEarly, "transaction", "lost"},
		{ReleaseUnsettled, "transaction, lost", "lost"},
		{ReleaseRefused, "transaction, refused", "lost"},
		{NextUnsettled, "transaction, next", "lost"},
		{NextRefused, "transaction, next and refused", "lost"},
		{NoToken, "transaction, evicted twice", "reported"},
		{NoDelay, "lock delay", "delay"},
		{RemoveOnLoss, "lock delay", "delay"},
		{NoClosing, "at least, ended", "closed"},
		{NoClosing, "at least, crash", "closed"},
		{NotClosed, "at least", "closed"},
		{SettleSame, "transaction, late", "reported"},
		{NoAdvance, "blocks, fence", "fence"},
		{AdvanceEarly, "blocks, fence", "fence"},
		{AdvanceOnce, "blocks, fence, late", "fence"},
		{OldCondition, "blocks, fence", "fence"},
		{NewInBlock, "blocks", "fencing"},
		{BackTwice, "blocks, fence, operator", "callers"},
		{NotBack, "blocks, fence, suspended", "callers"},
		{ResetFirst, "blocks", "clean"},
		{Continues, "blocks, fence, suspended", "fence"},
		{SameToken, "blocks", "fencing"},
		{GoneServed, "blocks, gives up", "callers"},
		{ComputesAgain, "once", "result"},
		{ResultLater, "once", "result"},
		{CountsOnce, "full", "full"},
		{DeadCount, "full, crash", "full"},
		{DeadCount, "latest, crash", "superseded"},
		{OnlyAhead, "latest", "superseded"},
		{PassesLatest, "latest, passes", "superseded"},
		{NamesLatest, "latest, names", "superseded"},
		{AsksAll, "cancels", "asked"},
		{AsksAgain, "cancels", "asked"},
	} {
		t.Run(string(c.mistake), func(t *testing.T) {
			t.Parallel()
			w := worldNamed(c.world)
			w.MaxStates = 400_000
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
			w.MaxStates = 400_000
			r := Run(w, Plant{Write: c.write, Change: c.change}, nil)
			if !strings.HasPrefix(r.Bad, c.finds+":") {
				t.Errorf("in %q it finds %q in %d states, want %s:\n%s", c.world, r.Bad, r.States, c.finds, r.Story)
			}
			t.Logf("%d steps, %d states: %s", r.Steps, r.States, r.Bad)
		})
	}
}

// TestOlderRecords checks that nothing is broken by a record that is older than one which a waiter, or another one of its
// client, has seen: CLAIM decides. Record.Follows keeps what callers are shown from going back.
func TestOlderRecords(t *testing.T) {
	for _, mistake := range []Mistake{LineOlder, TakesOlder} {
		for _, name := range []string{"shown", "shown, ended"} {
			t.Run(string(mistake)+"/"+name, func(t *testing.T) {
				t.Parallel()
				if r := Run(worldNamed(name), Plant{Mistake: mistake}, nil); r.Bad != "" {
					t.Errorf("%s\n%s", r.Bad, r.Story)
				}
			})
		}
	}
}
