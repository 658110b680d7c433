package play_test

import (
	"flag"
	"path/filepath"
	"testing"

	"github.com/queuelock/queuelock/internal/testbed/plant"
)

var planted = flag.Bool("play.planted", false, "plant each mistake in the driver, and see that its test fails")

// The driver is not searched. So its mistakes are found by its own tests.
var mistakes = []struct {
	name      string
	file      string // of this package
	old, text string
	test      string // its package and name
}{
	{
		"a lease counts from the answer of its request", "clock.go",
		"	return terms(k).Deadline(sent)\n", "	return terms(k).Deadline(c.now)\n",
		own + "TestLeaseCountsFromItsRequest",
	},
	{
		"that of a row counts from the answer", "clock.go",
		"		return rowTerms(k).Deadline(sent)\n", "		return rowTerms(k).Deadline(c.now)\n",
		own + "TestLeaseCountsFromItsRequest",
	},
	{
		"a grant is used whose lease has ended", "clock.go",
		"c.now.Add(rest).Before(t.Deadline(sent)) && t.Owner", "rest >= 0 && t.Owner",
		own + "TestLeaseCountsFromItsRequest",
	},
	{
		"a grant by name is used as if its lease were that of a holder", "clock.go",
		"		t = rowTerms(k)\n		rest", "		rest",
		own + "TestLeaseCountsFromItsRequest",
	},
	{
		"a grant is used although the host was suspended", "clock.go",
		" && t.OwnerEndsFirst(c.queue.Clock(), l.Until, sent, c.now)\n", "\n",
		own + "TestSuspendedHost",
	},
	{
		"a renewal counts although the host was suspended", "clock.go",
		"return !k.FailClosed && !terms(k)", "return k.FailClosed && !terms(k)",
		own + "TestSuspendedHost",
	},
	{
		"a renewal counts from its answer", "lease.go",
		"		l.ends, l.failure = r.Ends, nil\n", "		l.ends, l.failure = time.Now().Add(l.terms().TTL-l.terms().Margin), nil\n",
		own + "TestRenewalCountsFromItsRequest",
	},
	{
		"the timer is not armed for a request that hangs before another", "player.go",
		"!at.IsZero() && (first.IsZero() || at.Before(first)) {", "!at.IsZero() && first.IsZero() {",
		own + "TestFirstTimer",
	},
	{
		"an event is left behind that happens as the last one was taken", "player.go",
		"			p.runs = false\n			idle :=", "			p.mu.Unlock()\n			runtime.Gosched()\n			p.mu.Lock()\n			p.runs = false\n			idle :=",
		own + "TestEventAsItEnds",
	},
	{
		"a player is forgotten that has callers", "client.go",
		"!p.runs && len(p.callers) == 0 {", "!p.runs {",
		own + "TestForgets",
	},
	{
		"a player is forgotten to which something happens", "client.go",
		"c.players[key] == p && len(p.events) == 0 && !p.runs", "c.players[key] == p && !p.runs",
		own + "TestForgets",
	},
	{
		"a call that enters after Close waits for its turn", "client.go",
		"	if p.enters(k); c.closed {\n		k.signal()\n	}\n", "	p.enters(k)\n",
		own + "TestEnterAfterClose",
	},
	{
		"a lock is kept that is granted while its caller gives up", "caller.go",
		"	case k.given != nil:\n", "	case k.given != nil && k.ctx.Err() == nil:\n",
		own + "TestGivenAsItGivesUp",
	},
	{
		"a turn that came too late stays on the list of Close", "caller.go",
		"			k.p.c.unlist(l)\n", "",
		own + "TestTurnTooLate",
	},
	{
		"a bell is forgotten that was rung before the holder called Revoked", "use.go",
		"if r.rung = r.rung || r.asked == nil; r.asked == nil ||", "if r.asked == nil ||",
		"./test/modes TestRungBeforeRevoked",
	},
	{
		"one that was rung before the holder heard of its grant is forgotten", "lock.go",
		"			if s.rang {", "			if false {",
		"./test/modes TestRungBeforeRevoked",
	},
	{
		"a turn that came too late ends the next wait of its caller", "lease.go",
		"		l.p.forgets(l.caller)\n		l.p.happens(member.Forgets{Caller: l.caller})\n", "		l.p.forgets(l.k.id)\n		l.p.happens(member.Forgets{Caller: l.k.id})\n",
		own + "TestLaterTurnIsKept",
	},
	{
		"a lock is on the list of Close when its holder hears of the loss", "lease.go",
		"	l.p.c.unlist(l.Lock)\n	l.loss, l.phase,", "	defer l.p.c.unlist(l.Lock)\n	l.loss, l.phase,",
		own + "TestLossLeavesTheList",
	},
	{
		"the panic of a request that hung ends the next one", "player.go",
		"	if p.isUnderWay(e.of, r) {\n		p.answers", "	{\n		p.answers",
		own + "TestLatePanic",
	},
	{
		"a caller whose request has panicked keeps its place", "player.go",
		"			p.step(member.GivesUp{Caller: r.Caller})\n		}\n	} else", "		}\n	} else",
		own + "TestTroubleAtEachRequest",
	},
	{
		"a heartbeat that panics keeps its place", "send.go",
		"			defer func() { <-p.c.renewals }()\n			_ = once(ctx, q)\n", "			_ = once(ctx, q)\n			<-p.c.renewals\n",
		own + "TestRenewalPanics",
	},
	{
		"a SETTLE that hangs is awaited", "send.go",
		"	if settles && r.Purpose == member.Transacting {", "	if !settles && r.Purpose == member.Transacting {",
		own + "TestTroubleAtEachRequest",
	},
	{
		"others of a block are refused after a panic of their ENQUEUE", "clock.go",
		"return table.Retryable.Retryable(err) || panicked(err)\n		}, c.wants", "return table.Retryable.Retryable(err)\n		}, c.wants",
		own + "TestTroubleAtEachRequest",
	},
	{
		"SETTLE is repeated for as long as it fails", "clock.go",
		"	return l.user().settles()\n", "	return 0\n",
		own + "TestTroubleAtEachRequest",
	},
	{
		"the context of a lock does not read the clock", "lock.go",
		"	if err := c.lock.Err(); err != nil {\n		c.cancel(err)\n	}\n", "",
		own + "TestClockIsRead",
	},
	{
		"one that ends with the lock does not", "lock.go",
		"	return lockContext{inner, l, cancel}, func()", "	return inner, func()",
		own + "TestClockIsRead",
	},
	{
		"one caller alone goes on after the request for the time has failed", "player.go",
		"		p.waits = append(p.waits, id)\n	}\n	if len(p.waits) > 0 {", "		p.waits = append(p.waits[:0], id)\n	}\n	if len(p.waits) > 0 {",
		own + "TestAllAwaitTheTime",
	},
	{
		"an answer is dropped after the first caller of its block has left", "player.go",
		"if p.wire().isUnderWay(e.a.Of, e.r) {", "if p.wire().isUnderWay(e.a.Of, e.r) && (p.caller(e.r.Caller) != nil || e.r.Purpose != member.Waiting) {",
		own + "TestFirstLeavesDuringLook",
	},
	{
		"a handle is awaited whose caller has given up", "caller.go",
		"		case <-ended:\n		}", "		case <-(chan struct{})(nil):\n			<-ended\n		}",
		own + "TestSavesEnds",
	},
}

const own = "./internal/play "

// TestPlanted checks that each mistake can be planted. With -play.planted it plants them, in a copy of the source, and runs their tests.
func TestPlanted(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range mistakes {
		edit := plant.Edit{File: "internal/play/" + m.file, Old: m.old, New: m.text}
		if plant.Check(t, root, m.name, edit); *planted {
			t.Run(m.name, func(t *testing.T) { plant.Found(t, root, m.test, edit) })
		}
	}
}
