package plant_test

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/queuelock/queuelock/internal/testbed/plant"
)

var try = flag.Bool("plant.try", false, `plant each mistake, and see that "make try" fails`)

// The mistakes are in what drives the lock: the machines, the member and its driver.
var mistakes = []struct{ name, file, old, text string }{
	{"accepting a grant by name does not write the holder's ttl", "internal/machine/hold.go",
		"		r.TTL = h.grant.TTL\n", ""},
	{"a lock takes an older record for a later one", "internal/machine/hold.go",
		"	if rec.FollowsStage(h.seen.Stage, func(o queue.Holder) (int64, bool) { return h.seen.beat, o.ID == h.grant.ID }) {\n		h.keeps(rec)\n	}\n", "	h.keeps(rec)\n"},
	{"a look declares a named holder gone that the answer before has not shown", "queue/byname.go",
		"s.Abandoned(h, t) && h.ID == s.Suspect:", "s.Abandoned(h, t):"},
	{"a new ticket forgets the attempts with the one before", "internal/machine/wait.go",
		"	s.turn = turn{entered: len(s.all)}\n", "	s.all = nil\n	s.turn = turn{}\n"},
	{"a resumed lock forgets its longer lock delay", "internal/machine/resume.go",
		"	entry.Lease.Delay = max(entry.Lease.Delay, old.Lease.Delay) // for requests that are under way\n", ""},
	{"a row that a request without an answer has put gets the id of the next one", "internal/machine/place.go",
		"			p.Row.ID = e.ID\n", "			_ = e.ID\n"},
	{"a turn that is passed on in memory gets a fresh deadline", "internal/member/release.go",
		"	h.hold, h.index = *next, i\n", "	h.hold, h.index, h.ends = *next, i, s.c.Ends(s.b.kind, s.now, false)\n"},
	{"the deadline of a lock counts from the answer", "internal/member/hold.go",
		"ends: s.c.Ends(k, a.Sent, named),", "ends: s.c.Ends(k, s.now, named),"},
	{"the answer of a PASS is forgotten after its caller gave up", "internal/member/release.go",
		"	s.b.offered = false\n", "	s.b.offered = false\n	if s.b.leaving {\n		s.cleans()\n		return\n	}\n"},
	{"a grant that arrives after all callers have left is kept", "internal/member/hold.go",
		"	case s.b.leaving && s.b.kind.Keep == 0 || !waits:\n		s.release().calls(machine.HoldEvent{Kind: machine.HoldRelease})\n", "	case s.b.leaving && s.b.kind.Keep == 0 || !waits:\n		s.waiting(s.b).left()\n"},
	{"a caller hears that its wait is over before its row is deleted", "internal/play/send.go",
		"		if p.deletes(c) {\n", "		if false {\n"},
}

// TestText checks that each mistake can still be planted.
func TestText(t *testing.T) {
	for _, m := range mistakes {
		plant.Check(t, "../../..", m.name, plant.Edit{File: m.file, Old: m.old, New: m.text})
	}
}

func TestTry(t *testing.T) {
	if !*try {
		t.Skip("without -plant.try")
	}
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range mistakes {
		t.Run(m.name, func(t *testing.T) {
			edit := plant.Edit{File: m.file, Old: m.old, New: m.text}
			cmd := exec.CommandContext(t.Context(), "make", "try")
			cmd.Dir, cmd.Env = root, append(os.Environ(), "GOFLAGS=-vet=off -overlay="+plant.Overlay(t, root, edit))
			if out, err := cmd.CombinedOutput(); err == nil {
				t.Errorf("it is not found:\n%s", out)
			} else {
				t.Logf("%.2000s", out)
			}
		})
	}
}
