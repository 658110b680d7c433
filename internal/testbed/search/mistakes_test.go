package search

import (
	"slices"
	"strings"
	"testing"

	"github.com/queuelock/queuelock/clause"
)

// The files of the search.
const (
	checkFile = "internal/testbed/search/check.go"
	hearFile  = "internal/testbed/search/hear.go"
	itemsFile = "internal/testbed/search/items.go"
	movesFile = "internal/testbed/search/moves.go"
	netFile   = "internal/testbed/search/net.go"
	playFile  = "internal/testbed/search/play.go"
	txFile    = "internal/testbed/search/tx.go"
)

// searchMistakes are mistakes of what is beside the members: of what packages heartbeat and waitpolicy say of time, of callers,
// and of programs that send. They are planted in the source of the search.
var searchMistakes = []sourceMistake{
	{name: "a grant by name that is not accepted ends with its own lease", world: "names, ended", finds: "turn",
		edits: []edit{reads("h.Named = h.Named && ownerOf(h.ID) == int(k.node)")}},
	{name: "a holder reads a row that is not the next", world: "names", finds: "fifo",
		edits: []edit{{netFile, "if t == l.below {", "if t == l.below || t == l.below+1 {"}}},
	{name: "a grant is used after its lease", world: "suspended before an answer", finds: "judged",
		edits: []edit{
			{playFile, "return c.v.clocks[c.v.node] < clockOf(sent)+c.s.ttl", "return true"},
			longer("!row"),
		}},
	{name: "a grant by name is used after the lease of the row", world: "names, ended", finds: "judged",
		edits: []edit{
			{playFile, `_ bool) bool {
	return `, `named bool) bool {
	return named || `},
			longer("row"),
		}},
	{name: "leases of others are judged to have ended at any time", world: "two turns each", finds: "judged",
		edits: []edit{{playFile, "case dead, ", "case dead, n != int(c.v.node), "}}},
	{name: "a holder relies on its lock until its release is answered", world: "lost", finds: "belief",
		edits: []edit{
			{checkFile, "c.lost || c.state != holds || c.updates", "c.lost || !c.served() || c.updates"},
			relies,
		}},
	{name: "a request without an answer counts as not applied", world: "gives up", finds: "clean",
		edits: []edit{{netFile, `	if m.look.is {
		m.reply = uint8(machine.ReplyFailed)
	}
`, "	m.reply = uint8(machine.ReplyFailed)\n"}}},
	{name: "a holder relies on being alone until its downgrade is answered", world: "downgrade, lost", finds: "belief",
		edits: []edit{{txFile, "c.shared = true\n			c.calling++", "c.calling++"}}},
	{name: "a holder relies on its lock after an update without an answer", world: "update", finds: "belief",
		edits: []edit{
			{checkFile, "c.state != holds || c.updates || c.open {", "c.state != holds {"},
			relies,
		}},
	{name: "TTL deletes a record while a request is on its way", world: "forgets, late", finds: "fencing",
		edits: []edit{{movesFile, "return may && w.net[0].role == noMsg", "return may"}}},
	{name: "an update without an answer counts as not made", world: "update", finds: "reported",
		edits: []edit{{hearFile, "case declined && t.Open:", "case false:"}}},
	{name: "x is read plainly after an eviction", world: "transaction, evicted", finds: "lost",
		edits: []edit{{hearFile, "c.unsettled = e.Unsettled", "c.unsettled = false"}}},
	{name: "the next release removes what says that a transaction is unsettled", world: "transaction, idle", finds: "lost",
		edits: []edit{
			{itemsFile, "		o.item = it.add(after, w.row > 0)", `		if w.Name == "RELEASE" && !slices.Contains(w.Changes(), "sets unsettled") {
			delete(after, attr.Unsettled)
		}
		o.item = it.add(after, w.row > 0)`},
		}},
	{name: "a transaction has a number, and no token", world: "transaction, evicted twice", finds: "reported",
		edits: []edit{{txFile, "c.token == m.token", "false"}}},
	{name: "others do not wait for the lock delay", world: "lock delay", finds: "delay",
		edits: judged("Delay = 0")},
	{name: "others do not wait until a queue opens", world: "at least, ended", finds: "closed",
		edits: judged("AtLeast, l.NotBefore = 0, zeroTime")},
	{name: "others do not wait until a queue opens, after a crash", world: "at least, crash", finds: "closed",
		edits: judged("AtLeast, l.NotBefore = 0, zeroTime")},
	{name: "a caller computes although the record has a result", world: "once", finds: "result",
		edits: []edit{{hearFile, "spec.Once && !e.Result.Exists(); spec", "spec.Once; spec"}}},
	{name: "a result is left by a write after the release", world: "once", finds: "result",
		edits: []edit{
			{movesFile, "c.computes = c.computes && !c.lost; c.computes {", "c.computes = c.computes && !c.lost; false {"},
			{hearFile, `		if c.computes {
			s.resultLeft(w, i)
		}
`, `		if c.computes {
			s.leaveResult(w, i, c)
		}
`},
			{checkFile, "// meant checks the holder", `func (s *search) leaveResult(w *world, i int, c *caller) {
	result := &queue.Result{Ticket: tickets[c.ticket], Value: []byte{c.ticket}}
	later := queue.Ending{ID: s.ids[c.id], Ticket: tickets[c.ticket], Result: result}.Release(queue.FormHandOff, zeroTime)
	k := slices.Index(later.Changes(), "sets result")
	later.Name, later.If, later.Do = "RESULT", nil, later.Do[k:k+1]
	m := msg{role: stray, node: int8(i)}
	m.write[0] = s.items.send(later, 0, "")
	s.post(w, m)
}

// meant checks the holder`},
		}},
	{name: "rows whose lease has ended count, in a full queue", world: "full, crash", finds: "wedged",
		edits: []edit{deadCount}},
	{name: "rows whose lease has ended count, of a group", world: "latest, crash", finds: "wedged",
		edits: []edit{deadCount}},
	{name: "a waiter asks holders of other groups to give way", world: "cancels", finds: "asked",
		edits: []edit{reads(`h.Group = "g"`)}},
	{name: "a waiter asks a holder at each look", world: "cancels", finds: "asked",
		edits: []edit{reads("h.Revoked = nil")}},
}

var (
	relies = edit{checkFile, `	return false
}

// recordChanged`, `	return true
}

// recordChanged`}
	deadCount = edit{playFile, "	case l.Endless():", `	case strings.Contains(id, "-r") && n != int(c.v.node):
		return unit
	case l.Endless():`}
)

// reads changes the holders of the records that a member reads.
func reads(change string) edit {
	return edit{playFile, "	return s.answerOf(e, now)", `	a := s.answerOf(e, now)
	a.Record.Holders = slices.Clone(a.Record.Holders)
	for i := range a.Record.Holders {
		h := &a.Record.Holders[i]
		` + change + `
	}
	if a.Seen != nil {
		a.Seen.Record = a.Record
	}
	return a`}
}

// longer lets a lease of an entry, or of a row, end a step of the clock later for its owner.
func longer(of string) edit {
	return edit{playFile, "	return at(clockOf(sent)+c.s.ttl, 0)", `	if ` + of + ` {
		return at(clockOf(sent)+c.s.ttl+1, 0)
	}
	return at(clockOf(sent)+c.s.ttl, 0)`}
}

// judged leaves something out of leases as others judge them.
func judged(change string) []edit {
	return []edit{
		{playFile, "	n := ownerOf(id)\n", "	n, judged := ownerOf(id), *l\n	l = &judged\n	l." + change + "\n"},
		{checkFile, "		own := !n.dead && slices", "		l := &h.Lease\n		l." + change + "\n		own := !n.dead && slices"},
	}
}

// TestMistakes plants mistakes of what is beside the members, and finds each in a world.
func TestMistakes(t *testing.T) { plantAll(t, searchMistakes) }

// without leaves a condition and a change out of the writes with a name.
func without(name, condition, change string) Plant {
	return func(w clause.Write) clause.Write {
		if w.Name != name {
			return w
		}
		if condition != "" {
			w, _ = w.Without(condition)
		}
		if i := slices.Index(w.Changes(), change); i >= 0 {
			w.Do = slices.Delete(slices.Clone(w.Do), i, i+1)
		}
		return w
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
		{"TAKE", "removes the TTL attribute", "forgets", "forgotten"},
		{"SETTLE", "sets holders.#id.made", "transaction, late", "denied"},
		{"FENCE", "sets holders.#id.made", "transaction, cancelled", "reported"},
		{"RELEASE", "sets result", "once", "reported"},
	} {
		t.Run(c.write+"/"+c.change, func(t *testing.T) {
			t.Parallel()
			w := worldNamed(c.world)
			w.MaxStates = 1_000_000
			r := Run(w, without(c.write, "", c.change), nil)
			if !strings.HasPrefix(r.Bad, c.finds+":") {
				t.Errorf("in %q it finds %q in %d states, want %s:\n%s", c.world, r.Bad, r.States, c.finds, r.Story)
			}
			t.Logf("%d steps, %d states: %s", r.Steps, r.States, r.Bad)
		})
	}
}
