package machine

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/clause"
	"github.com/queuelock/queuelock/internal/attr"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
)

// stopped is a Clock that does not move. All leases last, unless it says otherwise.
type stopped struct {
	now   time.Time
	ended bool          // leases that began have ended
	left  time.Duration // of all that a snapshot shows
}

func (c stopped) Now() time.Time                                        { return c.now }
func (c stopped) Begin() (queue.Lease, time.Time)                       { return queue.Lease{TTL: time.Minute}, time.Time{} }
func (c stopped) At(time.Time) (earliest, latest time.Time, known bool) { return c.now, c.now, true }
func (c stopped) RowSent(time.Time) (time.Time, bool)                   { return c.now, true }
func (c stopped) Usable(queue.Lease, time.Time, bool) bool              { return !c.ended }
func (c stopped) Leases(s queue.Snapshot) (l queue.Leases) {
	return queue.Leases{Holders: slices.Repeat([]time.Duration{c.left}, len(s.Record.Holders)), Rows: slices.Repeat([]time.Duration{c.left}, len(s.Rows))}
}

var clock = stopped{now: time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC), left: time.Minute}

func num(i int) ticket.Number { return ticket.FromUint64(uint64(i)) }

var items = queue.Items{PK: "pk", SK: "sk", TTL: "expiresAt", Entity: "e", Reason: "lock"}

// recordOf is the record as it is read, with twenty tickets.
func recordOf(granted int, holders ...queue.Holder) queue.Record {
	return read(20, granted, 0, holders...)
}

func read(number, granted, permits int, holders ...queue.Holder) queue.Record {
	entries := clause.Item{}
	for _, h := range holders {
		entry := clause.Item{attr.Ticket: h.Ticket.Attribute()}
		if h.Named {
			entry[attr.Named] = &types.AttributeValueMemberBOOL{Value: true}
		}
		if h.Lease.Fill(entry); h.Problem != nil {
			entry = clause.Item{attr.Beat: clause.String("x")}
		}
		entries[h.ID] = clause.Map(entry)
	}
	item := clause.Item{
		attr.TicketNumber: num(number).Attribute(), attr.Granted: num(granted).Attribute(), attr.HoldMode: clause.String(attr.Exclusive),
		attr.ServingAfter: num(0).Attribute(), attr.Holders: clause.Map(entries),
	}
	if permits > 0 {
		item[attr.Permits] = clause.Int(int64(permits))
	}
	rec, err := queue.DecodeRecord(items, item)
	if err != nil {
		panic(err)
	}
	return rec
}

func held(id string, t int) queue.Holder {
	return queue.Holder{ID: id, Ticket: num(t), Lease: queue.Lease{TTL: time.Minute}}
}

func waitOf(cfg WaitConfig) *Wait {
	cfg.ID, cfg.Items, cfg.Scope = "p", items, max(cfg.Scope, ticket.ScopeQueue)
	return &Wait{Config: cfg}
}

// TestPermits plays waits for a permit: a CLAIM must know which are free.
func TestPermits(t *testing.T) {
	reply := func(r Reply, rec queue.Record) Event { return Replied{r, rec} }
	seen := func(rec queue.Record, rows ...queue.Waiter) Event {
		return Seen{queue.Snapshot{Record: rec, Rows: rows, Whole: true, ReadAt: clock.now.Add(time.Second)}}
	}
	permits := func(granted int, holders ...queue.Holder) queue.Record { return read(8, granted, 3, holders...) }
	for name, test := range map[string]struct {
		permits int
		events  []Event
		want    []Doing
	}{
		"ClaimsAPermitAgainAfterALowerTicket": {
			permits: 3,
			events: []Event{
				Begin{}, reply(ReplyApplied, permits(6, held("other", 6))), Joined{}, seen(permits(6, held("other", 6))), Put{},
				reply(ReplyRefused, permits(7, held("other", 6), held("next", 7))),
				reply(ReplyApplied, permits(8, held("other", 6), held("next", 7), held("p-2", 8))),
			},
			want: []Doing{Taking, Joining, Looking, Putting, Claiming, Claiming, Granted},
		},
		"WaitsIfThatHasTakenTheLastPermit": {
			permits: 2,
			events: []Event{
				Begin{}, reply(ReplyApplied, read(8, 6, 2, held("other", 6))), Joined{}, seen(read(8, 6, 2, held("other", 6))), Put{},
				reply(ReplyRefused, read(8, 7, 2, held("other", 6), held("next", 7))),
			},
			want: []Doing{Taking, Joining, Looking, Putting, Claiming, Resting},
		},
		"LooksWhichPermitIsFree": {
			permits: 1,
			events:  []Event{Begin{}, reply(ReplyApplied, read(7, 6, 1, held("other", 6))), Joined{Fresh: true}, Rested{Guess: true}},
			want:    []Doing{Taking, Joining, Resting, Looking},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := waitOf(WaitConfig{Mode: queue.Mode{Permits: test.permits}})
			var got []Doing
			for _, e := range test.events {
				got = append(got, w.Step(clock, e).State)
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("it did %v, want %v", got, test.want)
			}
		})
	}
}

// TestEveryReply checks that a wait goes on after each reply in each state that has a request, whatever the record shows.
func TestEveryReply(t *testing.T) {
	records := []queue.Record{{}, recordOf(6), recordOf(6, held("other", 6)), recordOf(7, held("p-0", 7)), recordOf(9)}
	var play func(w Wait, depth int)
	states := map[Doing]bool{}
	play = func(w Wait, depth int) {
		states[w.State] = true
		if depth == 0 {
			return
		}
		var events []Event
		switch w.State {
		case Idle, Ended:
			events = []Event{Begin{}}
		case Joining:
			events = []Event{Joined{}, Joined{Fresh: true}}
		case Putting:
			events = []Event{Put{}}
		case Looking:
			for _, rec := range records {
				events = append(events, Seen{queue.Snapshot{Record: rec, Whole: true, ReadAt: clock.now}})
			}
			events = append(events, Replied{ReplyFailed, queue.Record{}})
		case Resting:
			events = []Event{Rested{}, Rested{Guess: true}, Passed{Reply: ReplyUnknown}}
		case Pausing:
			events = []Event{Again{}, GiveUp{}}
		case Keeping:
			events = []Event{Kept{true}, Kept{false}}
		case Granted, Left:
			return
		default:
			for _, rec := range records {
				for r := ReplyApplied; r <= ReplyRefused; r++ {
					events = append(events, Replied{r, rec})
				}
			}
			events = append(events, Replied{ReplyFailed, queue.Record{}}, Replied{ReplyUnknown, queue.Record{}})
		}
		for _, e := range events {
			next := w
			next.all = slices.Clone(w.all)
			do := next.Step(clock, e)
			if do.State == Idle {
				t.Fatalf("%v does nothing after %T %+v", w.State, e, e)
			}
			if unknown, ok := e.(Replied); ok && unknown.Reply == ReplyUnknown && (w.State == Taking || w.State == Claiming) && len(next.Unknown()) == 0 {
				t.Fatalf("%v forgets an id whose request had no answer", w.State)
			}
			play(next, depth-1)
		}
	}
	play(*waitOf(WaitConfig{}), 5)
	for _, s := range []Doing{Taking, Joining, Putting, Looking, Claiming, Removing, Resting, Pausing, Granted, Ended, Left} {
		if !states[s] {
			t.Errorf("it never gets to %v", s)
		}
	}
}

// TestGuess checks that a waiter which is next, and guesses that the turn has ended, claims without a look.
func TestGuess(t *testing.T) {
	w := waitOf(WaitConfig{})
	w.Step(clock, Begin{})
	w.Step(clock, Replied{ReplyApplied, read(7, 6, 0, held("other", 6))})
	w.Step(clock, Joined{Fresh: true})
	if do := w.Step(clock, Rested{Guess: true}); do.State != Claiming {
		t.Errorf("it does %v", do.State)
	}
}

// moving is a Clock whose leases end while it is asked.
type moving struct {
	stopped
	usable, shown *int // how often more a grant is usable, and the leases of a snapshot last
}

func (c moving) Usable(queue.Lease, time.Time, bool) bool {
	*c.usable--
	return *c.usable >= 0
}

func (c moving) Leases(s queue.Snapshot) queue.Leases {
	*c.shown--
	l := c.stopped.Leases(s)
	for i := range l.Rows[min(1, len(l.Rows)):] {
		l.Rows[i+1] = max(0, time.Duration(*c.shown)) * time.Minute
	}
	return l
}

// TestOfferedOnce checks that no second release of this client may pass the lock to a ticket: the request of the first may be
// late, and its entry has an earlier lease.
func TestOfferedOnce(t *testing.T) {
	w := waitOf(WaitConfig{})
	w.Step(clock, Begin{})
	w.Step(clock, Replied{ReplyApplied, read(7, 6, 0, held("other", 6))})
	if w.MayOffer() {
		t.Error("it may be passed the lock before it has joined")
	}
	if w.Step(clock, Joined{Fresh: true}); !w.MayOffer() {
		t.Error("it may not be passed the lock")
	}
	if e := w.Passing(clock); e.ID != w.PassID() || w.MayOffer() {
		t.Errorf("after an offer with id %s it may be passed the lock: %v", e.ID, w.MayOffer())
	}
	if w.Step(clock, Passed{Reply: ReplyUnknown}); w.MayOffer() || !slices.Equal(w.Unknown(), []string{w.PassID()}) {
		t.Errorf("after no answer it may be passed the lock: %v, and %v are unknown", w.MayOffer(), w.Unknown())
	}
	w.Step(clock, Replied{ReplyFailed, queue.Record{}})
	w.State = Ended // it was overtaken
	w.Step(clock, Begin{})
	w.Step(clock, Replied{ReplyApplied, read(9, 6, 0, held("other", 6))})
	if w.Step(clock, Joined{Fresh: true}); !w.MayOffer() || w.PassID() != "p-n9" {
		t.Errorf("with a new ticket it may be passed the lock as %s: %v", w.PassID(), w.MayOffer())
	}
}

// TestKept checks that a wait whose row stays is granted the lock, even if its lease ends meanwhile: nothing
// else lets the row go.
func TestKept(t *testing.T) {
	usable, shown := 1, 9
	w, c := waitOf(WaitConfig{}), moving{clock, &usable, &shown}
	named := held("p-n7", 7)
	named.Named = true
	w.Step(c, Begin{})
	w.Step(c, Replied{ReplyApplied, read(7, 6, 0, held("other", 6))})
	w.Step(c, Joined{})
	if do := w.Step(c, Seen{queue.SnapshotOf(recordOf(7, named), clock.now)}); do.State != Keeping {
		t.Fatalf("it does %v", do.State)
	}
	if do := w.Step(c, Kept{OK: true}); do.State != Granted || do.Attempt.ID != "p-n7" {
		t.Errorf("it does %v", do.State)
	}
}

// TestSwept checks that a row whose lease ends while others are swept is swept too.
func TestSwept(t *testing.T) {
	usable, shown := 0, 2
	c := moving{clock, &usable, &shown}
	c.left = 0
	w := waitOf(WaitConfig{})
	w.Step(c, Begin{})
	w.Step(c, Replied{ReplyApplied, read(9, 6, 0)})
	w.Step(c, Joined{})
	rows := []queue.Waiter{{ID: "a", Ticket: num(7), Lease: queue.Lease{TTL: time.Minute}}, {ID: "b", Ticket: num(8), Lease: queue.Lease{TTL: time.Minute}}}
	do := w.Step(c, Seen{queue.Snapshot{Record: read(9, 6, 0), Rows: rows, Whole: true, ReadAt: clock.now}})
	if do.State != Sweeping || len(do.Rows) != 1 {
		t.Fatalf("it does %v with rows %v", do.State, do.Rows)
	}
	if do = w.Step(c, Replied{ReplyApplied, w.Snapshot.Record}); do.State != Sweeping || len(do.Rows) != 1 || do.Rows[0].ID != "b" {
		t.Errorf("it does %v with rows %v", do.State, do.Rows)
	}
}

// TestUnsentConfirm checks that a CONFIRM which was never sent leaves nothing without a lease.
func TestUnsentConfirm(t *testing.T) {
	for _, sent := range []bool{false, true} {
		w := waitOf(WaitConfig{FailClosed: true})
		w.Step(clock, Begin{})
		w.Step(clock, Replied{ReplyApplied, recordOf(7, held("p-0", 7))})
		if sent {
			w.Step(clock, Replied{Reply: ReplyUnknown})
		}
		do := w.Step(clock, GiveUp{})
		if ids, _ := w.Orphans(); (len(ids) > 0) != sent || do.State != Removing || !slices.Equal(do.IDs, []string{"p-0"}) {
			t.Errorf("sent %v: orphans %v, it does %v of %v", sent, ids, do.State, do.IDs)
		}
	}
}

func TestUnknown(t *testing.T) {
	many := make([]Attempt, queue.MaxEvicted+5)
	var last []string
	for i := range many {
		many[i] = Attempt{ID: string(rune('0' + i)), unknown: true}
		if i >= 5 {
			last = append(last, many[i].ID)
		}
	}
	for name, test := range map[string]struct {
		all  []Attempt
		want []string
	}{
		"None":               {all: []Attempt{{ID: "a"}, {ID: "b", given: true}}},
		"AlsoGivenUp":        {all: []Attempt{{ID: "a", unknown: true, given: true}}, want: []string{"a"}},
		"UnconfirmedLast":    {all: []Attempt{{ID: "a", unknown: true, confirming: num(3)}, {ID: "b", unknown: true}}, want: []string{"b", "a"}},
		"NotBeforeLockDelay": {all: []Attempt{{ID: "a", unknown: true, Resumed: true, Lease: queue.Lease{Delay: time.Second}}}},
		"ResumedNoDelay":     {all: []Attempt{{ID: "a", unknown: true, Resumed: true}}, want: []string{"a"}},
		"AtMostOneRequest":   {all: many, want: last},
	} {
		t.Run(name, func(t *testing.T) {
			if got := (&Wait{Attempts: Attempts{test.all}}).Unknown(); !slices.Equal(got, test.want) {
				t.Errorf("ids %v, want %v", got, test.want)
			}
		})
	}
}

// TestRemains checks which entries of attempts are to be removed: what the last snapshot shows of those that were given
// up, whether or not one was removed before.
func TestRemains(t *testing.T) {
	shown := recordOf(7, held("a", 7))
	for name, test := range map[string]struct {
		a    Attempt
		rec  queue.Record
		want bool
	}{
		"GivenUp":               {a: Attempt{given: true, unknown: true}, rec: shown, want: true},
		"PutAgainByALateCopy":   {a: Attempt{given: true}, rec: shown, want: true},
		"RemovedWithoutAnswer":  {a: Attempt{given: true, unknown: true}, rec: recordOf(7)},
		"NotGivenUp":            {a: Attempt{unknown: true}, rec: shown},
		"OfAnotherProcessDelay": {a: Attempt{given: true, Resumed: true, Lease: queue.Lease{Delay: time.Hour}}, rec: shown},
	} {
		t.Run(name, func(t *testing.T) {
			test.a.ID = "a"
			w := &Wait{Snapshot: queue.SnapshotOf(test.rec, clock.now), Attempts: Attempts{[]Attempt{test.a}}}
			if got := w.Shown(w.Snapshot); got != test.want {
				t.Errorf("it remains: %v, want %v", got, test.want)
			}
		})
	}
}

// TestSuspects checks that a holder that was granted by name counts as gone after a look without its row that was sent after
// an answer with its entry, and after no other.
func TestSuspects(t *testing.T) {
	named := func(id string) queue.Record {
		return recordOf(8, queue.Holder{ID: id, Ticket: num(7), Named: true, Lease: queue.Lease{TTL: time.Minute}})
	}
	accepted := recordOf(8, queue.Holder{ID: "a-n7", Ticket: num(7), Named: true, Lease: queue.Lease{TTL: time.Minute, Beat: 1}})
	row := queue.Waiter{ID: "a-r0-7", Ticket: num(7), Lease: queue.Lease{TTL: time.Minute}}
	for name, test := range map[string]struct {
		before, now queue.Record
		rows        []queue.Waiter
		part        bool // the answer shows the record alone
		want        Doing
	}{
		"Gone":       {before: named("a-n7"), now: named("a-n7"), want: Evicting},
		"FirstSeen":  {before: recordOf(8, held("x", 6)), now: named("a-n7"), want: Looking},
		"Another":    {before: named("b-n7"), now: named("a-n7"), want: Looking},
		"WithRow":    {before: named("a-n7"), now: named("a-n7"), rows: []queue.Waiter{row}, want: Resting},
		"Accepted":   {before: named("a-n7"), now: accepted, want: Resting},
		"RecordOnly": {before: named("a-n7"), now: named("a-n7"), part: true, want: Resting},
	} {
		t.Run(name, func(t *testing.T) {
			w := waitOf(WaitConfig{})
			w.Ticket, w.turn.joined, w.turn.put, w.State = num(9), true, true, Resting
			w.Snapshot = queue.SnapshotOf(test.before, clock.now)
			if do := w.Step(clock, Rested{}); do.State != Looking {
				t.Fatalf("it does %v", do.State)
			}
			s := queue.Snapshot{Record: test.now, Rows: test.rows, Whole: !test.part, ReadAt: clock.now.Add(time.Second)}
			do := w.Step(clock, Seen{s})
			if do.State != test.want {
				t.Fatalf("it does %v, want %v", do.State, test.want)
			}
			if do.State == Looking && test.now.Holders[0].ID == "a-n7" {
				if do = w.Step(clock, Seen{s}); do.State != Evicting || do.Holders[0].ID != "a-n7" {
					t.Errorf("after another look it does %v", do.State)
				}
			}
		})
	}
}

// TestNoWait checks how often a caller that will not wait tries.
func TestNoWait(t *testing.T) {
	t.Run("AtAQueueThatMoves", func(t *testing.T) {
		w, n := waitOf(WaitConfig{NoWait: true}), 0
		for (step{w, clock}).looking().lookAgain().State == Looking {
			n++
		}
		if n != quickTries {
			t.Errorf("it looked %d times again", n)
		}
	})
	t.Run("WithWorthlessNumbers", func(t *testing.T) {
		w, n := waitOf(WaitConfig{NoWait: true, Scope: ticket.ScopeTable}), 0
		passed := inScope(recordOf(7))
		for do := w.Step(clock, Begin{num(7)}); do.Why != WhyBusy && n < 100; n++ {
			if do = w.Step(clock, Replied{ReplyMade, passed}); do.Why == WhyNewTicket {
				w.Step(clock, Begin{num(7)})
			}
		}
		if n != quickTries+1 {
			t.Errorf("it tried %d numbers", n)
		}
	})
	stuck := queue.Holder{ID: "h", Ticket: num(7), Problem: errors.New("cannot be read")}
	permits, full := read(20, 7, 2, held("h", 7)), read(20, 7, 2, held("h", 7), held("i", 6))
	for name, test := range map[string]struct {
		rec  queue.Record
		mode queue.Mode
		want Doing
		why  Why
	}{
		"WithoutHolders":      {rec: recordOf(7), want: Taking},
		"WithHolder":          {rec: recordOf(7, held("h", 7)), want: Ended, why: WhyBusy},
		"WithPermits":         {rec: permits, mode: queue.Mode{Permits: 2}, want: Taking},
		"WithAllPermitsInUse": {rec: full, mode: queue.Mode{Permits: 2}, want: Ended, why: WhyBusy},
		"WithStuckHolder":     {rec: recordOf(7, stuck), want: Ended, why: WhyError},
	} {
		t.Run(name, func(t *testing.T) {
			w := waitOf(WaitConfig{NoWait: true, Mode: test.mode})
			w.Step(clock, Begin{})
			if do := w.Step(clock, Replied{ReplyRefused, test.rec}); do.State != test.want || do.Why != test.why {
				t.Errorf("it does %v, why %d", do.State, do.Why)
			}
		})
	}
}

func TestHandle(t *testing.T) {
	handle := queue.Handle{ID: "p", Ticket: num(7)}
	mine := queue.Holder{ID: "p-3", Ticket: num(7), Lease: queue.Lease{TTL: time.Second}}
	unconfirmed, endless, broken := mine, mine, mine
	unconfirmed.Lease.FailClosed = true
	endless.Lease = queue.Lease{Beat: 1, FailClosed: true}
	broken.Lease, broken.Problem = queue.Lease{}, &clause.MalformedError{}
	for name, test := range map[string]struct {
		holders []queue.Holder
		found   bool
		why     Why
		failed  bool
	}{
		"FindsItsHolder":          {holders: []queue.Holder{held("q-1", 6), mine}, found: true},
		"IgnoresOtherTicket":      {holders: []queue.Holder{held("p-3", 6)}},
		"IgnoresOtherID":          {holders: []queue.Holder{held("pp-3", 7)}},
		"IsGoneBeforeConfirm":     {holders: []queue.Holder{unconfirmed}, found: true, why: WhyGone, failed: true},
		"LeavesEndlessToOperator": {holders: []queue.Holder{endless}, found: true, failed: true},
		"ReportsUnreadable":       {holders: []queue.Holder{broken}, found: true, failed: true},
	} {
		t.Run(name, func(t *testing.T) {
			h, found, why, err := holderOf(&handle, recordOf(7, test.holders...))
			if found != test.found || why != test.why || (err != nil) != test.failed {
				t.Errorf("found %v, why %d, error %v", found, why, err)
			}
			if found && h.ID != mine.ID {
				t.Errorf("holder %+v", h)
			}
		})
	}
}

// inScope returns the record of a queue whose tickets the table's counter issues.
func inScope(rec queue.Record) queue.Record {
	rec.Scope = ticket.ScopeTable
	return rec
}
