package search

// The files of a member.
const (
	lineFile    = "internal/member/line.go"
	waitFile    = "internal/member/wait.go"
	rowFile     = "internal/member/row.go"
	holdFile    = "internal/member/hold.go"
	releaseFile = "internal/member/release.go"
	useFile     = "internal/member/use.go"
	timerFile   = "internal/member/timer.go"
	memberFile  = "internal/member/member.go"
	passingFile = "internal/member/passing.go"
)

// sourceMistakes are the mistakes that TestSourceMistakes plants.
var sourceMistakes = []sourceMistake{
	// The numbers of permits.
	{name: "CLAIM of a permit does not ask that none was granted since", world: "permits, late", finds: "slots",
		edits: []edit{
			{"queue/writes.go", `	w.If = append(w.If, attrGranted.Equal(number(r.Granted)).As("granted as read"))
`, ""},
		}},
	{name: "a waiter of a semaphore claims before it has seen which permit is free", world: "permits, guesses", finds: "slots", quick: true,
		edits: []edit{{"internal/machine/wait.go", "!s.grouped() && s.Config.Mode.Permits == 0 {", "!s.grouped() {"}}},
	{name: "RESUME forgets the number of the permit", world: "resumed, permits", finds: "slots", quick: true,
		edits: []edit{{"internal/machine/resume.go", "	entry.Slot = old.Slot\n", ""}}},
	{name: "a later CLAIM has the number that was free by the record of the first", world: "permits", finds: "slots",
		edits: []edit{
			{"internal/machine/turn.go", "	return Do{State: Claiming, Attempt: s.last(), Write: s.Snapshot.Record.Claim(entry, s.Ticket)}", `	rec := s.Snapshot.Record
	if s.turn.before == nil {
		s.turn.before = rec.Holders
	}
	rec.Holders = s.turn.before
	return Do{State: Claiming, Attempt: s.last(), Write: rec.Claim(entry, s.Ticket)}`},
			{"internal/machine/wait.go", "	sweeping []queue.Waiter\n", "	sweeping []queue.Waiter\n	before   []queue.Holder\n"},
		}},
	{name: "a permit that is given to its caller has the first number", world: "permits", finds: "slots", quick: true,
		edits: []edit{{"internal/member/hold.go", "Slot: grant.Slot,", "Slot: new(0),"}}},
	// Those of the list of mistakes of drivers that the search had before.
	{name: "a grant by name is accepted after its row was deleted", world: "names", finds: "judged", quick: true,
		edits: []edit{{holdFile, `	if !named {
		s.withdraw()
	}`, `	s.withdraw()`}}},
	{name: "the row is deleted after an acceptance without an answer", world: "no wait, names, lost", finds: "judged",
		edits: []edit{{holdFile, "accepts := applied && h.named\n", "accepts := h.named\n"}}},
	{name: "a waiter that looks late removes its grant by name", world: "names, sleeper of two", finds: "turn",
		edits: []edit{{"internal/machine/attempt.go", "case s.acceptable(h):", "case false && s.acceptable(h):"}}},
	{name: "a release passes the lock to a waiter that is not the next", world: "passes", finds: "order", quick: true,
		edits: []edit{{releaseFile, "to.wait.Ticket.Previous() == h.last() && ", ""}}},
	{name: "no RESET is sent", world: "two turns each", finds: "clean",
		edits: []edit{{releaseFile, "if do.Reset {", "if false {"}}},
	{name: "ids of unknown outcome are not removed", world: "gives up", finds: "clean",
		edits: []edit{
			{"internal/machine/wait.go", "s.leaving, s.left = true, s.Unknown()", "s.leaving, s.left = true, nil"},
		}},
	{name: "x is read plainly if the turn before was released", world: "transaction, idle and evicted", finds: "lost",
		edits: []edit{
			{"internal/machine/outcome.go", "evicted && (last || m.Evicted.At.IsZero() || recent(m.Evicted.At))", "evicted && last"},
		}},
	{name: "a transaction counts as visible once the record shows its number", world: "transaction, forgotten", finds: "reported",
		edits: []edit{
			{"internal/machine/transaction.go", `		return t.ask(TransactShow)`, `		return t.done(TransactMade, nil)`},
		}},
	{name: "a settled transaction that was made counts as visible", world: "transaction, lost", finds: "reported",
		edits: []edit{{useFile, `			s.shows(byShow)
			return
`, ""}}},
	{name: "the deadline of a row counts from the answer to its heartbeat", world: "rows, renewed", finds: "judged",
		edits: []edit{
			{rowFile, "ends := s.c.Ends(r.kind, a.sent, true); renewed", "ends := s.c.Ends(r.kind, s.now, true); renewed"},
		}},
	{name: "all calls that release a lock have one number", world: "update", finds: "reported",
		edits: []edit{{"internal/machine/release.go", "s.calls++", "s.calls = 1"}}},
	{name: "SETTLE writes the number of the transaction itself", world: "transaction, lost twice", finds: "reported",
		edits: []edit{
			{"queue/writes.go", "entry(id).Field(attr.Made).Set(integer(call + 1))", "entry(id).Field(attr.Made).Set(integer(call))"},
		}},
	{name: "a release does not wait for the transaction under way", world: "transaction", finds: "callers",
		edits: []edit{{releaseFile, "return nil, s.use().quiet(machine.TransactionUnsettled)", "return nil, true"}}},
	{name: "a lock is released as usual after a transaction of unknown outcome", world: "transaction, lost", finds: "lost",
		edits: []edit{
			{"internal/machine/release.go", "s.left == TransactionUnsettled || s.block.open", "s.block.open"},
		}},
	{name: "the same after a transaction whose attempts were all refused", world: "transaction, refused", finds: "lost",
		edits: []edit{{"internal/machine/release.go", `	case s.left == TransactionRefused:`, `	case false:`}}},
	{name: "the next transaction settles one of unknown outcome", world: "transaction, next", finds: "lost",
		edits: []edit{
			{useFile, "case !s.quiet(machine.TransactionRefused):", "case h.hold.Left() != machine.TransactionUnsettled && !s.quiet(machine.TransactionRefused):"},
			{useFile, "	if h.hold.Left() != machine.TransactionUnsettled {\n", "	if h.failed == 0 {\n"},
		}},
	{name: "the next transaction settles one whose attempts were all refused", world: "transaction, next and refused", finds: "lost",
		edits: []edit{
			{useFile, "case !s.quiet(machine.TransactionRefused):", "case !s.quiet(machine.TransactionUnsettled):"},
		}},
	{name: "a release opens the queue", world: "at least", finds: "closed",
		edits: []edit{{"internal/machine/release.go", "c.ending.Closed = s.closed(); {", "c.ending.Closed = nil; {"}}},
	{name: "the release of a lost lock removes an entry with a lock delay", world: "lock delay", finds: "delay",
		edits: []edit{
			{"internal/machine/release.go", "keepsClosed := g.Delay > 0 && (g.Resumed || e.Delivered)", "keepsClosed := false"},
		}},
	{name: "the next turn of a block begins without ADVANCE", world: "blocks, fence", finds: "fence",
		edits: []edit{{releaseFile, "	case stale:\n", "	case stale && i < 0:\n"}}},
	{name: "it begins before the answer to ADVANCE", world: "blocks, fence", finds: "fence", quick: true,
		edits: []edit{{releaseFile, `	case stale:
		s.advances()`, `	case stale:
		s.advances()
		s.begins(i)`}}},
	{name: "ADVANCE counts as applied without an answer", world: "blocks, fence, late", finds: "fence",
		edits: []edit{{releaseFile, `	case e.Reply >= machine.ReplyFailed:
		until`, `	case e.Reply >= machine.ReplyFailed && h.index >= 0:
		s.begins(h.index)
	case e.Reply >= machine.ReplyFailed:
		until`}}},
	{name: "the condition of a turn of a block is that of the entry", world: "blocks, fence", finds: "fence",
		edits: []edit{{"internal/machine/hold.go", `	if h.grant.Turns <= 1 {
		return w
	}
	return queue.OfTurn`, `	if h.grant.Turns <= 1 || true {
		return w
	}
	return queue.OfTurn`}}},
	{name: "a new caller gets the turn after those of the block", world: "blocks, retakes, late of three", finds: "reported",
		edits: []edit{
			{releaseFile, `			if i, ok := s.b.next(h.index + 1); ok && !s.b.leaving {`, `			if len(s.gathered) > 0 {
				s.b.callers = append(s.b.callers, turn{id: s.gathered[0].id})
				s.gathered = s.gathered[1:]
			}
			if i, ok := s.b.next(h.index + 1); ok && !s.b.leaving {`},
		}},
	{name: "the callers of a lost block are given back twice", world: "blocks, fence, operator", finds: "callers",
		edits: []edit{{lineFile, `			t.state = left
		}
	}
	s.gathered = append`, `		}
	}
	s.gathered = append`}}},
	{name: "they are not given back", world: "blocks, fence, suspended", finds: "wedged",
		edits: []edit{{lineFile, `	s.gathered = append(back, s.gathered...)`, `	_ = back`}}},
	{name: "RESET after a block allows its first ticket alone", world: "blocks", finds: "clean",
		edits: []edit{{releaseFile, "queue.Reset(h.last(), s.forget())", "queue.Reset(b.ticket(), s.forget())"}}},
	{name: "all turns of a block have the ticket of the entry", world: "blocks", finds: "fencing",
		edits: []edit{
			{holdFile, "Ticket: h.hold.Turn(), Ends: h.ends, Sent", "Ticket: grant.Ticket, Ends: h.ends, Sent"},
		}},
	{name: "a caller of a block that has given up gets its turn", world: "blocks, gives up", finds: "callers",
		edits: []edit{{lineFile, `		if b.callers[i].state == waits {
			return i, true`, `		if b.callers[i].state == waits || b.callers[i].state == left {
			return i, true`}}},
	{name: "a waiter counts those ahead before its row, and not after", world: "full", finds: "full",
		edits: []edit{{"internal/machine/wait.go", "e.Put || s.Careful || s.limited()", "e.Put || s.Careful"}}},
	{name: "a waiter that a later one supersedes sees only the rows ahead", world: "latest", finds: "superseded",
		edits: []edit{{waitFile, "Floor: do.Floor, Later: do.Later}", "Floor: do.Floor}"}}},
	{name: "a release passes the lock to such a waiter", world: "latest, passes", finds: "superseded",
		edits: []edit{
			{passingFile, `		offered: queueAlone && waits && k.Mode.Permits == 0,`, `		offered: queueAlone && !k.NoWait && k.Resume == nil && k.Mode.Permits == 0,`},
		}},
	{name: "a release names such a waiter", world: "latest, names", finds: "superseded",
		edits: []edit{
			{passingFile, `		named:   plain && waits,`, `		named:   plain && !k.NoWait && k.Resume == nil,`},
		}},
	{name: "the next turn of a block begins after its loss", world: "blocks, fence, suspended", finds: "fence",
		edits: []edit{{holdFile, `	line{s.step}.giveBack(s.b)
	s.use().stops()`, `	if i, ok := s.b.next(h.index + 1); ok && h.begun {
		h.lost, s.b.callers[h.index].state = false, left
		next, _ := h.hold.Follow(h.hold.Turn().Plus(uint64(i - h.index)))
		h.hold, h.index = *next, i
		h.ends = s.c.Ends(s.b.kind, s.now, false)
		s.begins(i)
		return
	}
	line{s.step}.giveBack(s.b)
	s.use().stops()`}}},
	{name: "a repeated SETTLE counts as a loss", world: "blocks, transaction, lost twice", finds: "known", quick: true,
		edits: []edit{
			{useFile, "made := s.made(e.Record, machine.MadeUnknown)", "made := s.made(e.Record, machine.MadeUnknown, machine.MadeNever)"},
		}},
	// Four proofs.
	{name: "a turn passed on in memory gets a fresh deadline", world: "blocks, paused", finds: "judged",
		edits: []edit{
			{releaseFile, `	h.hold, h.index = *next, i`, `	h.hold, h.index, h.ends = *next, i, s.c.Ends(s.b.kind, s.now, false)`},
		}},
	{name: "a deadline counts from the answer to the grant", world: "heartbeats", finds: "judged",
		edits: []edit{{holdFile, `ends: s.c.Ends(k, a.Sent, named),`, `ends: s.c.Ends(k, s.now, named),`}}},
	{name: "a deadline counts from the answer to a heartbeat", world: "heartbeats", finds: "judged",
		edits: []edit{
			{holdFile, "if ends := s.c.Ends(k, a.sent, false); applied", "if ends := s.c.Ends(k, s.now, false); applied"},
		}},
	{name: "the deadline of a row counts from the answer to ENQUEUE", world: "rows, copied", finds: "judged",
		edits: []edit{
			{rowFile, `	r.ends, r.renews = s.c.Ends(r.kind, a.sent, true), s`, `	r.ends, r.renews = s.c.Ends(r.kind, s.now, true), s`},
		}},
	{name: "the answer of a PASS is forgotten after its caller gave up", world: "passes, gives up", finds: "clean",
		edits: []edit{{releaseFile, "	s.b.offered = false\n", `	s.b.offered = false
	if s.b.leaving {
		s.cleans()
		return
	}
`}}},
	{name: "a grant that arrives after all callers have left is not given back", world: "gives up", finds: "clean",
		edits: []edit{
			{holdFile, `	case s.b.leaving && s.b.kind.Keep == 0 || !waits:
		s.release().calls(machine.HoldEvent{Kind: machine.HoldRelease})`, `	case s.b.leaving && s.b.kind.Keep == 0 || !waits:
		s.waiting(s.b).left()`},
		}},
	{name: "the same, as no grant lasts beyond its callers", world: "gives up", finds: "clean",
		edits: []edit{
			{waitFile, "machine.Removing, machine.Resetting, machine.Granted:", "machine.Removing, machine.Resetting:"},
		}},
	// Those of the prototype.
	{name: "a turn is passed on though the lease has ended", world: "blocks, suspended", finds: "reported",
		edits: []edit{
			{releaseFile, `	if s.expired() { // that is a loss, and not a release
		s.lose(nil)
	}
`, ""},
			{releaseFile, `	switch {
	case s.expired():
		s.lose(nil)
	case stale:`, `	switch {
	case stale:`},
			{"internal/machine/release.go", "c.kind == releases && s.now.Local.Before(e.Deadline):", "c.kind == releases:"},
		}},
	{name: "any waiter of the client looks and claims", world: "passes", finds: "order",
		edits: []edit{{lineFile, "	return first != nil && first != b\n", "	return false && first != b\n"}}},
	// Mistakes of a refactoring.
	{name: "a block takes a ticket beside another", world: "blocks, passes", finds: "order",
		edits: []edit{
			{lineFile, `		return !b.ticketed && b.held == nil && !b.over`, `		return false && !b.ticketed && b.held == nil && !b.over`},
		}},
	{name: "a block that has ended without a ticket counts as taking one", world: "blocks, passes, give up", finds: "wedged",
		edits: []edit{
			{lineFile, "b.held == nil && !b.over && !b.gone && b.kind.passing().block", "b.held == nil && b.kind.passing().block"},
		}},
	{name: "a block joins the line twice", world: "passes", finds: "panic",
		edits: []edit{{lineFile, `	s.blocks = slices.DeleteFunc(s.blocks, func(o *block) bool { return o == b })
`, ""}}},
	{name: "a waiter whose ENQUEUE is under way is passed over", world: "passes", finds: "order",
		edits: []edit{{lineFile, "r.there || r.tries == 0 {", "r.there {"}}},
	{name: "a caller that gives up as its turn is about to begin is not skipped", world: "blocks, fence, late", finds: "callers",
		edits: []edit{{lineFile, "			s.holding(b).release().skips()\n", ""}}},
	{name: "the last caller that gives up does not hear of it", world: "gives up", finds: "wedged",
		edits: []edit{{lineFile, "			b.callers[i].state = waits // it hears once nothing is left\n", ""}}},
	{name: "a caller that gives up ends a wait whose lock is held", world: "blocks, gives up", finds: "wedged",
		edits: []edit{{lineFile, "case more || b.held != nil:", "case more:"}}},
	{name: "a caller whose turn is about to begin cannot give up", world: "blocks, fence, late", finds: "callers",
		edits: []edit{{lineFile, "t.id == id && t.state <= chosen })", "t.id == id && t.state < chosen })"}}},
	{name: "a wait goes on though its callers have left", world: "gives up", finds: "wedged",
		edits: []edit{
			{waitFile, `		if b.leaving && !b.over && !lasts(do.State) && !(b.last && do.State == machine.Looking) {
			s.cleans()
			return
		}
`, ""},
		}},
	{name: "a caller that will not wait looks at the rows of all", world: "no wait, names", finds: "turn",
		edits: []edit{{waitFile, "		l.Below, l.Floor = do.Floor, ticket.Number{}\n", ""}}},
	{name: "a caller leaves while its request is under way", world: "gives up", finds: "clean",
		edits: []edit{
			{waitFile, `	if !s.asking(byWait, b.n) && !s.asking(byNumber, b.n) && !b.offered {`, `	if !b.offered {`},
		}},
	{name: "a caller leaves while a release has its offer", world: "passes, gives up", finds: "clean",
		edits: []edit{{waitFile, "!s.asking(byNumber, b.n) && !b.offered {", "!s.asking(byNumber, b.n) {"}}},
	{name: "a block that has left is kept", world: "gives up", finds: "wedged",
		edits: []edit{{waitFile, `	b.gone = true
}`, "}"}}},
	{name: "a row that is deleted late ends nothing", world: "gives up", finds: "wedged",
		edits: []edit{{rowFile, "if b != nil && b.over && !s.hasRow(b) {", "if b != nil && b.over && s.hasRow(b) {"}}},
	{name: "the lease of an earlier ENQUEUE counts from the last", world: "suspended of three", finds: "judged",
		edits: []edit{{rowFile, `		r.ends, r.confirms = s.now, true
		s.renew()
`, "		_ = r\n"}}},
	{name: "a holder forgets that a transaction may not be visible", world: "transaction, evicted", finds: "lost",
		edits: []edit{{holdFile, "	h.unsettled = machine.MayAppear(rec.Marks, earliest)\n", "	_ = earliest\n"}}},
	{name: "a granted block of which all have left begins a turn", world: "gives up", finds: "callers",
		edits: []edit{{holdFile, `	case s.b.leaving && s.b.kind.Keep == 0 || !waits:`, `	case !waits:`}}},
	{name: "a turn that has begun is not noted", world: "blocks", finds: "wedged",
		edits: []edit{{holdFile, `	h.index, h.begun, s.b.callers[i].state = i, true, holds
`, `	h.index, s.b.callers[i].state = i, holds
`}}},
	{name: "a caller with the lock still waits", world: "two turns each", finds: "callers",
		edits: []edit{{holdFile, `	h.index, h.begun, s.b.callers[i].state = i, true, holds
`, `	h.index, h.begun = i, true
`}}},
	{name: "a heartbeat without an answer prolongs the lease", world: "heartbeats", finds: "judged",
		edits: []edit{{holdFile, "(k, a.sent, false); applied && h.ends", "(k, a.sent, false); h.ends"}}},
	{name: "an offer is answered twice", world: "passes, late", finds: "panic",
		edits: []edit{{releaseFile, "	h.offered = 0\n", ""}}},
	{name: "one that does not wait leaves its ids", world: "silent, no wait", finds: "clean",
		edits: []edit{{waitFile, `			s.hears(*b.refused)
		}
	}
`, `			s.hears(*b.refused)
			b.gone = true
			return
		}
	}
`}}},
	{name: "a wait that gives up takes a new ticket", world: "silent", finds: "callers",
		edits: []edit{
			{waitFile, `s.notGranted(machine.Do{State: machine.Ended, Why: machine.WhyError, Err: err})`, `s.notGranted(machine.Do{Why: machine.WhyError, Err: err})`},
		}},
	{name: "a caller whose turn has ended in memory does not hear", world: "blocks", finds: "wedged",
		edits: []edit{{releaseFile, `	s.report(Report{News: Released, Follows: true})
	s.b`, `	s.b`}}},
	{name: "a turn begins while the one before releases", world: "blocks", finds: "wedged",
		edits: []edit{
			{releaseFile, `	h.begun, h.calls, h.asked, h.extends, h.again, h.using = false, false,`, `	h.begun, h.calls, h.asked, h.extends, h.again, h.using = false, h.calls,`},
		}},
	{name: "a turn counts as begun before its ADVANCE", world: "blocks, fence", finds: "wedged",
		edits: []edit{
			{releaseFile, `	h.begun, h.calls, h.asked, h.extends, h.again, h.using = false, false,`, `	h.begun, h.calls, h.asked, h.extends, h.again, h.using = h.begun, false,`},
		}},
	{name: "a later turn counts from the first of the block", world: "blocks of three", finds: "judged",
		edits: []edit{{releaseFile, "Plus(uint64(i - h.index))", "Plus(uint64(i))"}}},
	{name: "the callers of a block that ends are not given back", world: "blocks, update", finds: "wedged",
		edits: []edit{{releaseFile, `	line{s.step}.giveBack(b)
	b.gone = true`, `	b.gone = true`}}},
	{name: "a block that has ended is kept", world: "two turns each", finds: "wedged",
		edits: []edit{{releaseFile, `	line{s.step}.giveBack(b)
	b.gone = true
`, "	line{s.step}.giveBack(b)\n"}}},
	{name: "a change without an answer counts as made", world: "data", finds: "reported",
		edits: []edit{{useFile, `	case e.Reply == machine.ReplyUnknown:
		news = Unsure
`, "	case e.Reply == machine.ReplyUnknown:\n"}}},
	{name: "a transaction without an answer counts as refused", world: "transaction, late", finds: "denied",
		edits: []edit{{useFile, "Transient: true, Open: true, Err: errOver})", "Err: errOver})"}}},
	{name: "a change is awaited for ever", world: "data", finds: "callers",
		edits: []edit{{useFile, "	case s.recall(byUse):\n", "	case false:\n"}}},
	{name: "a transaction under way counts as settled", world: "transaction, lost", finds: "reported",
		edits: []edit{
			{useFile, `		h.hold.LeaveTransaction(machine.TransactionUnsettled) // until its outcome is known: a release says so
`, ""},
		}},
	{name: "nothing goes on after a transaction", world: "transaction", finds: "wedged",
		edits: []edit{{useFile, `			s.endsUse(newsOf(do.Result), do.Err)
			s.goesOn()
`, "			s.endsUse(newsOf(do.Result), do.Err)\n"}}},
	{name: "the retry of a row has no timer", world: "lost", finds: "wedged",
		edits: []edit{{timerFile, "		add(Retries, r.n, r.retries, false)\n", ""}}},
	{name: "a pause has no timer", world: "lost", finds: "wedged",
		edits: []edit{{timerFile, "		add(Pauses, b.n, b.pauses, false)\n", ""}}},
	{name: "the release has no timer to repeat", world: "update", finds: "wedged",
		edits: []edit{{timerFile, "			add(Repeats, b.n, h.repeats, false)\n", ""}}},
	{name: "a request does not remember its turn", world: "blocks, data", finds: "callers",
		edits: []edit{{memberFile, "		s.asks[i].turn = b.held.index\n", "		s.asks[i].turn = 0\n"}}},
	{name: "an answer leaves its request under way", world: "three", finds: "wedged",
		edits: []edit{{memberFile, "	s.asks[e.Of] = ask{}\n", ""}}},
	{name: "those that gather do not take tickets after each event", world: "blocks, passes", finds: "wedged",
		edits: []edit{{memberFile, "		line{s}.goOn()\n", `		if _, ok := e.(Wants); ok {
			line{s}.goOn()
		}
`}}},
	// Several queues, handles that are saved, and transactions of other locks.
	{name: "a place in one of several queues goes on with another number", world: "several, ended", finds: "common", quick: true,
		edits: []edit{{waitFile, "case b.kind.Common && (overtaken", "case false && (overtaken"}}},
	{name: "a later queue takes a number of its own", world: "several, later", finds: "common",
		edits: []edit{{waitFile, "	case !k.Number.IsZero():", "	case false:"}}},
	{name: "a second number is taken beside the first", world: "several", finds: "common",
		edits: []edit{{waitFile, `		b.failed = 0
		s.steps(machine.Begin{Ticket: e.Number})`, `		b.failed = 0
		s.do(Number{Of: s.ask(byNumber, b.n)})
		s.steps(machine.Begin{Ticket: e.Number})`}}},
	{name: "a place in one of several queues counts before its row is there", world: "several", finds: "common",
		edits: []edit{{waitFile, "if !b.kind.Puts {", "if true {"}}},
	{name: "a row is put before its handle is saved", world: "saves", finds: "saved", quick: true,
		edits: []edit{{waitFile, "if b.saving = b.kind.Saves; b.saving {", "if b.saving = b.kind.Saves; false {"}}},
	{name: "a place is kept for no longer than a waiter's", world: "keeps", finds: "kept", quick: true,
		edits: []edit{
			{rowFile, "e.Lease, e.CreatedAt, s.r.stays = s.c.Keeps(s.r.kind)", "e.Lease, e.CreatedAt, s.r.stays = s.c.Keeps(s.r.kind)\n	e.Lease, _ = s.c.Begin(s.r.kind, true)"},
		}},
	{name: "a place is not kept", world: "keeps", finds: "kept", quick: true,
		edits: []edit{{waitFile, "if keeps && s.keeps() {", "if false {"}}},
	{name: "who keeps its place releases the lock that it was granted meanwhile", world: "keeps", finds: "kept", quick: true,
		edits: []edit{{holdFile, "case s.b.leaving && s.b.kind.Keep == 0 || !waits:", "case s.b.leaving || !waits:"}}},
	{name: "the ids of a place that is kept are removed", world: "keeps, lost", finds: "kept",
		edits: []edit{
			{rowFile, "			s.waiting(b).kept(r, sure || r.there, r.stays)", "			s.waiting(b).steps(machine.GiveUp{})"},
		}},
	{name: "a grant without an answer is not looked for as a place is kept", world: "keeps, lost", finds: "kept",
		edits: []edit{
			{waitFile, "b.ticketed && !b.last && b.wait.State == machine.Pausing {", "b.ticketed && false {"},
		}},
	{name: "a row of an ENQUEUE before counts as kept", world: "slices, lost", finds: "kept",
		edits: []edit{{"internal/machine/place.go", "case r == ReplyMade && e.ID != p.Row.ID:", "case false:"}}},
	{name: "a row without an answer is not put as its place is kept", world: "keeps, lost", finds: "kept",
		edits: []edit{
			{"internal/machine/place.go", "p.state == rowAbsent && (p.below || !p.Row.KeptSince.IsZero()):", "p.state == rowAbsent:"},
		}},
	{name: "a row that was swept is not put as its place is kept", world: "keeps, suspended", finds: "kept",
		edits: []edit{
			{"internal/machine/place.go", "case r < ReplyFailed && r != ReplyApplied && r != ReplyMade: // it was swept, or is of another", "case false:"},
		}},
	{name: "a handle forgets that of the process before", world: "slices, crash twice", finds: "kept",
		edits: []edit{{waitFile, "h.Since = next.Since; !there {", "h.Since = next.Since; false {"}}},
	{name: "a late heartbeat shortens a place that is kept", world: "keeps, late", finds: "back",
		edits: []edit{
			{"queue/rowwrites.go", `clause.Any(attrUntil.Absent(), attrUntil.AtMost(end)).As("not late")`, `attrUntil.Exists().As("not late")`},
		}},
	{name: "what a request may have left is removed once", world: "removes again", finds: "clean",
		edits: []edit{{waitFile, "if b.heard && s.cfg.Arrival > 0 {", "if false {"}}},
	{name: "a release does not wait for a transaction of another lock", world: "joint", finds: "callers", quick: true,
		edits: []edit{
			{useFile, "case h.asks, h.settles, h.tx != nil, h.joined:", "case h.asks, h.settles, h.tx != nil:"},
		}},
	{name: "how a transaction of another lock was left is forgotten", world: "joint, refused", finds: "lost",
		edits: []edit{{useFile, "	h.hold.LeaveTransaction(e.Left)\n", ""}}},
	{name: "nothing goes on after a transaction of another lock", world: "joint", finds: "wedged",
		edits: []edit{{useFile, `	h.hold.LeaveTransaction(e.Left)
	s.goesOn()`, "	h.hold.LeaveTransaction(e.Left)"}}},
	{name: "a transaction of another lock begins beside one of unknown outcome", world: "joint, next", finds: "lost",
		edits: []edit{
			{useFile, "case !s.quiet(machine.TransactionRefused):", "case u.use != Joins && !s.quiet(machine.TransactionRefused):"},
		}},
	{name: "a record that refuses such a transaction counts as one that has made it", world: "joint, ended", finds: "reported",
		edits: []edit{
			{useFile, "Made: h.use().made(e.Record, machine.MadeUnknown, machine.MadeNever)", "Made: machine.MadeYes"},
		}},
	// What the checks of one grant, of one turn and of one record find.
	{name: "a row that was swept is not put again", world: "suspended of three", finds: "rowkept",
		edits: []edit{{rowFile, `		r.ends, r.renews, r.confirms = time.Time{}, time.Time{}, false
		s.put()`, `		r.ends, r.renews, r.confirms = time.Time{}, time.Time{}, false`}}},
	{name: "a lost grant is followed by a new ticket beside a late entry of the wait", world: "operator, fail closed, copied, any", finds: "disowned",
		edits: []edit{{"internal/machine/attempt.go", "own != nil { // of a late request", "false && own != nil {"}}},
	{name: "a transaction that follows another counts as made", world: "transaction, both", finds: "reported", quick: true,
		edits: []edit{{useFile, "			return // the next transaction may be under way\n", ""}}},
	{name: "a waiter looks for its ids after the floor", world: "lost", finds: "disowned",
		edits: []edit{{"internal/machine/turn.go", "func (s looking) act() Do {\n", `func (s looking) act() Do {
	if d := s.decide(s.Ticket, nil); d.Do == queue.ActionNewTicket || d.Do == queue.ActionOvertaken {
		return s.fail(WhyOvertaken, nil)
	}
`}}},
	{name: "no grant lasts beyond its callers, beside others", world: "at least, late", finds: "orphan",
		edits: []edit{
			{waitFile, "machine.Removing, machine.Resetting, machine.Granted:", "machine.Removing, machine.Resetting:"},
		}},
	{name: "a release with outstanding tickets lets TTL delete the record", world: "forgets", finds: "forgotten", quick: true,
		edits: []edit{{"queue/writes.go", `	default:
		w.Do = []clause.Change{entry(e.ID).Remove()}`, `	default:
		w.Do = []clause.Change{entry(e.ID).Remove(), clause.Expires.Set(integer(forget.Unix()))}`}}},
	{name: "a new record begins at 1", world: "forgets", finds: "fencing",
		edits: []edit{{"ticket/master.go", "m.number().Or(clause.V(base.Attribute()))", "m.number().Or(zero)"}}},
}
