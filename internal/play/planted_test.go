package play_test

import (
	"flag"
	"path/filepath"
	"testing"

	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/internal/testbed/plant"
)

var planted = flag.Bool("play.planted", false, "plant each mistake in the driver, and see that its test fails")

// The driver is not searched. So its mistakes are found by its own tests.
var mistakes = []struct {
	name      string
	file      string // of this package
	test      string // its package and name
	old, text string
}{
	{"a lease counts from the answer of its request", "clock.go", own + "TestLeaseCountsFromItsRequest",
		"	return terms(k).Deadline(sent)\n", "	return terms(k).Deadline(c.now)\n"},
	{"that of a row counts from the answer", "clock.go", own + "TestLeaseCountsFromItsRequest",
		"		return rowTerms(k).Deadline(sent)\n", "		return rowTerms(k).Deadline(c.now)\n"},
	{"a grant is used whose lease has ended", "clock.go", own + "TestLeaseCountsFromItsRequest",
		"c.now.Add(rest).Before(t.Deadline(sent)) && t.Owner", "rest >= 0 && t.Owner"},
	{"a grant by name is used as if its lease were that of a holder", "clock.go", own + "TestLeaseCountsFromItsRequest",
		"		t = rowTerms(k)\n		rest", "		rest"},
	{"a grant is used although the host was suspended", "clock.go", own + "TestSuspendedHost",
		" && t.OwnerEndsFirst(c.queue.Clock(), l.Until, sent, c.now)\n", "\n"},
	{"a renewal counts although the host was suspended", "clock.go", own + "TestSuspendedHost",
		"return !k.FailClosed && !terms(k)", "return k.FailClosed && !terms(k)"},
	{"a renewal counts from its answer", "lease.go", own + "TestRenewalCountsFromItsRequest",
		"		l.ends, l.failure = r.Ends, nil\n", "		l.ends, l.failure = time.Now().Add(l.terms().TTL-l.terms().Margin), nil\n"},
	{"the timer is not armed for a request that hangs before another", "player.go", own + "TestFirstTimer",
		"!at.IsZero() && (first.IsZero() || at.Before(first)) {", "!at.IsZero() && first.IsZero() {"},
	{"an event is left behind that happens as the last one was taken", "player.go", own + "TestEventAsItEnds",
		"			p.runs = false\n			idle :=", "			p.mu.Unlock()\n			runtime.Gosched()\n			p.mu.Lock()\n			p.runs = false\n			idle :="},
	{"a player is forgotten that has callers", "client.go", own + "TestForgets",
		"!p.runs && len(p.callers) == 0 {", "!p.runs {"},
	{"a player is forgotten to which something happens", "client.go", own + "TestForgets",
		"c.players[key] == p && len(p.events) == 0 && !p.runs", "c.players[key] == p && !p.runs"},
	{"a call that enters after Close waits for its turn", "client.go", own + "TestEnterAfterClose",
		"	if p.enters(k); c.closed {\n		k.signal()\n	}\n", "	p.enters(k)\n"},
	{"a lock is kept that is granted while its caller gives up", "caller.go", own + "TestGivenAsItGivesUp",
		"	case k.given != nil:\n", "	case k.given != nil && k.ctx.Err() == nil:\n"},
	{"a turn that came too late stays on the list of Close", "caller.go", own + "TestTurnTooLate",
		"			k.p.c.unlist(l)\n", ""},
	{"a bell is forgotten that was rung before the holder called Revoked", "use.go", "./test/modes TestRungBeforeRevoked",
		"if r.rung = r.rung || r.asked == nil; r.asked == nil ||", "if r.asked == nil ||"},
	{"one that was rung before the holder heard of its grant is forgotten", "lock.go", "./test/modes TestRungBeforeRevoked",
		"			if s.rang {", "			if false {"},
	{"a turn that came too late ends the next wait of its caller", "lease.go", own + "TestLaterTurnIsKept",
		"		l.p.forgets(l.caller)\n		l.p.happens(member.Forgets{Caller: l.caller})\n", "		l.p.forgets(l.k.id)\n		l.p.happens(member.Forgets{Caller: l.k.id})\n"},
	{"a lock is on the list of Close when its holder hears of the loss", "lease.go", own + "TestLossLeavesTheList",
		"	l.p.c.unlist(l.Lock)\n	l.loss, l.phase,", "	defer l.p.c.unlist(l.Lock)\n	l.loss, l.phase,"},
	{"the panic of a request that hung ends the next one", "player.go", own + "TestLateAnswer",
		"	if p.isUnderWay(e.of, r) {\n		p.answers", "	{\n		p.answers"},
	{"a caller whose request has panicked keeps its place", "player.go", own + "TestTroubleAtEachRequest",
		"			p.step(member.GivesUp{Caller: r.Caller})\n		}\n	} else", "		}\n	} else"},
	{"a heartbeat that panics keeps its place", "send.go", own + "TestRenewalPanics",
		"			defer func() { <-p.c.renewals }()\n			_ = once(ctx, q)\n", "			_ = once(ctx, q)\n			<-p.c.renewals\n"},
	{"a SETTLE that hangs is awaited", "send.go", own + "TestTroubleAtEachRequest",
		"	if settles && r.Purpose == member.Transacting {", "	if !settles && r.Purpose == member.Transacting {"},
	{"others of a block are refused after a panic of their ENQUEUE", "clock.go", own + "TestTroubleAtEachRequest",
		"return table.Retryable.Retryable(err) || panicked(err)\n		}, c.wants", "return table.Retryable.Retryable(err)\n		}, c.wants"},
	{"SETTLE is repeated for as long as it fails", "clock.go", own + "TestTroubleAtEachRequest",
		"	return l.user().settles()\n", "	return 0\n"},
	{"the context of a lock does not read the clock", "lock.go", own + "TestClockIsRead",
		"	if err := c.lock.Err(); err != nil {\n		c.cancel(err)\n	}\n", ""},
	{"one that ends with the lock does not", "lock.go", own + "TestClockIsRead",
		"	return lockContext{inner, l, cancel}, func()", "	return inner, func()"},
	{"one caller alone goes on after the request for the time has failed", "player.go", own + "TestAllAwaitTheTime",
		"		p.waits = append(p.waits, id)\n	}\n	if len(p.waits) > 0 {", "		p.waits = append(p.waits[:0], id)\n	}\n	if len(p.waits) > 0 {"},
	{"an answer is dropped after the first caller of its block has left", "player.go", own + "TestFirstLeavesDuringLook",
		"if p.wire().isUnderWay(e.a.Of, e.r) {", "if p.wire().isUnderWay(e.a.Of, e.r) && (p.caller(e.r.Caller) != nil || e.r.Purpose != member.Waiting) {"},
	{"a handle is awaited whose caller has given up", "caller.go", own + "TestSavesEnds",
		"		case <-ended:\n		}", "		case <-(chan struct{})(nil):\n			<-ended\n		}"},
}

const own = "./internal/play "

// TestPlanted checks that each mistake can be planted. With -play.planted it plants them, in a copy of the source, and runs their tests.
func TestPlanted(t *testing.T) {
	root := locktest.Must(filepath.Abs("../.."))
	for _, m := range mistakes {
		edit := plant.Edit{File: "internal/play/" + m.file, Old: m.old, New: m.text}
		if plant.Check(t, root, m.name, edit); *planted {
			t.Run(m.name, func(t *testing.T) { plant.Found(t, root, m.test, edit) })
		}
	}
}
