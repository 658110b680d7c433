package sim_test

import (
	"flag"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/internal/testbed/plant"
)

var allMutants = flag.Bool("sim.mutants", false, "plant each deliberate mistake and see that it is found")

// mutant is a deliberate mistake: an edit of the library's source, or conditions that are left out, and what the
// simulator must say of it.
type mutant struct {
	name     string
	where    string // the file to edit; or, without old, conditions as "WRITE: condition", with semicolons between them
	old, new string
	finds    string // a regular expression; another violation does not count
	seed     uint64 // of a run that finds it; 0: none is known since the library's requests changed, and a test finds it
	test     string // its package and name
}

// blocks says in which runs workers wait in blocks. The seeds of the older mistakes are of runs without.
func (m mutant) blocks() string {
	if strings.HasPrefix(m.name, "block: ") {
		return "all"
	}
	return "none"
}

// uneven says in which runs turns are uneven.
func (m mutant) uneven() string {
	if strings.Contains(m.name, "uneven: ") {
		return "all"
	}
	return "none"
}

func (m mutant) edit() plant.Edit { return plant.Edit{File: m.where, Old: m.old, New: m.new} }

var mutants = []mutant{
	{
		"block: a release takes tickets beside another ticket", "RETAKE: none outstanding", "", "",
		`the counter fell|was granted after ticket|was granted before ticket|the floor`, 3, "",
	},
	{
		"block: a turn begins without ADVANCE", "internal/machine/hold.go",
		"stale: h.block.stale || h.block.used,", "stale: false,",
		"", 0, "./internal/machine TestBlockTurns",
	},
	{
		"block: a turn that is passed on in memory has a lease of its own", "internal/member/release.go",
		"	h.hold, h.index = *next, i\n", "	h.hold, h.index, h.ends = *next, i, s.c.Ends(s.b.kind, s.now, false)\n",
		"", 0, "./test/acquire TestTurnsOfACutOffBlock",
	},
	{
		"block: a lock that waits together counts its lease from the answer", "internal/member/hold.go",
		"ends: s.c.Ends(k, a.Sent, named),", "ends: s.c.Ends(k, s.now, named),",
		"", 0, "./test/acquire TestSlowGrantEndsInTime",
	},
	{
		"block: the driver does not read the clock", "internal/play/lease.go",
		"l.phase.Held() && !l.ends.IsZero() && !now.Before(l.ends)", "l.phase.Held() && l.ends.IsZero() && !now.Before(l.ends)",
		"", 0, "./internal/play TestClockIsRead",
	},
	{
		"block: the driver lets a turn begin although its lease has ended", "internal/play/caller.go",
		"		if !l.begins() {\n", "		if false {\n",
		"", 0, "./internal/play TestTurnTooLate",
	},
	{
		"block: a request that hangs counts as not applied", "internal/play/player.go",
		"Reply: machine.ReplyUnknown, Err: p.c.hung}", "Reply: machine.ReplyFailed, Err: p.c.hung}",
		"", 0, "./test/faults TestHungClaim",
	},
	{
		"block: the driver gives the answer of a request that hung to the next", "internal/play/player.go",
		"len(p.requests) && p.requests[of] == r", "len(p.requests) && p.requests[of] != nil",
		"", 0, "./internal/play TestLateAnswer",
	},
	{
		"block: the driver does not end a wait of which a request hangs", "internal/play/send.go",
		"r.Purpose != member.Using &&", "r.Purpose == member.Using &&",
		"", 0, "./test/faults TestStuckWaiter",
	},
	{
		"block: the driver sends a release for as long as it fails", "internal/play/clock.go",
		"	if c.isCut(t.Of) {", "	if false {",
		"", 0, "./internal/play TestReleaseEnds",
	},
	{
		"a caller that gives up before the answer to a release does not hear that it was granted the lock", "internal/member/release.go",
		"	s.b.offered = false\n", "	s.b.offered = false\n	if s.b.leaving {\n		return\n	}\n",
		"", 0, "./test/acquire TestLeavesBeforeItsPass",
	},
	{
		"block: a grant is kept although all callers have left", "internal/member/hold.go",
		"	case s.b.leaving && s.b.kind.Keep == 0 || !waits:\n		s.release().calls(machine.HoldEvent{Kind: machine.HoldRelease})\n", "	case s.b.leaving && s.b.kind.Keep == 0 || !waits:\n",
		"", 0, "./test/acquire TestLeavesBeforeItsPass",
	},
	{
		"a transaction is repeated although a right is missing", "internal/table/kinds.go",
		"operation == transactWriteItems || operation == transactGetItems", "false",
		"", 0, "./test/acquire TestForeignRightIsNotAwaited",
	},
	{
		"a call for several locks gives up its place at each closing", "internal/multilock/multilock.go",
		"a.yielded = true", "a.yielded = false",
		"", 0, "./test/modes TestSecondClosing",
	},
	{
		"uneven: a waiter behind others sleeps for an eighth of a long turn", "waitpolicy/schedule.go",
		", max(float64(s.SlowestNext), age/60))", ", float64(s.Slowest))",
		`was free for`, 60000, "",
	},
	{
		"block: a transaction that was refused is settled for later turns", "internal/machine/hold.go",
		"h.left != TransactionSettled,", "h.left == TransactionUnsettled,",
		"", 0, "./internal/machine TestBlockOpen",
	},
	{
		"grant by read alone", "CLAIM: *", "", "",
		`\d holders at once|was granted after ticket|believed to hold|the beats of holder .* fell`, 10, "",
	},
	{
		"a heartbeat that asks only whether the item exists", "queue/writes.go",
		"\tw := clause.Write{Name: \"HEARTBEAT\", If: holds(id, t)",
		"\tif !r.Until.IsZero() {\n\t\tmine := clause.Item{attr.Beat: clause.Int(1), attr.TTL: clause.Int(60000), attr.Until: clause.Int(r.Until.UnixMilli())}\n" +
			"\t\treturn clause.Write{If: []clause.Cond{attrHolders.Exists()}, Do: []clause.Change{entry(id).Set(clause.V(clause.Map(mine)))}}\n\t}\n\tw := clause.Write{Name: \"HEARTBEAT\", If: holds(id, t)",
		`\d holders at once|was granted after ticket|has left|still in the record|holder \S+ of  was removed by`, 1, "",
	},
	{
		"a heartbeat that may come late", "HEARTBEAT: not late", "", "",
		`the end of holder|renewed less than a lease ago|believed to hold`, 4, "",
	},
	{
		"a lock that is passed over waiters of other clients", "internal/member/release.go",
		"to.wait.Ticket.Previous() == h.last()", "h.last().Less(to.wait.Ticket)",
		`was granted before ticket`, 777007, "",
	},
	{
		"a row that is deleted when the lock is granted by its name", "internal/member/hold.go",
		"	if !named {\n		s.withdraw()\n	}\n", "	s.withdraw()\n",
		`believed to hold`, 30021, "",
	},
	{
		"a name for the ticket after the next", "internal/requests/look.go",
		"next, last := t.Plus(uint64(turns)),", "next, last := t.Plus(uint64(turns)+1),",
		`was granted before ticket`, 41003, "",
	},
	{
		"a record that is older than one already seen replaces it", "queue/stage.go",
		"\tcase r.sent.After(before.read):\n", "\tcase true:\n\t\treturn r.read.After(before.read)\n\tcase r.sent.After(before.read):\n",
		`gave up its place`, 130, "",
	},
	{
		"a waiter that is superseded by any group", "queue/policy.go",
		"row.Group == group &&", "row.Group != \"\" &&",
		`and superseded by ticket`, 21, "",
	},
	{
		"a limit that counts the waiter itself", "internal/machine/policy.go",
		"d.Waiters >= s.Config.Policy.Waiters", "d.Waiters+1 >= s.Config.Policy.Waiters",
		`the queue is full, it says`, 13, "",
	},
	{
		"a sweep without condition", "SWEEP: beat as read; SWEEP: id as read", "", "",
		`the row of .* was removed by`, 31, "",
	},
	{
		"a throttle that counts as proof that nothing was written", "internal/table/errors.go",
		"\tcase Never:\n\t\treturn false\n\tcase AfterSame:\n\t\te, ok", "\tcase Never, Always:\n\t\treturn false\n\tcase AfterSame:\n\t\te, ok",
		"", 0, "./test/faults TestThrottledCopy",
	},
	{
		"a transaction whose copy was denied counts as not made", "internal/table/errors.go",
		"return ok && (e.again || e.Operation == transactWriteItems)", "return ok && e.again",
		"", 0, "./test/hold TestUnknownOutcome",
	},
	{
		"a superseded waiter that claims the lock", "internal/machine/policy.go",
		"if by, ok := s.superseded(); ok {\n\t\treturn s.supersededBy(by), true", "if by, ok := s.superseded(); ok && d.Do != queue.ActionClaim {\n\t\treturn s.supersededBy(by), true",
		`although its last look has shown ticket`, 48, "",
	},
	{
		"a request to give way to holders of any group", "internal/machine/policy.go",
		"s.grouped() && h.Group == p.Group && ", "s.grouped() && ",
		`was asked to give way by .* of the group`, 21, "",
	},
	{
		"a request to give way by the ticket of the holder", "internal/machine/policy.go",
		"\"superseded by ticket \" + s.Ticket.String()", "\"superseded by ticket \" + h.Ticket.String()",
		`which is not later`, 21, "",
	},
	{
		"two computations of one result at a time", "once/once.go",
		"(queuelock.AcquireOption)}", "(queuelock.AcquireOption), queuelock.Permits(2)}",
		"", 0, "./once TestWaiters", // the simulator meets a queue of another kind first
	},
	{
		"a computation although the grant shows a result", "once.go",
		"\tif call.Result, err = cfg.answer(turn", "\tif _, err = cfg.answer(turn",
		`after it had read the record`, 260, "",
	},
	{
		"a result that the release does not leave", "queue/writes.go",
		"\tif e.Result != nil {\n", "\tif false {\n",
		`which was not left`, 25, "",
	},
	{
		"a result that is kept after its life", "queue/result.go",
		"latest.Before(r.Until)", "!r.Until.IsZero()",
		`which was left for`, 25, "",
	},
	{
		"a result of a function that has failed", "once/once.go",
		"fn(held, lock); err != nil {", "fn(held, lock); err != nil && len(value) == 0 {",
		`of a function that has failed`, 69, "",
	},
	{
		"a call that joins one which has ended", "once/flight.go",
		"\t\tf.land()\n\t\tf.cancel(nil)\n", "\t\tf.cancel(nil)\n",
		`was given an earlier error|which was left for`, 25, "",
	},
	{
		"a floor without servingAfter", "queue/record.go",
		"r.Present && r.Granted.Less(first)", "r.Present && r.Granted.IsZero() && false",
		"", 0, "./queue TestRulesInOrder",
	},
	{
		"a fast release by the last number seen", "RELEASE: none outstanding", "", "",
		`the floor rose`, 1, "",
	},
	{
		"no removal after an unknown outcome", "internal/member/wait.go",
		"		s.steps(machine.GiveUp{})\n	}\n}\n\n// keeps keeps", "		s.left()\n	}\n}\n\n// keeps keeps",
		`has left \[holder`, 63, "",
	},
	{
		"a fence that asks for nothing", "queue/writes.go",
		"If: fence(id, t, alone)}",
		"If: []clause.Cond{attrTicketNumber.Exists()}}",
		`a protected write with ticket \d+ committed`, 1, "",
	},
	{
		"a fence that takes an orphaned entry for its lock", "queue/writes.go",
		"latest(t).As(\"no later ticket\"), servedAs(id, t)}", "latest(t).As(\"no later ticket\")}",
		"", 0, "./test/hold TestFenceBesideOrphan",
	},
	{
		"claims out of turn", "queue/decide.go",
		"case d.Ahead > 0 || !room:", "case !room:",
		`was granted before ticket`, 1, "",
	},
	{
		"an Acquire that was served too late and does not wait for its row's end", "queuelock.go",
		"\t\tw.Cleared()\n", "",
		`an Acquire that failed has left \[row`, 0, "./test/acquire TestServedTooLate",
	},
	{
		"an ENQUEUE over any existing row", "ENQUEUE: no row", "", "",
		`the (end|beats) of the row`, 4, "",
	},
	{
		"a waiter's heartbeat that may come late", "HEARTBEAT of a row: not late", "", "",
		`the end of the row`, 33, "",
	},
	{
		"a reader joins any holder", "queue/writes.go",
		"clause.Any(noHolder(), clause.All(isShared()",
		"clause.Any(attrHolders.Exists(), clause.All(isShared()",
		`\d holders at once|believed to hold`, 2267, "",
	},
	{
		"a writer joins readers", "queue/writes.go",
		"\treturn noHolder().As(\"room\")\n",
		"\treturn clause.Any(noHolder(), isShared()).As(\"room\")\n",
		`\d holders at once|believed to hold`, 91, "",
	},
	{
		"a hold mode that is left behind in an idle queue", "queue/writes.go",
		", attrHoldMode.Remove()}",
		"}",
		`\d holders at once|believed to hold|left with the attribute lock_holdMode`, 1, "",
	},
	{
		"an ENTER that comes late", "ENTER: first with its ticket", "", "",
		`the counter fell|the floor|was granted after ticket|believed to hold`, 4, "",
	},
	{
		"a fail-closed lock that was never confirmed", "internal/machine/attempt.go",
		"\tif s.Config.FailClosed {\n", "\tif false {\n",
		`believed to hold|was granted after ticket`, 67, "",
	},
	{
		"a lock delay that others do not keep", "queue/closing.go",
		"l.Until.Add(l.Delay)", "l.Until",
		`was removed by`, 57, "",
	},
	{
		"a crash that opens a closed queue", "queue/closing.go",
		"case end.Before(l.NotBefore):", "case false:",
		`before its queue was to open|although it lives until`, 549, "",
	},
	{
		"a release that opens a closed queue", "internal/machine/release.go",
		"\tif rest <= 0 {\n", "\tif true {\n",
		`before its queue was to open`, 8, "",
	},
	{
		"a request to give way that marks a later turn", "queue/revoke.go",
		"isHolder(id), servedAs(id, t)}", "isHolder(id)}",
		`was asked by a late request`, 0, "./test/modes TestRevokeNeverLaterOfRepeatedTake",
	},
	{
		"a transaction by its token alone", "FENCE: transaction not made", "", "",
		`was made twice`, 13, "",
	},
	{
		"a release without its mark", "queue/writes.go",
		"\tw.Do = append(w.Do, attrReleased.Set(clause.V(Released{ID: e.ID, Ticket: e.Ticket, Call: e.Call}.attribute())))\n",
		"",
		`released the lock, and returned|returned nil, and the lock was removed by|wrote .*, and returned`, 4, "",
	},
	{
		"an eviction without its mark", "queue/writes.go",
		"\tw.Do = append(w.Do, attrEvicted.Set(clause.V(mark.attribute())))\n",
		"",
		"", 0, "./test/hold TestOutcomeAfterSuspend",
	},
	{
		"a plain read after an eviction", "internal/machine/outcome.go",
		"	return slices.ContainsFunc(m.Unsettled, recent) || evicted && ", "	return slices.ContainsFunc(m.Unsettled[:0], recent) || false && evicted && ",
		`an update is lost`, 0, "./test/hold TestSplitAfterEviction",
	},
	{
		"an AcquireAll in the caller's order", "acquireall.go",
		"\t\treturn cmp.Or(cmp.Compare(a.queue.Entity, b.queue.Entity), cmp.Compare(a.queue.Reason, b.queue.Reason))\n", "\t\treturn 0 * cmp.Or(0, cmp.Compare(a.queue.Entity, b.queue.Entity))\n",
		`some still wait`, 561, "",
	},
	{
		"an AcquireAll that keeps its locks when it begins again", "internal/multilock/round.go",
		"\to.left = o.lock.GiveBack(ctx)\n", "\tif o.lock.Context().Err() != nil {\n\t\to.left = o.lock.GiveBack(ctx)\n\t}\n",
		`some still wait|has left|sent more than`, 55, "",
	},
	{
		"a TAKE that leaves the TTL attribute in place", "queue/writes.go",
		"\t\tclause.Expires.Remove(),\n",
		"",
		`the record has disappeared`, 16, "",
	},
	{
		"a new record that begins at 0", "internal/counter/counter.go",
		"return Base(earliest)\n", "return Base(earliest.AddDate(-100, 0, 0))\n",
		`the counter fell`, 16, "",
	},
	{
		"data that may come late", "SETDATA: not late", "", "",
		noWrite, 5000, "",
	},
	{
		"a waiter's heartbeat that writes one attribute more", "internal/requests/row.go",
		"	ctx context.Context, q table.Queue, key clause.Item, w clause.Write,\n) (reply machine.Reply, id string, err error) {\n",
		"	ctx context.Context, q table.Queue, key clause.Item, w clause.Write,\n) (reply machine.Reply, id string, err error) {\n\tif w.Name == \"HEARTBEAT of a row\" {\n\t\tw.Do = append(w.Do, clause.At(\"renewed\").Set(clause.V(clause.Int(1))))\n\t}\n",
		noWrite, 5000, "",
	},
	{
		"a heartbeat that counts two beats", "internal/play/send.go",
		"	default:\n		a.Record, a.Reply, a.Err = requests.Send(ctx, q, s.Write)\n", "	default:\n		if s.Write.Name == \"HEARTBEAT\" {\n			beat := clause.At(attr.Holders).Entry(r.lock.id).Field(attr.Beat)\n			s.Write.Do[0] = beat.Set(beat.Was().Plus(clause.Int(2)))\n		}\n		a.Record, a.Reply, a.Err = requests.Send(ctx, q, s.Write)\n",
		noWrite, 5000, "",
	},
}

// noWrite is what package transition says. The other mistakes are to be found without it.
const noWrite = "no write describes this change"

// mutantSeeds is how many runs a mistake has to show itself: as many as CI makes of the library as it is.
const mutantSeeds = 250

// TestMutants plants each mistake in a copy of the source, and lets the
// simulator find it. This shows that the simulator can fail.
func TestMutants(t *testing.T) {
	if !*allMutants {
		t.Skip("give -sim.mutants: it builds the library once for each mistake")
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	given := false // a seed in place of those of the mistakes
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "sim.seed" })
	plain := sync.OnceValue(func() string { return build(t, root, t.TempDir(), mutant{}) })
	for _, m := range mutants {
		t.Run(m.name, func(t *testing.T) {
			dir := t.TempDir()
			if m.seed == 0 && !given {
				plant.Found(t, root, m.test, m.edit())
				return
			}
			binary, leave := plain(), m.where
			if m.old != "" {
				binary, leave = build(t, root, dir, m), ""
			}
			from := max(m.seed, 1)
			if given {
				from = *first
			}
			cmd := exec.CommandContext(t.Context(), binary, "-test.run", "TestSim$", "-sim.seeds", fmt.Sprint(mutantSeeds), "-sim.seed", fmt.Sprint(from), "-sim.leave", leave, "-sim.writes="+strconv.FormatBool(m.finds == noWrite), "-sim.blocks", m.blocks(), "-sim.uneven", m.uneven(), "-sim.disturbed", "none", "-sim.histories", dir, "-test.v")
			cmd.Dir = filepath.Join(root, "test/sim")
			out, err := cmd.CombinedOutput()
			if err == nil {
				t.Fatalf("%d runs did not find the mistake", mutantSeeds)
			}
			found := regexp.MustCompile(m.finds).Find(out)
			if found == nil {
				t.Fatalf("it was found by something else than %q:\n%.3000s", m.finds, out)
			}
			seed, runs := firstMatch(`seed (\d+)[: ]`, out), firstMatch(`(\d+) runs`, out)
			t.Logf("found after %s runs, by seed %s: %s", runs, seed, found)
		})
	}
}

// firstMatch is the first group of a pattern's first match.
func firstMatch(pattern string, text []byte) []byte {
	if groups := regexp.MustCompile(pattern).FindSubmatch(text); groups != nil {
		return groups[1]
	}
	return nil
}

// falseAlarms are seeds that once found a mistake of the simulator: a row whose ENQUEUE took long (50), a shared lock
// that was resumed after later ones (10328), a worker that repeated a Release whose outcome stays unknown (31000506), a
// caller between two tries (11021), an ENQUEUE that a paused process sent when it went on (11603), a right that was
// missing once the answer to a TAKE was lost (12291), eight short turns in a second (12353), a For that was silent
// until its limit (13253), and an eviction of a closed entry between two others (20739).
var falseAlarms = []uint64{50, 10328, 31000506, 11021, 11603, 12291, 12353, 13253, 20739}

// TestSeedsOfPastMistakes runs the seeds that have found the mistakes, some of
// which the library once made, without them.
func TestSeedsOfPastMistakes(t *testing.T) {
	done := map[uint64]bool{}
	for _, seed := range falseAlarms {
		t.Run(fmt.Sprint("FalseAlarm/", seed), func(t *testing.T) { run(t, seed) })
	}
	for i, m := range mutants {
		if m.seed != 0 && !done[m.seed] && i%locktest.Scaled(1, 12) == 0 {
			done[m.seed] = true
			t.Run(m.name, func(t *testing.T) { run(t, m.seed) })
		}
	}
}

// TestMutantText checks that each mistake can still be planted: its text is in its file, once.
func TestMutantText(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range mutants {
		if m.old == "" {
			continue
		}
		plant.Check(t, root, m.name, m.edit())
	}
}

// build makes a test binary of the library with the mistake in it.
func build(t *testing.T, root, dir string, m mutant) string {
	binary := filepath.Join(dir, "sim.test")
	if m.old == "" {
		compile(t, root, binary)
		return binary
	}
	compile(t, root, binary, "-overlay", plant.Overlay(t, root, m.edit()))
	return binary
}

func compile(t *testing.T, root, binary string, flags ...string) {
	cmd := exec.Command("go", append(append([]string{"test", "-c", "-vet=off"}, flags...), "-o", binary, "./test/sim")...)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("it does not build: %v\n%s", err, out)
	}
}
