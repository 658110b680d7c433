package heartbeat

import (
	"errors"
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/queuelock/queuelock/clause"
	"github.com/queuelock/queuelock/internal/attr"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
)

// A search plays one lease in time: its owner, a network that is slow, and another client that ends it. The steps are those
// of Terms, Renewals, machine and Observer, and the writes are those of package queue. Between two steps anything may happen:
// a unit of time passes, in which the owner's clock may fall behind and the other's may run ahead; a request arrives; the owner
// gives a heartbeat up, which may still arrive.

// leaseWorld is what is searched, in units of time.
type leaseWorld struct {
	ttl, margin, delay           int8
	end                          int8 // of time
	beats                        int8 // heartbeats that are sent
	row                          bool // the lease is of a row
	lag, fast, err               int8 // the most that the owner's clock falls behind, the other's runs ahead, and an estimate is too late
	undated                      bool // DynamoDB's clock is not known
	mistake, condition, violates string
}

// leaseState is a state. A unit of time is a second.
type leaseState struct {
	now       int8 // the table's clock
	lag, fast int8
	// The item.
	there bool
	until int8 // zero: absent
	beat  int8
	last  int8 // the heartbeat that was applied last
	// The owner.
	deadline, sentAt int8
	sending, lost    bool
	written          int8 // the last end, of Renewals
	sent             int8 // heartbeats
	net              [2]leaseBeat
	ended            int8 // when its deadline passed, on the table's clock
	// The other client.
	doing       otherDoing
	read        int8 // when it sent its read, and one; zero: that does not count
	shownUntil  int8
	shownBeat   int8
	seen        bool
	first       int8 // when it first saw that beat and end
	seenBeat    int8
	seenUntil   int8
	judgedUntil int8
	judgedBeat  int8
}

type otherDoing uint8

const (
	otherIdle  otherDoing = iota
	otherReads            // the table has answered, and the answer is under way
	otherEnds             // EVICT or SWEEP is under way
)

// leaseBeat is a heartbeat on its way.
type leaseBeat struct {
	state beatState
	at    int8 // when it was sent, by the owner's clock
	until int8
	no    int8
	given bool // it was given up
}

type beatState uint8

const (
	noBeat beatState = iota
	onItsWay
	applied
	refused
)

var (
	leaseEpoch = time.Unix(1_000_000_000, 0)
	leaseItems = queue.Items{PK: "pk", SK: "sk", TTL: "expires", Entity: "e", Reason: "r"}
	errSilent  = errors.New("no answer")
)

func instant(units int8) time.Time { return leaseEpoch.Add(time.Duration(units) * time.Second) }

func units(t time.Time) int8 {
	if t.IsZero() {
		return 0
	}
	return int8(t.Sub(leaseEpoch) / time.Second)
}

// clockOf is a clock that says at a local instant that DynamoDB's time is between earliest and latest.
func clockOf(local time.Time, earliest, latest int8) *Clock {
	c := new(Clock)
	trip := instant(latest).Sub(instant(earliest))
	// Of a date d at the end of a trip, the clock says that it is from d-0.1 s to d+trip+1.1 s, and some drift.
	c.Observe(local.Add(-trip), local, instant(earliest).Add(100*time.Millisecond))
	return c
}

// leaseSearch is a search.
type leaseSearch struct {
	leaseWorld
	terms Terms
	bad   string
	known map[leaseWrite]leaseState // what items make of writes
	tells bool                      // the story is written down
}

// leaseWrite is a write, and the item that it meets.
type leaseWrite struct {
	ends        bool // EVICT or SWEEP, else a heartbeat
	as          leaseEnd
	until, beat int8
}

// leaseEnd is what a write asks for: the end that a heartbeat writes, or the lease that is ended.
type leaseEnd struct{ until, beat int8 }

func (s *leaseSearch) say(format string, args ...any) string {
	if !s.tells {
		return ""
	}
	return fmt.Sprintf(format, args...)
}

func (s *leaseSearch) fail(format string, args ...any) {
	if s.bad == "" {
		s.bad = fmt.Sprintf(format, args...)
	}
}

// item is the item with the lease.
func (s *leaseSearch) item(v *leaseState) clause.Item {
	l := queue.Lease{Beat: int64(v.beat), TTL: s.terms.TTL, Delay: s.terms.Delay}
	if v.until > 0 {
		l.Until = instant(v.until)
	}
	if s.row {
		row := queue.Waiter{ID: "r", Ticket: ticket.FromUint64(1), Lease: l, CreatedAt: leaseEpoch}
		return row.Item(leaseItems)
	}
	entry := clause.Item{attr.Ticket: ticket.FromUint64(1).Attribute()}
	l.Fill(entry)
	one := ticket.FromUint64(1).Attribute()
	return clause.Item{
		attr.TicketNumber: one, attr.Granted: one, attr.ServingAfter: ticket.Number{}.Attribute(),
		attr.HoldMode: clause.String(attr.Exclusive), attr.Holders: clause.Map(clause.Item{"h": clause.Map(entry)}),
	}
}

// lease is the lease of an item, as it is read.
func (s *leaseSearch) lease(item clause.Item) (l queue.Lease, row queue.Waiter, h queue.Holder, there bool) {
	if s.row {
		if item == nil {
			return l, row, h, false
		}
		row = queue.DecodeRow(leaseItems, item)
		return row.Lease, row, h, true
	}
	rec, err := queue.DecodeRecord(leaseItems, item)
	if err != nil {
		s.fail("malformed: %v", err)
	}
	h, there = rec.Mine("h")
	return h.Lease, row, h, there
}

// apply applies a write.
func (s *leaseSearch) apply(v *leaseState, key leaseWrite, write func() clause.Write) (ok bool) {
	if !v.there {
		return false
	}
	key.until, key.beat = v.until, v.beat
	after, known := s.known[key]
	if !known {
		w := write()
		if s.condition != "" {
			w, _ = w.Without(s.condition)
		}
		item, fate := w.Apply(leaseItems.Names(), s.item(v))
		l, _, _, there := s.lease(item)
		after = leaseState{there: there, seen: fate == clause.Applied}
		if there {
			after.until, after.beat = units(l.Until), int8(l.Beat)
		}
		s.known[key] = after
	}
	v.there, v.until, v.beat = after.there, after.until, after.beat
	return after.seen
}

func (s *leaseSearch) heartbeat(v *leaseState, b *leaseBeat) bool {
	return s.apply(v, leaseWrite{as: leaseEnd{until: b.until}}, func() (w clause.Write) {
		until := time.Time{}
		if b.until > 0 {
			until = instant(b.until)
		}
		if s.row {
			w = queue.Waiter{ID: "r", Ticket: ticket.FromUint64(1)}.Renew(until, leaseEpoch)
		} else {
			w = queue.Renewal{Until: until}.Heartbeat("h", ticket.FromUint64(1))
		}
		if s.mistake == "no beat" {
			w.Do = w.Do[1:]
		}
		return w
	})
}

// ends is EVICT or SWEEP of the lease as it was read.
func (s *leaseSearch) ends(v *leaseState) bool {
	return s.apply(v, leaseWrite{ends: true, as: leaseEnd{v.judgedUntil, v.judgedBeat}}, func() clause.Write {
		_, row, h, _ := s.lease(s.item(&leaseState{until: v.judgedUntil, beat: v.judgedBeat}))
		if s.row {
			return row.Sweep()
		}
		return queue.Evict(queue.Eviction{ID: "h", Ticket: h.Ticket}, h)
	})
}

// local is the owner's clock.
func (v *leaseState) local() int8 { return v.now - v.lag }

// machine returns the machine of the owner's lease.
func (s *leaseSearch) machine(v *leaseState) *machine {
	m := &machine{config: Config{TTL: s.terms.TTL, Margin: s.terms.Margin}, deadline: instant(v.deadline), sending: v.sending, sent: instant(v.sentAt)}
	if v.lost {
		m.loss = &LossError{}
	}
	return m
}

func (v *leaseState) take(m *machine) {
	v.deadline, v.sending, v.sentAt, v.lost = units(m.deadline), m.sending, units(m.sent), m.loss != nil
}

func (v *leaseState) believes() bool { return !v.lost && v.local() < v.deadline }

func noDraw() float64 { return 0 }

// begin returns the states in which a lease may begin.
func (s *leaseSearch) begin() (all []leaseState) {
	m := begin(instant(0), Config{TTL: s.terms.TTL, Margin: s.terms.Margin}, noDraw)
	if want := s.terms.Deadline(instant(0)); !m.deadline.Equal(want) {
		s.fail("terms: the deadline is %s, and the machine says %s", want, m.deadline)
	}
	for _, until := range s.untils(instant(0), 0, 0) {
		v := leaseState{there: true, until: until, written: until}
		v.take(&m)
		all = append(all, v)
	}
	return all
}

// untils returns the ends that an owner may write with a request sent now.
func (s *leaseSearch) untils(sent time.Time, now, last int8) (all []int8) {
	renew := func(clock *Clock) {
		r := &Renewals{terms: s.terms, clock: clock}
		if last > 0 && s.mistake != "ends fall" {
			r.until = instant(last)
		}
		all = append(all, units(r.Next(sent)))
	}
	if s.undated {
		renew(new(Clock))
		return all
	}
	for late := int8(0); late <= s.err; late++ {
		c := new(Clock)
		c.Observe(sent, sent, instant(now+late).Add(-1100*time.Millisecond))
		renew(c)
	}
	return all
}

// next calls try with each state that may follow, and with what happens.
func (s *leaseSearch) next(v leaseState, try func(leaseState, string)) {
	if v.now < s.end {
		for lag := v.lag; lag <= min(s.lag, v.lag+1); lag++ {
			for fast := v.fast; fast <= min(s.fast, v.fast+1); fast++ {
				w := v
				w.now, w.lag, w.fast = v.now+1, lag, fast
				if w.local() <= w.deadline {
					w.ended = w.now
				}
				try(w, s.say("it is %d, the owner's clock is %d behind, and the other's %d ahead", w.now, lag, fast))
			}
		}
	}
	s.owner(v, try)
	s.network(v, try)
	s.other(v, try)
}

// owner plays the owner.
func (s *leaseSearch) owner(v leaseState, try func(leaseState, string)) {
	local := instant(v.local())
	w := v
	m := s.machine(&w)
	if do := m.step(local); do.lost {
		w.take(m)
		if s.mistake == "remove on loss" && w.there {
			s.removes(&w)
			w.there = false
		}
		try(w, "the owner's lease is over")
	}
	free := 0
	for free < len(v.net) && v.net[free].state != noBeat {
		free++
	}
	if free < len(v.net) && !v.sending && v.sent < s.beats {
		for _, until := range s.untils(local, v.now, v.written) {
			w, m := v, s.machine(&v)
			if do := m.extend(local); !do.renew {
				continue
			}
			w.take(m)
			w.sent++
			w.written = until
			w.net[free] = leaseBeat{state: onItsWay, at: v.local(), until: until, no: w.sent}
			try(w, s.say("the owner sends HEARTBEAT %d until %d", w.sent, until))
		}
	}
	for k := range v.net {
		b := v.net[k]
		if b.state == noBeat {
			continue
		}
		w, m := v, s.machine(&v)
		if !b.given && v.sent < s.beats { // else there is no other to send
			m.answer(local, errSilent, noDraw)
			w.take(m)
			w.net[k].given = true
			try(w, s.say("the owner gives up HEARTBEAT %d", b.no))
		}
		if b.state == onItsWay {
			continue
		}
		w, m = v, s.machine(&v)
		w.net[k] = leaseBeat{}
		if !b.given {
			err := error(nil)
			switch {
			case b.state == refused && !v.there:
				err = ErrEvicted
			case b.state == refused: // a later one was applied
				err = errSilent
			}
			if s.mistake == "deadline from answer" {
				m.sent = local
			}
			m.answer(local, err, noDraw)
			w.take(m)
		}
		try(w, s.say("the answer to HEARTBEAT %d arrives", b.no))
	}
}

// network lets heartbeats arrive, at any time.
func (s *leaseSearch) network(v leaseState, try func(leaseState, string)) {
	for k := range v.net {
		b := v.net[k]
		if b.state != onItsWay {
			continue
		}
		w := v
		what := "is applied"
		if s.heartbeat(&w, &b) {
			w.last, w.net[k].state = b.no, applied
		} else {
			if w.net[k].state, what = refused, "is refused"; w.there && w.last <= b.no {
				s.fail("outrun: HEARTBEAT %d is refused after %d", b.no, w.last)
			}
		}
		try(w, s.say("HEARTBEAT %d %s", b.no, what))
	}
}

// removes checks a removal.
func (s *leaseSearch) removes(v *leaseState) {
	if v.believes() {
		s.fail("belief: the lease is ended, and its owner relies on it until %d, and its clock shows %d", v.deadline, v.local())
	}
	if v.now < v.ended+s.delay {
		s.fail("delay: the lease is ended at %d, and its owner's at %d", v.now, v.ended)
	}
}

// other plays the other client. Of its clock only differences count: it shows the table's time, and as much more as it is fast.
func (s *leaseSearch) other(v leaseState, try func(leaseState, string)) {
	local := v.now + v.fast
	w := v
	switch v.doing {
	case otherIdle:
		if !v.there {
			return
		}
		if s.mistake == "observed from before" && v.read == 0 {
			w.read = local + 1
			try(w, "another client sends a read")
			return
		}
		w.doing, w.shownUntil, w.shownBeat = otherReads, v.until, v.beat
		try(w, s.say("another client reads beat %d until %d", v.beat, v.until))
	case otherReads:
		w.doing, w.read, w.shownUntil, w.shownBeat = otherIdle, 0, 0, 0
		read := local
		if s.mistake == "observed from before" {
			read = v.read - 1
		}
		l := queue.Lease{Beat: int64(v.shownBeat), TTL: s.terms.TTL, Delay: s.terms.Delay}
		if v.shownUntil > 0 {
			l.Until = instant(v.shownUntil)
		}
		if s.mistake == "no delay" {
			l.Delay = 0
		}
		clock := new(Clock)
		if !s.undated {
			clock = clockOf(instant(read), v.now, v.now)
		}
		o := NewObserver(clock, false)
		if v.seen {
			before := sighting{beat: int64(v.seenBeat), first: instant(v.first), last: instant(read), length: l.Length()}
			if v.seenUntil > 0 {
				before.until = instant(v.seenUntil)
			}
			o.seen["x"] = before
		}
		left := o.See("x", l, instant(read))
		now := o.seen["x"]
		w.seen, w.first, w.seenBeat, w.seenUntil = true, units(now.first), int8(now.beat), units(now.until)
		if left <= 0 {
			w.doing, w.judgedUntil, w.judgedBeat = otherEnds, v.shownUntil, v.shownBeat
		}
		try(w, s.say("that arrives, and %s is left", left))
	case otherEnds:
		what := "the end of the lease is refused"
		if s.ends(&w) {
			what = "the lease is ended"
			s.removes(&v)
		}
		w.doing, w.judgedUntil, w.judgedBeat = otherIdle, 0, 0
		try(w, what)
	}
}

// run searches breadth first.
func (s *leaseSearch) run() (states int, story string) {
	s.terms = Terms{TTL: time.Duration(s.ttl) * time.Second, Margin: time.Duration(s.margin) * time.Second, Delay: time.Duration(s.delay) * time.Second}
	s.known = map[leaseWrite]leaseState{}
	met := map[leaseState]bool{}
	var all []leaseState
	var from []int32
	add := func(v leaseState, at int32) {
		if !met[v] {
			met[v] = true
			all, from = append(all, v), append(from, at)
		}
	}
	for _, v := range s.begin() {
		add(v, -1)
	}
	for k := int32(0); int(k) < len(all) && s.bad == ""; k++ {
		s.next(all[k], func(v leaseState, _ string) {
			if story != "" {
				return
			}
			if s.bad == "" {
				add(v, k)
				return
			}
			story = s.story(all, from, k, v)
		})
	}
	return len(all), story
}

// story returns how a state was reached from that with a number.
func (s *leaseSearch) story(all []leaseState, from []int32, at int32, v leaseState) (story string) {
	bad := s.bad
	s.tells = true
	for ; at >= 0; at = from[at] {
		found := false
		s.next(all[at], func(next leaseState, what string) {
			if next == v && !found {
				found, story = true, what+"\n"+story
			}
		})
		v = all[at]
	}
	s.tells, s.bad = false, bad
	return fmt.Sprintf("a lease begins, until %d\n%s", v.until, story)
}

var leaseBeats = flag.Int("heartbeat.beats", 1, "how many heartbeats TestLeaseInTime sends")

// TestLeaseInTime searches a lease of a holder and of a row. No client ends it while its owner relies on it, nor before the
// lock delay is over, and a heartbeat is refused as late only if a later one was applied.
func TestLeaseInTime(t *testing.T) {
	w := leaseWorld{ttl: 4, margin: 2, end: 10, beats: int8(*leaseBeats), lag: 1, fast: 1, err: 1}
	delayed, row, undated, rowUndated := w, w, w, w
	delayed.delay, delayed.end = 2, 9
	exact := w
	exact.margin, exact.lag, exact.fast, exact.err, exact.beats = 1, 0, 0, 0, w.beats+1
	row.row, undated.undated, rowUndated.row, rowUndated.undated = true, true, true, true
	for name, w := range map[string]leaseWorld{"a holder": w, "a holder with a lock delay": delayed, "a row": row, "without dates": undated, "a row without dates": rowUndated, "exact clocks": exact} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &leaseSearch{leaseWorld: w}
			begun := time.Now()
			states, story := s.run()
			t.Logf("%d states, %s", states, time.Since(begun))
			if s.bad != "" {
				t.Errorf("%s\n%s", s.bad, story)
			}
		})
	}
}

func TestLeaseMistakes(t *testing.T) {
	w := leaseWorld{ttl: 4, margin: 2, end: 10, beats: 2, lag: 1, fast: 1, err: 1}
	delayed := w
	delayed.delay, delayed.end = 2, 9
	mistake := func(w leaseWorld, mistake, condition, violates string) leaseWorld {
		w.mistake, w.condition, w.violates = mistake, condition, violates
		return w
	}
	short, row, exact := w, w, w
	exact.margin, exact.lag, exact.fast, exact.err = 1, 0, 0, 0
	exactRow := exact
	exactRow.row = true
	short.margin, row.row = 1, true
	undated := w
	undated.undated = true
	for _, w := range []leaseWorld{
		mistake(exact, "", "not late", "belief"),
		mistake(exactRow, "", "not late", "belief"),
		mistake(w, "", "beat as read", "belief"),
		mistake(row, "", "beat as read", "belief"),
		mistake(undated, "no beat", "", "belief"),
		mistake(w, "deadline from answer", "", "belief"),
		mistake(undated, "observed from before", "", "belief"),
		mistake(short, "margin of 1", "", "belief"),
		mistake(w, "ends fall", "", "outrun"),
		mistake(delayed, "no delay", "", "delay"),
		mistake(delayed, "remove on loss", "", "delay"),
	} {
		t.Run(fmt.Sprintf("%s%s row %v", w.mistake, w.condition, w.row), func(t *testing.T) {
			t.Parallel()
			s := &leaseSearch{leaseWorld: w}
			states, story := s.run()
			t.Logf("%d states: %s\n%s", states, s.bad, story)
			if !strings.HasPrefix(s.bad, w.violates+":") {
				t.Errorf("it finds %q, want %s", s.bad, w.violates)
			}
		})
	}
}
