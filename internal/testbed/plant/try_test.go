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
var mistakes = []struct {
	name string
	plant.Edit
}{
	{"accepting a grant by name does not write the holder's ttl", plant.Edit{
		File: "internal/machine/hold.go", Old: "		r.TTL = h.grant.TTL\n", New: "",
	}},
	{"a lock takes an older record for a later one", plant.Edit{
		File: "internal/machine/hold.go",
		Old:  "	if rec.FollowsStage(h.seen.Stage, func(o queue.Holder) (int64, bool) { return h.seen.beat, o.ID == h.grant.ID }) {\n		h.keeps(rec)\n	}\n",
		New:  "	h.keeps(rec)\n",
	}},
	{"a look declares a named holder gone that the answer before has not shown", plant.Edit{
		File: "queue/byname.go", Old: "s.Abandoned(h, t) && h.ID == s.Suspect:", New: "s.Abandoned(h, t):",
	}},
	{"a new ticket forgets the attempts with the one before", plant.Edit{
		File: "internal/machine/wait.go", Old: "	s.turn = turn{entered: len(s.all)}\n", New: "	s.all = nil\n	s.turn = turn{}\n",
	}},
	{"a resumed lock forgets its longer lock delay", plant.Edit{
		File: "internal/machine/resume.go", Old: "	entry.Lease.Delay = max(entry.Lease.Delay, old.Lease.Delay) // for requests that are under way\n", New: "",
	}},
	{"a row that a request without an answer has put gets the id of the next one", plant.Edit{
		File: "internal/machine/place.go", Old: "			p.Row.ID = e.ID\n", New: "			_ = e.ID\n",
	}},
	{"a turn that is passed on in memory gets a fresh deadline", plant.Edit{
		File: "internal/member/release.go",
		Old:  "	h.hold, h.index = *next, i\n", New: "	h.hold, h.index, h.ends = *next, i, s.c.Ends(s.b.kind, s.now, false)\n",
	}},
	{"the deadline of a lock counts from the answer", plant.Edit{
		File: "internal/member/hold.go", Old: "ends: s.c.Ends(k, a.Sent, named),", New: "ends: s.c.Ends(k, s.now, named),",
	}},
	{"the answer of a PASS is forgotten after its caller gave up", plant.Edit{
		File: "internal/member/release.go", Old: "	s.b.offered = false\n", New: "	s.b.offered = false\n	if s.b.leaving {\n		s.cleans()\n		return\n	}\n",
	}},
	{"a grant that arrives after all callers have left is kept", plant.Edit{
		File: "internal/member/hold.go",
		Old:  "	case s.b.leaving && s.b.kind.Keep == 0 || !waits:\n		s.release().calls(machine.HoldEvent{Kind: machine.HoldRelease})\n",
		New:  "	case s.b.leaving && s.b.kind.Keep == 0 || !waits:\n		s.waiting(s.b).left()\n",
	}},
	{"a caller hears that its wait is over before its row is deleted", plant.Edit{
		File: "internal/play/send.go", Old: "		if p.deletes(c) {\n", New: "		if false {\n",
	}},
}

// TestText checks that each mistake can still be planted.
func TestText(t *testing.T) {
	for _, m := range mistakes {
		plant.Check(t, "../../..", m.name, m.Edit)
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
			cmd := exec.CommandContext(t.Context(), "make", "try")
			cmd.Dir, cmd.Env = root, append(os.Environ(), "GOFLAGS=-vet=off -overlay="+plant.Overlay(t, root, m.Edit))
			if out, err := cmd.CombinedOutput(); err == nil {
				t.Errorf("it is not found:\n%s", out)
			} else {
				t.Logf("%.2000s", out)
			}
		})
	}
}
